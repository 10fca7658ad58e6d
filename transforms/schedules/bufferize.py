"""Take a module from tensors to buffers.

before:
    func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
      %r = linalg.abs ins(%a : tensor<8xf32>) outs(%a : tensor<8xf32>) -> tensor<8xf32>
      return %r : tensor<8xf32>
    }
after `bufferize()`:
    func.func @main(%a: memref<8xf32>) -> memref<8xf32> {
      %alloc = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
      linalg.abs ins(%a : memref<8xf32>) outs(%alloc : memref<8xf32>)
      return %alloc : memref<8xf32>
    }

Source: "Progressive Buffer Allocation" of MLIR's linalg document, its last step;
`one-shot-bufferize`, with functions and their calls.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.transforms.ir_utils.walking import functions, operations, select
from linalg_ext.transforms.legalization import decompose_structured_ops

from ._checks import refusal
from .step import Passes, schedule_step

_PASS = (
    "one-shot-bufferize{bufferize-function-boundaries=true "
    "function-boundary-type-conversion=identity-layout-map}"
)

_WITHOUT_BUFFERS = ("linalg_ext.", "gml_st.", "tm_tensor.")
"""Dialects whose ops are lowered on tensors."""

_WRITABLE = "bufferization.writable"


@schedule_step("linalg-ext-bufferize", whole=True)
def bufferize(module: ir.Operation, *, in_place: bool = False) -> Passes:
    """Replace every tensor by a buffer; an op writes in place where no other use can see it.

    Args:
        module: the module; its functions take and return buffers afterwards.
        in_place: True where functions may write to their arguments. Otherwise a caller's arrays do
            not change, which costs a copy of each argument that an op would write to.

    Raises:
        ScheduleError: an op cannot be bufferized, such as ones of this library's dialects; or it
            has no way down from buffers, such as packs and softmax.
    """
    _check_ops(module)
    for function in functions(module):
        _mark_arguments(function, writable=in_place)
    return Passes(f"eliminate-empty-tensors,{_PASS},canonicalize,cse")


def _check_ops(module: ir.Operation) -> None:
    for op in operations(module, decompose_structured_ops.DECOMPOSED):
        raise refusal(
            op,
            f"bufferize would put this {op.name} on buffers, from where it cannot be lowered",
            hint=f'run("{decompose_structured_ops.NAME}") first makes other ops of it',
        )
    for op in select(module, lambda each: each.name.startswith(_WITHOUT_BUFFERS)):
        if any(isinstance(result.type, ir.RankedTensorType) for result in op.results):
            raise refusal(
                op,
                f"{op.name} has no form on buffers",
                hint='run("linalg-ext-stage-linalg") first lowers it to ops that have',
            )


def _mark_arguments(function: ir.Operation, *, writable: bool) -> None:
    arguments = function.regions[0].blocks[0].arguments
    said: list[dict[str, ir.Attribute]] = [{} for _ in arguments]
    if "arg_attrs" in function.attributes:
        attributes = [ir.DictAttr(each) for each in ir.ArrayAttr(function.attributes["arg_attrs"])]
        named = [[each[number] for number in range(len(each))] for each in attributes]
        said = [{one.name: one.attr for one in each} for each in named]
    new = [
        ir.DictAttr.get({_WRITABLE: ir.BoolAttr.get(writable), **old})
        if isinstance(argument.type, ir.RankedTensorType)
        else ir.DictAttr.get(old)
        for argument, old in zip(arguments, said, strict=True)
    ]
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(new)
