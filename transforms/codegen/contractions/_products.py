"""Reading what a structured op on buffers sums: products of two operands, each as it is or cast.

C[c] += cast(A[a]) * cast(B[b])
C[c] += (cast(A[a]) - p) * (cast(B[b]) - q)         with integers, p and q being scalars
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import RecognitionError
from linalg_ext.structured.contraction_form import contraction_of
from linalg_ext.structured.recognition import recognize
from linalg_ext.transforms.codegen.base.operand_types import Argument, argument_of
from linalg_ext.transforms.codegen.base.payload import (
    Elementwise,
    captured_scalars,
    needed_for,
    read_payload,
)
from linalg_ext.transforms.codegen.base.vectorizable import NARROW_FLOATS
from linalg_ext.transforms.ir_utils.generics import maps_of
from linalg_ext.transforms.ir_utils.walking import producer

from ._conversion import cast_between

SUMS = ("f32", "f64", "i32", "i64")
"""The types that are summed in."""


@dataclass(frozen=True)
class Factor:
    """An operand of a product.

    Attributes:
        value: the buffer.
        dims: the dimension of each axis.
        source: the type of its elements.
        cast: the op that makes elements of C's type of them; None where they are of it.
        zero_point: the integer of C's type that is subtracted then, if there is one.
        prologue: what is computed of its elements instead, if it is more than that.
        others: the other operands of that, and its scalars.
    """

    value: Any
    dims: tuple[str, ...]
    source: str
    cast: str | None = None
    zero_point: Any = None
    prologue: Elementwise | None = None
    others: tuple[Any, ...] = ()

    @property
    def is_unsigned(self) -> bool:
        """True where its integers are read as unsigned."""
        return self.cast in ("arith.extui", "arith.uitofp")

    @property
    def sign(self) -> str:
        """The type as dot products call it: `bf16`, `u8`, `s8`, ..."""
        if self.source.startswith("i"):
            return ("u" if self.is_unsigned else "s") + self.source[1:]
        return self.source


@dataclass(frozen=True)
class Product:
    """A sum of products.

    Attributes:
        factors: the two operands, in the order of the op.
        output: the buffer of the sums.
        c: the dimension of each of its axes.
        dims: the iteration space.
    """

    factors: tuple[Factor, Factor]
    output: Any
    c: tuple[str, ...]
    dims: tuple[str, ...]

    @property
    def element(self) -> str:
        """The type of the sums."""
        return str(self.output.type.element_type)


def read_product(op: Any) -> Product | str:
    """An op as a sum of products, or why it is not one."""
    output = op.operands[len(op.operands) - 1]
    target = str(output.type.element_type)
    elements = [str(value.type.element_type) for value in op.operands if _is_buffer(value)]
    unfit = f"element types {', '.join(sorted(set(elements)))}"
    if target in NARROW_FLOATS:
        return f"{unfit}; with the compute_type f32 it can be packed"
    if target not in SUMS:
        return unfit
    try:
        recognized = recognize(op)
    except RecognitionError as error:
        return error.what
    contraction = contraction_of(recognized)
    if contraction is None:
        read = _read_body(op)
        return "the op is not a contraction of two operands" if read is None else read
    casts = [
        cast_between(element, target, unsigned=contraction.unsigned) for element in elements[:2]
    ]
    if any(each != target and cast_between(each, target) is None for each in elements):
        return unfit
    a, b, _ = op.operands
    return Product(
        (
            Factor(a, contraction.a, elements[0], casts[0]),
            Factor(b, contraction.b, elements[1], casts[1]),
        ),
        output,
        contraction.c,
        contraction.dims,
    )


def _read_body(op: Any) -> Product | None:
    """A generic whose operands differ in sign, have zero points, or are computed otherwise."""
    if op.name != "linalg.generic":
        return None
    maps = maps_of(op)
    dims = [_dims(map_) for map_ in maps]
    output = op.operands[len(op.operands) - 1]
    body = op.regions[0].blocks[0]
    *arguments, total = body.arguments
    yielded = list(list(body.operations)[-1].operation.operands)
    if len(yielded) != 1:
        return None
    kind = "f" if str(total.type).startswith("f") else "i"
    added = _other_operand(yielded[0], f"arith.add{kind}", total)
    product = None if added is None else _owner(added, body, f"arith.mul{kind}")
    if product is None or dims[-1] is None:
        return None
    factors: list[Factor] = []
    for value in product.operands:
        factor = _factor(value, body, arguments, list(op.operands), dims)
        factor = factor or _computed(op, value, arguments, dims)
        if factor is None:
            return None
        factors.append(factor)
    if len(factors) != 2 or _uses(total) != 1:
        return None
    if any(factor.prologue is not None for factor in factors):
        # Zero points are for dot products, which multiply elements as they are.
        factors = [
            factor if factor.zero_point is None else _computed(op, value, arguments, dims) or factor
            for factor, value in zip(factors, product.operands, strict=True)
        ]
    names = tuple(f"d{number}" for number in range(maps[0].n_dims))
    return Product((factors[0], factors[1]), output, dims[-1], names)


def _factor(
    value: Any,
    body: Any,
    arguments: Sequence[Any],
    operands: Sequence[Any],
    dims: Sequence[tuple[str, ...] | None],
) -> Factor | None:
    zero_point = None
    difference = _owner(value, body, "arith.subi")
    if difference is not None:
        value, taken = difference.operands
        zero_point = _scalar(taken, body, arguments, operands)
        if zero_point is None:
            return None
    cast = _owner(value, body)
    name = None
    if cast is not None and cast.name in ("arith.extsi", "arith.extui"):
        name, value = cast.name, cast.operands[0]
    if value not in arguments:
        return None
    number = list(arguments).index(value)
    operand, axes = operands[number], dims[number]
    if axes is None or not _is_buffer(operand):
        return None
    return Factor(operand, axes, str(operand.type.element_type), name, zero_point)


def _computed(
    op: Any, value: Any, arguments: Sequence[Any], dims: Sequence[tuple[str, ...] | None]
) -> Factor | None:
    """A factor that is computed of elements of one operand, and of others at its place."""
    used = {each for inner in needed_for(value) for each in inner.operands}
    read = [
        (operand, axes, inside)
        for operand, axes, inside in zip(op.operands, dims, arguments, strict=False)
        if inside in used and _is_buffer(operand)
    ]
    if not read or any(axes is None for _, axes, _ in read):
        return None
    first = max(read, key=lambda each: len(each[1] or ()))
    others = [each for each in read if each is not first]
    buffer, place, argument = first
    scalars = [scalar for scalar in captured_scalars(op) if _is_used(scalar, op, used)]
    known: dict[Any, int] = {argument: 0}
    given: list[Argument] = []
    for operand, axes, inside in others:
        found = argument_of(operand, axes or ())
        if isinstance(found, str) or not set(axes or ()) <= set(place or ()):
            return None
        given.append(found)
        known[inside] = len(given)
    for number, scalar in enumerate(scalars, start=1 + len(given)):
        known[scalar] = number
        known |= {
            inside: number
            for operand, inside in zip(op.operands, arguments, strict=False)
            if operand == scalar
        }
    types = tuple(str(scalar.type) for scalar in scalars)
    payload = read_payload(op, known, 1 + len(given) + len(scalars), value)
    if isinstance(payload, str) or "index" in types:
        return None
    return Factor(
        buffer,
        place or (),
        str(buffer.type.element_type),
        prologue=Elementwise(tuple(given), types, payload),
        others=(*(operand for operand, _, _ in others), *scalars),
    )


def _is_used(scalar: Any, op: Any, used: set[Any]) -> bool:
    inner = op.regions[0].blocks[0].arguments
    return scalar in used or any(
        inside in used
        for operand, inside in zip(op.operands, inner, strict=True)
        if operand == scalar
    )


def _scalar(value: Any, body: Any, arguments: Sequence[Any], operands: Sequence[Any]) -> Any:
    """The value outside the body that a scalar in it is; None where it is an element."""
    if value in arguments:
        operand = operands[list(arguments).index(value)]
        return None if isinstance(operand.type, ir.ShapedType) else operand
    owner = producer(value)
    return value if owner is None or owner.block != body else None


def _dims(map_: Any) -> tuple[str, ...] | None:
    """The dimensions of a projected permutation."""
    if not all(isinstance(result, ir.AffineDimExpr) for result in map_.results):
        return None
    names = tuple(f"d{result.position}" for result in map_.results)
    return names if len(set(names)) == len(names) else None


def _other_operand(value: Any, name: str, one: Any) -> Any:
    """Return the other operand of a binary op with `one` among its operands.

    None where the value's producer is not such an op of that name.
    """
    op = producer(value)
    if op is None or op.name != name or one not in list(op.operands):
        return None
    left, right = op.operands
    return right if left == one else left


def _owner(value: Any, body: Any, name: str | None = None) -> Any:
    op = producer(value)
    if op is None or op.block != body or (name is not None and op.name != name):
        return None
    return op


def _is_buffer(value: Any) -> bool:
    return isinstance(value.type, ir.MemRefType)


def _uses(value: Any) -> int:
    return sum(1 for _ in value.uses)
