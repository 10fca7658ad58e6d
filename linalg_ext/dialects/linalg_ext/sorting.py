"""The op of the dialect `linalg_ext` that puts elements in order: sort."""

# No `from __future__ import annotations`: the bindings read the annotations of these classes.

from typing import Any

from linalg_ext.bindings import arith, ext, ir
from linalg_ext.dialects.linalg_ext.dialect import LinalgExt, Outs, is_verified, listed, tensors
from linalg_ext.errors import ArityError, DTypeError
from linalg_ext.structured.destination_ops import check_destination_style_op
from linalg_ext.structured.destination_ops.building import Body, build_op
from linalg_ext.structured.destination_ops.sort import MOST_INPUTS
from linalg_ext.structured.extension.attributes import SEGMENTS
from linalg_ext.structured.extension.definitions import LETTERS
from linalg_ext.structured.utils.constants import is_float, is_integer
from linalg_ext.structured.utils.outputs import empty_tensor, sizes_of

_INPUTS = LETTERS[:MOST_INPUTS]


class SortOp(LinalgExt.Operation, name="sort", traits=[ext.Pure]):
    """Tensors put in order along a dimension, all by one comparator.

    Each input, destination and result is optional: those of one variadic group would all have to be
    of one type.
    """

    __annotations__ = {
        **dict.fromkeys(_INPUTS, ext.Operand[Any] | None),
        **dict.fromkeys((f"init_{letter}" for letter in _INPUTS), ext.Operand[Any] | None),
        **dict.fromkeys((f"result_{letter}" for letter in _INPUTS), ext.Result[Any] | None),
        "comparator": ext.Region,
    }
    vars().update(dict.fromkeys((*_INPUTS, *(f"init_{letter}" for letter in _INPUTS))))
    vars().update(
        {
            f"result_{letter}": ext.result(kw_only=True, default_factory=None)
            for letter in LETTERS[:MOST_INPUTS]
        }
    )

    def verify_invariants(self) -> bool:
        """Return whether the op keeps its rules."""
        return is_verified(self, check_destination_style_op)


def sort(
    *inputs: ir.Value | ir.OpView,
    dimension: int = -1,
    comparator: Body | None = None,
    is_stable: bool = True,
    outs: Outs | None = None,
) -> list[ir.Value]:
    """Build `linalg_ext.sort` at the current insertion point.

        >>> keys, values = sort(keys, values)
        >>> (descending,) = sort(x, comparator=lambda a, b: arith.cmpf(OGT, a, b))

    Args:
        inputs: tensors of one shape, 8 at most: what is compared, and what is moved along.
        dimension: along which they are sorted; from the last one back where negative.
        comparator: builds, from two elements (a, b) of each input in turn, whether a comes before
            b; where it is left out, the first input ascends: floats with NaN last, integers as
            signed ones.
        is_stable: whether equal ones must keep their order.
        outs: a destination for each input; where they are left out, new tensors.

    Returns:
        The sorted tensors, one for each input.

    Raises:
        ArgumentError: they do not fit together; names operands and types.
    """
    values = tensors("sort", inputs)
    if not 1 <= len(values) <= MOST_INPUTS:
        raise ArityError(f"sort of {len(values)} tensors", expected=f"1 to {MOST_INPUTS}")
    if outs is None:
        inits = [empty_tensor(sizes_of(v), ir.ShapedType(v.type).element_type) for v in values]
    else:
        inits = tensors("sort", listed(outs))
    elements = [ir.ShapedType(value.type).element_type for value in values]
    rank = ir.ShapedType(values[0].type).rank
    along = dimension + rank if dimension < 0 else dimension
    attributes: dict[str, ir.Attribute] = {
        "dimension": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), along),
        "is_stable": ir.BoolAttr.get(is_stable),
        SEGMENTS: ir.DenseI32ArrayAttr.get([*_counts(len(values)), *_counts(len(inits))]),
        "resultSegmentSizes": ir.DenseI32ArrayAttr.get(_counts(len(inits))),
    }
    body = comparator or _ascending(elements[0])
    types = [element for element in elements for _ in range(2)]
    return build_op(
        "linalg_ext.sort", [*values, *inits], inits, attributes, (body, types), regions=1
    )


def _counts(count: int) -> list[int]:
    if count > MOST_INPUTS:
        raise ArityError(f"sort has {count} destinations", expected=f"{MOST_INPUTS} at most")
    return [1] * count + [0] * (MOST_INPUTS - count)


def _ascending(element: ir.Type) -> Body:
    if not is_float(element) and not is_integer(element):
        raise DTypeError(
            f"sort: elements of type {element} have no order of their own",
            hint="give comparator=, which builds whether a comes before b",
        )

    def before(a: ir.Value, b: ir.Value, *_: ir.Value) -> ir.Value:
        if is_integer(element):
            return _value(arith.cmpi(arith.CmpIPredicate.slt, a, b))
        # Anything comes before NaN, but NaN itself.
        is_less = arith.cmpf(arith.CmpFPredicate.ULT, a, b)
        is_number = arith.cmpf(arith.CmpFPredicate.ORD, a, a)
        return _value(arith.andi(is_less, is_number))

    return before


def _value(made: Any) -> ir.Value:
    result: ir.Value = made
    return result
