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

The function `call0` checks the shapes, copies the operands whose layout the library does not take,
and calls the library by upstream's conversion. On tensors the call is that of a function of
tensors, a stub. To bufferization it reads its operands and writes its last ones in place. No pass
can look into it, so the op keeps its granularity. `linalg-ext-link-library-calls` then puts the
true call there.

A function that the module itself declares, and a library has, becomes one that calls it, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import LibraryError
from linalg_ext.executable.libraries import (
    SYMBOL,
    Gemm,
    Library,
    NativeFunction,
    OperandType,
    in_force,
)
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.walking import operations, place, select

from .call_stubs import adopt
from .library_choice import ASKS, Chosen, asked_names, choose, operand_type
from .library_functions import replace_by_call

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
    names = asked_names(module)
    if libraries:
        bind_declarations(module, libraries, report)
    for op in select(module, lambda op: op.name.startswith("linalg.") and op.name not in _PARTS):
        if not libraries and ASKS not in op.attributes:
            continue
        report.matched[op.name] += 1
        choice = choose(op, libraries, names)
        if isinstance(choice, Chosen):
            report.changed[op.name] += 1
            report.decisions.append(replace_by_call(module, op, choice))
        elif choice is not None:
            report.leave(op.name, choice)
    return report


def bind_declarations(module: ir.Operation, libraries: Sequence[Library], report: Report) -> None:
    """Give each declared function that a library has a body, which calls the library's.

    Raises:
        LibraryError: it is declared with other operands than the library's takes.
    """
    for op in operations(module, {"func.func"}):
        name = ir.StringAttr(op.attributes["sym_name"]).value
        if len(op.regions[0].blocks) or name.startswith(SYMBOL):
            continue
        candidates = [native for library in libraries for native in library.declared(name)]
        reasons = [_refusal(op, native) for native in candidates]
        if None in reasons:
            report.changed[op.name] += 1
            _define(module, op, name, candidates[reasons.index(None)])
        elif candidates:
            first, *rest = (
                f"`{native.function}` of {native.library}: {reason}"
                for native, reason in zip(candidates, reasons, strict=True)
            )
            raise LibraryError(
                f"the module declares `{name}` otherwise than the library does",
                where=place(op),
                expected=first,
                hint="declare its parameter types, or register a function of these types",
                notes=rest,
            )


def _refusal(op: Any, native: NativeFunction) -> str | None:
    """Return the reason that a declaration does not match a function; None where it does."""
    function = native.function
    if isinstance(function, Gemm):
        return "the function takes pointers and sizes"
    declared = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
    operands = tuple(operand_type(type_) for type_ in declared.inputs)
    if reason := function.refusal_of(operands):
        return reason
    for number, (operand, declared_type) in enumerate(
        zip(function.operands, operands, strict=True)
    ):
        if not operand.takes_layout_of(declared_type):
            return f"operand {number} may have other strides than the function takes"
    if [*map(str, declared.results)] != [*filter(None, [function.result])]:
        return f"the function returns {function.result or 'nothing'}"
    return None


def _define(module: ir.Operation, op: Any, name: str, native: NativeFunction) -> None:
    types = [str(type_) for type_ in ir.FunctionType(op.attributes["function_type"].value).inputs]
    passed = [str(_opened(operand)) for operand in native.function.operands]
    names = [f"%a{number}" for number in range(len(types))]
    casts = []
    for number, (old, new) in enumerate(zip(types, passed, strict=True)):
        if old != new:
            names[number] = f"%b{number}"
            casts.append(f"%b{number} = memref.cast %a{number} : {old} to {new}")
    result = native.function.result
    arrow = f"-> {result}" if result else ""
    arguments = ", ".join(f"%a{number}: {type_}" for number, type_ in enumerate(types))
    kinds = ", ".join(passed)
    lines = [
        *casts,
        f"{'%r = ' if result else ''}call @{native.symbol}({', '.join(names)})"
        f" : ({kinds}) -> ({result or ''})",
        f"return %r : {result}" if result else "return",
    ]
    text = (
        f"func.func private @{native.symbol}({kinds}) {arrow} attributes {{llvm.emit_c_interface}}"
        f"\nfunc.func private @{name}({arguments}) {arrow} {{\n" + "\n".join(lines) + "\n}"
    )
    op.erase()
    defined = ir.Module.parse(text)
    adopt(module, defined)


def _opened(operand: OperandType) -> OperandType:
    """Return the type that upstream's conversion passes: of any strides."""
    shape = operand.shape
    return operand if shape is None else replace(operand, strides=(False,) * len(shape))
