"""The innermost loop of a group of nests, over vectors.

    for j = 0 to n - n mod W step W:  whole vectors of W = unroll x lanes elements
    for j = n - n mod W to n step lanes:  vectors of `lanes` elements under a mask

LLVM splits a vector of W elements into as many registers, whose operations do not wait for each
other. Nothing is read or written outside of an operand: masked lanes touch no memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import arith, ir, memref, scf, vector

from ..lowering._elementwise import constant
from ._combiners import Combiner
from ._nests import Access, Nest, widest_bits
from ._vector_registers import vector_bits

Key = tuple[Any, tuple[int | None, ...]]

_UNROLL, _UNROLL_FUNCTIONS = 4, 2
"""Registers for each value; elementary functions need more of them for themselves."""


@dataclass
class _Pass:
    """One of the two loops.

    Attributes:
        lanes: elements of a vector.
        at: where the vector begins in the row.
        mask: which elements are in the row; None for all.
        rows: vectors that were loaded or stored in this round, by what they are the elements of.
    """

    lanes: int
    at: Any
    mask: Any | None
    rows: dict[Key, Any]


class VectorLoop:
    """Emits the loop at the current insertion point.

    Args:
        nests: share loop `depth`, their last; those with fewer loops are done once, before it.
        ivs: the positions of the loops around it.
        unused: memory that nobody reads but from a register of the same round.
    """

    def __init__(
        self, nests: Sequence[Nest], depth: int, ivs: Sequence[Any], *, unused: frozenset[Any]
    ) -> None:
        self._nests = nests
        self._depth = depth
        self._ivs = list(ivs)
        self._unused = unused
        self._loops = [nest for nest in nests if nest.rank > depth]
        self._scalars: dict[tuple[int, int], Any] = {}

    def emit(self) -> None:
        """Emit what is done before, the loops, and what is done after."""
        for number, nest in enumerate(self._nests):
            self._before(number, nest)
        if not self._loops:
            return
        static = self._loops[0].static_extent(self._depth)
        lanes, unroll = self._shape(static)
        wide = lanes * unroll
        size = self._size(static)
        if static is None:
            whole = arith.subi(size, arith.remui(size, _index(wide)))
        else:
            whole = _index(static - static % wide)
        carried = None
        if static is None or static >= wide:
            carried = self._loop(_index(0), whole, wide, size, masked=False, carried=None)
        if static is None or static % wide:
            carried = self._loop(whole, size, lanes, size, masked=True, carried=carried)
        if carried is None:  # an empty row
            carried = self._neutral(1)
        self._after(carried)

    def _shape(self, static: int | None) -> tuple[int, int]:
        """How many elements a register holds, and how many registers a round takes."""
        lanes = max(1, vector_bits() // widest_bits(self._loops))
        functions = any(nest.has_functions for nest in self._loops)
        unroll = _UNROLL_FUNCTIONS if functions else _UNROLL
        if static is None:
            return lanes, unroll
        lanes = min(lanes, 1 << max(0, static - 1).bit_length())
        while unroll > 1 and static < lanes * unroll:
            unroll //= 2
        return lanes, unroll

    def _size(self, static: int | None) -> Any:
        if static is not None:
            return _index(static)
        return size_of(self._loops[0], self._depth)

    def _before(self, number: int, nest: Nest) -> None:
        """Load what does not change in the loop; run what has no loop."""
        values: list[Any] = []
        for at, operand in enumerate(nest.operands):
            if not isinstance(operand, Access):
                values.append(operand)
            elif not nest.is_read[at] or self._is_row(operand) or self._is_result(nest, at):
                values.append(None)
            else:
                values.append(memref.load(operand.memref, self._indices(operand, None)))
                self._scalars[number, at] = values[-1]
        if nest.rank > self._depth:
            return
        results = self._computed(nest, values, None)
        for access, value in zip(nest.writes, results, strict=True):
            memref.store(value, access.memref, self._indices(access, None))

    def _is_row(self, access: Access) -> bool:
        return self._depth in access.dims

    def _is_result(self, nest: Nest, at: int) -> bool:
        """Whether an operand is what the loop reduces to."""
        if nest.rank <= self._depth or at < nest.inputs:
            return False
        return not nest.is_parallel[self._depth]

    def _reductions(self) -> Iterator[tuple[Combiner, Access]]:
        """What the loop reduces to, and how."""
        for nest in self._loops:
            if not nest.is_parallel[self._depth]:
                for combiner, access in zip(nest.combiners, nest.writes, strict=True):
                    if combiner is not None:  # as in every nest whose innermost loop reduces
                        yield combiner, access

    def _neutral(self, lanes: int) -> list[Any]:
        return [
            combiner.neutral(_row(lanes, access.memref.type.element_type))
            for combiner, access in self._reductions()
        ]

    def _loop(
        self, low: Any, high: Any, lanes: int, size: Any, *, masked: bool, carried: Any | None
    ) -> list[Any]:
        """One loop; gives what the reductions have so far, as vectors of `lanes` elements."""
        if carried is None:
            carried = self._neutral(lanes)
        else:
            carried = [
                combiner.all_of(value, lanes)
                for value, (combiner, _) in zip(carried, self._reductions(), strict=True)
            ]
        loop = scf.ForOp(low, high, _index(lanes), carried)
        with ir.InsertionPoint(loop.body):
            at = loop.induction_variable
            mask = None
            if masked:
                i1 = ir.IntegerType.get_signless(1)
                mask = vector.create_mask(_row(lanes, i1), [arith.subi(size, at)])
            pass_ = _Pass(lanes, at, mask, {})
            scf.YieldOp(self._round(pass_, list(loop.inner_iter_args)))
        return list(loop.results)

    def _round(self, pass_: _Pass, carried: list[Any]) -> list[Any]:
        yielded: list[Any] = []
        for number, nest in enumerate(self._nests):
            if nest.rank <= self._depth:
                continue
            reduces = not nest.is_parallel[self._depth]
            old = carried[len(yielded) : len(yielded) + len(nest.writes)] if reduces else []
            values = [
                self._operand(number, nest, at, operand, pass_, old)
                for at, operand in enumerate(nest.operands)
            ]
            results = self._computed(nest, values, pass_)
            if not reduces:
                for access, value in zip(nest.writes, results, strict=True):
                    self._store(access, value, pass_)
                continue
            for before, value in zip(old, results, strict=True):
                kept = value if pass_.mask is None else arith.select(pass_.mask, value, before)
                yielded.append(kept)
        return yielded

    def _operand(
        self, number: int, nest: Nest, at: int, operand: Any, pass_: _Pass, old: Sequence[Any]
    ) -> Any | None:
        if not isinstance(operand, Access):
            return operand
        if old and at >= nest.inputs:
            return old[at - nest.inputs]
        if not nest.is_read[at]:
            return None
        if not self._is_row(operand):
            return self._scalars[number, at]
        if operand.key not in pass_.rows:
            pass_.rows[operand.key] = self._load(operand, pass_)
        return pass_.rows[operand.key]

    def _load(self, access: Access, pass_: _Pass) -> Any:
        type_ = _row(pass_.lanes, access.memref.type.element_type)
        where = self._indices(access, pass_.at)
        if pass_.mask is None:
            return vector.load(type_, access.memref, where)
        outside = constant(type_, 0)
        return vector.maskedload(type_, access.memref, where, pass_.mask, outside)

    def _store(self, access: Access, value: Any, pass_: _Pass) -> None:
        value = _as_row(value, pass_.lanes)
        pass_.rows[access.key] = value
        if access.memref in self._unused:
            return
        where = self._indices(access, pass_.at)
        if pass_.mask is None:
            vector.store(value, access.memref, where)
        else:
            vector.maskedstore(access.memref, where, pass_.mask, value)

    def _indices(self, access: Access, at: Any | None) -> list[Any]:
        """The position of an access, in a round that begins at `at`."""
        places = [*self._ivs, at]
        return [_index(0) if dim is None else places[dim] for dim in access.dims]

    def _computed(self, nest: Nest, values: Sequence[Any], pass_: _Pass | None) -> list[Any]:
        """What the body yields for these elements: rows, or scalars where all of them are."""
        given = zip(nest.body.arguments, values, strict=True)
        known: dict[Any, Any] = {argument: value for argument, value in given if value is not None}
        for op in nest.body.operations:
            operation = op.operation
            if operation.name == "linalg.yield":
                results = [known.get(value, value) for value in operation.operands]
                return results if pass_ is None else [_as_row(v, pass_.lanes) for v in results]
            if operation.name == "linalg.index":
                known[operation.results[0]] = self._position(operation, pass_)
            else:
                for old, new in zip(operation.results, _cloned(operation, known), strict=True):
                    known[old] = new
        return []

    def _position(self, op: Any, pass_: _Pass | None) -> Any:
        dim = ir.IntegerAttr(op.attributes["dim"]).value
        if dim < self._depth or pass_ is None:
            return self._ivs[dim]
        type_ = _row(pass_.lanes, ir.IndexType.get())
        return arith.addi(vector.broadcast(type_, pass_.at), vector.step(type_))

    def _after(self, carried: Sequence[Any]) -> None:
        """Combine what the reductions found with what their outputs held."""
        for value, (combine, access) in zip(carried, self._reductions(), strict=True):
            where = self._indices(access, None)
            total = vector.extract(combine.all_of(value, 1), [], [0])
            old = memref.load(access.memref, where)
            memref.store(combine(old, total), access.memref, where)


def size_of(nest: Nest, dim: int) -> Any:
    """The length of a loop, as a value."""
    static = nest.static_extent(dim)
    if static is not None:
        return _index(static)
    source, axis = next(nest.extents(dim))
    return memref.dim(source, _index(axis))


def _cloned(op: Any, known: Mapping[Any, Any]) -> list[Any]:
    """An operation of a body on rows; on scalars where all its operands are."""
    operands = [known.get(value, value) for value in op.operands]
    lanes = next((v.type.shape[0] for v in operands if isinstance(v.type, ir.VectorType)), None)
    types = [value.type for value in op.results]
    if lanes is not None:
        operands = [_as_row(value, lanes) for value in operands]
        types = [_row(lanes, type_) for type_ in types]
    attributes = {name: op.attributes[name] for name in op.attributes}
    made = ir.Operation.create(op.name, results=types, operands=operands, attributes=attributes)
    return list(made.results)


def _as_row(value: Any, lanes: int) -> Any:
    if isinstance(value.type, ir.VectorType):
        return value
    return vector.broadcast(_row(lanes, value.type), value)


def _row(lanes: int, element: Any) -> Any:
    return ir.VectorType.get([lanes], element)


def _index(value: int) -> Any:
    return constant(ir.IndexType.get(), value)
