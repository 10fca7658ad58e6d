"""Turn attention on buffers into one nest, which holds one block of scores at a time.

before:
    linalg.generic {indexing_maps = [#all], iterator_types = #pair} outs(%s : memref<8x9xf32>) {
    ^bb0(%o: f32):
      linalg.yield %zero : f32
    }
    linalg.generic {indexing_maps = [#query, #key, #score], iterator_types = #sum}
        ins(%q, %k : memref<8x4xf32>, memref<9x4xf32>) outs(%s : memref<8x9xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %a = arith.mulf %x, %y : f32
      %b = arith.addf %o, %a : f32
      linalg.yield %b : f32
    }
    linalg.generic {indexing_maps = [#one], iterator_types = #single} outs(%m : memref<8xf32>) {
    ^bb0(%o: f32):
      linalg.yield %lowest : f32
    }
    linalg.generic {indexing_maps = [#all, #row], iterator_types = #reduced}
        ins(%s : memref<8x9xf32>) outs(%m : memref<8xf32>) {
    ^bb0(%x: f32, %o: f32):
      %a = arith.maximumf %x, %o : f32
      linalg.yield %a : f32
    }
    linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = #pair}
        ins(%s, %m : memref<8x9xf32>, memref<8xf32>) outs(%e : memref<8x9xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %a = arith.subf %x, %y : f32
      %b = math.exp %a : f32
      linalg.yield %b : f32
    }
    linalg.generic {indexing_maps = [#one], iterator_types = #single} outs(%t : memref<8xf32>) {
    ^bb0(%o: f32):
      linalg.yield %zero : f32
    }
    linalg.generic {indexing_maps = [#all, #row], iterator_types = #reduced}
        ins(%e : memref<8x9xf32>) outs(%t : memref<8xf32>) {
    ^bb0(%x: f32, %o: f32):
      %a = arith.addf %x, %o : f32
      linalg.yield %a : f32
    }
    linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = #pair}
        ins(%e, %t : memref<8x9xf32>, memref<8xf32>) outs(%w : memref<8x9xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %a = arith.divf %x, %y : f32
      linalg.yield %a : f32
    }
    linalg.generic {indexing_maps = [#all], iterator_types = #pair} outs(%r : memref<8x16xf32>) {
    ^bb0(%o: f32):
      linalg.yield %zero : f32
    }
    linalg.generic {indexing_maps = [#score, #value, #query], iterator_types = #mixed}
        ins(%w, %v : memref<8x9xf32>, memref<9x16xf32>) outs(%r : memref<8x16xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %a = arith.mulf %x, %y : f32
      %b = arith.addf %o, %a : f32
      linalg.yield %b : f32
    }
after:
    func.call @linalg_ext_attention_0(%q, %k, %v, %r)
      : (memref<8x4xf32>, memref<9x4xf32>, memref<9x16xf32>, memref<8x16xf32>) -> ()

Attention is recognized by the computation, however it is cut into ops: see `_attention.py`, and
`_attention_plan.py` for the blocks. Scales, masks and biases change the scores of a block.
Exponentials are summed with the values as they are, and divided by their total at the end: sums of
products are in another order than that of the ops. Of bf16 and f16 nothing is rounded in between:
see `_expressions.py`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.group import may_be_fused
from linalg_ext.transforms.analysis.buffers import TOUCH_NOTHING, buffer_of
from linalg_ext.transforms.analysis.fills import preceding_zeros
from linalg_ext.transforms.codegen.base.machine import this_machine
from linalg_ext.transforms.codegen.base.payload import ELEMENTS
from linalg_ext.transforms.codegen.base.problem import Argument, argument_of
from linalg_ext.transforms.ir_utils.generics import output_of
from linalg_ext.transforms.ir_utils.module_functions import ATTENTION, Functions
from linalg_ext.transforms.ir_utils.walking import is_unused, ops_of, producer

from ._attention import Attention, find_attention
from ._attention_nest import AttentionCall, AttentionNest
from ._attention_plan import plan_attention
from ._expressions import NARROW, WIDE, Applied, Element, Expression, elements_of
from .gather_attention import contractions

NAME = "linalg-ext-fuse-attention"

_BETWEEN = TOUCH_NOTHING | {"cf.assert"}
"""Ops that may stand among those of attention, and those of arith and affine on numbers: nothing
that is read changes by them."""


@module_pass(NAME)
def fuse_attention(module: ir.Operation) -> Report:
    """Turn attention on buffers into calls of nests."""
    report = Report(NAME)
    functions = Functions(module, ATTENTION)
    for op in contractions(module, ir.MemRefType):
        report.matched[op.name] += 1
        attention = find_attention(op)
        if attention is None:
            continue
        report.record(
            "attention", attention if isinstance(attention, str) else _rewrite(attention, functions)
        )
    return report


def _rewrite(attention: Attention, functions: Functions) -> str | None:
    machine = this_machine()
    if not machine.has_fma:
        return "the machine has no FMA"
    if not may_be_fused(*attention.ops):
        return "the ops are of several groups"
    last, output = attention.op, output_of(attention.op)
    zeros = preceding_zeros(last)
    if not _is_together(attention, zeros):
        return "other ops are between the ops of the attention"
    elements = elements_of(attention.changed)
    score_operands = [element for element in elements if element != attention.score]
    result = Element(output, attention.result)
    operands = [attention.query, attention.key, attention.value, result, *score_operands]
    written = buffer_of(output)
    if any(buffer_of(operand.value) == written for operand in operands if operand.value != output):
        return "the result is an operand"
    arguments: list[Argument] = []
    for operand in operands:
        dimensions = tuple(
            f"one{axis}" if loop is None else f"d{loop}" for axis, loop in enumerate(operand.at)
        )
        argument = argument_of(operand.value, dimensions)
        if isinstance(argument, str):
            return argument
        if len(arguments) < 3 and argument.element in NARROW:
            argument = replace(argument, cast="arith.extf", read_as=WIDE)
        arguments.append(argument)
    for argument in arguments[4:]:
        reason = _obstacle(argument, f"d{attention.loops.keys}")
        if reason is not None:
            return reason
    plan = plan_attention(attention.loops, arguments[:4], machine)
    if isinstance(plan, str):
        return plan
    numbers = {-1: attention.score, **dict(enumerate(score_operands))}
    numbered = [Element(number, operand.at) for number, operand in enumerate(score_operands)]
    call = AttentionCall(
        tuple(arguments[:4]),
        tuple(zip(numbered, arguments[4:], strict=True)),
        _numbered(attention.changed, numbers),
        Element(-1, attention.score.at),
        attention.masked_is_zero,
    )
    function = functions.known(call) or functions.add(
        call, plan, AttentionNest(plan, call).function
    )
    earlier = [op for op in attention.ops if op != last]
    functions.call(function, [operand.value for operand in operands], [last, *earlier])
    _erase(attention, zeros)
    return None


def _is_together(attention: Attention, zeros: Any) -> bool:
    """Return whether no other op writes between the first and the last of the ops."""
    ops = ops_of(attention.op.block)
    first = min(ops.index(op) for op in attention.ops)
    between = ops[first : ops.index(attention.op)]
    return all(
        op in attention.ops or op == zeros or op.name in _BETWEEN or op.name.startswith("arith.")
        for op in between
    )


def _numbered(expression: Expression, numbers: dict[int, Element]) -> Expression:
    """Return an expression with numbers in the place of values, for the key of a function."""
    if isinstance(expression, Element):
        number = next(number for number, element in numbers.items() if element == expression)
        return Element(number, expression.at)
    if isinstance(expression, Applied):
        return expression.mapped(lambda operand: _numbered(operand, numbers))
    return expression


def _obstacle(argument: Argument, keys: str) -> str | None:
    """Return why an operand cannot change vectors of scores; None if it can."""
    strides = dict(zip(argument.dimensions, argument.strides, strict=True))
    if keys in strides and strides[keys] != 1:
        return "the mask is not contiguous along the keys"
    if keys in strides and argument.element not in ELEMENTS:
        return f"the mask is of {argument.element}"
    return None


def _erase(attention: Attention, zeros: Any) -> None:
    """Erase the ops that the nest replaces, and the buffers without uses."""
    buffers: list[Any] = []
    ops = [op for op in attention.ops if op != attention.op]
    attention.op.erase()
    if zeros is not None and zeros not in ops:
        zeros.erase()
    for op in reversed(ops):
        if len(op.results):
            if is_unused(op.results[0]):
                op.erase()
            continue
        buffer = output_of(op)
        if all(_only_writes(use, ops) for use in buffer.uses):
            if buffer not in buffers:
                buffers.append(buffer)
            ops.remove(op)
            op.erase()
    for buffer in buffers:
        users = [use.owner.operation for use in buffer.uses]
        if all(user.name == "memref.dealloc" for user in users):
            for user in users:
                user.erase()
            producer(buffer).erase()


def _only_writes(use: Any, ops: list[Any]) -> bool:
    """Return whether a use of a buffer frees it, or is the output of one of some ops."""
    user = use.owner.operation
    if user.name == "memref.dealloc":
        return True
    return user in ops and use.operand_number == len(user.operands) - 1
