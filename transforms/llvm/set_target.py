"""Confine every function to the instructions of one machine; here, the least of x86-64.

before:
    llvm.func @f(%x: f32) -> f32 {
      llvm.return %x : f32
    }
after:
    llvm.func @f(%x: f32) -> f32 attributes {
      no_inline, target_cpu = "x86-64", tune_cpu = "x86-64",
      target_features = #llvm.target_features<["+cmov", "+cx8", "+fxsr", "+mmx", "+sse", "+sse2"]>,
      passthrough = [["prefer-vector-width", "128"], ["min-legal-vector-width", "0"]]
    } {
      llvm.return %x : f32
    }

The execution engine makes code for the CPU that it runs on. A function's own features stand in
place of that CPU's; its own CPU alone does not, for LLVM adds the features of the host to it.

The engine calls a function that it puts around each of ours, without such attributes. LLVM may
inline a function into one that has more features, and would then use them: `no_inline`.

A target that has AVX-512 and prefers narrower vectors gets no registers of 512 bits. One that has
AVX gets those of 256 in any case: LLVM knows no way to forbid them.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.target import Target, current, host, named

NAME = "linalg-ext-set-target"


@module_pass(NAME)
def set_target(module: ir.Operation, *, name: str = "") -> Report:
    """Give every `llvm.func` with a body the CPU and the features of a target.

    The engine makes code for this machine anyway: no function is confined to it.

    Args:
        name: the name of the target; the one in force if empty.

    Raises:
        TargetError: there is no target of that name.
    """
    report = Report(NAME)
    target = named(name) if name else current()
    if target == host():
        return report
    # Functions of the LLVM dialect stand in modules alone: no need to look into them.
    for op in list(module.regions[0].blocks[0].operations):
        function = op.operation
        if function.name != "llvm.func" or not len(function.regions[0].blocks):
            continue
        report.matched["llvm.func"] += 1
        if "target_features" in function.attributes or "target_cpu" in function.attributes:
            report.leave("llvm.func", "the function has a target of its own")
            continue
        confine(function, target)
        report.changed["llvm.func"] += 1
    return report


def confine(function: Any, target: Target) -> None:
    """Compile the code of an `llvm.func` for a target, on any machine."""
    attributes = function.attributes
    attributes["target_cpu"] = ir.StringAttr.get(target.llvm_cpu)
    if target.cpu:
        attributes["tune_cpu"] = ir.StringAttr.get(target.cpu)
    listed = ", ".join(f'"{switch}"' for switch in target.llvm_features)
    attributes["target_features"] = ir.Attribute.parse(f"#llvm.target_features<[{listed}]>")
    old = list(ir.ArrayAttr(attributes["passthrough"])) if "passthrough" in attributes else []
    attributes["passthrough"] = ir.ArrayAttr.get([*old, *_vector_widths(target)])
    if "always_inline" in attributes:
        del attributes["always_inline"]  # the two together are not a valid function
    attributes["no_inline"] = ir.UnitAttr.get()


def _vector_widths(target: Target) -> list[ir.Attribute]:
    """Have LLVM split vectors that are wider than the target's; else it goes by the features."""
    widths = {"prefer-vector-width": str(target.vector_bits), "min-legal-vector-width": "0"}
    return [
        ir.ArrayAttr.get([ir.StringAttr.get(key), ir.StringAttr.get(value)])
        for key, value in widths.items()
    ]
