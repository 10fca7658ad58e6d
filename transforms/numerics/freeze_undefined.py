"""Freeze values that LLVM leaves undefined, so that each is one number and is written to memory.

To LLVM the conversion of a float that no integer can hold is undefined, and so is a shift by more
bits than there are. It need not store such a value at all, and a result would hold the old contents
of its memory. `freeze` makes a number of it. It takes no instruction.

before:
    %i = llvm.fptosi %x : f32 to i32
    %s = llvm.shl %i, %n : i32
after:
    %u = llvm.fptosi %x : f32 to i32
    %i = llvm.freeze %u : i32
    %v = llvm.shl %i, %n : i32
    %s = llvm.freeze %v : i32

A shift by a constant that is less than the width is left alone. A value that only `llvm.select`
reads is frozen behind the choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.walking import operations, producer

NAME = "linalg-ext-freeze-undefined"

_CONVERSIONS = ("llvm.fptosi", "llvm.fptoui")
_SHIFTS = ("llvm.shl", "llvm.lshr", "llvm.ashr")
_NONE = ("llvm.mlir.poison", "llvm.mlir.undef")
_FILLING = ("llvm.insertelement", "llvm.insertvalue", "llvm.shufflevector")
"""Ops that build vectors and structures element by element from an undefined one."""


@module_pass(NAME, on=(*_CONVERSIONS, *_SHIFTS, *_NONE))
def freeze_undefined(module: ir.Operation) -> Report:
    """Freeze conversions of floats to integers, shifts, and undefined values."""
    report = Report(NAME)
    frozen: set[Any] = set()
    for op in operations(module, (*_CONVERSIONS, *_SHIFTS, *_NONE)):
        report.matched[op.name] += 1
        if op.name not in _NONE and not _may_be_undefined(op):
            continue
        if op.parent.name == "llvm.mlir.global":
            continue  # a variable's value is a constant
        uses = [(use.owner, use.operand_number) for use in op.results[0].uses]
        if op.name in _NONE:
            uses = [(user, place) for user, place in uses if user.name not in _FILLING]
        if not uses:
            continue
        report.changed[op.name] += 1
        if all(user.name == "llvm.select" for user, _ in uses):
            # LLVM knows shifts that a comparison guards, and whole instructions for them.
            for user, _ in uses:
                if user.results[0] not in frozen:
                    of_select = [(use.owner, use.operand_number) for use in user.results[0].uses]
                    frozen.add(user.results[0])
                    _freeze(user, of_select)
        else:
            _freeze(op, uses)
    return report


def _freeze(op: Any, uses: Sequence[tuple[Any, int]]) -> None:
    value = op.results[0]
    with op.location, ir.InsertionPoint.after(op):
        frozen = ir.Operation.create("llvm.freeze", results=[value.type], operands=[value])
    for user, place in uses:
        user.operands[place] = frozen.result


def _may_be_undefined(op: Any) -> bool:
    if op.name in _CONVERSIONS:
        return True
    type_ = op.results[0].type
    amount = producer(op.operands[1])
    if amount is None or amount.name != "llvm.mlir.constant":
        return True
    element = ir.VectorType(type_).element_type if isinstance(type_, ir.VectorType) else type_
    return not all(0 <= bits < ir.IntegerType(element).width for bits in _numbers(amount))


def _numbers(constant: Any) -> list[int]:
    """Return the numbers of a constant; -1, which is not a number of bits, if not known."""
    value: Any = constant.attributes["value"]
    if isinstance(value, ir.IntegerAttr):
        return [value.value]
    if not isinstance(value, ir.DenseElementsAttr):
        return [-1]
    if value.is_splat:
        return [ir.IntegerAttr(value.get_splat_value()).value]
    try:
        return np.asarray(value).ravel().tolist()
    except TypeError:  # integers of a width that Python has no buffers of
        return [-1]
