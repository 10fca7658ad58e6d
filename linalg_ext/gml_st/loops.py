"""Builders of loops, as context managers: what is built inside the `with` is the body.

with gml_st.parallel([0], [n], [4]) as loop:
    (i,) = loop.ivs
    ...
    gml_st.set_yield([value], into=[y], at=[tile])
use(loop.results[0])
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from linalg_ext.bindings import ir
from linalg_ext.errors import (
    ArgumentError,
    ArgumentTypeError,
    ArityError,
    LinalgExtError,
    caller_location,
)
from linalg_ext.gml_st import definitions
from linalg_ext.gml_st.builders import Given, Number, checked, index_values, value_of

from .ir.checks import check_terminator
from .ir.loop_views import SetYieldView
from .ir.op_views import (
    ACCUMULATOR_FLAGS,
    DISTRIBUTION,
    INPUT_SLOTS,
    ITERATOR_TYPES,
    OUTPUT_SLOTS,
    PARALLEL,
)

Bounds: TypeAlias = tuple[list[ir.Value], list[ir.Value], list[ir.Value]]

Combine: TypeAlias = Callable[[ir.Value, ir.Value], Given]
"""`combine(new, old)` builds what becomes of a value and of what its destination holds."""


@dataclass
class BuiltLoop:
    """A loop under construction, and its results when it is done.

    Attributes:
        ivs: the induction variables.
        ins, outs: what stands for the inputs and the outputs in the body.
        results: one for each output that is a tensor; known after the `with`.
    """

    ivs: tuple[ir.Value, ...]
    ins: tuple[ir.Value, ...] = ()
    outs: tuple[ir.Value, ...] = ()
    results: tuple[ir.Value, ...] = ()


@contextmanager
def loop(
    lower: Sequence[Number],
    upper: Sequence[Number],
    step: Sequence[Number],
    *,
    ins: Sequence[Given] = (),
    outs: Sequence[Given] = (),
    iterators: Sequence[str] | None = None,
    distribution: Sequence[str] = (),
) -> Iterator[BuiltLoop]:
    """Build `gml_st.loop`; its body ends with `yield_`.

    Args:
        lower, upper, step: the bounds of each iterator, the upper one not included.
        ins: what the body reads, tensors, memrefs or scalars, 16 at most.
        outs: what it writes to, tensors or memrefs, 8 at most.
        iterators: `"parallel"`, `"reduction"` or `"sequential"` each; all parallel where left out.
        distribution: what runs each iterator, as `"block"` or `"thread"`; a note for others.

    Raises:
        ArgumentError: the loop breaks a rule; nothing of it is left then.
    """
    bounds = _bounds(lower, upper, step)
    rank = len(bounds[0])
    attributes = {ITERATOR_TYPES: _texts([PARALLEL] * rank if iterators is None else iterators)}
    if distribution:
        attributes[DISTRIBUTION] = _texts(distribution)
    inputs, outputs = _given("loop", ins, INPUT_SLOTS), _given("loop", outs, OUTPUT_SLOTS)
    op = definitions.LoopOp(
        *bounds, **_slots("in", inputs), **_slots("out", outputs), **_result_slots(outputs)
    )
    types = [*_indices(rank), *(value.type for value in (*inputs, *outputs))]
    with _open(op, types) as arguments:
        first_out = rank + len(inputs)
        made = BuiltLoop(arguments[:rank], arguments[rank:first_out], arguments[first_out:])
        yield made
    made.results = _closed(op, attributes)


@contextmanager
def for_(
    lower: Sequence[Number],
    upper: Sequence[Number],
    step: Sequence[Number],
    *,
    outs: Sequence[Given],
) -> Iterator[BuiltLoop]:
    """Build `gml_st.for`; its body ends with `set_yield` into `loop.outs`.

    Args:
        lower, upper, step, outs: as of `loop`.

    Raises:
        ArgumentError: the loop breaks a rule; nothing of it is left then.
    """
    outputs = _given("for", outs, OUTPUT_SLOTS)
    bounds = _bounds(lower, upper, step)
    rank = len(bounds[0])
    op = definitions.ForOp(*bounds, **_slots("out", outputs), **_result_slots(outputs))
    with _open(op, [*_indices(rank), *(value.type for value in outputs)]) as arguments:
        made = BuiltLoop(arguments[:rank], outs=arguments[rank:])
        yield made
    made.results = _closed(op, {})


@contextmanager
def parallel(
    lower: Sequence[Number],
    upper: Sequence[Number],
    step: Sequence[Number],
    *,
    distribution: Sequence[str] = (),
) -> Iterator[BuiltLoop]:
    """Build `gml_st.parallel`; its body ends with `set_yield`, which names what it writes to.

    Args:
        lower, upper, step, distribution: as of `loop`.

    Raises:
        ArgumentError: the loop breaks a rule; nothing of it is left then.
    """
    bounds = _bounds(lower, upper, step)
    unfinished = definitions.ParallelOp(*bounds)
    with _open(unfinished, _indices(len(bounds[0]))) as arguments:
        made = BuiltLoop(arguments)
        yield made
    op = _with_results(unfinished, bounds)
    made.results = _closed(op, {DISTRIBUTION: _texts(distribution)} if distribution else {})


def yield_(
    values: Sequence[Given] = (),
    *,
    to: Sequence[Given] = (),
    accumulate: Combine | Sequence[Combine | None] | None = None,
) -> None:
    """Build `gml_st.yield`, which ends the body of a `loop`.

    Args:
        values: what an iteration gives, one for each output.
        to: the subset of the output that each is; left out, the values are whole outputs.
        accumulate: how values are combined with what is there; for each value where it is a list,
            None among them for a value that replaces.
    """
    given = _given("yield", values, OUTPUT_SLOTS)
    subsets = _given("yield", to, OUTPUT_SLOTS)
    combines = _combines(accumulate, len(given))
    op = definitions.YieldOp(**_slots("value", given), **_slots("subset", subsets))
    _accumulate(op, given, combines)


def set_yield(
    sources: Sequence[Given],
    *,
    into: Sequence[Given],
    at: Sequence[Given],
    accumulate: Combine | Sequence[Combine | None] | None = None,
) -> None:
    """Build `gml_st.set_yield`, which ends the body of a `for_` or of a `parallel`.

    Args:
        sources: what an iteration gives.
        into: the tensor or memref that each goes into: of a `for_`, its `loop.outs`.
        at: the set of it that each goes to.
        accumulate: as of `yield_`.
    """
    given, destinations, sets = (
        _given("set_yield", each, OUTPUT_SLOTS) for each in (sources, into, at)
    )
    combines = _combines(accumulate, len(given))
    op = definitions.SetYieldOp(
        **_slots("source", given), **_slots("destination", destinations), **_slots("set", sets)
    )
    _accumulate(op, given, combines)


def _combines(
    accumulate: Combine | Sequence[Combine | None] | None, count: int
) -> list[Combine | None]:
    """Return the combiner of each of `count` values; an empty list where none is given."""
    if accumulate is None:
        return []
    combines: list[Combine | None]
    combines = list(accumulate) if isinstance(accumulate, Sequence) else [accumulate] * count
    if len(combines) != count:
        raise ArityError(
            f"{len(combines)} accumulators are given for {count} value(s)",
            expected="one for each, None for a value that replaces",
        )
    for combine in combines:
        if combine is not None and not callable(combine):
            raise ArgumentTypeError(
                f"accumulate: {combine!r} is no function",
                expected="a function of (new, old), or None for a value that replaces",
            )
    return combines


def _accumulate(
    op: ir.OpView, values: Sequence[ir.Value], combines: Sequence[Combine | None]
) -> None:
    if not combines:
        return
    flags = [combine is not None for combine in combines]
    op.operation.attributes[ACCUMULATOR_FLAGS] = ir.DenseBoolArrayAttr.get(flags)
    if not any(flags):
        return
    combined = [value for value, flag in zip(values, flags, strict=True) if flag]
    types = [value.type for value in combined for _ in range(2)]
    block = op.operation.regions[0].blocks.append(*types)
    arguments = iter(block.arguments)
    with ir.InsertionPoint(block):
        results = [
            value_of("accumulate", combine(next(arguments), next(arguments)))
            for combine in combines
            if combine is not None
        ]
        definitions.YieldOp(**_slots("value", results))


@contextmanager
def _open(op: ir.OpView, types: Sequence[ir.Type]) -> Iterator[tuple[ir.Value, ...]]:
    """The body of a new loop as the insertion point; nothing is left of it after an exception."""
    try:
        block = op.operation.regions[0].blocks.append(*types)
        with ir.InsertionPoint(block):
            yield tuple(block.arguments)
        if not len(block.operations):
            raise ArgumentError(
                f"{op.operation.name}: the body is empty",
                hint="end it with gml_st.yield_(...) or gml_st.set_yield(...)",
            )
    except BaseException as error:
        ended = isinstance(error, IndexError) and _BEHIND_THE_END in str(error)
        name = op.operation.name
        op.operation.erase()
        if ended:
            raise ArgumentError(
                f"{name}: an op is built behind the yield that ends its body",
                where=caller_location(),
                hint="build it before gml_st.yield_(...) or gml_st.set_yield(...), or after the "
                "`with`",
            ) from error
        raise


_BEHIND_THE_END = "already has a terminator"
"""A part of upstream's message for an op behind the terminator of a block."""


