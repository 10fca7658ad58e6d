"""Combiners of reductions: an operation on two values, and its neutral element."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import ir, vector
from linalg_ext.transforms.codegen.base.long_sums import is_added_in_blocks
from linalg_ext.transforms.ir_utils.arithmetic import literal

_FLOAT_NEUTRAL: Mapping[str, str] = {
    "arith.addf": "-0.0",  # 0 + -0.0 is 0, and -0.0 + -0.0 is -0.0
    "arith.mulf": "1.0",
    "arith.maximumf": "-inf",
    "arith.minimumf": "inf",
    "arith.maxnumf": "nan",
    "arith.minnumf": "nan",
}
_INTEGER_NEUTRAL = frozenset(
    f"arith.{name}"
    for name in ["addi", "muli", "andi", "ori", "xori", "maxsi", "minsi", "maxui", "minui"]
)
_LOGIC = frozenset(["arith.andi", "arith.ori", "arith.xori"])
"""On truth values the others are other words for these."""


@dataclass(frozen=True)
class Combiner:
    """An associative operation, by the name of its op."""

    name: str

    def __call__(self, a: Any, b: Any) -> Any:
        """The op on two values of one type, scalars or vectors."""
        return ir.Operation.create(self.name, results=[a.type], operands=[a, b]).results[0]

    def neutral(self, type_: Any) -> Any:
        """Return the neutral element of the operation, in every lane where `type_` is a vector."""
        element = type_.element_type if isinstance(type_, ir.VectorType) else type_
        return literal(type_, self._neutral(element))

    def adds_floats(self, element: Any) -> bool:
        """Return whether it adds up floats, of a type that is added up in blocks."""
        return self.name == "arith.addf" and is_added_in_blocks(element)

    def all_of(self, value: Any, lanes: int) -> Any:
        """The elements of a vector combined to `lanes` of them, halves with halves."""
        while value.type.shape[0] > lanes:
            value = self(*halves(value))
        return value

    def _neutral(self, element: Any) -> str:
        if isinstance(element, ir.FloatType):
            text = _FLOAT_NEUTRAL[self.name]
            return _SPECIAL[text][str(element)] if text in _SPECIAL else text
        top = 1 << (element.width - 1)
        return str(
            {
                "arith.addi": 0,
                "arith.muli": 1,
                "arith.andi": -1,
                "arith.ori": 0,
                "arith.xori": 0,
                "arith.maxsi": -top,
                "arith.minsi": top - 1,
                "arith.maxui": 0,
                "arith.minui": -1,
            }[self.name]
        )


_ROUNDED_EACH_STEP = ("f16", "bf16")
"""In these formats another order is another sum: too few digits to hide it."""

_ROUNDED = frozenset(["arith.addf", "arith.mulf"])

_SPECIAL = {
    "-inf": {
        "f64": "0xFFF0000000000000",
        "f32": "0xFF800000",
        "f16": "0xFC00",
        "bf16": "0xFF80",
    },
    "inf": {"f64": "0x7FF0000000000000", "f32": "0x7F800000", "f16": "0x7C00", "bf16": "0x7F80"},
    "nan": {"f64": "0x7FF8000000000000", "f32": "0x7FC00000", "f16": "0x7E00", "bf16": "0x7FC0"},
}


def combiner_of(argument: Any, yielded: Any) -> Combiner | None:
    """Return the combiner of an output's old and new value in a body; None where order matters."""
    name = combining_op(argument, yielded)
    if name is None or (name in _ROUNDED and str(yielded.type) in _ROUNDED_EACH_STEP):
        return None
    return Combiner(name)


def combiner_by(op: Any, argument: Any) -> Combiner | None:
    """Return the combiner that an op applies to a value; None if it has none, or order matters."""
    if op.name not in _FLOAT_NEUTRAL and op.name not in _INTEGER_NEUTRAL:
        return None
    if argument not in list(op.operands) or (str(argument.type) == "i1" and op.name not in _LOGIC):
        return None
    is_rounded = op.name in _ROUNDED and str(argument.type) in _ROUNDED_EACH_STEP
    return None if is_rounded else Combiner(op.name)


def combining_op(argument: Any, yielded: Any) -> str | None:
    """The associative op by which a body combines the old value of an output with the new.

    None where it does otherwise, or uses the old value for something else as well.
    """
    owner = yielded.owner
    if isinstance(owner, ir.Block) or len(list(argument.uses)) != 1:
        return None
    op = owner.operation
    if str(op.results[0].type) == "i1" and op.name not in _LOGIC:
        return None
    if op.name == "math.fma":
        return "arith.addf" if op.operands[2] == argument else None
    if op.name in _FLOAT_NEUTRAL or op.name in _INTEGER_NEUTRAL:
        return str(op.name) if argument in list(op.operands) else None
    return None


def halves(value: Any) -> tuple[Any, Any]:
    """The lower and the upper half of a vector."""
    half = value.type.shape[0] // 2
    type_ = ir.VectorType.get([half], value.type.element_type)
    low, high = (
        vector.extract_strided_slice(type_, value, [start], [half], [1]) for start in (0, half)
    )
    return low, high


def split(value: Any, parts: int) -> list[Any]:
    """Split a vector into parts; their number is a power of two."""
    if parts == 1:
        return [value]
    return [part for half in halves(value) for part in split(half, parts // 2)]


def joined(parts: Sequence[Any]) -> Any:
    """Vectors, a power of two of them, as one."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    low, high = joined(parts[:half]), joined(parts[half:])
    return vector.shuffle(low, high, list(range(2 * low.type.shape[0])))
