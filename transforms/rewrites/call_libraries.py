"""Ops that a registered library has a function for become calls of it: see `linalg_ext.library`.

before, where a library has `pointwise_add(memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>)`:
    linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>,
                                     affine_map<(i, j) -> (i, j)>],
                    iterator_types = ["parallel", "parallel"], library_call = "pointwise_add"}
        ins(%a, %b : memref<4x8xf32>, memref<4x8xf32>) outs(%c : memref<4x8xf32>) {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %d = arith.addf %x, %y : f32
      linalg.yield %d : f32
    }
after:
    func.call @lx.library.call0(%a, %b, %c)
      : (memref<4x8xf32>, memref<4x8xf32>, memref<4x8xf32>) -> ()

The function `call0` checks the shapes, copies what does not lie as the library wants it, and calls
the library by upstream's conversion. On tensors the call is that of a function of tensors, a stub.
To bufferization it reads its operands and writes its last ones in place. No pass can look into it,
so the op keeps its granularity. `linalg-ext-link-library-calls` then puts the true call there.

A function that the module itself declares, and a library has, becomes one that calls it, too.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.libraries import in_force
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.walking import select

from ._library_declarations import bind_declarations
from .library_choice import ASKS, Chosen, asked_names, choose
from .library_functions import LibraryFunctions

NAME = "linalg-ext-call-libraries"

_PARTS = frozenset({"linalg.index", "linalg.yield"})
"""Ops in the bodies of others, which are gone when these are."""


@module_pass(NAME)
def call_libraries(module: ir.Operation) -> Report:
    """Turn ops into calls of registered libraries.

    Raises:
        LibraryError: an op, or a declaration, asks for a function by its name that does not take
            its operands.
    """
    report = Report(NAME)
    libraries = in_force()
    functions = LibraryFunctions(module)
    asked = asked_names(module)
    if libraries:
        bind_declarations(module, libraries, report)
    for op in select(module, lambda op: op.name.startswith("linalg.") and op.name not in _PARTS):
        if not libraries and ASKS not in op.attributes:
            continue
        report.matched[op.name] += 1
        found = choose(op, libraries, asked)
        if isinstance(found, Chosen):
            report.changed[op.name] += 1
            report.decisions.append(functions.replace(op, found))
        elif found is not None:
            report.leave(op.name, found)
    return report
