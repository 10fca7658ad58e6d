"""Steps between the forms of a structured op: generic, named, flat, decomposed.

Source: `transform.structured.generalize`, `.specialize`, `.decompose` and `.decompose_interface`.
On whole modules: `lx.transforms.generalize`, `specialize`, `decompose_structured_ops`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.transforms.rewrites.specialize import specialize as specialize_all

from ._checks import check_maps, refusal, structured_loops
from ._run_alone import run_alone
from .step import ANY, Doubt, Script, line, schedule_step

PACK = '!transform.op<"linalg.pack">'
UNPACK = '!transform.op<"linalg.unpack">'


@schedule_step("linalg-ext-generalize", public=False)
def generalize(op: ir.Operation) -> Script:
    """Write an op as `linalg.generic`.

    Raises:
        ScheduleError: it has no indexing maps.
    """
    check_maps(op, "generalize")
    if op.name == "linalg.generic":
        return Script(focus="%target")
    return Script(line("%generic", "structured.generalize %target"), focus="%generic")


@schedule_step("linalg-ext-specialize", public=False)
def specialize(op: ir.Operation) -> list[ir.Operation]:
    """Write a `linalg.generic` as the most specific named op that means the same.

    Raises:
        ScheduleError: there is none.
    """
    if op.name != "linalg.generic":
        raise refusal(op, f"{op.name} is specialized already", expected="linalg.generic")
    replacement = run_alone(op, "", lambda module: specialize_all.apply(module))
    named = [new for new in replacement if new.name.startswith("linalg.")]
    if not named or named[-1].name == "linalg.generic":
        raise refusal(replacement[-1], "the op has no named equivalent")
    return named[-1:]


@schedule_step("linalg-ext-decompose")
def decompose(op: ir.Operation) -> Script:
    """Replace an op by simpler ones: softmax, a window of one row, a pack or an unpack.

    before:
        %r = linalg.conv_2d_nhwc_hwcf
            ins(%a, %b : tensor<1x1x8x4xf32>, tensor<1x3x4x2xf32>)
            outs(%c : tensor<1x1x6x2xf32>) -> tensor<1x1x6x2xf32>
    after `match("conv_2d_nhwc_hwcf").decompose().simplify()`:
        %slice = tensor.extract_slice %a[0, 0, 0, 0] [1, 1, 8, 4] [1, 1, 1, 1]
            : tensor<1x1x8x4xf32> to tensor<1x8x4xf32>
        %slice_0 = tensor.extract_slice %b[0, 0, 0, 0] [1, 3, 4, 2] [1, 1, 1, 1]
            : tensor<1x3x4x2xf32> to tensor<3x4x2xf32>
        %slice_1 = tensor.extract_slice %c[0, 0, 0, 0] [1, 1, 6, 2] [1, 1, 1, 1]
            : tensor<1x1x6x2xf32> to tensor<1x6x2xf32>
        %0 = linalg.conv_1d_nwc_wcf {dilations = dense<1> : tensor<1xi64>, strides = dense<1>
            : tensor<1xi64>} ins(%slice, %slice_0 : tensor<1x8x4xf32>, tensor<3x4x2xf32>)
            outs(%slice_1 : tensor<1x6x2xf32>) -> tensor<1x6x2xf32>
        %r = tensor.insert_slice %0 into %c[0, 0, 0, 0] [1, 1, 6, 2] [1, 1, 1, 1]
            : tensor<1x6x2xf32> into tensor<1x1x6x2xf32>

    Raises:
        ScheduleError: upstream knows no simpler ones.
    """
    structured_loops(op, "decompose")
    match op.name:
        case "linalg.pack":
            return Script(
                f"%pack = transform.cast %target : {ANY} to {PACK}",
                "%pad, %expand, %moved = transform.structured.lower_pack %pack : "
                f'({PACK}) -> (!transform.op<"tensor.pad">, '
                '!transform.op<"tensor.expand_shape">, !transform.op<"linalg.transpose">)',
            )
        case "linalg.unpack":
            return Script(
                f"%unpack = transform.cast %target : {ANY} to {UNPACK}",
                "%empty, %moved, %collapse, %slice, %copy = transform.structured.lower_unpack "
                f'%unpack : ({UNPACK}) -> (!transform.op<"tensor.empty">, '
                '!transform.op<"linalg.transpose">, !transform.op<"tensor.collapse_shape">, '
                '!transform.op<"tensor.extract_slice">, !transform.op<"linalg.copy">)',
            )
        case "linalg.softmax" | "linalg.winograd_filter_transform":
            return Script(line("%parts", "structured.decompose_interface %target"), focus="%parts")
        case _:
            doubt = Doubt(
                f"{op.name} has no known decomposition: upstream decomposes softmax, "
                "packs, and windows of two dimensions, one of which is 1 as it is in the result",
                "tile(...) a window and its result to 1 along one dimension first",
            )
            return Script(
                line("%parts", "structured.decompose %target"), focus="%parts", doubt=doubt
            )
