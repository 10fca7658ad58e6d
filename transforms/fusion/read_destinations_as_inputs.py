"""Have element-wise generics read what they add to as an input, where a generic reads them.

Upstream fuses such a generic into the one that reads it, and takes its destination along: where the
result is broadcast, be it some ops later, that is then read and written once for each point of the
larger iteration space, and what was added once is added many times. As an input it is read alone.

before:
    %s = linalg.generic {
      indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
      iterator_types = ["parallel"]
    } ins(%a : tensor<2xf32>) outs(%i : tensor<2xf32>) {
    ^bb0(%x: f32, %o: f32):
      %t = arith.addf %o, %x : f32
      linalg.yield %t : f32
    } -> tensor<2xf32>
    %r = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]
    } ins(%s : tensor<2xf32>) outs(%c : tensor<2x3xf32>) {
    ^bb0(%x: f32, %o: f32):
      linalg.yield %x : f32
    } -> tensor<2x3xf32>
after:
    %e = tensor.empty() : tensor<2xf32>
    %s = linalg.generic {
      indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>,
                       affine_map<(d0) -> (d0)>],
      iterator_types = ["parallel"]
    } ins(%a, %i : tensor<2xf32>, tensor<2xf32>) outs(%e : tensor<2xf32>) {
    ^bb0(%x: f32, %i0: f32, %o: f32):
      %t = arith.addf %i0, %x : f32
      linalg.yield %t : f32
    } -> tensor<2xf32>
    %r = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]
    } ins(%s : tensor<2xf32>) outs(%c : tensor<2x3xf32>) {
    ^bb0(%x: f32, %o: f32):
      linalg.yield %x : f32
    } -> tensor<2x3xf32>
"""

from __future__ import annotations

from linalg_ext.bindings import ir, tensor
from linalg_ext.rewriting import Rewriter, rewrite
from linalg_ext.structured.utils.maps import split_operands
from linalg_ext.structured.utils.outputs import RuntimeSize, sizes_of
from linalg_ext.transforms.ir_utils.generics import parallel_loops


@rewrite("linalg-ext-read-destinations-as-inputs", on="linalg.generic", driver="walk")
def read_destinations_as_inputs(op: ir.OpView, rewriter: Rewriter) -> bool:
    """Make the destinations that an element-wise generic reads inputs, where it may be fused."""
    generic = op.operation
    if not len(generic.results) or not all(parallel_loops(generic)):
        return False
    inputs, outputs = split_operands(generic)
    arguments = list(generic.regions[0].blocks[0].arguments)[len(inputs) :]
    if not any(True for argument in arguments for _ in argument.uses):
        return False
    if not any(_is_input_of_generic(use) for result in generic.results for use in result.uses):
        return False
    rewriter.replace_op(generic, _reading(generic, inputs, outputs))
    return True


def _reading(
    generic: ir.Operation, inputs: list[ir.Value], outputs: list[ir.Value]
) -> ir.Operation:
    """The generic with its destinations as inputs, and empty tensors for destinations."""
    destinations = [_empty_like(value) for value in outputs]
    maps = list(ir.ArrayAttr(generic.attributes["indexing_maps"]))
    counts = [len(inputs) + len(outputs), len(outputs)]
    attributes = dict(generic.attributes.items())
    attributes["indexing_maps"] = ir.ArrayAttr.get([*maps, *maps[len(inputs) :]])
    attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get(counts)
    new = ir.Operation.create(
        generic.name,
        results=[result.type for result in generic.results],
        operands=[*inputs, *outputs, *destinations],
        attributes=attributes,
        regions=1,
        loc=generic.location,
    )
    clone = generic.clone()
    (block,) = list(clone.regions[0].blocks)
    block.append_to(new.regions[0])
    clone.erase()
    # The arguments for the old destinations stand where those of the new inputs belong.
    for argument in list(block.arguments)[len(inputs) :]:
        block.add_argument(argument.type, generic.location)
    return new


def _empty_like(value: ir.Value) -> ir.Value:
    sizes = [size.value if isinstance(size, RuntimeSize) else size for size in sizes_of(value)]
    made: ir.Value = tensor.EmptyOp(sizes, ir.ShapedType(value.type).element_type).result
    return made


def _is_input_of_generic(use: ir.OpOperand) -> bool:
    """Return whether a use is an input of a `linalg.generic`; further fusion is not considered."""
    user = use.owner
    if isinstance(user, ir.Block) or user.operation.name != "linalg.generic":
        return False
    return bool(use.operand_number < len(split_operands(user.operation)[0]))
