"""Give each function its linkage and its target.

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

Functions that no other code calls are internal, and the entry drops what it does not use. Each is
done as the pass of its name says: `linalg-ext-make-functions-internal` and `linalg-ext-set-target`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass

from .make_functions_internal import make_functions_internal
from .set_target import set_target

NAME = "linalg-ext-finish-functions"


@module_pass(NAME, on="llvm.func")
def finish_functions(module: ir.Operation) -> Report:
    """Make functions internal that no other code calls, and confine each to the target in force."""
    report = Report(NAME)
    for part in (make_functions_internal, set_target):
        report.merge(part.apply(module))
    return report
