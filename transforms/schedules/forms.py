"""Steps between the forms of a structured op: generic, named, flat, decomposed.

Source: `transform.structured.generalize`, `.specialize`, `.decompose` and `.decompose_interface`.
On whole modules: `lx.transforms.generalize`, `specialize`, `decompose_structured_ops`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.transforms.rewrites.specialize import specialize as specialize_all

from ._apart import run_apart
from ._checks import check_maps, refusal, structured_loops
from ._script import ANY, Script, line
from ._step import schedule_step

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
        return Script((), "%target")
    return Script((line("%generic", "structured.generalize %target"),), "%generic")


@schedule_step("linalg-ext-specialize", public=False)
def specialize(op: ir.Operation) -> list[ir.Operation]:
    """Write a `linalg.generic` as the most specific named op that means the same.

    Raises:
        ScheduleError: there is none.
    """
    if op.name != "linalg.generic":
        raise refusal(op, f"{op.name} is specialized already", expected="linalg.generic")
    made = run_apart(op, "", lambda module: specialize_all.apply(module))
    named = [each for each in made if each.name.startswith("linalg.")]
    if not named or named[-1].name == "linalg.generic":
        raise refusal(made[-1], "no named op computes the same")
    return named[-1:]


@schedule_step("linalg-ext-decompose")
def decompose(op: ir.Operation) -> Script:
    """Replace an op by simpler ones: softmax, a window of one row, a pack or an unpack.

    Raises:
        ScheduleError: upstream knows no simpler ones.
    """
    structured_loops(op, "decompose")
    match op.name:
        case "linalg.pack":
            return Script(
                (
                    f"%pack = transform.cast %target : {ANY} to {PACK}",
                    "%pad, %expand, %moved = transform.structured.lower_pack %pack : "
                    f'({PACK}) -> (!transform.op<"tensor.pad">, '
                    '!transform.op<"tensor.expand_shape">, !transform.op<"linalg.transpose">)',
                )
            )
        case "linalg.unpack":
            return Script(
                (
                    f"%unpack = transform.cast %target : {ANY} to {UNPACK}",
                    "%empty, %moved, %collapse, %slice, %copy = transform.structured.lower_unpack "
                    f'%unpack : ({UNPACK}) -> (!transform.op<"tensor.empty">, '
                    '!transform.op<"linalg.transpose">, !transform.op<"tensor.collapse_shape">, '
                    '!transform.op<"tensor.extract_slice">, !transform.op<"linalg.copy">)',
                )
            )
        case "linalg.softmax" | "linalg.winograd_filter_transform":
            return Script((line("%parts", "structured.decompose_interface %target"),), "%parts")
        case _:
            return Script((line("%parts", "structured.decompose %target"),), "%parts")
