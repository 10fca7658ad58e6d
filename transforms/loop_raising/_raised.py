"""A band as `linalg.generic`: what its iterations read, write and compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from linalg_ext.bindings import ir, linalg
from linalg_ext.definition.affine import AffineDim
from linalg_ext.gml_st.ir.roots import is_defined_inside
from linalg_ext.rewriting import MatchFailure
from linalg_ext.structured.indices.sizes import value_of
from linalg_ext.structured.utils.maps import maps_attribute
from linalg_ext.structured.utils.values import producer
from linalg_ext.symbolic.integers import Symbol
from linalg_ext.transforms.codegen.vectorization.reductions import combining_op
from linalg_ext.transforms.ir_utils.walking import replace_operands, select

from ._accesses import Memory, is_load, is_pure
from ._bands import Band, Linear, linear
from ._element_views import ElementView, element_view
from ._indices import induction_variable
from ._sizes import SizeReader

_STORE = "memref.store"


@dataclass
class _Element:
    """An element of a buffer that an iteration reads or writes: an operand of the op.

    Attributes:
        view: where it is.
        ops: the loads and stores of it, in order.
    """

    view: ElementView
    ops: list[ir.Operation] = field(default_factory=list)

    @property
    def stores(self) -> list[ir.Operation]:
        """The ops that write it."""
        return [op for op in self.ops if op.name == _STORE]

    @property
    def is_written(self) -> bool:
        """Return whether it is an output."""
        return bool(self.stores)


def raised(band: Band) -> MatchFailure | None:
    """Build a band as `linalg.generic` in front of it; why not, where that cannot be.

    The band itself stays.
    """
    if any(level.count == 0 for level in band.levels):
        return MatchFailure("the nest never runs")
    elements = _elements(band)
    if isinstance(elements, MatchFailure):
        return elements
    outputs = [each for each in elements if each.is_written]
    if not outputs:
        return MatchFailure("the nest writes no memory")
    if not all(each.view.map(_dims(band)).is_projected_permutation for each in outputs):
        return MatchFailure(
            "the nest writes at sums of induction variables, or at one of them twice"
        )
    parts = _parts(band, elements, outputs)
    if isinstance(parts, MatchFailure):
        return parts
    for part in parts:
        if "reduction" in part.kinds and not all(map(_is_combined, part.outputs)):
            return MatchFailure("the iterations do not combine results by one associative op")
    with band.outermost.location, ir.InsertionPoint(band.outermost):
        for part in parts:
            _build(band, part.elements, part.kinds)
    return None


@dataclass(frozen=True)
class _Part:
    """Results that are indexed by the same loops, and what they are computed from.

    Attributes:
        elements: its inputs and then its outputs.
        kinds: the iterator types.
    """

    elements: tuple[_Element, ...]
    outputs: tuple[_Element, ...]
    kinds: tuple[str, ...]


def _parts(
    band: Band, elements: Sequence[_Element], outputs: Sequence[_Element]
) -> list[_Part] | MatchFailure:
    groups: dict[frozenset[str], list[_Element]] = {}
    for each in outputs:
        groups.setdefault(each.view.dims, []).append(each)
    inputs = [each for each in elements if not each.is_written]
    parts: list[_Part] = []
    for parallel, group in groups.items():
        read = inputs
        if len(groups) > 1:
            stored = [op.operands[0] for each in group for op in each.stores]
            needed = _needed(band, stored)
            reached = [each for each in elements if not needed.isdisjoint(each.ops)]
            if any(each.is_written and each not in group for each in reached):
                return MatchFailure("the nest computes results of some loops from those of others")
            read = [each for each in inputs if each in reached]
        kinds = _iterator_types(band, [*read, *group], parallel)
        if isinstance(kinds, MatchFailure):
            return kinds
        parts.append(_Part((*read, *group), tuple(group), kinds))
    return parts


def _elements(band: Band) -> list[_Element] | MatchFailure:
    """Return the elements that an iteration accesses, each once."""
    body = band.outermost.regions[0].blocks[0]
    loops, memory = [level.loop for level in band.levels], Memory()
    read = SizeReader()
    found: dict[tuple[ir.Value, tuple[Linear, ...]], _Element] = {}
    for op in band.ops:
        is_store = op.name == _STORE
        if not is_store and not is_load(op):
            if not is_pure(op):
                return MatchFailure(f"{op.name} in it does more than read, compute and write")
            continue
        buffer, *values = list(op.operands)[int(is_store) :]
        if is_defined_inside(buffer, body):
            return MatchFailure(
                "the body reads through views that it makes: run fold-memref-alias-ops first"
            )
        seen = [linear(read(value), loops, read) for value in values]
        indices = tuple(index for index in seen if index is not None)
        if len(indices) < len(seen):
            return MatchFailure("an index is more than a sum of multiples of induction variables")
        view = element_view(buffer, indices, band.levels, _dims(band))
        if isinstance(view, MatchFailure):
            return view
        found.setdefault((buffer, indices), _Element(view)).ops.append(op)
    elements = list(found.values())
    for one in elements:
        for other in elements:
            if one is not other and one.is_written and memory.may_share(one.ops[0], other.ops[0]):
                return MatchFailure("the nest may access its results at other places, too")
    return elements


def _iterator_types(
    band: Band, elements: Sequence[_Element], parallel: frozenset[str]
) -> tuple[str, ...] | MatchFailure:
    dims = _dims(band)
    indices = [index for each in elements for index in each.view.indices]
    indexed = {index.name for index in indices if isinstance(index, AffineDim)}
    for number, dim in enumerate(dims):
        if dim not in indexed:
            return MatchFailure(f"loop {number} is the size of no buffer")
    return tuple("parallel" if dim in parallel else "reduction" for dim in dims)


def _dims(band: Band) -> tuple[str, ...]:
    return tuple(f"d{number}" for number in range(len(band.levels)))


def _is_combined(output: _Element) -> bool:
    """Return whether an iteration combines an element with what it was, by an associative op."""
    if len(output.ops) != 2 or not is_load(output.ops[0]):
        return False
    load, store = output.ops
    return combining_op(load.results[0], store.operands[0]) is not None


def _build(band: Band, elements: Sequence[_Element], kinds: Sequence[str]) -> None:
    values = [each.view.value() for each in elements]
    inputs = sum(not each.is_written for each in elements)
    generic = linalg.GenericOp(
        result_tensors=[],
        inputs=values[:inputs],
        outputs=values[inputs:],
        indexing_maps=maps_attribute([each.view.map(_dims(band)) for each in elements]),
        iterator_types=ir.ArrayAttr.get(
            [ir.Attribute.parse(f"#linalg.iterator_type<{kind}>") for kind in kinds]
        ),
    ).operation
    types = [ir.MemRefType(value.type).element_type for value in values]
    block = generic.regions[0].blocks.append(*types)
    with ir.InsertionPoint(block):
        linalg.YieldOp(_payload(band, elements, list(block.arguments)))


def _payload(
    band: Band, elements: Sequence[_Element], arguments: Sequence[ir.Value]
) -> list[ir.Value]:
    """The ops of an iteration at the insertion point, on elements; what the outputs become."""
    place = {op: number for number, each in enumerate(elements) for op in each.ops}
    current = list(arguments)
    given: dict[ir.Value, ir.Value] = {}
    stored = [op.operands[0] for each in elements for op in each.stores]
    needed = {op for op in _needed(band, stored) if not is_load(op)}
    used = stored + [value for op in needed for value in _read(op)]
    for number, level in enumerate(band.levels):
        iv = induction_variable(level.loop)
        if iv in used:
            index = Symbol(linalg.IndexOp(number).result, lower=0)
            given[iv] = value_of(level.lower + index * level.step)
    for op in band.ops:
        if op.name == _STORE or is_load(op):
            if op not in place:
                continue
            if is_load(op):
                given[op.results[0]] = current[place[op]]
            else:
                current[place[op]] = given.get(op.operands[0], op.operands[0])
        elif op in needed:
            clone = op.clone().operation
            replace_operands(clone, given)
            given.update(zip(op.results, clone.results, strict=True))
    return [value for value, each in zip(current, elements, strict=True) if each.is_written]


def _needed(band: Band, values: Sequence[ir.Value]) -> set[ir.Operation]:
    """The ops of an iteration that values are computed from."""
    own = set(band.ops)
    found: set[ir.Operation] = set()
    open_ = list(values)
    while open_:
        op = producer(open_.pop())
        if op is None or op not in own or op in found:
            continue
        found.add(op)
        open_ += [] if is_load(op) else _read(op)
    return found


def _read(op: ir.Operation) -> list[ir.Value]:
    """The operands of an op and of all that is in it."""
    return [value for each in select(op, lambda _: True) for value in each.operands]
