"""Replace computations on tensors of a single element by scalar ones.

before:
    %e = tensor.empty() : tensor<1x1xf32>
    %a = linalg.map {arith.addf} ins(%x, %y : tensor<1x1xf32>, tensor<1x1xf32>)
                                 outs(%e : tensor<1x1xf32>)
    %r = tensor.insert_slice %a into %z[%i, 2] [1, 1] [1, 1] : tensor<1x1xf32> into tensor<4x4xf32>
after:
    %p = tensor.extract %x[%c0, %c0] : tensor<1x1xf32>
    %q = tensor.extract %y[%c0, %c0] : tensor<1x1xf32>
    %s = arith.addf %p, %q : f32
    %r = tensor.insert %s into %z[%i, %c2] : tensor<4x4xf32>

The last step after tiling by 1. Any structured op whose operands all have one element, or none to
index; `scf.if` and `scf.for` that give such tensors, and slices that such a tensor is put into.
Neighbours then exchange scalars: `tensor.extract` of `tensor.from_elements` folds. The origin is
the pass `scalarize` of tensorflow/mlir-hlo.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir, tensor
from linalg_ext.rewriting import Rewriter, rewrite
from linalg_ext.structured.indices import Emitter
from linalg_ext.structured.operands import producer
from linalg_ext.transforms.ir_utils.walking import is_unused, operations

from ._nest import move_here

NAME = "linalg-ext-scalarize"

_OTHERS = ("scf.if", "scf.for", "tensor.insert_slice")


@rewrite(NAME, on=lambda name: name.startswith("linalg.") or name in _OTHERS)
def scalarize(op: ir.OpView, rewriter: Rewriter) -> bool:
    """Have one op work on scalars."""
    whole = op.operation
    match whole.name:
        case "tensor.insert_slice":
            results = _inserted(op)
        case "scf.if":
            results = _scalar_if(whole)
        case "scf.for":
            results = _scalar_for(whole)
        case _:
            results = _scalar_body(whole, rewriter)
    if results is None:
        return False
    rewriter.replace_op(op, results)
    return True


def _is_single(type_: ir.Type) -> bool:
    return isinstance(type_, ir.RankedTensorType) and all(size == 1 for size in type_.shape)


def _element(value: ir.Value) -> ir.Value:
    if not isinstance(value.type, ir.RankedTensorType):
        return value
    maker = producer(value)
    if maker is not None and maker.name == "tensor.extract_slice":
        slice_: Any = maker.opview
        whole, indices = slice_.source, _offsets(slice_)
    else:
        whole, indices = value, [Emitter().value(0)] * value.type.rank
    return tensor.ExtractOp(whole, indices).result


def _offsets(slice_: Any) -> list[ir.Value]:
    gap = ir.ShapedType.get_dynamic_size()
    dynamic, emitter = iter(slice_.offsets), Emitter()
    return [
        next(dynamic) if offset == gap else emitter.value(offset)
        for offset in slice_.static_offsets
    ]


def _tensor(element: ir.Value, type_: ir.Type) -> ir.Value:
    if element.type == type_:
        return element
    return tensor.FromElementsOp(type_, [element]).result


def _scalar_body(op: ir.Operation, rewriter: Rewriter) -> list[ir.Value] | None:
    """Return the results of a structured op, whose body is computed once."""
    if len(op.regions) != 1 or not len(op.regions[0].blocks) or not len(op.results):
        return None
    operands = list(op.operands)
    tensors = [operand for operand in operands if isinstance(operand.type, ir.ShapedType)]
    if not all(_is_single(operand.type) for operand in tensors):
        return None
    block = op.regions[0].blocks[0]
    body = [op_view.operation for op_view in block.operations]
    # The body of linalg.map may have no argument for its output.
    if len(block.arguments) > len(operands) or not body or body[-1].name != "linalg.yield":
        return None
    values = operands[: len(block.arguments)]
    elements = [
        _element(value) if not is_unused(argument) else None
        for value, argument in zip(values, block.arguments, strict=True)
    ]
    for argument, element in zip(block.arguments, elements, strict=True):
        if element is not None:
            argument.replace_all_uses_with(element)
    move_here(body[:-1])
    for index in [index for inner in body[:-1] for index in operations(inner, {"linalg.index"})]:
        with ir.InsertionPoint(index):
            index.results[0].replace_all_uses_with(Emitter().value(0))  # the only index
        rewriter.erase_op(index)
    results = list(body[-1].operands)
    return [_tensor(value, old.type) for value, old in zip(results, op.results, strict=True)]


def _scalar_if(op: ir.Operation) -> list[ir.Value] | None:
    types = [_scalar_type(result.type) for result in op.results]
    if types == [result.type for result in op.results]:
        return None
    branch = ir.Operation.create("scf.if", results=types, operands=list(op.operands), regions=2)
    for old, new in zip(op.regions, branch.operation.regions, strict=True):
        old.blocks[0].append_to(new)
        _yield_elements(new.blocks[0])
    return [_tensor(new, old.type) for new, old in zip(branch.results, op.results, strict=True)]


def _scalar_for(op: ir.Operation) -> list[ir.Value] | None:
    types = [_scalar_type(result.type) for result in op.results]
    if types == [result.type for result in op.results]:
        return None
    bounds, inits = list(op.operands)[:3], list(op.operands)[3:]
    loop = ir.Operation.create(
        "scf.for",
        results=types,
        operands=[*bounds, *map(_scalar, inits)],
        attributes={name: op.attributes[name] for name in op.attributes},
        regions=1,
    )
    op.regions[0].blocks[0].append_to(loop.operation.regions[0])
    block = loop.operation.regions[0].blocks[0]
    with ir.InsertionPoint.at_block_begin(block):
        for argument, type_ in zip(list(block.arguments)[1:], types, strict=True):
            _hold_as_tensor(argument, type_)
    _yield_elements(block)
    return [_tensor(new, old.type) for new, old in zip(loop.results, op.results, strict=True)]


def _hold_as_tensor(argument: ir.BlockArgument, type_: ir.Type) -> None:
    """Make an argument a scalar, and give its users a tensor of it."""
    old = argument.type
    if old == type_:
        return
    argument.set_type(type_)
    tensor_of_one = tensor.FromElementsOp(old, [argument])
    argument.replace_all_uses_except(tensor_of_one.result, tensor_of_one.operation)


def _yield_elements(block: ir.Block) -> None:
    end = list(block.operations)[-1].operation
    with ir.InsertionPoint(end):
        for number, value in enumerate(list(end.operands)):
            end.operands[number] = _scalar(value)


def _scalar(value: ir.Value) -> ir.Value:
    return _element(value) if _is_single(value.type) else value


def _scalar_type(type_: ir.Type) -> ir.Type:
    return ir.RankedTensorType(type_).element_type if _is_single(type_) else type_


def _inserted(op: Any) -> list[ir.Value] | None:
    """Insert a slice of one scalar as an element."""
    maker = producer(op.source)
    if maker is None or maker.name != "tensor.from_elements" or not _is_single(op.source.type):
        return None
    if any(size != 1 for size in op.static_sizes):
        return None
    return [tensor.InsertOp(maker.operands[0], op.dest, _offsets(op)).result]
