"""`compile`: a module in, a kernel out."""

from __future__ import annotations

import io
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from linalg_ext.bindings import ir
from linalg_ext.errors import ParseError, VerificationError
from linalg_ext.jit.entry import find_entry, wrap_entry
from linalg_ext.jit.kernel import Kernel
from linalg_ext.transforms.pipelines import lower_to_llvm
from linalg_ext.jit.signature import read_signature
from linalg_ext.runtime.engine import Engine


def compile(
    module: Any,
    entry: str | None = None,
    *,
    trusted: bool = False,
    opt_level: int | None = None,
    libraries: Sequence[str | Path] = (),
    result_dtypes: Sequence[np.typing.DTypeLike | None] | None = None,
) -> Kernel:
    context = ir.Context()
    context.enable_multithreading(False)
    with context, ir.Location.unknown():
        work = ir.Module.parse(module if isinstance(module, str) else str(module))
        function = find_entry(work, entry)
        signature = read_signature(function, result_dtypes=result_dtypes)
        wrapped = wrap_entry(work, function, signature)
        work.operation.verify()
        info = lower_to_llvm(work)
    engine = Engine(work, opt_level=2 if opt_level is None else opt_level, libraries=libraries)
    return Kernel(signature, wrapped, engine, info.assertions)
