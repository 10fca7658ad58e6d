"""Arrays that a kernel is called with, from a file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linalg_ext.errors import ArgumentError

if TYPE_CHECKING:
    import numpy as np

    from linalg_ext.compiler import Kernel
    from linalg_ext.worker_process import IsolatedKernel

    Array = np.ndarray[Any, Any]

_NUMBERED = re.compile(r"(?:in|arr_|arg|input)_?(\d+)")
"""Names that tell the position of an argument; `arr_0` is what numpy.savez calls the first."""


def load_arrays(path: Path | None) -> list[Array]:
    """The arrays of an .npz or .npy file, in the order of the arguments."""
    if path is None:
        return []
    import zipfile

    import numpy as np

    try:
        # An open file: NumPy leaves one that it opened itself open where it cannot read it.
        with path.open("rb") as file:
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return [loaded]
            arrays = {name: loaded[name] for name in loaded.files}
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ArgumentError(
            f"{path} cannot be read: {error}",
            expected="a file that numpy.savez or numpy.save wrote, without Python objects",
        ) from error
    numbered = {name: int(match[1]) for name in arrays if (match := _NUMBERED.fullmatch(name))}
    if not numbered:
        return list(arrays.values())
    # Other names may stand beside them: a file can hold what is expected too.
    if len(set(numbered.values())) < len(numbered):
        raise ArgumentError(
            f"{path} has {', '.join(numbered)}: two of these names give the same position",
            expected="in0, in1, ... or arr_0, arr_1, ..., one for each argument",
        )
    return [arrays[name] for name in sorted(numbered, key=numbered.__getitem__)]


def typed(arguments: list[Array], kernel: Kernel | IsolatedKernel) -> list[Array]:
    """Give arrays back the dtypes that NumPy's file format forgets: bf16, the f8 and i4 types."""
    found = []
    for position, array in enumerate(arguments):
        if array.dtype.kind == "V" and array.dtype.names is None:
            parameters = kernel.signature.parameters
            wanted = parameters[position].type.element if position < len(parameters) else None
            if wanted is not None and wanted.storage == array.dtype.itemsize:
                array = array.view(wanted.dtype)
        found.append(array)
    return found
