"""Moving the bodies of loops of `gml_st`, and of what they accumulate with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from linalg_ext.bindings import ir, memref, scf
from linalg_ext.errors import ArgumentError
from linalg_ext.gml_st.ir.inference import is_view_of
from linalg_ext.gml_st.ir.loop_views import SetYieldView, YieldView
from linalg_ext.gml_st.ir.roots import is_defined_inside
from linalg_ext.structured.indices import Emitter
from linalg_ext.structured.operands import producer


def move_operations(operations: Iterable[ir.Operation], block: ir.Block) -> None:
    """Move operations to the end of a block."""
    for op in operations:
        block.append(op)


def move_here(operations: Iterable[ir.Operation]) -> None:
    """Move operations to the insertion point."""
    here = ir.InsertionPoint.current
    for op in operations:
        op.detach_from_parent()
        here.insert(op)


def rename(arguments: Sequence[ir.Value], values: Sequence[ir.Value]) -> None:
    """Have values used in the place of arguments of a block."""
    for argument, value in zip(arguments, values, strict=True):
        argument.replace_all_uses_with(value)


def makers(set_: ir.Value, block: ir.Block) -> list[ir.Operation]:
    """The ops of a block, and of blocks in it, that a set is computed by."""
    found: list[ir.Operation] = []
    open_ = [set_]
    while open_:
        op = producer(open_.pop())
        if op is not None and op not in found and is_defined_inside(op.results[0], block):
            found.append(op)
            open_ += list(op.operands)
    return found


_MOVABLE = ("arith.", "affine.", "index.", "gml_st.")


def may_move(op: ir.Operation) -> bool:
    """Return whether an op computes the same wherever its operands are, and nothing else."""
    if op.name in ("tensor.dim", "memref.dim"):
        return True
    return op.name.startswith(_MOVABLE) and op.name != "gml_st.materialize" and not len(op.regions)


def combined(
    view: YieldView | SetYieldView, values: Sequence[ir.Value], olds: Mapping[int, ir.Value]
) -> list[ir.Value]:
    """Return the yielded values, with the accumulated ones combined with the old ones.

    The combiner is moved to the insertion point: once for each loop.

    Args:
        olds: the contents of the destinations, for those positions that are accumulated.
    """
    results = list(values)
    accumulators = view.accumulators
    if view.combiner is None:
        return results
    for at, accumulator in enumerate(accumulators):
        if accumulator is not None:
            old = same_type(olds[at], accumulator.old.type)
            rename([accumulator.new, accumulator.old], [values[at], old])
    # The arguments are gone from the accumulators: what they give is read again.
    renamed = view.accumulators
    move_here([op.operation for op in list(view.combiner.operations)[:-1]])
    for at, accumulator in enumerate(renamed):
        if accumulator is not None:
            results[at] = accumulator.combined
    return results


def same_type(old: ir.Value, type_: ir.Type) -> ir.Value:
    """Return the content of a destination in the type of a combiner: a cast or a copy, if need be.

    Raises:
        ArgumentError: the combiner requires a memref with strides that no copy has.
    """
    if old.type == type_:
        return old
    if is_view_of(type_, old.type):
        return memref.CastOp(type_, old).result
    wanted, emitter = ir.MemRefType(type_), Emitter()
    if isinstance(wanted.layout, ir.StridedLayoutAttr):
        raise ArgumentError(
            f"the accumulator combines with a {type_}, and there is a {old.type}",
            hint="yield a view of fewer known strides, or memory without strides",
        )
    sizes = [
        memref.DimOp(old, emitter.value(dim)).result
        for dim in range(wanted.rank)
        if wanted.is_dynamic_dim(dim)
    ]
    buffer: ir.Value = memref.AllocOp(type_, sizes, []).result
    memref.CopyOp(old, buffer)
    return buffer


def for_nest(
    bounds: Sequence[tuple[ir.Value, ir.Value, ir.Value]],
    carried: Sequence[ir.Value],
    body: Callable[[list[ir.Value], list[ir.Value]], Sequence[ir.Value]],
) -> list[ir.Value]:
    """Nested `scf.for` at the insertion point; what is carried, after the last iteration.

    Args:
        bounds: lower bound, upper bound and step of each, the outermost first.
        carried: the values of the first iteration.
        body: a function of the induction variables and the carried values that returns the next
            carried values.
    """
    ivs: list[ir.Value] = []

    def nested(at: int, given: Sequence[ir.Value]) -> list[ir.Value]:
        if at == len(bounds):
            return list(body(ivs, list(given)))
        loop = scf.ForOp(*bounds[at], list(given))
        with ir.InsertionPoint(loop.body):
            ivs.append(loop.induction_variable)
            scf.YieldOp(nested(at + 1, loop.inner_iter_args))
        return list(loop.results)

    return nested(0, carried)
