"""Products of two operands that structured ops sum, each operand as it is, cast, or computed.

C[c] += cast(A[a]) * cast(B[b])
C[c] += (cast(A[a]) - p) * (cast(B[b]) - q)         with integers, p and q being scalars
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import RecognitionError
from linalg_ext.structured.contraction_form import Contraction, contraction_of
from linalg_ext.structured.recognition import recognize
from linalg_ext.transforms.codegen.base.machine import this_machine
from linalg_ext.transforms.codegen.base.payload import (
    NARROW_FLOATS,
    Elementwise,
    captured_scalars,
    combination_of,
    needed_for,
    read_elementwise,
    read_payload,
)
from linalg_ext.transforms.codegen.base.problem import Argument, argument_of, bits_of
from linalg_ext.transforms.ir_utils.generics import input_count, inside, maps_of, output_of
from linalg_ext.transforms.ir_utils.walking import producer

SUMS = ("f32", "f64", "i32", "i64")
"""The types that are summed in."""

LEAST_PRODUCTS = 512
"""A contraction of fewer products than this is done before a nest has begun."""

Dims = tuple[str, ...]
"""The dimension of each axis of an operand."""


@dataclass(frozen=True)
class Factor:
    """An operand of a product.

    Attributes:
        value: the buffer.
        dims: the dimension of each axis.
        source: the type of its elements.
        cast: the op that makes elements of C's type of them; None where they are of it.
        zero_point: the integer of C's type that is subtracted then, if there is one.
        prologue: the computation on its elements instead, if it is more than that.
        others: the other operands of that, and its scalars.
    """

    value: Any
    dims: Dims
    source: str
    cast: str | None = None
    zero_point: Any = None
    prologue: Elementwise | None = None
    extra_operands: tuple[Any, ...] = ()

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
    c: Dims
    dims: Dims

    @property
    def element(self) -> str:
        """The type of the sums."""
        return str(self.output.type.element_type)


def contraction_in(op: Any) -> Contraction | None:
    """Return the contraction of two operands that a structured op is; None for others."""
    try:
        return contraction_of(recognize(op))
    except RecognitionError:
        return None


def is_contraction(op: Any) -> bool:
    """Return whether a generic is a contraction of two tensors."""
    if len(op.operands) != 3 or len(op.results) != 1:
        return False
    if not all(isinstance(value.type, ir.ShapedType) for value in op.operands):
        return False  # a scalar is not an operand of a matrix product
    contraction = contraction_in(op)
    return contraction is not None and bool(contraction.contracted) and not contraction.lone


def is_packed(op: Any) -> bool:
    """Return whether a generic is a contraction of tensors whose operands are packed."""
    return str(op.results[0].type.element_type) in SUMS and is_contraction(op)


def is_widened(value: Any) -> bool:
    """Return whether packing can compute a value from an operand of fewer bits.

    A cast is an example, or a dequantization: the wide operand is then never in memory. Every loop
    of the value's op must index the narrow operand.
    """
    if not this_machine().has_fma:
        return False
    op = producer(value)
    arguments = list(op.regions[0].blocks[0].arguments)[:-1]
    maps = maps_of(op)
    if len(op.results) != 1 or not all(map_.is_projected_permutation for map_ in maps):
        return False
    largest = max(maps[:-1], key=lambda map_: len(map_.results), default=None)
    if largest is None or len(largest.results) < maps[-1].n_dims:
        return False
    read = op.operands[maps.index(largest)].type
    if not isinstance(read, ir.ShapedType) or _bits(read) >= _bits(op.results[0].type):
        return False
    numbers = {value: number for number, value in enumerate([*arguments, *captured_scalars(op)])}
    payload = read_payload(op, numbers, len(numbers))
    return not isinstance(payload, str) and not payload.is_long


def _bits(type_: Any) -> int:
    element = str(type_.element_type)
    return bits_of(element) if element.lstrip("bfi").isdigit() else 64


def cast_between(source: str, target: str, *, unsigned: bool = False) -> str | None:
    """Return the op that casts elements of one type to another; None if absent."""
    kinds = _kind(source), _kind(target)
    if None in kinds or source == target:
        return None
    widens = bits_of(source) < bits_of(target)
    if kinds == ("f", "f"):
        if bits_of(source) == bits_of(target):
            return None
        return "arith.extf" if widens else "arith.truncf"
    if kinds == ("i", "i"):
        if not widens:
            return "arith.trunci"
        return "arith.extui" if unsigned else "arith.extsi"
    if kinds == ("i", "f"):
        return "arith.uitofp" if unsigned else "arith.sitofp"
    return None


def _kind(element: str) -> str | None:
    if element in ("f16", "bf16", "f32", "f64"):
        return "f"
    return "i" if element in ("i8", "i16", "i32", "i64") else None


def read_product(op: Any) -> Product | str:
    """Read an op on buffers as a sum of products, or say why it is not one."""
    output = output_of(op)
    target = str(output.type.element_type)
    elements = [str(value.type.element_type) for value in op.operands if _is_buffer(value)]
    unfit = f"element types {', '.join(sorted(set(elements)))}"
    if target in NARROW_FLOATS:
        return f"{unfit}; with the compute_type f32 it can be packed"
    if target not in SUMS:
        return unfit
    try:
        contraction = contraction_of(recognize(op))
    except RecognitionError as error:
        return error.what
    if contraction is None:
        return _read_body(op) or "the op is not a contraction of two operands"
    if any(element != target and cast_between(element, target) is None for element in elements):
        return unfit
    a, b = (
        Factor(value, dims, element, cast_between(element, target, unsigned=contraction.unsigned))
        for value, dims, element in zip(
            op.operands, (contraction.a, contraction.b), elements, strict=False
        )
    )
    return Product((a, b), output, contraction.c, contraction.dims)


def _read_body(op: Any) -> Product | None:
    """Return the product of a generic whose operands differ in sign, or are computed."""
    if op.name != "linalg.generic" or input_count(op) != len(op.operands) - 1:
        return None
    maps = maps_of(op)
    dims = [_dims(map_) for map_ in maps]
    body = op.regions[0].blocks[0]
    combination = combination_of(op)
    if combination is None or dims[-1] is None:
        return None
    total, added = combination
    product = inside(added, body)
    kind = "f" if str(added.type).startswith("f") else "i"
    names = None if product is None else (total.name, product.name)
    if names != (f"arith.add{kind}", f"arith.mul{kind}"):
        return None
    factors: list[Factor] = []
    for value in product.operands:
        factor = _factor(op, value, dims) or _computed(op, value, dims)
        if factor is None:
            return None
        factors.append(factor)
    if any(factor.prologue is not None for factor in factors):
        # Zero points are for dot products, which multiply elements as they are.
        factors = [
            factor if factor.zero_point is None else _computed(op, value, dims) or factor
            for factor, value in zip(factors, product.operands, strict=True)
        ]
    loops = tuple(f"d{number}" for number in range(maps[0].n_dims))
    output = output_of(op)
    return Product((factors[0], factors[1]), output, dims[-1], loops)


def _factor(op: Any, value: Any, dims: Sequence[Dims | None]) -> Factor | None:
    """Return a factor that is an element, cast and less a zero point."""
    body = op.regions[0].blocks[0]
    zero_point = None
    difference = inside(value, body)
    if difference is not None and difference.name == "arith.subi":
        value, subtrahend = difference.operands
        zero_point = _scalar(op, subtrahend)
        if zero_point is None:
            return None
    cast, name = inside(value, body), None
    if cast is not None and cast.name in ("arith.extsi", "arith.extui"):
        name, value = cast.name, cast.operands[0]
    arguments = list(body.arguments)[:-1]
    if value not in arguments:
        return None
    number = arguments.index(value)
    operand, axes = op.operands[number], dims[number]
    if axes is None or not _is_buffer(operand):
        return None
    return Factor(operand, axes, str(operand.type.element_type), name, zero_point)


def _computed(op: Any, value: Any, dims: Sequence[Dims | None]) -> Factor | None:
    """Return a factor that is computed of elements of one operand, and of others at its indices."""
    used = {operand for inner in needed_for(value) for operand in inner.operands}
    arguments = list(op.regions[0].blocks[0].arguments)[:-1]
    read: list[tuple[Any, Dims, Any]] = []
    for operand, axes, argument in zip(op.operands, dims, arguments, strict=False):
        if argument in used and _is_buffer(operand):
            if axes is None:
                return None
            read.append((operand, axes, argument))
    if not read:
        return None
    first = max(read, key=lambda item: len(item[1]))
    buffer, place, element = first
    read_operands: list[tuple[Any, Argument]] = []
    values: list[Any] = []
    for operand, axes, argument in read:
        if argument == element:
            continue
        other = argument_of(operand, axes)
        if isinstance(other, str) or not set(axes) <= set(place):
            return None
        read_operands.append((argument, other))
        values.append(operand)
    scalars = [scalar for scalar in captured_scalars(op) if _is_used(scalar, op, used)]
    prologue = read_elementwise(op, [element], read_operands, scalars, value)
    if prologue is None:
        return None
    source = str(buffer.type.element_type)
    return Factor(buffer, place, source, prologue=prologue, extra_operands=(*values, *scalars))


def _is_used(scalar: Any, op: Any, used: set[Any]) -> bool:
    arguments = op.regions[0].blocks[0].arguments
    return scalar in used or any(
        argument in used
        for operand, argument in zip(op.operands, arguments, strict=True)
        if operand == scalar
    )


def _scalar(op: Any, value: Any) -> Any:
    """Return the value outside the body that a scalar in it is; None for an element."""
    body = op.regions[0].blocks[0]
    arguments = list(body.arguments)
    if value in arguments:
        operand = op.operands[arguments.index(value)]
        return None if isinstance(operand.type, ir.ShapedType) else operand
    return value if inside(value, body) is None else None


def _dims(map_: Any) -> Dims | None:
    if not all(isinstance(result, ir.AffineDimExpr) for result in map_.results):
        return None
    names = tuple(f"d{result.position}" for result in map_.results)
    return names if len(set(names)) == len(names) else None


def _is_buffer(value: Any) -> bool:
    return isinstance(value.type, ir.MemRefType)
