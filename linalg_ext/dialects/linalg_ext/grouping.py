"""Ops of the dialect `linalg_ext` that hold others together: group and isolated_group."""

# No `from __future__ import annotations`: the bindings read the annotations of these classes.

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from linalg_ext.bindings import ext, ir
from linalg_ext.dialects.linalg_ext.dialect import (
    LinalgExt,
    ends_region_of,
    is_verified,
    listed,
    tensors,
)
from linalg_ext.errors import ArityError
from linalg_ext.ir.context import ensure_dialects
from linalg_ext.structured.extension import SEGMENTS
from linalg_ext.structured.group import (
    GROUP,
    GROUP_YIELD,
    GROUPS,
    INIT_SLOTS,
    INPUT_SLOTS,
    ISOLATED,
    LABEL,
    PRESERVE,
    RESULT_SEGMENTS,
    TILING,
    check_group,
)
from linalg_ext.structured.operands import as_values, erased_on_error

_Values: TypeAlias = Sequence[ir.Value | ir.OpView]

GroupBody: TypeAlias = Callable[..., "ir.Value | ir.OpView | _Values"]
"""Builds the results of a group from the arguments of its block, at the current insertion point."""

_INPUTS = [f"in_{number}" for number in range(INPUT_SLOTS)]
_INITS = [f"init_{number}" for number in range(INIT_SLOTS)]
_RESULTS = [f"result_{number}" for number in range(INIT_SLOTS)]


class _GroupOp(LinalgExt.Operation):
    """Ops that belong together, in destination style.

    Each input, destination and result is optional: those of one variadic group would all have to be
    of one type.
    """

    __annotations__ = {
        **dict.fromkeys((*_INPUTS, *_INITS), ext.Operand[Any] | None),
        **dict.fromkeys(_RESULTS, ext.Result[Any] | None),
        "body": ext.Region,
    }
    vars().update(dict.fromkeys((*_INPUTS, *_INITS)))
    vars().update(
        {f"result_{n}": ext.result(kw_only=True, default_factory=None) for n in range(INIT_SLOTS)}
    )

    def verify_region_invariants(self) -> bool:
        """Return whether the op keeps its rules; those in it are sound before it is looked at."""
        return is_verified(self, check_group)


class GroupOp(_GroupOp, name="group", traits=[ext.Pure]):
    """Ops that belong together."""


class IsolatedGroupOp(
    _GroupOp, name="isolated_group", traits=[ext.Pure, ir.IsIsolatedFromAboveTrait]
):
    """Ops that belong together, and use nothing from above but their inputs and destinations."""


class GroupYieldOp(LinalgExt.Operation, name="group_yield", traits=[ir.IsTerminatorTrait]):
    """Ends a group with its results: values of several types, which those of `yield` are not."""

    __annotations__ = {f"value_{n}": ext.Operand[Any] | None for n in range(INIT_SLOTS)}
    vars().update({f"value_{n}": None for n in range(INIT_SLOTS)})

    def verify_invariants(self) -> bool:
        """Return whether it ends a group."""
        return ends_region_of(self, GROUPS, " or ".join(GROUPS))


def group(
    *inputs: ir.Value | ir.OpView,
    outs: _Values | ir.Value | ir.OpView = (),
    body: GroupBody,
    label: str = "",
    tiling: Sequence[int] = (),
    preserve: bool = False,
    isolated: bool = False,
    annotations: dict[str, ir.Attribute] | None = None,
) -> list[ir.Value]:
    """Build `linalg_ext.group` at the current insertion point; returns its results.

        >>> group(a, b, outs=o, body=lambda a, b, o: relu(matmul(a, b, outs=[o])), label="layer")

    Args:
        inputs: the values that the group reads, of any type, 64 at most.
        outs: its destinations, tensors, 16 at most; it has a result for each.
        body: builds its results from the arguments of its block: the inputs, the destinations.
        label: a name for people.
        tiling: the sizes of its tiles, outermost first, 0 for a dimension that is not tiled.
        preserve: keep it together until groups are inlined.
        isolated: build `linalg_ext.isolated_group`, which uses nothing else from above.
        annotations: further attributes.

    Raises:
        ArgumentError: it breaks a rule; nothing is left behind.
    """
    values = as_values("group", inputs)
    inits = tensors("group", listed(outs))
    if len(values) > INPUT_SLOTS or len(inits) > INIT_SLOTS:
        raise ArityError(
            f"group of {len(values)} inputs and {len(inits)} destinations",
            expected=f"{INPUT_SLOTS} and {INIT_SLOTS} at most",
        )
    attributes = dict(annotations or {})
    if label:
        attributes[LABEL] = ir.StringAttr.get(label)
    if tiling:
        attributes[TILING] = ir.DenseI64ArrayAttr.get(list(tiling))
    if preserve:
        attributes[PRESERVE] = ir.UnitAttr.get()
    op = empty_group(values, inits, attributes, isolated=isolated)
    block = op.regions[0].blocks[0]
    with erased_on_error(op, "group"):
        with ir.InsertionPoint(block):
            yielded = body(*block.arguments)
            end_group(as_values("group", listed(yielded)))
        check_group(op)
    return list(op.results)


def empty_group(
    inputs: Sequence[ir.Value],
    inits: Sequence[ir.Value],
    attributes: dict[str, ir.Attribute],
    *,
    isolated: bool = False,
) -> ir.Operation:
    """A group whose block has its arguments, and nothing else yet."""
    if (context := ir.Context.current) is not None:
        ensure_dialects(context)
    op = ir.Operation.create(
        ISOLATED if isolated else GROUP,
        results=[value.type for value in inits],
        operands=[*inputs, *inits],
        attributes={
            **attributes,
            SEGMENTS: _filled((len(inputs), INPUT_SLOTS), (len(inits), INIT_SLOTS)),
            RESULT_SEGMENTS: _filled((len(inits), INIT_SLOTS)),
        },
        regions=1,
    )
    op.regions[0].blocks.append(*(value.type for value in (*inputs, *inits)))
    return op


def end_group(values: Sequence[ir.Value]) -> ir.Operation:
    """Build `linalg_ext.group_yield` at the current insertion point."""
    if len(values) > INIT_SLOTS:
        raise ArityError(f"{GROUP_YIELD} of {len(values)} values", expected=f"{INIT_SLOTS} at most")
    return ir.Operation.create(
        GROUP_YIELD,
        operands=list(values),
        attributes={SEGMENTS: _filled((len(values), INIT_SLOTS))},
    )


def _filled(*groups: tuple[int, int]) -> ir.Attribute:
    """Return a mask of the slots of each group of operands: the first ones are taken."""
    return ir.DenseI32ArrayAttr.get(
        [int(slot < count) for count, slots in groups for slot in range(slots)]
    )
