"""The common part of the lowerings of StableHLO's ops with regions: their types, their bodies.

The bodies compute on tensors without dimensions, and integers there may be unsigned. Loops and
comparators must compute on signless scalars. Casts between the two are inserted, which
`reconcile-unrealized-casts` and `canonicalize` remove.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from linalg_ext.bindings import builtin, ir, tensor
from linalg_ext.rewriting import Report
from linalg_ext.transforms.ir_utils.tensor_loops import inlined
from linalg_ext.transforms.ir_utils.walking import operations, replace_each


def signless(type_: Any) -> Any:
    """A tensor's type with integers that have no sign of their own."""
    element = type_.element_type
    if not isinstance(element, ir.IntegerType) or element.is_signless:
        return type_
    plain = ir.IntegerType.get_signless(element.width)
    return ir.RankedTensorType.get(type_.shape, plain, type_.encoding)


def is_unsigned(type_: Any) -> bool:
    """Return whether a tensor is of unsigned integers."""
    element = type_.element_type
    return isinstance(element, ir.IntegerType) and element.is_unsigned


def cast(value: Any, type_: Any) -> Any:
    """A tensor as one of the type, which differs in its sign at most."""
    if value.type == type_:
        return value
    return builtin.unrealized_conversion_cast([type_], [value])


def plain(value: Any) -> Any:
    """A tensor without sign; the element of one that has no dimensions."""
    value = cast(value, signless(value.type))
    return value if value.type.rank else tensor.extract(value, [])


def wrapped(value: Any, type_: Any) -> Any:
    """Return the result of `plain` as a tensor of the type again."""
    if not isinstance(value.type, ir.RankedTensorType):
        value = tensor.from_elements(ir.RankedTensorType.get([], value.type), [value])
    return cast(value, type_)


def plain_types(types: Sequence[Any]) -> list[Any]:
    """The types that `plain` makes of tensors of these."""
    found = [signless(type_) for type_ in types]
    return [type_ if type_.rank else type_.element_type for type_ in found]


def body(block: Any, values: Sequence[Any]) -> list[Any]:
    """A region's block copied to the insertion point, from and to what is `plain`."""
    types = [argument.type for argument in block.arguments]
    given = [wrapped(value, type_) for value, type_ in zip(values, types, strict=True)]
    return [plain(value) for value in inlined(block, given)]


def lower_each(
    name: str, module: Any, lowerings: Mapping[str, Callable[[Any], Sequence[Any]]]
) -> Report:
    """Put in the place of ops of StableHLO what gives their results, `plain`.

    Args:
        name: of the pass, for its report.
        module: what they are in.
        lowerings: by the name of the op, what builds its results.
    """

    def build(op: Any) -> list[Any]:
        pairs = zip(op.results, lowerings[op.name](op), strict=True)
        return [wrapped(value, result.type) for result, value in pairs]

    # From the inside out: to copy a body is to copy what was lowered in it.
    return replace_each(name, reversed(operations(module, lowerings)), build)
