"""PyTorch's threads, lent to calls of kernels.

PyTorch's threads stay awake for some milliseconds after each of its ops. Between those of a kernel
they would take half of the time of threads of ours, and ours of theirs.
"""

from __future__ import annotations

import ctypes
import functools
import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from linalg_ext.frameworks.torch.requirements import torch
from linalg_ext.runtime import threads


def lent(count: int | None) -> AbstractContextManager[None]:
    """Have calls inside the `with` block shared by PyTorch's threads, where that has as many.

    Args:
        count: how many threads the calls may use; None for `lx.threads.current()`.
    """
    wanted = count or threads.current()
    if wanted < 2 or torch().get_num_threads() != wanted or not (team := _team()):
        return nullcontext()
    return threads.lent(team)


@functools.cache
def _team() -> int:
    """Return the address of PyTorch's `GOMP_parallel`.

    0 where PyTorch's threads are not OpenMP's, or the function is not found.
    """
    package = torch()
    if not package.backends.openmp.is_available():
        return 0
    # Its own library, unless another was loaded for all before it.
    for path in (None, Path(package.__file__).parent / "lib" / "libtorch_cpu.so"):
        try:
            library = ctypes.CDLL(None if path is None else str(path), os.RTLD_NOLOAD)
            return ctypes.cast(library.GOMP_parallel, ctypes.c_void_p).value or 0
        except (AttributeError, OSError):
            continue
    return 0