def _closed(op: ir.OpView, attributes: dict[str, ir.Attribute]) -> tuple[ir.Value, ...]:
    """The results of a loop once it has its attributes, and it and what ends it are sound."""
    for name, attribute in attributes.items():
        op.operation.attributes[name] = attribute
    checked(op)
    last = _last(op)
    with _refused_with_its_loop(op, last):
        check_terminator(last)
    return tuple(op.operation.results)


def _with_results(op: ir.OpView, bounds: Bounds) -> ir.OpView:
    """A `gml_st.parallel` once more, with results for the destinations of its `set_yield`."""
    last = _last(op)
    written: Sequence[ir.Value] = ()
    if last.name == "gml_st.set_yield":
        with _refused_with_its_loop(op, last):
            written = SetYieldView.of(last).destinations
    with ir.InsertionPoint(op), op.operation.location:
        made = definitions.ParallelOp(*bounds, **_result_slots(written))
    op.operation.regions[0].blocks[0].append_to(made.operation.regions[0])
    op.operation.erase()
    return made


def _last(loop: ir.OpView) -> ir.Operation:
    return list(loop.operation.regions[0].blocks[0].operations)[-1].operation


@contextmanager
def _refused_with_its_loop(loop: ir.OpView, last: ir.Operation) -> Iterator[None]:
    """Name the last op of a body in an error about it, and erase the loop."""
    try:
        yield
    except LinalgExtError as error:
        error.what = f"{last.name}: {error.what}"
        loop.operation.erase()
        raise


