"""`linalg_ext.scan`: along a dimension, each element combined with all before it.

    carried = f(carried, input_0[..., k, ...], input_1[..., k, ...], ...)      k = 0, 1, ...
    result[..., k, ...] = carried                    before that step where the scan is exclusive

The region is `f`. `initial` is what is carried first, and the second result what is carried at
last; both lack the dimension. Elements may be carried in a wider float than the result has, and
are rounded where they are written. Without `initial` the one input gives its first element as it
is, and there is no second result. `reverse` runs from the last index to the first.

Running sums and products, cumulative extrema and recurrences (`f = a * carried + x`) are such.
Source: IREE's `iree_linalg_ext.scan`, torch-mlir's `tm_tensor.scan`.
"""

from __future__ import annotations

from dataclasses import dataclass

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, ArityError, DTypeError, ShapeError
from linalg_ext.structured.destination_ops.op_fields import (
    body_of,
    check_body,
    check_elements,
    check_results,
    check_same_shape,
    differ,
    dimension_of,
    flag_of,
    ranked_tensor,
    segments_of,
)
from linalg_ext.structured.utils.constants import is_float
from linalg_ext.structured.utils.operands import static_sizes

MOST_INPUTS = 8


@dataclass(frozen=True)
class Scan:
    """The fields of a `linalg_ext.scan`.

    Attributes:
        inputs: tensors of one shape, `MOST_INPUTS` at most.
        init: the destination, of that shape.
        initial: what is carried first, without the dimension; None where the input begins.
        dimension: the dimension along which it runs.
        body: a block of (carried, an element of each input) that yields what is carried on.
        is_inclusive: True where an element counts for its own place.
        is_reverse: True where it runs backwards.
    """

    inputs: tuple[ir.Value, ...]
    init: ir.Value
    initial: ir.Value | None
    dimension: int
    body: ir.Block
    is_inclusive: bool
    is_reverse: bool

    @classmethod
    def of(cls, op: ir.Operation) -> Scan:
        """Read an op.

        Raises:
            ArgumentError: it breaks a rule.
        """
        inputs, inits, initials = segments_of(op, (MOST_INPUTS, 1, 1))
        if not inputs or not inits:
            raise ArityError("scan of nothing", expected="inputs, and a destination")
        (init,) = inits
        rank = ranked_tensor(inputs[0], "input 0").rank
        for number, value in enumerate((*inputs[1:], init), start=1):
            name = f"input {number}" if number < len(inputs) else "the destination"
            ranked_tensor(value, name)
            check_same_shape(value, name, inputs[0], "input 0")
        body = body_of(op)
        if body is None:
            raise ArgumentError(
                "scan has no body", expected="a region of what is carried, and of the elements"
            )
        found = cls(
            tuple(inputs),
            init,
            initials[0] if initials else None,
            dimension_of(op, rank),
            body,
            flag_of(op, "inclusive", default=True),
            flag_of(op, "reverse"),
        )
        found._check_carried()
        elements = [ir.ShapedType(value.type).element_type for value in inputs]
        check_body(body, [found.carried, *elements], found.carried, "the body")
        check_results(op, [init, *initials])
        return found

    @property
    def carried(self) -> ir.Type:
        """The type of what is carried."""
        return ir.ShapedType(
            (self.init if self.initial is None else self.initial).type
        ).element_type

    def _check_carried(self) -> None:
        if self.initial is None:
            if len(self.inputs) != 1 or not self.is_inclusive:
                raise ArityError(
                    "scan has no initial value",
                    expected="one, where it is exclusive or has several inputs",
                )
            check_elements(self.inputs[0], "input 0", self.init)
            return
        ranked_tensor(self.initial, "the initial value")
        sizes = list(static_sizes(self.inputs[0]))
        del sizes[self.dimension]
        given = static_sizes(self.initial)
        if len(given) != len(sizes) or any(map(differ, given, sizes)):
            raise ShapeError(
                f"the initial value is of type {self.initial.type}, "
                f"input 0 of type {self.inputs[0].type}",
                expected=f"the shape of input 0 without dimension {self.dimension}",
            )
        element = ir.ShapedType(self.init.type).element_type
        if element != self.carried and not _is_wider(self.carried, element):
            raise DTypeError(
                f"{self.carried} is carried, the destination has elements of type {element}",
                expected="the same type, or a narrower float",
            )


def _is_wider(type_: ir.Type, than: ir.Type) -> bool:
    return (
        isinstance(type_, ir.FloatType)
        and isinstance(than, ir.FloatType)
        and is_float(type_)
        and type_.width > than.width
    )
