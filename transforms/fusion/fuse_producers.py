"""Fuse element-wise producers into the ops that read them.

before:
    %e = tensor.empty() : tensor<9xf32>
    %s = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                         iterator_types = ["parallel"]}
        ins(%x : tensor<9xf32>) outs(%e : tensor<9xf32>) {
    ^bb0(%a: f32, %o: f32):
      %v = math.exp %a : f32
      linalg.yield %v : f32
    } -> tensor<9xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>,
                                          affine_map<(i) -> (i)>],
                         iterator_types = ["parallel"]}
        ins(%s, %y : tensor<9xf32>, tensor<9xf32>) outs(%e : tensor<9xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %v = arith.addf %a, %b : f32
      linalg.yield %v : f32
    } -> tensor<9xf32>
after:
    %e = tensor.empty() : tensor<9xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>,
                                          affine_map<(i) -> (i)>],
                         iterator_types = ["parallel"]}
        ins(%x, %y : tensor<9xf32>, tensor<9xf32>) outs(%e : tensor<9xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %u = math.exp %a : f32
      %v = arith.addf %u, %b : f32
      linalg.yield %v : f32
    } -> tensor<9xf32>

`_boundaries.py` names the producers that stay, and the report repeats its reasons. A constant, a
fill or a scalar is read directly. A destination that a producer adds to becomes an input: its
reader may repeat iterations. Inputs and results without users are dropped. `_reshapes.py` moves
reshapes that stand between ops out of the way.

Ops are visited in the order of the text: a producer has been fused with its own producers by then.
The longest of the bodies stays where it is and takes the others in, so that a chain of any length
is moved a few times at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from linalg_ext.bindings import affine, ir, linalg, tensor
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.sizes import mixed_sizes, sizes_of
from linalg_ext.transforms.analysis.fills import Number, comes_of, element, filled_with
from linalg_ext.transforms.ir_utils.generics import (
    input_count,
    inside,
    is_on_tensors,
    loop_of,
    maps_of,
)
from linalg_ext.transforms.ir_utils.tensor_loops import inlined
from linalg_ext.transforms.ir_utils.walking import (
    element_type,
    is_unused,
    operations,
    producer,
    replace_op,
    select,
)
from linalg_ext.transforms.legalization.slice_producers import slice_producers

from ._boundaries import Body, boundary, has_own_nest
from ._reshapes import move_reshapes

NAME = "linalg-ext-fuse-producers"

_OP = "linalg.generic"


@module_pass(NAME, on={_OP})
def fuse_producers(module: ir.Operation) -> Report:
    """Fuse generics on tensors with those that read them, but for the boundaries.

    Slices that alone are read of a result are computed alone first.
    """
    report = Report(NAME)
    report.merge(slice_producers.apply(module))
    generics = _generics(module)
    report.matched[_OP] += len(generics)
    for op in generics:
        _forget_destinations(op)
    bodies = {op.results[0]: Body.of(op) for op in generics}
    nests = {op.results[0] for op in generics if has_own_nest(op, bodies)}
    while True:
        for op in generics:
            report.changed[_OP] += _Consumer(op, bodies, nests, report).fuse()
        if not move_reshapes(module, nests):
            return report
        generics = _generics(module)
        bodies = {op.results[0]: Body.of(op) for op in generics}


def _generics(module: Any) -> list[Any]:
    return [op for op in operations(module, {_OP}) if is_on_tensors(op)]


def _forget_destinations(op: Any) -> None:
    """Give an op empty tensors for the destinations that its body does not read."""
    arguments = op.regions[0].blocks[0].arguments
    for at in range(input_count(op), len(op.operands)):
        value = op.operands[at]
        if is_unused(arguments[at]) and not comes_of(value, "tensor.empty"):
            with op.location, ir.InsertionPoint(op):
                sizes = mixed_sizes(sizes_of(value))
                op.operands[at] = tensor.EmptyOp(sizes, value.type.element_type).result


Read: TypeAlias = tuple[Any, ir.AffineMap]
"""A value that an op reads, and the map of the read."""


@dataclass(frozen=True)
class _Fused:
    """A producer that is about to be fused.

    Attributes:
        op: the generic.
        result: the number of the result that is read.
        loops: each of its loops, by the loops of its reader.
        reads: for each argument of its body that is used, the operand by the loops of the reader.
    """

    op: Any
    result: int
    loops: ir.AffineMap
    reads: tuple[tuple[Any, Read], ...]

    @classmethod
    def by(cls, reader: ir.AffineMap, op: Any, result: int) -> _Fused:
        """A producer that is read by a map."""
        maps, arguments = maps_of(op), op.regions[0].blocks[0].arguments
        written = maps[len(maps) - len(op.results) + result]
        indices: list[Any] = [None] * written.n_dims
        for loop, index in zip(written.results, reader.results, strict=True):
            indices[ir.AffineDimExpr(loop).position] = index
        loops = ir.AffineMap.get(reader.n_dims, 0, indices)
        reads = tuple(
            (argument, (value, _composed(map_, loops)))
            for argument, value, map_ in zip(arguments, op.operands, maps, strict=True)
            if not is_unused(argument)
        )
        return cls(op, result, loops, reads)

    @property
    def block(self) -> Any:
        """The body."""
        return self.op.regions[0].blocks[0]

    def compute(self, arguments: Mapping[Read, Any], *, has_positions: bool) -> Any:
        """Have the body use arguments of the fused op, and return the value that it yields."""
        block = self.block
        for argument, read in self.reads:
            argument.replace_all_uses_with(arguments[read])
        if has_positions and self.loops != ir.AffineMap.get_identity(self.loops.n_dims):
            self._move_positions()
        end = block.operations[len(block.operations) - 1]
        value = end.operands[self.result]
        end.erase()
        return value

    def _move_positions(self) -> None:
        for view in list(self.block.operations):
            op = view.operation
            if op.name == "linalg.index":
                index = ir.AffineMap.get(self.loops.n_dims, 0, [self.loops.results[loop_of(op)]])
                with op.location, ir.InsertionPoint(op):
                    positions = [linalg.IndexOp(loop).result for loop in range(index.n_dims)]
                    moved = affine.AffineApplyOp(index, positions).result
                replace_op(op, moved)


class _Consumer:
    """A generic, and the producers and numbers that its inputs become."""

    def __init__(self, op: Any, bodies: dict[Any, Body], nests: set[Any], report: Report) -> None:
        self.op, self.bodies, self.nests, self.report = op, bodies, nests, report
        self.block = op.regions[0].blocks[0]
        self.maps = maps_of(op)
        self.inputs = input_count(op)
        self.fused: dict[int, _Fused] = {}
        self.numbers: dict[int, Number] = {}
        self.unused: set[int] = set()

    def fuse(self) -> bool:
        """Fuse the producers that may be fused, and return whether the op changed."""
        if self._erase_unread(self.op):
            return True
        if self._is_identity():
            self._replace(self.op.operands[0])
            return True
        self._look_at_inputs()
        if self._is_scalar():
            self._compute()
            return True
        results, reads = self._needed_results(), self._reads()
        if not _covers(self._maps(reads, results)):
            # Some operands are there for their sizes.
            self.unused.clear()
            self.numbers.clear()
            reads = self._reads()
            if not _covers(self._maps(reads, results)):
                self.report.leave(_OP, "the sizes of the loops would be those of no operand")
                return False
        distinct = list(dict.fromkeys(reads))
        is_same = len(distinct) == self.inputs and len(results) == len(self.op.results)
        if is_same and not self.fused:
            return False
        has_moved = any(self._body(source).moves_only for source in self.fused.values())
        dropped = _producers(self.op.operands[at] for at in self.unused)
        new = self._rebuild(distinct, results)
        for source in dropped:
            self._erase_unread(source)
        if has_moved or dropped or len(distinct) < len(reads):
            # A producer that was behind another, or had other readers, may be fused now.
            _Consumer(new, self.bodies, self.nests, self.report).fuse()
        return True

    def _erase_unread(self, op: Any) -> bool:
        body = self.bodies.get(op.results[0])
        if body is None or body.effect or not all(map(is_unused, op.results)):
            return False
        del self.bodies[op.results[0]]
        sources = _producers(op.operands)
        op.erase()
        for source in sources:
            self._erase_unread(source)
        return True

    def _is_identity(self) -> bool:
        """Return whether the op yields its one operand as it is."""
        return (
            self.bodies[self.op.results[0]].moves_only
            and self.inputs == len(self.op.results) == 1
            and self.op.operands[0].type == self.op.results[0].type
            and self.maps[0] == self.maps[1]
            and self.block.operations[0].operation.operands[0] == self.block.arguments[0]
        )

    def _is_scalar(self) -> bool:
        scalars = list(self.op.operands)[: self.inputs]
        return (
            len(self.op.results) == 1
            and self.maps[0].n_dims == 0
            and not any(isinstance(value.type, ir.ShapedType) for value in scalars)
            and is_unused(self.block.arguments[self.inputs])
        )

    def _compute(self) -> None:
        with self.op.location, ir.InsertionPoint(self.op):
            (scalar,) = inlined(self.block, list(self.op.operands))
            result = tensor.FromElementsOp(self.op.results[0].type, [scalar]).result
        self._replace(result)

    def _replace(self, value: Any) -> None:
        del self.bodies[self.op.results[0]]
        replace_op(self.op, value)

    def _look_at_inputs(self) -> None:
        for at in range(self.inputs):
            value = self.op.operands[at]
            source = producer(value)
            if is_unused(self.block.arguments[at]):
                self.unused.add(at)
            elif source is None:
                continue
            elif source.name == "tensor.from_elements" and value.type.rank == 0:
                self.op.operands[at] = source.operands[0]
            elif (number := filled_with(source)) is not None:
                self.numbers[at] = number
            elif source.results[0] in self.bodies:
                reason = boundary(source, self.op, at, self.bodies)
                if reason is None:
                    result = ir.OpResult(value).result_number
                    self.fused[at] = _Fused.by(self.maps[at], self._alone(source), result)
                else:
                    self.report.leave(_OP, reason)

    def _alone(self, source: Any) -> Any:
        """Return a producer, or a copy of one that has other readers."""
        if len(list(source.results[0].uses)) < 2:
            return source
        copy = source.clone(ip=ir.InsertionPoint(self.op))
        self.bodies[copy.results[0]] = self.bodies[source.results[0]]
        return copy

    def _reads(self) -> list[Read]:
        reads: list[Read] = []
        for at in range(self.inputs):
            if at in self.fused:
                reads += (read for _, read in self.fused[at].reads)
            elif at not in self.numbers and at not in self.unused:
                reads.append((self.op.operands[at], self.maps[at]))
        return reads

    def _maps(self, reads: Sequence[Read], results: Sequence[int]) -> list[ir.AffineMap]:
        written = [self.maps[self.inputs + number] for number in results]
        return [*(map_ for _, map_ in reads), *written]

    def _needed_results(self) -> list[int]:
        """Return the results that are read, and those that their values depend on."""
        everything = list(range(len(self.op.results)))
        needed = [number for number in everything if not is_unused(self.op.results[number])]
        if len(needed) == len(everything) or self.bodies[self.op.results[0]].effect:
            return everything
        end = self.block.operations[len(self.block.operations) - 1]
        destinations = list(self.block.arguments)[self.inputs :]
        values: set[Any] = set()
        waiting = [end.operands[number] for number in needed]
        while waiting:
            value = waiting.pop()
            if value in values:
                continue
            values.add(value)
            if value in destinations:
                needed.append(destinations.index(value))
                waiting.append(end.operands[needed[-1]])
            elif (op := inside(value, self.block)) is not None:
                waiting += [operand for inner in select(op, bool) for operand in inner.operands]
        return sorted(set(needed))

    def _rebuild(self, reads: Sequence[Read], results: Sequence[int]) -> Any:
        op, fused = self.op, list(self.fused.values())
        if len(results) < len(op.results):
            _yield_only(self.block, results)
        fused.sort(key=lambda source: self._body(source).length, reverse=True)
        block = fused[0].block if fused else self.block
        old = len(block.arguments)
        outputs = [op.operands[self.inputs + number] for number in results]
        operands = [*(value for value, _ in reads), *outputs]
        types = [element_type(value.type) for value in operands]
        added = [block.add_argument(type_, op.location) for type_ in types]
        arguments = dict(zip(reads, added, strict=False))
        with ir.InsertionPoint(op), op.location:
            values = {at: element(number) for at, number in self.numbers.items()}
        for at, source in self.fused.items():
            values[at] = source.compute(arguments, has_positions=self._body(source).has_positions)
        for source in fused[1:]:
            _append(source.block, block)
        for at, argument in enumerate(list(self.block.arguments)[: self.inputs]):
            if at not in self.unused:
                read = op.operands[at], self.maps[at]
                argument.replace_all_uses_with(values[at] if at in values else arguments[read])
        for number, argument in zip(results, added[len(reads) :], strict=True):
            self.block.arguments[self.inputs + number].replace_all_uses_with(argument)
        if block != self.block:
            _append(self.block, block)
        for number in reversed(range(old)):
            block.erase_argument(number)
        attributes = dict(op.attributes.items())
        attributes.pop("library_call", None)
        maps = [ir.AffineMapAttr.get(map_) for map_ in self._maps(reads, results)]
        attributes["indexing_maps"] = ir.ArrayAttr.get(maps)
        attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([len(reads), len(outputs)])
        with ir.InsertionPoint(op):
            new = ir.Operation.create(
                op.name,
                results=[value.type for value in outputs],
                operands=operands,
                attributes=attributes,
                regions=1,
                loc=op.location,
            )
        block.append_to(new.regions[0])
        for number, value in zip(results, new.results, strict=True):
            op.results[number].replace_all_uses_with(value)
        self.bodies[new.results[0]] = Body.joined(
            [self.bodies.pop(part.results[0]) for part in (op, *(source.op for source in fused))]
        )
        if op.results[0] in self.nests:
            self.nests.remove(op.results[0])
            self.nests.add(new.results[0])
        op.erase()
        for source in fused:
            source.op.erase()
        return new

    def _body(self, source: _Fused) -> Body:
        return self.bodies[source.op.results[0]]


def _composed(map_: ir.AffineMap, loops: ir.AffineMap) -> ir.AffineMap:
    if map_ == ir.AffineMap.get_identity(map_.n_dims):
        return loops
    if loops == ir.AffineMap.get_identity(loops.n_dims):
        return map_
    results = [ir.AffineExpr.compose(result, loops) for result in map_.results]
    return ir.AffineMap.get(loops.n_dims, 0, results)


def _covers(maps: Sequence[ir.AffineMap]) -> bool:
    """Return whether each loop is an index of an operand, whose size is its trip count."""
    if any(map_.is_permutation for map_ in maps):
        return True
    covered = {
        ir.AffineDimExpr(index).position
        for map_ in maps
        for index in map_.results
        if isinstance(index, ir.AffineDimExpr)
    }
    return bool(maps) and len(covered) == maps[0].n_dims


def _producers(values: Iterable[Any]) -> list[Any]:
    ops = {op.results[0]: op for op in map(producer, values) if op is not None}
    return list(ops.values())


def _append(source: Any, block: Any) -> None:
    for op in list(source.operations):
        block.append(op.operation)


def _yield_only(block: Any, results: Sequence[int]) -> None:
    """Have a body yield some of its values, and erase the ops that compute the others."""
    *ops, end = [view.operation for view in block.operations]
    with end.location, ir.InsertionPoint(end):
        linalg.YieldOp([end.operands[number] for number in results])
    end.erase()
    for op in reversed(ops):
        if all(map(is_unused, op.results)):
            op.erase()
