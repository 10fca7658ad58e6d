"""Give integer division by zero, and of the least integer by -1, NumPy's answers.

Both are undefined in LLVM and end the process on x86. Here x / 0 is 0, x % 0 is 0, and the least
integer over -1 wraps around to itself with remainder 0. Applies to arith.divsi, divui, remsi,
remui, floordivsi, ceildivsi and ceildivui, on scalars and vectors, and to their counterparts in
the dialect `index`. A constant divisor other than 0 and -1 needs no guard and gets none.

before:
    %q = arith.divsi %a, %b : i32
after:
    %zero = arith.cmpi eq, %b, %c0 : i32
    %least = arith.cmpi eq, %a, %c-2147483648 : i32
    %minus = arith.cmpi eq, %b, %c-1 : i32
    %wraps = arith.andi %least, %minus : i1
    %bad = arith.ori %zero, %wraps : i1
    %safe = arith.select %bad, %c1, %b : i32
    %d = arith.divsi %a, %safe {linalg_ext.guarded} : i32
    %q = arith.select %zero, %c0, %d : i32
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import arith, ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.arithmetic import Integers, element_of_constant
from linalg_ext.transforms.ir_utils.tensor_loops import elementwise, empty_like, size_of
from linalg_ext.transforms.ir_utils.walking import operations, replace_each, replace_op

NAME = "linalg-ext-guard-integer-division"

GUARDED = "linalg_ext.guarded"
"""Unit attribute of a division that has its guard."""

_SIGNED = ("divsi", "remsi", "floordivsi", "ceildivsi")
_UNSIGNED = ("divui", "remui", "ceildivui")
_OF_INDEX = {
    "index.divs": "arith.divsi",
    "index.divu": "arith.divui",
    "index.rems": "arith.remsi",
    "index.remu": "arith.remui",
    "index.floordivs": "arith.floordivsi",
    "index.ceildivs": "arith.ceildivsi",
    "index.ceildivu": "arith.ceildivui",
}
_NAMES = frozenset(f"arith.{name}" for name in (*_SIGNED, *_UNSIGNED)) | _OF_INDEX.keys()


@module_pass(NAME, on=_NAMES)
def guard_integer_division(module: ir.Operation) -> Report:
    """Give integer division by zero, and its overflow, NumPy's answers."""
    ops = operations(module, _NAMES)
    on_tensors = [op for op in ops if isinstance(op.results[0].type, ir.RankedTensorType)]
    for op in on_tensors:
        _scalarize(op)
    return replace_each(NAME, operations(module, _NAMES) if on_tensors else ops, _quotient)


def _quotient(op: Any) -> Any:
    name = _OF_INDEX.get(op.name, op.name)
    safe = GUARDED in op.attributes or _is_safe(op.operands[1])
    if safe and name == op.name:
        return None
    return (_divide if safe else _guarded)(name, *op.operands)


def _scalarize(op: Any) -> None:
    """Put a division of tensors into a `linalg.generic`, where it divides scalars."""
    type_ = op.results[0].type
    with op.location, ir.InsertionPoint(op):
        sizes = [size_of(op.operands[0], axis) for axis in range(type_.rank)]
        quotients = elementwise(
            op.operands, [empty_like(type_, sizes)], lambda a, b, _: [_divide(op.name, a, b)]
        )
    replace_op(op, quotients.results[0])


def _guarded(name: str, a: Any, b: Any) -> Any:
    type_ = a.type
    integers = Integers(type_)
    width = _width(type_)
    if width == 1:
        # The only divisor of a defined quotient is 1, which as a signed number is -1.
        return integers.value(0) if "rem" in name else arith.andi(a, b)
    zero = integers.equal(b, 0)
    bad = zero
    if name.removeprefix("arith.") in _SIGNED:
        least = integers.equal(a, -(1 << (width - 1)))
        wraps = arith.andi(least, integers.equal(b, -1))
        bad = arith.ori(zero, wraps)
    # Any remainder by 1 is 0, and the least integer over 1 is itself, as NumPy has them.
    quotient = _divide(name, a, integers.select(bad, 1, b))
    quotient.owner.attributes[GUARDED] = ir.UnitAttr.get()
    return quotient if "rem" in name else integers.select(zero, 0, quotient)


def _divide(name: str, a: Any, b: Any) -> Any:
    return ir.Operation.create(name, results=[a.type], operands=[a, b]).results[0]


def _width(type_: Any) -> int:
    element = type_.element_type if isinstance(type_, ir.VectorType) else type_
    return element.width if isinstance(element, ir.IntegerType) else 64  # an index


def _is_safe(divisor: Any) -> bool:
    """Return whether a divisor is a constant other than 0 and -1 (in all its elements)."""
    value = element_of_constant(divisor)
    return isinstance(value, ir.IntegerAttr) and value.value not in (0, -1)
