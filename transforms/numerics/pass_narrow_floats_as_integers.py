"""Pass narrow floats to functions, and back from them, as the integers of their bits.

before:
    func.func @g(%x: bf16, %m: memref<4xbf16>) -> bf16 {
      return %x : bf16
    }
    func.func @f(%x: bf16, %m: memref<4xbf16>) -> bf16 {
      %r = call @g(%x, %m) : (bf16, memref<4xbf16>) -> bf16
      return %r : bf16
    }
after:
    func.func @g(%x: i16, %m: memref<4xbf16>) -> i16 {
      %a = arith.bitcast %x : i16 to bf16
      %b = arith.bitcast %a : bf16 to i16
      return %b : i16
    }
    func.func @f(%x: i16, %m: memref<4xbf16>) -> i16 {
      %a = arith.bitcast %x : i16 to bf16
      %b = arith.bitcast %a : bf16 to i16
      %c = call @g(%b, %m) : (i16, memref<4xbf16>) -> i16
      %r = arith.bitcast %c : i16 to bf16
      %d = arith.bitcast %r : bf16 to i16
      return %d : i16
    }

For a CPU without instructions on such floats LLVM passes them as f32, and rounds them on arrival by
a call of a function that not every machine provides. Functions that are only declared keep their
types, and so do those whose address is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import arith, ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.walking import (
    function_type,
    functions,
    name_of,
    operations,
    replace_op,
    set_function_type,
)

NAME = "linalg-ext-pass-narrow-floats-as-integers"

_FUNCTION = "func.func"


@module_pass(NAME, on=_FUNCTION)
def pass_narrow_floats_as_integers(module: ir.Operation) -> Report:
    """Make the parameters and results of functions that are f16 or bf16 integers of 16 bits."""
    report = Report(NAME)
    concerned = [op for op in functions(module) if any(map(_is_narrow, _types(op)))]
    if not concerned:
        return report
    with_address = {str(op.attributes["value"]) for op in operations(module, {"func.constant"})}
    changed: set[str] = set()
    for function in concerned:
        symbol = f"@{name_of(function)}"
        report.matched[_FUNCTION] += 1
        if symbol in with_address:
            report.leave(_FUNCTION, "the address of the function is taken")
            continue
        _change(function)
        changed.add(symbol)
        report.changed[_FUNCTION] += 1
    for call in operations(module, {"func.call"}):
        if str(call.attributes["callee"]) in changed:
            _change_call(call)
    return report


def _types(function: Any) -> list[Any]:
    type_ = function_type(function)
    return [*type_.inputs, *type_.results]


def _is_narrow(type_: Any) -> bool:
    return isinstance(type_, ir.F16Type | ir.BF16Type)


def _passed(types: Sequence[Any]) -> list[Any]:
    """Return the types in which values of `types` are passed."""
    return [ir.IntegerType.get_signless(16) if _is_narrow(type_) else type_ for type_ in types]


def _change(function: Any) -> None:
    type_ = function_type(function)
    inputs = _passed(type_.inputs)
    set_function_type(function, inputs, _passed(type_.results))
    entry = function.regions[0].blocks[0]
    with function.location, ir.InsertionPoint.at_block_begin(entry):
        for argument, passed in zip(entry.arguments, inputs, strict=True):
            floats = argument.type
            if floats == passed:
                continue
            argument.set_type(passed)
            value = arith.BitcastOp(floats, argument)
            argument.replace_all_uses_except(value.result, value.operation)
    for op in operations(function, {"func.return"}):
        _pass_operands(op)


def _pass_operands(op: Any) -> None:
    with op.location, ir.InsertionPoint(op):
        for place, value in enumerate(op.operands):
            (passed,) = _passed([value.type])
            if passed != value.type:
                op.operands[place] = arith.BitcastOp(passed, value).result


def _change_call(call: Any) -> None:
    _pass_operands(call)
    old = [result.type for result in call.results]
    if not any(map(_is_narrow, old)):
        return
    with call.location, ir.InsertionPoint(call):
        new = ir.Operation.create(
            call.name,
            results=_passed(old),
            operands=list(call.operands),
            attributes=dict(call.attributes.items()),
        )
        values = [
            arith.BitcastOp(type_, result).result if _is_narrow(type_) else result
            for type_, result in zip(old, new.results, strict=True)
        ]
    replace_op(call, *values)
