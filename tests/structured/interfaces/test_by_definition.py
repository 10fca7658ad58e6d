"""Answers beside the definitions of the op library, and loops beside all iterations counted out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from core_ops import Problem
from linalg_ext.bindings import ir
from linalg_ext.definition.model import OperandKind
from linalg_ext.structured import StructuredInterface, interface
from linalg_ext.structured.maps import has_payload
from linalg_ext.structured.operands import bind
from linalg_ext.symbolic.affine import AffineDim, AffineExpr
from op_instances import case_of, named_ops, ops_in, written_ops

Array = np.ndarray[Any, np.dtype[Any]]


def cases() -> Iterator[tuple[Problem, StructuredInterface]]:
    for name, op in named_ops(memref=False)[1].items():
        yield case_of(op, name), interface(op)


def structured_ops() -> Iterator[StructuredInterface]:
    """One op for each kind of maps, of sizes that are known.

    Not the histogram: its operands do not say it all.
    """
    seen = set()
    for op in (*named_ops(memref=False)[1].values(), *ops_in(written_ops().ir)):
        is_structured = op.name.startswith("linalg_ext") or has_payload(op)
        if is_structured and "memref.atomic_rmw" not in str(op):
            x = interface(op)
            said = (x.indexing_maps, x.static_shape, x.iterator_types)
            if not x.has_dynamic_shape and said not in seen:
                seen.add(said)
                yield x


def test_maps_loops_and_payload_are_those_of_the_definition() -> None:
    for case, x in cases():
        inputs = [value for i, value in enumerate(x.operands) if x.is_input(i)]
        with x.op.context:
            bound = bind(case.definition, inputs, x.inits, case.resolved)
        slots = bound.slots()
        assert [str(map) for map in x.indexing_maps] == [str(map) for _, _, _, map in slots]
        assert x.iterator_types == bound.iterator_types, x
        reads = {getattr(e, "operand", "") for e in case.definition.expressions()}
        for position, (operand, *_) in enumerate(slots):
            target = operand.kind is OperandKind.OUTPUT_TENSOR
            used = (
                case.definition.assignment_to(operand.name).reads_target
                if target
                else operand.name in reads
            )
            assert x.payload_uses_value_of(position) == used, (x, operand.name)
            assert x.is_scalar(position) == (operand.kind is OperandKind.SCALAR)


def test_ranges_are_the_extents_of_the_problem() -> None:
    for case, x in cases():
        extents = tuple(case.extents.values())
        assert x.static_loop_ranges == (extents or x.shape(x.init_positions[0])), x
        flat = dict(zip(x.shapes_to_loops_map.dims, x.static_shape, strict=True))
        values: dict[AffineExpr, int] = {AffineDim(d): n for d, n in flat.items() if n is not None}
        picked = [index.evaluate(values) for index in x.shapes_to_loops_map.results]
        assert tuple(picked) == x.static_loop_ranges
        assert x.has_dynamic_indexing_maps == bool(
            {"strides", "dilations"} & {o.name for o in case.definition.attributes}
        ) or x.op.name in ("linalg.matmul", "linalg.batch_matmul", "linalg.batch_reduce_matmul")


def test_the_last_iteration_reaches_the_last_element_of_every_operand() -> None:
    for x in structured_ops():
        sizes = x.static_loop_ranges
        dims = x.indexing_maps[0].dims
        last: dict[AffineExpr, int] = {
            AffineDim(d): n - 1 for d, n in zip(dims, sizes, strict=True) if n is not None
        }
        reached = [index.evaluate(last) + 1 for index in x.loops_to_shapes_map.results]
        assert tuple(reached) == x.static_shape, x
        results = x.result_positions_in_loops_to_shapes_map
        assert [reached[i] for i in results] == [n for i in x.init_positions for n in x.shape(i)]


def rows(x: StructuredInterface, position: int, *, with_dims: range) -> Array:
    """All iterations counted out: the element that each touches, then some of its numbers."""
    map = x.indexing_maps[position]
    points = np.indices([n or 0 for n in x.static_loop_ranges]).reshape(len(map.dims), -1)
    values: dict[AffineExpr, Array] = {
        AffineDim(d): numbers for d, numbers in zip(map.dims, points, strict=True)
    }
    touched = [np.broadcast_to(i.evaluate(values), points.shape[1:]) for i in map.results]
    return np.unique(np.stack([*touched, *points[with_dims.start : with_dims.stop]], -1), axis=0)


def steps(found: Array) -> Array:
    """How far the last numbers of rows are apart that agree in all others."""
    alike = (found[1:, :-1] == found[:-1, :-1]).all(axis=1)
    apart: Array = found[1:, -1] - found[:-1, -1]
    return np.asarray(apart[alike])


def test_a_loop_parts_the_work_where_its_iterations_share_no_element() -> None:
    found = 0
    for x in structured_ops():
        for loop in x.loops:
            shares = any(
                steps(rows(x, i, with_dims=range(loop.dim, loop.dim + 1))).size
                for i in range(x.num_operands)
                if not x.is_scalar(i)
            )
            assert loop.is_partition == (not shares and loop.dim in x.parallel_dims), (x, loop)
            found += loop.is_partition
    assert found > 30


def test_the_distance_of_dependences_is_that_of_writes_to_one_element() -> None:
    for x in structured_ops():
        for loop in x.loops:
            apart = [steps(rows(x, i, with_dims=range(loop.dim + 1))) for i in x.init_positions]
            distances = np.concatenate(apart)
            assert loop.distance == (distances.min() if distances.size else 0), (x, loop)


FOLDS = """
#all = affine_map<(i, j, k) -> (i, j, k)>
#one = affine_map<(i, j, k) -> (i)>
#two = affine_map<(i, j, k) -> (i, j)>
func.func @f(%x: tensor<2x3x4xf32>, %y: tensor<2xf32>, %z: tensor<2x3xf32>) {{
  %r = linalg.generic {{indexing_maps = [#all, #{map}], iterator_types = [{iterators}]}}
    ins(%x : tensor<2x3x4xf32>) outs(%{out}) {{
  ^bb0(%in: f32, %old: f32):
    {body}
    linalg.yield %new : f32
  }} -> {type}
  return
}}"""
DECAY = "%half = arith.mulf %old, %in : f32\n    %new = arith.addf %half, %in : f32"
SUM = "%new = arith.addf %old, %in : f32"


@pytest.mark.parametrize(
    ("reductions", "body", "sequential", "permutable"),
    [
        (2, SUM, (), (0, 1, 2)),
        (2, DECAY, (1, 2), (0,)),
        (1, DECAY, (2,), (0, 1, 2)),  # alone, it keeps its order wherever it stands
    ],
)
def test_a_fold_keeps_its_order(
    reductions: int, body: str, sequential: tuple[int, ...], permutable: tuple[int, ...]
) -> None:
    kinds = ['"parallel"'] * (3 - reductions) + ['"reduction"'] * reductions
    type_ = "tensor<2xf32>" if reductions == 2 else "tensor<2x3xf32>"
    text = FOLDS.format(
        map="one" if reductions == 2 else "two",
        iterators=", ".join(kinds),
        out=f"{'y' if reductions == 2 else 'z'} : {type_}",
        body=body,
        type=type_,
    )
    module = lx.parse(text)
    x = interface(_generic(module))
    assert x.sequential_dims == sequential
    assert x.permutable_dims == permutable
    assert x.dependence_distances == (0,) * (3 - reductions) + (1,) * reductions


PAIRS = """
#all = affine_map<(i, j) -> (i, j)>
#one = affine_map<(i, j) -> (i)>
func.func @f(%x: tensor<2x3xf32>, %y: tensor<2xf32>, %z: OTHER) {
  %r:2 = linalg.generic {indexing_maps = [#all, #one, #MAP],
    iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<2x3xf32>) outs(%y, %z : tensor<2xf32>, OTHER) {
  ^bb0(%in: f32, %sum: f32, %old: f32):
    %new = arith.addf %sum, %in : f32
    %more = arith.addf %old, VALUE : f32
    linalg.yield %new, %more : f32, f32
  } -> (tensor<2xf32>, OTHER)
  return
}"""


@pytest.mark.parametrize(
    ("map", "value", "sequential"),
    [
        ("one", "%in", ()),  # two sums
        ("all", "%in", ()),  # a sum, and what each element was
        ("one", "%sum", (1,)),  # a sum of what the first has come to
        ("all", "%new", (1,)),  # all that it came to: a scan
    ],
)
def test_a_sum_that_another_output_watches_keeps_its_order(
    map: str, value: str, sequential: tuple[int, ...]
) -> None:
    other = "tensor<2xf32>" if map == "one" else "tensor<2x3xf32>"
    text = PAIRS.replace("OTHER", other).replace("MAP", map).replace("VALUE", value)
    module = lx.parse(text)
    assert interface(_generic(module)).sequential_dims == sequential


WRITES = """
func.func @f(%x: memref<{n}xf32>, %y: memref<{m}xf32>) {{
  linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ({index})>],
    iterator_types = ["reduction"]}} ins(%x : memref<{n}xf32>) outs(%y : memref<{m}xf32>) {{
  ^bb0(%in: f32, %old: f32):
    linalg.yield %in : f32
  }}
  return
}}"""


@pytest.mark.parametrize(
    ("index", "n", "m", "distance"),
    [("i", 8, 8, 0), ("i * 2", 8, 15, 0), ("i floordiv 2", 8, 4, None), ("i mod 2", 8, 2, None)],
)
def test_what_is_not_known_of_a_dependence_is_not_said(
    index: str, n: int, m: int, distance: int | None
) -> None:
    module = lx.parse(WRITES.format(index=index, n=n, m=m))
    x = interface(_generic(module))
    assert x.dependence_distances == (distance,)
    # Only what leaves gaps keeps some of what was there.
    assert x.uses_initial_value(1) == (index == "i * 2")
    assert not x.payload_uses_value_of(1)


BLOCKS = """
func.func @f(%x: tensor<{length}xf32>, %y: tensor<4x3xf32>) {{
  %r = linalg.generic {{indexing_maps = [affine_map<(i, k) -> (i * {step} + k)>,
    affine_map<(i, k) -> (i, k)>], iterator_types = ["parallel", "parallel"]}}
    ins(%x : tensor<{length}xf32>) outs(%y : tensor<4x3xf32>) {{
  ^bb0(%in: f32, %old: f32):
    linalg.yield %in : f32
  }} -> tensor<4x3xf32>
  return
}}"""


@pytest.mark.parametrize(("step", "partition"), [(2, ()), (3, (0,)), (4, (0,))])
def test_blocks_part_the_work_where_they_do_not_overlap(
    step: int, partition: tuple[int, ...]
) -> None:
    module = lx.parse(BLOCKS.format(step=step, length=step * 3 + 3))
    assert interface(_generic(module)).partition_dims == partition


LAST_WINS = """
func.func @f(%x: tensor<4xTYPE>, %y: tensor<4xf32>) {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
    iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4xTYPE>) outs(%y : tensor<4xf32>) {
  ^bb0(%in: f32, %old: f32):
    linalg.yield %in : f32
  } -> tensor<4xf32>
  return
}"""


@pytest.mark.parametrize(("size", "kept"), [("3", False), ("?", True), ("0", True)])
def test_a_loop_that_may_not_run_may_leave_all_as_it_was(size: str, kept: bool) -> None:
    module = lx.parse(LAST_WINS.replace("TYPE", f"{size}xf32"))
    assert interface(_generic(module)).uses_initial_value(1) == kept


def test_memory_that_no_map_tells_of_is_no_partition() -> None:
    """The histogram: parallel by its word, and every iteration may touch the same memory."""
    (x,) = [
        interface(op)
        for op in ops_in(written_ops().ir)
        if op.name == "linalg.generic" and "memref.atomic_rmw" in str(op)
    ]
    assert x.parallel_dims == (0, 1)
    assert x.partition_dims == ()
    assert x.has_index_semantics


def _generic(module: lx.Module) -> ir.Operation:
    (op,) = [op for op in ops_in(module.ir) if op.name == "linalg.generic"]
    return op
