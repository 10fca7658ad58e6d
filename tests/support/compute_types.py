"""Ops of the library in compute types: their forms, compiled code, and the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from core_ops import Array, Problem, build
from linalg_ext.bindings import ir
from linalg_ext.compiler import compile as compile_module
from linalg_ext.definition import OpDefinition
from linalg_ext.definition.compute_type import ComputeForm, in_compute_type
from linalg_ext.definition.specialization import at_rank, specialize
from linalg_ext.runtime.dtypes import by_dtype, by_mlir
from linalg_ext.structured.compute_type import set_compute_type

_CHUNK = 8
"""Ops in one compiled function: LLVM's time grows with the square of a function's size."""


@dataclass(frozen=True)
class Stated:
    """A problem and the type that it is to be computed in."""

    case: Problem
    compute: str

    def specialized(self) -> tuple[OpDefinition, dict[str, str]]:
        """The definition at the types of the arrays, and the types of its type variables."""
        case = self.case
        types = {name: by_dtype(dtype).mlir for name, dtype in case.dtypes.items()}
        rank = case.arrays[case.definition.outputs[0].name].ndim
        definition = specialize(at_rank(case.definition, rank), types, case.resolved)
        found = {
            str(o.type_var): by_dtype(case.arrays[o.name].dtype).mlir
            for o in (*definition.inputs, *definition.outputs)
        }
        return definition, found

    def form(self) -> ComputeForm:
        definition, types = self.specialized()
        return in_compute_type(definition, types, self.compute)

    def reference(self, *, saturate: bool = False) -> list[Array]:
        """The outputs by the oracle."""
        return list(
            self.form().reference(
                *self._inputs(),
                init=self._before(),
                compute_dtype=dtype_of(self.compute),
                saturate=saturate,
            )
        )

    def reference_without(self) -> list[Array]:
        """The outputs by the oracle where nobody says what to compute in."""
        return self.case.reference()

    def _inputs(self) -> list[Array]:
        arrays = self.case.arrays
        return [self._spread(o.name, arrays[o.name]) for o in self.case.definition.inputs]

    def _before(self) -> tuple[Array, ...]:
        return tuple(self.case.arrays[o.name] for o in self.case.definition.outputs)

    def _spread(self, name: str, array: Array) -> Array:
        definition = self.case.definition
        if not definition.is_rank_polymorphic or not definition.operand(name).kind.is_tensor:
            return array
        return np.broadcast_to(array, self._before()[0].shape)


def dtype_of(element: str) -> np.dtype[Any]:
    """The dtype of an element type, signed for integers."""
    known = by_mlir(element)
    assert known is not None
    return known.dtype


def state(module: ir.Module, compute: Sequence[str]) -> list[str]:
    """Give the structured ops of a module compute types, in order; the names of the ops."""
    ops: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name.startswith("linalg.") and op.name not in ("linalg.yield", "linalg.index"):
            ops.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    for op, element in zip(ops, compute, strict=True):
        set_compute_type(op, element)
    return [str(op.name) for op in ops]


def run(
    cases: Sequence[Stated], *, emit_generic: bool = False, memref: bool = False, before: str = ""
) -> list[tuple[str, list[Array]]]:
    """What compiled code gives for each case, and the name of the op that it was built as.

    Args:
        cases: what to run.
        emit_generic: build `linalg.generic` in any case.
        memref: build on memrefs.
        before: a pipeline to run on the module first.
    """
    found = []
    for start in range(0, len(cases), _CHUNK):
        chunk = cases[start : start + _CHUNK]
        found += _run_together(chunk, emit_generic=emit_generic, memref=memref, before=before)
    return found


def _run_together(
    cases: Sequence[Stated], *, emit_generic: bool, memref: bool, before: str
) -> list[tuple[str, list[Array]]]:
    from linalg_ext.module import Module

    raw = build([case.case for case in cases], emit_generic=emit_generic, memref=memref)
    names = state(raw, [case.compute for case in cases])
    module = Module(raw)
    if before:
        module.run(before, trusted=True)
    kernel = compile_module(module, "main")
    groups = [
        [
            each.case.arrays[o.name].copy()
            for o in (*each.case.definition.inputs, *each.case.definition.outputs)
        ]
        for each in cases
    ]
    got = kernel(*(array for group in groups for array in group))
    if memref:
        outcomes = [
            group[len(each.case.definition.inputs) :]
            for each, group in zip(cases, groups, strict=True)
        ]
    else:
        flat = iter(got if isinstance(got, tuple) else (got,))
        outcomes = [[next(flat) for _ in each.case.definition.outputs] for each in cases]
    return list(zip(names, outcomes, strict=True))


def assert_close(got: Sequence[Array], expected: Sequence[Array], compute: str, what: str) -> None:
    """Equal within the rounding of the compute type and of the stored one; integers equal."""
    assert len(got) == len(expected), what
    for x, y in zip(got, expected, strict=True):
        assert x.dtype == y.dtype, what
        if y.dtype.kind in "iub":
            np.testing.assert_array_equal(x, y, err_msg=what)
            continue
        tolerance = 32 * _epsilon(dtype_of(compute)) + 2 * _epsilon(y.dtype)
        actual, desired = (np.asarray(each).astype(_wide(each.dtype)) for each in (x, y))
        np.testing.assert_allclose(actual, desired, rtol=tolerance, atol=tolerance, err_msg=what)


def _epsilon(dtype: np.dtype[Any]) -> float:
    if dtype.kind in "iub" or "int" in dtype.name:
        return 0.0
    return float(ml_dtypes.finfo(dtype).eps)


def _wide(dtype: np.dtype[Any]) -> type[Any]:
    return np.complex128 if dtype.kind == "c" else np.float64
