"""Ops built again on other operands, in each of the ways that the interface has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

import linalg_ext as lx
from linalg_ext.bindings import arith, ir, tensor
from linalg_ext.errors import ArgumentError, DTypeError, LinalgExtError, ShapeError
from linalg_ext.structured import DestinationStyle, destination_style, interface
from op_instances import ops_in, scratch, written_ops


def parsed(text: str) -> tuple[lx.Module, list[ir.Operation]]:
    module = lx.parse(text)
    return module, ops_in(module.ir)


def only(ops: list[ir.Operation], name: str) -> ir.Operation:
    (found,) = [op for op in ops if op.name == name]
    return found


def destination_ops() -> Iterator[DestinationStyle]:
    for op in ops_in(written_ops().ir):
        if lx.structured.is_destination_style(op):
            yield destination_style(op)


def text(op: ir.Operation) -> str:
    """Its IR without the numbers of values."""
    return re.sub(r"%\w+", "%", op.get_asm(use_local_scope=True, print_generic_op_form=True))


def test_a_clone_is_the_same_op() -> None:
    count = 0
    for x in destination_ops():
        with scratch(x.op):
            clone = x.clone()
            assert text(clone) == text(x.op)
            assert clone != x.op
            assert list(clone.operands) == list(x.op.operands)
            count += 1
    assert count > 30


def test_a_clone_without_regions_has_them_empty() -> None:
    for x in destination_ops():
        with scratch(x.op):
            clone = x.clone_without_regions()
            assert len(clone.regions) == len(x.op.regions)
            assert all(len(region.blocks) == 0 for region in clone.regions)
            assert [v.type for v in clone.results] == [v.type for v in x.op.results]
            if x.op.name.startswith("linalg.") and clone.regions:
                # What an op has no body for is filled in by the region builder.
                elements = [argument.type for argument in x.op.regions[0].blocks[0].arguments]
                interface(x.op).region_builder()(clone.regions[0].blocks.append(*elements))
                assert text(clone) == text(x.op)


OTHER_SIZES = """
func.func @f(%a: tensor<?x8xf32>, %b: tensor<4x8xf32>, %i: index, %x: f32) {
  %c1 = arith.constant 1 : index
  %exp = linalg.exp ins(%a : tensor<?x8xf32>) outs(%a : tensor<?x8xf32>) -> tensor<?x8xf32>
  %for = scf.for %k = %c1 to %i step %c1 iter_args(%o = %a) -> (tensor<?x8xf32>) {
    %n = linalg.fill ins(%x : f32) outs(%b : tensor<4x8xf32>) -> tensor<4x8xf32>
    scf.yield %o : tensor<?x8xf32>
  }
  %forall = scf.forall (%k) in (%i) shared_outs(%o = %a) -> (tensor<?x8xf32>) {
    %s = tensor.extract_slice %b[%k, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<1x8xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %o[%k, 0] [1, 8] [1, 1]
        : tensor<1x8xf32> into tensor<?x8xf32>
    }
  }
  return
}"""


@pytest.mark.parametrize("name", ["linalg.exp", "scf.for", "scf.forall"])
def test_results_and_what_a_loop_carries_get_the_types_of_new_inits(name: str) -> None:
    module, ops = parsed(OTHER_SIZES)
    op = only(ops, name)
    x = destination_style(op)
    new = op.block.arguments[1]
    operands = [new if value.type == op.block.arguments[0].type else value for value in x.operands]
    with ir.InsertionPoint(op), op.location:
        clone = x.clone(operands)
    assert destination_style(clone).init_types == (new.type,)
    assert [v.type for v in clone.results] == [new.type]
    module.verify()


def test_a_mapping_says_what_regions_use_in_place_of_values_from_outside() -> None:
    module, ops = parsed(OTHER_SIZES)
    op = only(ops, "scf.for")
    outer = op.block.arguments
    with ir.InsertionPoint(op), op.location:
        zero = arith.ConstantOp(ir.F32Type.get(), 0.0).result
        empty = tensor.EmptyOp([4, 8], ir.F32Type.get()).result
        clone = destination_style(op).clone(mapping={outer[1]: empty, outer[3]: zero})
    fill = only(ops_in(clone), "linalg.fill")
    assert list(fill.operands) == [zero, empty]
    (kept,) = [inner for inner in op.regions[0].blocks[0].operations if "fill" in str(inner.name)]
    assert list(kept.operation.operands) == [outer[3], outer[1]]
    module.verify()


REFUSED = """
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>, %c: tensor<4x4xf32>, %wide: tensor<4x4xf64>,
    %cube: tensor<4x4x4xf32>, %m: memref<4x4xf32>, %x: f32, %other: tensor<5x5xf32>) {
  %r = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x4xf32>) outs(%c : tensor<4x4xf32>)
    -> tensor<4x4xf32>
  return
}"""


@pytest.mark.parametrize(
    ("operands", "error", "message"),
    [
        ([0, 1], ArgumentError, r"linalg.matmul got 2 operands"),
        ([0, 1, 3], DTypeError, r"operand 2 for linalg.matmul is of f64: tensor<4x4xf64>"),
        ([0, 1, 4], ShapeError, r"operand 2 for linalg.matmul is of rank 3: tensor<4x4x4xf32>"),
        ([0, 1, 5], ArgumentError, r"cannot be built on operands .*memref<4x4xf32>"),
        ([0, 6, 2], ArgumentError, r"cannot be built on operands of types tensor<4x8xf32>, f32"),
        ([0, 1, 7], ArgumentError, r"cannot be built on operands .*tensor<5x5xf32>"),
    ],
)
def test_operands_that_do_not_fit_build_nothing(
    operands: list[int], error: type[LinalgExtError], message: str
) -> None:
    module, ops = parsed(REFUSED)
    before, matmul = str(module), only(ops, "linalg.matmul")
    arguments = matmul.block.arguments
    with (
        ir.InsertionPoint(matmul),
        pytest.raises(error, match=message) as found,
    ):
        destination_style(matmul).clone([arguments[i] for i in operands])
    assert "linalg.matmul" in str(found.value.where)
    assert str(module) == before


def test_nothing_is_built_in_no_place_or_of_another_context() -> None:
    module, ops = parsed(REFUSED)
    x = destination_style(only(ops, "linalg.matmul"))
    with pytest.raises(ArgumentError, match=r"linalg.matmul cannot be built: no insertion point"):
        x.clone()
    other, others = parsed(REFUSED)
    with (
        ir.InsertionPoint(x.op),
        pytest.raises(ArgumentError, match=r"operand 0 for linalg.matmul is a value of another"),
    ):
        x.clone(list(only(others, "linalg.matmul").operands))
    assert str(other) == str(module)


def test_an_init_is_set_in_place() -> None:
    module, ops = parsed(REFUSED)
    matmul = only(ops, "linalg.matmul")
    x = destination_style(matmul)
    with ir.InsertionPoint(matmul), matmul.location:
        empty = tensor.EmptyOp([4, 4], ir.F32Type.get())
    x.set_init(0, empty)
    assert x.inits == (empty.result,)
    module.verify()
    arguments, before = matmul.block.arguments, str(module)
    for number, value, message in (
        (0, arguments[3], "operand 2 for linalg.matmul is of f64: tensor<4x4xf64>"),
        (0, arguments[5], "the new one of type memref<4x4xf32>"),
        (1, arguments[2], "linalg.matmul has no init 1"),
        (-1, arguments[2], "linalg.matmul has no init -1"),
    ):
        with pytest.raises(ArgumentError, match=message):
            x.set_init(number, value)
    assert str(module) == before


BUFFERS = """
func.func @f(%a: memref<4x8xf32>, %s: memref<4x8xf32, strided<[?, ?], offset: ?>, 1>,
    %small: memref<4x7xf32>) {
  linalg.exp ins(%a : memref<4x8xf32>) outs(%a : memref<4x8xf32>)
  return
}"""


def test_a_buffer_may_give_way_to_one_of_another_layout() -> None:
    module, ops = parsed(BUFFERS)
    exp = only(ops, "linalg.exp")
    x, (whole, strided, small) = destination_style(exp), exp.block.arguments
    x.set_init(0, strided)
    assert x.operands == (whole, strided)
    module.verify()
    with pytest.raises(DTypeError, match=r"linalg.exp cannot write to memref<4x7xf32>"):
        x.set_init(0, small)
    assert x.operands == (whole, strided)


def test_an_op_is_bufferized_on_buffers_of_its_shapes_alone() -> None:
    module, ops = parsed(OTHER_SIZES)
    before, exp = str(module), only(ops, "linalg.exp")
    with ir.InsertionPoint(exp), exp.location:
        for position in (1, 2):
            value = exp.block.arguments[position]
            with pytest.raises(DTypeError, match=r"is not a buffer for it"):
                destination_style(exp).bufferized([value, value])
        loop = only(ops, "scf.forall")
        with pytest.raises(ArgumentError, match=r"scf.forall has no form on buffers"):
            destination_style(loop).bufferized(list(loop.operands))
    assert str(module) == before


def test_the_region_builder_fills_blocks_that_fit_alone() -> None:
    module, ops = parsed(BUFFERS)
    exp = only(ops, "linalg.exp")
    x, f64 = interface(exp), ir.F64Type.get(module.context)
    with scratch(exp):
        clone = x.clone_without_regions()
        block = clone.regions[0].blocks.append(f64, f64)
        with pytest.raises(ArgumentError, match=r"the block has arguments \(f64, f64\)"):
            x.region_builder()(block)
        for argument in block.arguments:
            argument.set_type(ir.F32Type.get(module.context))
        x.region_builder()(block)
        with pytest.raises(ArgumentError, match=r"has ops already"):
            x.region_builder()(block)
    module.verify()


def test_segments_are_said_anew_for_all_operands() -> None:
    _, ops = parsed(BUFFERS)
    x = interface(only(ops, "linalg.exp"))
    with pytest.raises(ArgumentError, match=r"2 inputs and 1 inits of linalg.exp"):
        x.set_segments(2, 1)
    not_a_number: Any = "1"
    with pytest.raises(
        ArgumentError, match=r"1 inputs and '1' inits.*\n.*\n  expected two numbers"
    ):
        x.set_segments(1, not_a_number)
    x.set_segments(2, 0)
    assert "operandSegmentSizes = array<i32: 2, 0>" in x.op.get_asm(print_generic_op_form=True)
    x.set_segments(1, 1)
    assert x.op.verify()
