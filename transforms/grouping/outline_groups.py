"""Make each group a function of its own, whose border no fusion crosses.

before:
    %r = "linalg_ext.group"(%x, %e) ({
      ^bb0(%a: tensor<4xf32>, %o: tensor<4xf32>):
        %s = linalg.exp ins(%a : tensor<4xf32>) outs(%o : tensor<4xf32>) -> tensor<4xf32>
        "linalg_ext.group_yield"(%s) {operandSegmentSizes = array<i32: SLOTS_16>}
          : (tensor<4xf32>) -> ()
      }) {label = "exp", operandSegmentSizes = array<i32: SLOTS_64, SLOTS_16>,
          resultSegmentSizes = array<i32: SLOTS_16>}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
after:
    %r = func.call @linalg_ext_group_0(%x, %e)
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>

`SLOTS_16` stands for a 1 and fifteen times 0, one for each operand that a group could have. The
function is private and is not inlined by upstream's pass; `linalg-ext-inline-outlined` puts it
back, its ops marked. Passes that run meanwhile change its ops within the group. A group that says
`tiling` is tiled here, and the producers of its result are fused into the tiles. A group inside
another is a function of its own where it says `tiling` or `preserve`, and goes the way of the other
where it does not. Annotations that a group cannot have are named in the report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from linalg_ext.bindings import func, ir
from linalg_ext.errors import ArgumentError
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.group import GROUPS, LABEL, PRESERVE, PRESERVED, TILING, UNIT, Group
from linalg_ext.transforms.gml_st.tile_and_fuse import tile_and_fuse
from linalg_ext.transforms.ir_utils.outlining import taken_from_outside
from linalg_ext.transforms.ir_utils.walking import (
    enclosing,
    is_unused,
    operations,
    producer,
    replace_op,
)

from ._annotations import annotations_text
from .inline_groups import inline_group, replace_uses

NAME = "linalg-ext-outline-groups"

STEM = "linalg_ext_group_"
"""The prefix of the functions' names; the number of the group follows."""

NO_INLINE = "no_inline"

_RECREATED = frozenset({"arith.constant", "tensor.empty"})
"""Ops that a function has for itself, rather than being given their result."""


@module_pass(NAME, on=GROUPS)
def outline_groups(module: ir.Operation) -> Report:
    """Make groups private functions, and tile those that have a tiling."""
    report = Report(NAME)
    attributes_of_ops = (op.operation.attributes for op in module.regions[0].blocks[0].operations)
    symbols = {
        ir.StringAttr(attributes["sym_name"]).value
        for attributes in attributes_of_ops
        if "sym_name" in attributes
    }
    # The innermost groups come first: `operations` lists them after those around them.
    for number, op in reversed(list(enumerate(operations(module, GROUPS)))):
        group = Group.of(op)
        report.matched[op.name] += 1
        report.changed[op.name] += 1
        is_nested = any(enclosing(op, name) for name in GROUPS)
        if is_nested and not (group.tiling or group.preserve):
            inline_group(op)
            continue
        name = f"{STEM}{number}"
        while name in symbols:
            name += "_"
        chosen = ChosenGroup.of(group, name)
        function = _outlined(op, group, name, number, module)
        if group.tiling:
            chosen = replace(chosen, obstacles=tuple(_tile(function, group.tiling)))
        for obstacle in chosen.obstacles:
            report.leave(chosen.title, obstacle)
        report.decisions.insert(0, chosen)
    return report


