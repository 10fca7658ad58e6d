"""Kernels as plain data, but for their code and their stages: for the disk, and to be shipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from linalg_ext.executable.code import Code
from linalg_ext.executable.kernel import Kernel
from linalg_ext.executable.kernel_data import (
    Data,
    entry_data,
    entry_of,
    explanation_data,
    explanation_of,
    signature_data,
    signature_of,
)
from linalg_ext.executable.parallel_variant import SharedWork
from linalg_ext.executable.provenance import Recipe
from linalg_ext.executable.stage import Stage
from linalg_ext.target import Target


def data_of(kernel: Kernel) -> Data:
    """A kernel as plain data; what of its work can be shared is not in it."""
    data: Data = {
        "signature": signature_data(kernel.signature),
        "entry": entry_data(kernel.entry),
        "opt_level": kernel.opt_level,
        "libraries": [str(library) for library in kernel.code.libraries],
        "assertions": kernel.assertions,
        "open_ended": kernel.callee.open_ended,
        "code_seconds": kernel.times["code"],
    }
    if kernel.explanation is not None:
        data["explanation"] = explanation_data(kernel.explanation())
    return data


def kernel_of(
    data: Mapping[str, Any],
    code: Code,
    stages: Sequence[Stage],
    target: Target,
    shared: SharedWork | None = None,
    *,
    is_kept: bool = False,
    recipe: Recipe | None = None,
) -> Kernel:
    """What `data_of` gave, as a kernel again."""
    told = data.get("explanation")
    return Kernel(
        signature_of(data["signature"]),
        entry_of(data["entry"]),
        code,
        stages=stages,
        assertions=data["assertions"],
        open_ended=data["open_ended"],
        codegen_seconds=data["code_seconds"],
        target=target,
        shared=shared,
        explanation=None if told is None else lambda: explanation_of(told, target),
        is_kept=is_kept,
        recipe=recipe,
    )