def _bounds(lower: Sequence[Number], upper: Sequence[Number], step: Sequence[Number]) -> Bounds:
    return index_values("lower", lower), index_values("upper", upper), index_values("step", step)


def _given(op: str, values: Sequence[Given], slots: int) -> list[ir.Value]:
    if not isinstance(values, Sequence):
        raise ArgumentTypeError(f"{op}: {values} is no list", expected="a list of values")
    if len(values) > slots:
        raise ArityError(f"{op} is given {len(values)} values", expected=f"{slots} at most")
    return [value_of(op, value) for value in values]


def _slots(name: str, values: Sequence[ir.Value]) -> dict[str, ir.Value]:
    return {f"{name}{at}": value for at, value in enumerate(values)}


def _result_slots(outputs: Sequence[ir.Value]) -> dict[str, ir.Type]:
    tensors = [value.type for value in outputs if not isinstance(value.type, ir.MemRefType)]
    return {f"result{at}": type_ for at, type_ in enumerate(tensors)}


def _texts(words: Sequence[str]) -> ir.Attribute:
    is_list = isinstance(words, Sequence) and not isinstance(words, str)
    if not is_list or not all(isinstance(word, str) for word in words):
        raise ArgumentTypeError(
            f"{words!r} is no list of texts", expected='a list, as in ["parallel"]'
        )
    return ir.ArrayAttr.get([ir.StringAttr.get(word) for word in words])


def _indices(count: int) -> list[ir.Type]:
    return [ir.IndexType.get()] * count
