"""Write the ops of StableHLO that upstream lowers for known sizes alone as our own.

before:
    %r = stablehlo.reverse %x, dims = [0] : tensor<?x5xf32>
after:
    %zero = arith.constant 0 : index
    %size = tensor.dim %x, %zero : tensor<?x5xf32>
    %e = tensor.empty(%size) : tensor<?x5xf32>
    %r = "linalg_ext.reverse"(%x, %e) {dimensions = array<i64: 0>}
      : (tensor<?x5xf32>, tensor<?x5xf32>) -> tensor<?x5xf32>

before:
    %r = stablehlo.dynamic_broadcast_in_dim %x, %n, dims = [1]
      : (tensor<?xf32>, tensor<2xindex>) -> tensor<?x?xf32>
after:
    %zero = arith.constant 0 : index
    %n0 = tensor.extract %n[%zero] : tensor<2xindex>
    %one = arith.constant 1 : index
    %n1 = tensor.extract %n[%one] : tensor<2xindex>
    %e = tensor.empty(%n0, %n1) : tensor<?x?xf32>
    %r = "linalg_ext.dynamic_broadcast_in_dim"(%x, %e) {broadcast_dimensions = array<i64: 1>}
      : (tensor<?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import arith, ir, tensor
from linalg_ext.dialects.linalg_ext import dynamic_broadcast_in_dim, reverse
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.arithmetic import index
from linalg_ext.transforms.ir_utils.tensor_loops import Demands

from ._stablehlo import cast, is_unsigned, lower_each, signless

NAME = "linalg-ext-lower-stablehlo-open-shapes"

_REVERSE = "stablehlo.reverse"
_BROADCAST = "stablehlo.dynamic_broadcast_in_dim"


@module_pass(NAME, on=(_REVERSE, _BROADCAST))
def lower_stablehlo_open_shapes(module: ir.Operation) -> Report:
    """Write stablehlo.reverse and stablehlo.dynamic_broadcast_in_dim as ops of linalg_ext."""
    return lower_each(NAME, module, {_REVERSE: _reversed, _BROADCAST: _broadcast})


def _reversed(op: Any) -> list[Any]:
    (operand,) = (cast(value, signless(value.type)) for value in op.operands)
    return [reverse(operand, dimensions=list(op.attributes["dimensions"]))]


def _broadcast(op: Any) -> list[Any]:
    operand, shape = op.operands
    wanted = signless(op.results[0].type)
    demands = Demands(f"{_BROADCAST}: the shape that is asked for is not that of its type")
    sizes: list[Any] = []
    for axis in range(wanted.rank):
        size = _size(shape, axis)
        if wanted.is_dynamic_dim(axis):
            sizes.append(size)
        else:
            sizes.append(wanted.get_dim_size(axis))
            demands.equal(size, sizes[-1])
    demands.emit()
    return [
        dynamic_broadcast_in_dim(
            cast(operand, signless(operand.type)),
            tensor.EmptyOp(sizes, wanted.element_type).result,
            **{
                name: list(op.attributes[attribute])
                for name, attribute in _ATTRIBUTES.items()
                if attribute in op.attributes
            },
        )
    ]


_ATTRIBUTES = {
    "broadcast_dimensions": "broadcast_dimensions",
    "known_expanding": "known_expanding_dimensions",
    "known_nonexpanding": "known_nonexpanding_dimensions",
}
"""The attributes of StableHLO's op, by the name of our op's argument."""


def _size(shape: Any, axis: int) -> Any:
    """Return a size of a tensor of sizes, of any integer type, as an index."""
    element = tensor.extract(cast(shape, signless(shape.type)), [index(axis)])
    if isinstance(element.type, ir.IndexType):
        return element
    convert = arith.index_castui if is_unsigned(shape.type) else arith.index_cast
    return convert(ir.IndexType.get(), element)
