"""Functions that a module declares and a registered library has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import LibraryError
from linalg_ext.libraries import SYMBOL, Gemm, Library, NativeFunction, OperandType
from linalg_ext.rewriting import Report
from linalg_ext.transforms.ir_utils.walking import operations, place

from ._adoption import adopt
from .library_choice import operand_type


def bind_declarations(module: ir.Operation, libraries: Sequence[Library], report: Report) -> None:
    """Give each declared function that a library has a body, which calls the library's.

    Raises:
        LibraryError: it is declared with other operands than the library's takes.
    """
    for op in operations(module, {"func.func"}):
        name = ir.StringAttr(op.attributes["sym_name"]).value
        if len(op.regions[0].blocks) or name.startswith(SYMBOL):
            continue
        known = [native for library in libraries for native in library.declared(name)]
        reasons = [_refusal(op, native) for native in known]
        if None in reasons:
            report.changed[op.name] += 1
            _define(module, op, name, known[reasons.index(None)])
        elif known:
            first, *others = (
                f"`{native.function}` of {native.library}: {reason}"
                for native, reason in zip(known, reasons, strict=True)
            )
            raise LibraryError(
                f"the module declares `{name}` otherwise than the library does",
                where=place(op),
                expected=first,
                hint="declare what it takes, or register a function of these types",
                notes=others,
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
    for number, (taken, given) in enumerate(zip(function.operands, operands, strict=True)):
        if not taken.takes_layout_of(given):
            return f"operand {number} may have other strides than the function takes"
    if [str(type_) for type_ in declared.results] != [one for one in [function.result] if one]:
        return f"the function returns {function.result or 'nothing'}"
    return None


def _define(module: ir.Operation, op: Any, name: str, native: NativeFunction) -> None:
    given = [str(type_) for type_ in ir.FunctionType(op.attributes["function_type"].value).inputs]
    passed = [str(_opened(operand)) for operand in native.function.operands]
    names = [f"%a{number}" for number in range(len(given))]
    casts = []
    for number, (old, new) in enumerate(zip(given, passed, strict=True)):
        if old != new:
            names[number] = f"%b{number}"
            casts.append(f"%b{number} = memref.cast %a{number} : {old} to {new}")
    result = native.function.result
    arrow = f"-> {result}" if result else ""
    arguments = ", ".join(f"%a{number}: {type_}" for number, type_ in enumerate(given))
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
    made = ir.Module.parse(text)
    adopt(module, made)


def _opened(operand: OperandType) -> OperandType:
    """The type that upstream's conversion passes: of any strides."""
    return (
        operand
        if operand.shape is None
        else replace(operand, strides=tuple(False for _ in operand.shape))
    )
