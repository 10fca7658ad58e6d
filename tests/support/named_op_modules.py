"""Each of upstream's named ops that the library declares, as a module with that op alone."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

import linalg_ext as lx
from core_ops import Problem, build, problem
from linalg_ext.bindings import linalg
from linalg_ext.errors import LinalgExtError
from linalg_ext.module import Module
from linalg_ext.opdsl import StructuredOp

TYPES: Mapping[str, tuple[Any, Mapping[str, Any]]] = {
    "f32": (np.float32, {}),
    "i32": (np.int32, {}),
    "i8 into i32": (np.int8, {"U": np.int32}),
}
"""Dtypes of operands: of all of them, and of those whose type variable is named."""


@functools.cache
def upstream_ops() -> Mapping[str, StructuredOp]:
    """The ops of the library that upstream has by the same name."""
    ops = (getattr(lx.ops, name) for name in dir(lx.ops))
    return {op.op_name: op for op in ops if _is_upstream(op)}


def _is_upstream(op: StructuredOp) -> bool:
    op_class = getattr(linalg, op.definition.cpp_class_name, None)
    return getattr(op_class, "OPERATION_NAME", None) == f"linalg.{op.op_name}"


def named_problem(name: str, types: str) -> Problem:
    """Small arrays for an op, with strides and dilations that are all different from one."""
    op = upstream_ops()[name]
    dtype, dtypes = TYPES[types]
    if name == "select":
        dtypes = {"U": np.bool_}
    ranks = {operand.name: operand.rank for operand in op.definition.attributes}
    attributes = {
        attribute: [first + axis for axis in range(ranks[attribute])]
        for attribute, first in (("strides", 2), ("dilations", 3))
        if attribute in ranks
    }
    return problem(op, dtype, dtypes=dtypes, attributes=attributes)


def named_module(name: str, types: str, *, memref: bool) -> Module | None:
    """The op in a module; None where upstream has it not for these types."""
    try:
        module = Module(build([named_problem(name, types)], memref=memref))
    except LinalgExtError:
        return None
    return module if f"linalg.{name} " in str(module) else None


def named_cases() -> list[tuple[str, str, bool]]:
    """Every op at all types that it has a meaning for, on tensors and on memrefs."""
    return [
        (name, types, memref)
        for name in upstream_ops()
        for types in TYPES
        for memref in (False, True)
        if named_module(name, types, memref=memref) is not None
    ]
