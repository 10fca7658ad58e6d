"""Lower `tm_tensor.topk` to loops: each element sinks into a short sorted row of those to keep.

before:
    %r:2 = tm_tensor.topk dimension(1) ins(%x : tensor<4x9xf32>)
        outs(%v, %i : tensor<4x2xf32>, tensor<4x2xi32>) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.cmpf ogt, %a, %b : f32
      tm_tensor.yield %s : i1
    } -> tensor<4x2xf32>, tensor<4x2xi32>
after:
    %r:2 = scf.for %row = %c0 to %c4 step %c1 iter_args(%v0 = %v, %i0 = %i)
        -> (tensor<4x2xf32>, tensor<4x2xi32>) {
      %kept:2 = scf.for %at = %c0 to %c9 step %c1 iter_args(%v1 = %v0, %i1 = %i0)
          -> (tensor<4x2xf32>, tensor<4x2xi32>) {
        %element = tensor.extract %x[%row, %at] : tensor<4x9xf32>
        %number = arith.index_cast %at : index to i32
        %sunk:5 = scf.for %place = %c0 to %c2 step %c1
            iter_args(%found = %false, %e = %element, %n = %number, %v2 = %v1, %i2 = %i1)
            -> (i1, f32, i32, tensor<4x2xf32>, tensor<4x2xi32>) {
          %there = tensor.extract %v2[%row, %place] : tensor<4x2xf32>
          %its = tensor.extract %i2[%row, %place] : tensor<4x2xi32>
          %before = arith.cmpf ogt, %e, %there : f32
          %now = arith.ori %found, %before : i1
          %kept_e = arith.select %now, %e, %there : f32
          %kept_n = arith.select %now, %n, %its : i32
          %next_e = arith.select %now, %there, %e : f32
          %next_n = arith.select %now, %its, %n : i32
          %v3 = tensor.insert %kept_e into %v2[%row, %place] : tensor<4x2xf32>
          %i3 = tensor.insert %kept_n into %i2[%row, %place] : tensor<4x2xi32>
          scf.yield %now, %next_e, %next_n, %v3, %i3
            : i1, f32, i32, tensor<4x2xf32>, tensor<4x2xi32>
        }
        scf.yield %sunk#3, %sunk#4 : tensor<4x2xf32>, tensor<4x2xi32>
      }
      scf.yield %kept#0, %kept#1 : tensor<4x2xf32>, tensor<4x2xi32>
    }

The body says whether an element comes before one that is kept. What the outputs hold at first is
what an element must beat. A second input has the indices that the second result gives; without it
they are places along the dimension.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import arith, ir, tensor
from linalg_ext.transforms.ir_utils.arithmetic import constant
from linalg_ext.transforms.ir_utils.tensor_loops import counted, inlined, nest, size_of
from linalg_ext.transforms.ir_utils.walking import lowering_pass

NAME = "linalg-ext-lower-exported-top-k"

_OP = "tm_tensor.topk"


@lowering_pass(NAME, _OP)
def lower_exported_top_k(op: Any) -> list[Any]:
    """Lower tm_tensor.topk to insertions into sorted rows."""
    *inputs, values, indices = op.operands
    axis = ir.IntegerAttr(op.attributes["dimension"]).value
    sizes = [size_of(inputs[0], at) for at in range(inputs[0].type.rank)]
    few = size_of(values, axis)
    type_ = indices.type.element_type

    def row(places: list[Any], carried: list[Any]) -> list[Any]:
        def there(at: Any) -> list[Any]:
            return [*places[:axis], at, *places[axis:]]

        def take(at: Any, kept: list[Any]) -> list[Any]:
            value = tensor.extract(inputs[0], there(at))
            number = (
                tensor.extract(inputs[1], there(at))
                if len(inputs) == 2
                else arith.index_cast(type_, at)
            )

            def sink(rank: Any, state: list[Any]) -> list[Any]:
                is_in, new, into = state[0], state[1:3], state[3:]
                old = [tensor.extract(each, there(rank)) for each in into]
                (precedes,) = inlined(op.regions[0].blocks[0], [new[0], old[0]])
                # Behind the one that came in, all the others move by one place.
                is_first = arith.ori(is_in, precedes)
                stays = [arith.select(is_first, a, b) for a, b in zip(new, old, strict=True)]
                sinks = [arith.select(is_first, b, a) for a, b in zip(new, old, strict=True)]
                put = [
                    tensor.insert(one, each, there(rank))
                    for one, each in zip(stays, into, strict=True)
                ]
                return [is_first, *sinks, *put]

            none_yet = constant(ir.IntegerType.get_signless(1), 0)
            return counted(0, few, [none_yet, value, number, *kept], sink)[3:]

        return counted(0, sizes[axis], carried, take)

    others = [size for at, size in enumerate(sizes) if at != axis]
    return nest(others, [values, indices], row)
