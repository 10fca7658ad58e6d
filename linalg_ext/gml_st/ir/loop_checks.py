"""The rules of the loops of `gml_st`: bounds, steps, iterators, the arguments of their bodies."""

from __future__ import annotations

from collections.abc import Sequence

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, ArityError, DTypeError, LinalgExtError
from linalg_ext.gml_st.ir.inference import static
from linalg_ext.gml_st.ir.loop_views import ForView, LoopView, ParallelView, SetYieldView
from linalg_ext.gml_st.ir.op_views import ITERATORS
from linalg_ext.gml_st.ir.types import is_container


def check_loop(op: ir.Operation) -> None:
    """Iterators, block arguments, results, what ends the body."""
    view = LoopView.of(op)
    _check_bounds(view)
    kinds = view.iterator_types
    if len(kinds) != view.rank:
        raise ArityError(
            f"expected iterator types array attribute size = {len(kinds)} to match the number of "
            f"loops = {view.rank}"
        )
    for kind in kinds:
        if kind not in ITERATORS:
            raise ArgumentError(f"{kind!r} is not an iterator type", expected=", ".join(ITERATORS))
    _check_distribution(view.distribution, view.rank)
    _check_arguments(view, [("input", view.ins), ("output", view.outs)])
    _check_outputs(op, view.outs)
    _ = view.last


def check_for(op: ir.Operation) -> None:
    """Block arguments, results, what ends the body."""
    view = ForView.of(op)
    _check_bounds(view)
    _check_arguments(view, [("output", view.outs)])
    _check_outputs(op, view.outs)
    _ = view.last


def check_parallel(op: ir.Operation) -> None:
    """Block arguments, what ends the body, and a result for each tensor that it names."""
    view = ParallelView.of(op)
    _check_bounds(view)
    _check_distribution(view.distribution, view.rank)
    _check_arguments(view, [])
    last = view.last
    try:
        destinations = SetYieldView.of(last).destinations
    except LinalgExtError:
        return  # what is wrong with it is found there
    _check_results(op, [value.type for value in destinations], "destination")


def trip_count(view: LoopView | ForView | ParallelView, dim: int) -> int | None:
    """Return the trip count of an iterator; None where its bounds or its step are not known."""
    lower, upper, step = (static(each[dim]) for each in (view.lower, view.upper, view.step))
    if lower is None or upper is None or step is None:
        return None
    return max(0, -((lower - upper) // step))


def _check_bounds(view: LoopView | ForView | ParallelView) -> None:
    if not view.rank:
        raise ArityError("the loop has no iterator", expected="one or more")
    for dim, step in enumerate(map(static, view.step)):
        if step is not None and step <= 0:
            raise ArgumentError(
                f"the step of iterator {dim} is {step}, with which it never ends",
                expected="a step of 1 or more",
            )


def _check_distribution(distribution: Sequence[str], rank: int) -> None:
    if distribution and len(distribution) != rank:
        raise ArityError(
            f"distribution has {len(distribution)} name(s) for {rank} iterator(s)",
            expected="one for each, or none at all",
        )


def _check_arguments(
    view: LoopView | ForView | ParallelView,
    groups: Sequence[tuple[str, Sequence[ir.Value]]],
) -> None:
    arguments = list(view.body.arguments)
    expected = view.rank + sum(len(group) for _, group in groups)
    if len(arguments) != expected:
        raise ArityError(
            f"the body has {len(arguments)} argument(s)",
            expected=f"{expected}: an index for each iterator"
            + "".join(f", then the {what}s" for what, group in groups if group),
        )
    for at, iv in enumerate(view.ivs):
        if not isinstance(iv.type, ir.IndexType):
            raise DTypeError(f"region arg {at} is of type {iv.type}", expected="index")
    at = view.rank
    for what, group in groups:
        for position, value in enumerate(group):
            if arguments[at].type != value.type:
                raise DTypeError(
                    f"expected {what} arg {position} with type = '{value.type}' to match region "
                    f"arg {at} type = '{arguments[at].type}'"
                )
            at += 1


def _check_outputs(op: ir.Operation, outs: Sequence[ir.Value]) -> None:
    for at, value in enumerate(outs):
        if not is_container(value.type):
            raise DTypeError(
                f"output {at} is of type {value.type}", expected="a ranked tensor or a memref"
            )
    _check_results(op, [value.type for value in outs], "output")


def _check_results(op: ir.Operation, types: Sequence[ir.Type], what: str) -> None:
    tensors = [type_ for type_ in types if not isinstance(type_, ir.MemRefType)]
    results = [result.type for result in op.results]
    if results != tensors:
        raise DTypeError(
            f"the results are ({', '.join(map(str, results))})",
            expected=f"({', '.join(map(str, tensors))}), a result for each {what} that is a tensor",
        )
