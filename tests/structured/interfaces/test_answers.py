"""Answers that agree with each other, and answers written down by hand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import linalg_ext as lx
from linalg_ext.bindings import ir
from linalg_ext.definition.model import IteratorType
from linalg_ext.errors import ArgumentError
from linalg_ext.structured import (
    LoopRange,
    StructuredInterface,
    destination_style,
    interface,
    is_destination_style,
)
from linalg_ext.structured.maps import has_payload
from linalg_ext.structured.operands import producer
from op_instances import every_op, ops_in, scratch, written_ops


def structured() -> Iterator[StructuredInterface]:
    for op in every_op(buffers=False):
        if has_payload(op):
            yield interface(op)


def written(name: str, number: int = 0) -> ir.Operation:
    return [op for op in ops_in(written_ops().ir) if op.name == name][number]


def test_counts_and_lists_agree() -> None:
    kinds = set()
    for op in every_op():
        if not is_destination_style(op):
            continue
        x = destination_style(op)
        operands = list(op.operands)
        assert sorted(x.input_positions + x.init_positions) == list(range(x.num_operands))
        assert (x.num_inputs, x.num_inits) == (len(x.inputs), len(x.inits))
        assert x.operands == tuple(operands)
        assert x.inputs == tuple(operands[i] for i in x.input_positions)
        types = tuple(str(value.type).partition("<")[0] for value in operands)
        assert x.has_tensor_semantics == ("tensor" in types)
        assert x.has_buffer_semantics == ("memref" in types)
        for position, kind in enumerate(types):
            shaped = kind in ("tensor", "memref")
            assert x.is_init(position) == (not x.is_input(position))
            assert x.is_scalar(position) == (not shaped)
            type_ = operands[position].type
            assert x.rank(position) == (ir.ShapedType(type_).rank if shaped else 0)
            assert (operands[position] in x.shaped_inputs) >= (shaped and x.is_input(position))
        kinds.add((x.has_tensor_semantics, x.has_buffer_semantics))
    assert kinds == {(True, False), (False, True), (False, False)}
    for x in structured():
        assert x.num_loops == len(x.loops) == x.num_parallel_loops + x.num_reduction_loops
        assert {*x.window_dims, *x.sequential_dims} <= {*x.reduction_dims}
        assert x.num_window_loops == len(x.window_dims)
        single = x.num_loops == 1 and x.iterator_types[0] is IteratorType.REDUCTION
        assert x.has_single_reduction_loop == single
        plain = all(map.is_projected_permutation for map in x.indexing_maps)
        assert x.has_only_projected_permutations == plain
    assert any(x.has_single_reduction_loop for x in structured())


def test_the_body_is_tied_to_the_operands() -> None:
    for x in structured():
        body = x.op.regions[0].blocks[0]
        arguments, yielded = list(body.arguments), list(body.operations)[-1].operation
        maps = x.indexing_maps
        assert x.block == body
        for position, argument in enumerate(arguments):
            assert x.tied_block_argument(position) == argument
            assert x.tied_operand(argument) == x.operands[position]
            assert x.tied_indexing_map(position) == maps[position]
        for number, position in enumerate(x.init_positions):
            assert x.tied_yield_value(position) == yielded.operands[number]
            if position < len(arguments):
                assert x.region_init_args[number] == arguments[position]
            for result in list(x.op.results)[number : number + 1]:
                assert x.tied_indexing_map_of_result(result) == maps[position]


@pytest.mark.parametrize(
    ("name", "number", "used"),
    [
        ("tensor.insert", 0, [True]),
        ("tensor.insert_slice", 0, [True]),
        ("tensor.insert_slice", 1, [False]),  # all of it is overwritten
        ("tensor.scatter", 0, [True]),
        ("scf.for", 0, [True, True]),
        ("scf.for", 1, [False]),  # it runs, and does not use what it carries
        ("scf.forall", 0, [True, True]),
        ("linalg.pack", 0, [False]),
        ("linalg.unpack", 0, [False]),
        ("linalg.softmax", 0, [False]),
        ("linalg.winograd_filter_transform", 0, [False]),
        ("linalg.winograd_output_transform", 0, [True]),
        ("bufferization.materialize_in_destination", 0, [False]),
        ("linalg_ext.elementwise", 0, [False]),
        ("linalg_ext.contract", 0, [True]),
        ("linalg.generic", 0, [True, False]),
        ("linalg.transpose", 0, [False]),
        ("linalg.contract", 0, [True]),
    ],
)
def test_what_a_destination_held_matters_where_it_is_said_to(
    name: str, number: int, used: list[bool]
) -> None:
    x = destination_style(written(name, number))
    assert [x.uses_initial_value(position) for position in x.init_positions] == used


SMALL = """
func.func @f(%x: f32, %one: tensor<1x1xf32>, %n: index, %t: tensor<4xf32>, %c: tensor<2x4xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %minus = arith.constant -1 : index
  %inserted = tensor.insert %x into %one[%c0, %c0] : tensor<1x1xf32>
  %no = scf.for %i = %c4 to %c0 step %c4 iter_args(%o = %t) -> (tensor<4xf32>) {
    scf.yield %t : tensor<4xf32>
  }
  %may = scf.for %i = %c0 to %n step %c4 iter_args(%o = %t) -> (tensor<4xf32>) {
    scf.yield %t : tensor<4xf32>
  }
  %unsigned = scf.for unsigned %i = %minus to %c4 step %c4 iter_args(%o = %t) -> (tensor<4xf32>) {
    scf.yield %t : tensor<4xf32>
  }
  %strided = tensor.insert_slice %t into %c[0, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<2x4xf32>
  %over = "linalg_ext.contract"(%c, %t) {kind = "+*", overwrite, indexing_maps = [
    affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i)>],
    operandSegmentSizes = array<i32: 1, SEGMENTS 1>} : (tensor<2x4xf32>, tensor<4xf32>)
    -> tensor<4xf32>
  return
}""".replace("SEGMENTS", "0, " * 24)


@pytest.mark.parametrize(
    ("name", "number", "used"),
    [
        ("tensor.insert", 0, False),
        ("scf.for", 0, True),
        ("scf.for", 1, True),
        ("scf.for", 2, True),
        ("tensor.insert_slice", 0, True),
        ("linalg_ext.contract", 0, False),
    ],
)
def test_it_matters_by_sizes_bounds_and_attributes(name: str, number: int, used: bool) -> None:
    module = lx.parse(SMALL)
    x = destination_style([op for op in ops_in(module.ir) if op.name == name][number])
    assert [x.uses_initial_value(position) for position in x.init_positions] == [used]


def test_dynamic_sizes_become_values_where_they_are_needed() -> None:
    contract = written("linalg.contract")
    x = interface(contract)
    assert x.has_dynamic_shape
    assert x.static_loop_ranges == (None, 4, 8)
    with pytest.raises(ArgumentError, match=r"no insertion point"):
        x.loop_ranges()
    with scratch(contract):
        rows, columns, depth = x.loop_ranges()
        assert (columns, depth) == (LoopRange(0, 4, 1), LoopRange(0, 8, 1))
        ((height, width),) = x.reified_result_shapes()
        assert width == 4  # of an input, though the init's is dynamic
        for size, operand in ((rows.size, 0), (height, 0)):
            assert measured(size) == x.operands[operand]
        lhs_rows, lhs_depth, *others = x.operand_sizes()
        assert measured(lhs_rows) == measured(lhs_depth) == x.operands[0]
        assert others[:2] == [8, 4]
    insert = destination_style(written("tensor.insert_slice"))
    with scratch(insert.op):
        ((rows_of_init, known),) = insert.reified_result_shapes()
        assert known == 8
        assert measured(rows_of_init) == insert.inits[0]


def measured(size: int | ir.Value) -> ir.Value:
    """The tensor that a size is measured of."""
    assert isinstance(size, ir.Value)
    dim = producer(size)
    assert dim is not None
    assert dim.name == "tensor.dim"
    return dim.operands[0]


DROPPING = """
#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>
#sum = affine_map<(i, j) -> (i)>
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8xf32>, %o: tensor<4xf32>) {
  %r = linalg.generic {indexing_maps = [#all, #row, #sum],
      iterator_types = ["parallel", "reduction"]}
      ins(%a, %b : tensor<4x8xf32>, tensor<8xf32>) outs(%o : tensor<4xf32>) {
  ^bb0(%x: f32, %y: f32, %old: f32):
    %s = arith.addf %old, %x : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return
}"""


def test_an_operand_can_go_when_others_have_its_sizes() -> None:
    module = lx.parse(DROPPING)
    (op,) = [op for op in ops_in(module.ir) if op.name == "linalg.generic"]
    x = interface(op)
    assert x.can_drop([])
    assert x.can_drop([0])
    assert x.can_drop([op.operands[1]])
    assert not x.can_drop([0, 1])  # nobody would be as long as the second loop
    assert x.droppable_operands == (1,)


def test_an_op_of_our_own_dialect_answers_by_its_definition() -> None:
    x = interface(written("linalg_ext.contract"))
    assert x.iterator_types == (IteratorType.PARALLEL, IteratorType.REDUCTION)
    assert [x.payload_uses_value_of(i) for i in range(4)] == [True] * 4
    assert (x.has_index_semantics, x.library_call_name) == (False, None)
    with pytest.raises(ArgumentError, match=r"(?s)has no body.*linalg-ext-lower-contract"):
        _ = x.block
    f32 = ir.F32Type.get(x.op.context)
    with scratch(x.op), x.op.location:
        region = ir.Operation.create("scf.execute_region", regions=1).regions[0]
        block = region.blocks.append(f32, f32, f32, f32)
        x.region_builder()(block)
        names = [inner.operation.name for inner in block.operations]
    assert names == ["arith.addf", "arith.addf", "arith.maximumf", "linalg.yield"]


SIDE_EFFECT = """
func.func @f(%a: memref<4xf32>, %b: memref<8xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["reduction"]}
      ins(%a : memref<4xf32>) {
  ^bb0(%x: f32):
    %i = linalg.index 0 : index
    memref.store %x, %b[%i] : memref<8xf32>
    linalg.yield
  }
  return
}"""


def test_an_op_may_write_to_nothing_but_memory_from_outside() -> None:
    module = lx.parse(SIDE_EFFECT)
    (op,) = [op for op in ops_in(module.ir) if op.name == "linalg.generic"]
    x = interface(op)
    assert (x.inputs, x.inits, x.region_init_args) == (tuple(op.operands), (), ())
    assert x.result_positions_in_loops_to_shapes_map == range(1, 1)
    # Nothing says what it does to that memory in which order: nothing is promised.
    assert (x.sequential_dims, x.dependence_distances) == ((0,), (None,))
    (captured,) = x.footprint().captured
    assert (captured.value, captured.is_read, captured.is_written) == (
        op.block.arguments[1],
        False,
        True,
    )
    with ir.InsertionPoint(op):
        assert len(x.clone().operands) == 1