def _outlined(op: Any, group: Group, name: str, number: int, module: Any) -> Any:
    outer = [*group.inputs, *group.inits, *taken_from_outside(op)]
    inner = [*group.body.arguments, *outer[len(group.body.arguments) :]]
    distinct = tuple(dict.fromkeys(outer))
    passed = [value for value in distinct if not _is_recreated(value)]
    type_ = ir.FunctionType.get([v.type for v in passed], [v.type for v in group.yielded])
    with op.location, ir.InsertionPoint(module.regions[0].blocks[0]):
        function = func.FuncOp(name, type_, visibility="private").operation
        function.attributes[NO_INLINE] = ir.UnitAttr.get()
        i64 = ir.IntegerType.get_signless(64)
        function.attributes[UNIT] = ir.IntegerAttr.get(i64, number)
        if group.preserve:
            function.attributes[PRESERVED] = ir.UnitAttr.get()
        block = function.regions[0].blocks.append(*type_.inputs)
    with op.location, ir.InsertionPoint(block):
        inside = dict(zip(passed, block.arguments, strict=True))
        for value in distinct:
            if value not in inside:
                inside[value] = producer(value).clone().results[0]
    for old, value in zip(inner, outer, strict=True):
        replace_uses(old, inside[value], op, inside=True)
    *ops, end = [inner_op.operation for inner_op in group.body.operations]
    with op.location, ir.InsertionPoint(block):
        returned = func.ReturnOp(list(end.operands)).operation
    for inner_op in ops:
        inner_op.move_before(returned)
    with op.location, ir.InsertionPoint(op):
        call = func.CallOp(list(type_.results), ir.FlatSymbolRefAttr.get(name), passed)
    replace_op(op, *call.results)
    for value in distinct:
        owner = producer(value)
        if owner is not None and owner.name in _RECREATED and is_unused(value):
            owner.operation.erase()
    return function


def _is_recreated(value: Any) -> bool:
    owner = producer(value)
    return owner is not None and owner.name in _RECREATED and not len(owner.operands)


def _tile(function: Any, sizes: Sequence[int]) -> list[str]:
    """Tile the results of a function; return the obstacles if it cannot be tiled."""
    with ir.InsertionPoint(function):
        spare = function.clone()
    try:
        report = tile_and_fuse.apply(function, tile_sizes=(tuple(sizes),))
    except ArgumentError as error:
        # It may be half done.
        function.erase()
        return [f"tiling = {list(sizes)}: {error.what}"]
    spare.erase()
    reasons = [f"{op}: {reason}" for op, why in report.left.items() for reason in sorted(why)]
    if not report:
        reasons = reasons or ["the group has no op that can be tiled"]
    return [f"tiling = {list(sizes)}: {obstacle}" for obstacle in reasons]


_OWN = (LABEL, TILING, PRESERVE)


@dataclass(frozen=True)
class ChosenGroup:
    """A group that is lowered separately from all others.

    Attributes:
        name: of the function that it is meanwhile.
        label: its name for people.
        ops: how many of each name it holds.
        annotations: its annotations besides its label.
        obstacles: the annotations that it cannot have, with reasons.
    """

    name: str
    label: str
    ops: tuple[tuple[str, int], ...]
    annotations: tuple[str, ...]
    obstacles: tuple[str, ...] = ()

    @classmethod
    def of(cls, group: Group, name: str) -> ChosenGroup:
        """Return a group that is about to become the function of that name."""
        counted = Counter(op.operation.name for op in list(group.body.operations)[:-1])
        annotations = [f"tiling = {list(group.tiling)}"] if group.tiling else []
        annotations += [PRESERVE] if group.preserve else []
        rest = {name: str(note) for name, note in group.annotations.items() if name not in _OWN}
        annotations += [annotations_text({name: text}) for name, text in rest.items()]
        return cls(name, group.label, tuple(counted.items()), tuple(annotations))

    @property
    def title(self) -> str:
        """The title of the table."""
        return f"group {self.label or self.name.rpartition('_')[2]} @{self.name}"

    def rows(self) -> Sequence[tuple[str, str]]:
        """Return the ops of the group, the annotations that it asks for, and those refused."""
        contents = ", ".join(f"{count} {op}" if count > 1 else op for op, count in self.ops)
        rows = [("holds", contents)]
        rows += [("asks", request) for request in self.annotations]
        return [*rows, *(("not", obstacle) for obstacle in self.obstacles)]
