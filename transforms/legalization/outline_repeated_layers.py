"""Layers of a model that are alike become calls of one function, until ops are fused.

before:
    func.func @f(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>, %v: tensor<8x8xf32>)
        -> tensor<8x8xf32> {
      %e = tensor.empty() : tensor<8x8xf32>
      %y = linalg.matmul ins(%x, %w : tensor<8x8xf32>, tensor<8x8xf32>)
             outs(%x : tensor<8x8xf32>) -> tensor<8x8xf32>
      %a = linalg.exp ins(%y : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
      %z = linalg.matmul ins(%a, %v : tensor<8x8xf32>, tensor<8x8xf32>)
             outs(%a : tensor<8x8xf32>) -> tensor<8x8xf32>
      %b = linalg.exp ins(%z : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
      return %b : tensor<8x8xf32>
    }
after:
    func.func @f(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>, %v: tensor<8x8xf32>)
        -> tensor<8x8xf32> {
      %e = tensor.empty() : tensor<8x8xf32>
      %a = call @linalg_ext_layer_0(%x, %w)
        : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
      %b = call @linalg_ext_layer_0(%a, %v)
        : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
      return %b : tensor<8x8xf32>
    }
    func.func private @linalg_ext_layer_0(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>)
        -> tensor<8x8xf32> attributes {linalg_ext.layer, no_inline} {
      %e = tensor.empty() : tensor<8x8xf32>
      %y = linalg.matmul ins(%x, %w : tensor<8x8xf32>, tensor<8x8xf32>)
             outs(%x : tensor<8x8xf32>) -> tensor<8x8xf32>
      %a = linalg.exp ins(%y : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
      return %a : tensor<8x8xf32>
    }

The example is with `least=2`. The passes on tensors, fusion among them, then do their work once for
all layers; `linalg-ext-inline-outlined` puts the ops back, and buffers are chosen as ever. A layer
ends where fusion ends anyway: one value alone leaves it. An op computes that value, and several ops
take it, or a contraction, or the caller. All sizes at the ends are known: an op that asks for one
need not see into a layer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import func, ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.generics import is_contraction
from linalg_ext.transforms.ir_utils.module_functions import Functions
from linalg_ext.transforms.ir_utils.outlining import part_of_ops
from linalg_ext.transforms.ir_utils.repeats import Line, Run, is_repeated, may_repeat, repeated_runs
from linalg_ext.transforms.ir_utils.walking import functions, producer

NAME = "linalg-ext-outline-repeated-layers"

LAYER = "linalg_ext.layer"
"""Unit attribute of the functions that stand for layers."""

NO_INLINE = "no_inline"
"""Unit attribute of functions that upstream's `inline` leaves alone."""

STEM = "linalg_ext_layer"
"""The prefix of their names."""

_MOVES = frozenset({"linalg.broadcast", "linalg.copy", "linalg.fill", "linalg.transpose"})
"""Structured ops that compute nothing: they are folded into others."""


@module_pass(NAME, on=lambda name: name.startswith("linalg."))
def outline_repeated_layers(module: ir.Operation, *, least: int = 12) -> Report:
    """Make stretches of ops on tensors that repeat themselves private functions.

    Args:
        module: on tensors.
        least: the number of ops of a layer, constants not counted.
    """
    report = Report(NAME)
    layers = Functions(module, STEM)
    for function in functions(module):
        block, *branches = function.regions[0].blocks
        ops = [op.operation for op in block.operations]
        if not branches and may_repeat(ops, least):
            report.changed[function.name] += _outline_in(ops, layers, least)
    return report


def _outline_in(block: Sequence[Any], outlined: Functions, least: int) -> int:
    """Outline the sequences that repeat among the ops of a block; the number of calls."""
    line = Line(block)
    leaving = _Leaving(line)
    replaced: dict[Any, Any] = {}
    erased: list[Any] = []
    calls = 0
    for runs in list(repeated_runs(line, leaving.is_seam, least=least)):
        layers = [
            (line.ops[run.start : run.stop], line.outside(run), leaving.of(run)) for run in runs
        ]
        part = part_of_ops(*layers[0], stem=STEM)
        if part is None or not all(map(_has_known_sizes, (*part.operands, *layers[0][2]))):
            continue
        for name in (LAYER, NO_INLINE):
            part.function.attributes[name] = ir.UnitAttr.get()
        name = outlined.adopt(line.key_of(runs[0]), part.function)
        for ops, outside, leaves in layers:
            operands = [replaced.get(value, value) for value in outside if not is_repeated(value)]
            with ops[-1].location, ir.InsertionPoint(ops[-1]):
                callee = ir.FlatSymbolRefAttr.get(name)
                call = func.CallOp([value.type for value in leaves], callee, operands)
            replaced.update(zip(leaves, call.results, strict=True))
            erased += ops
            calls += 1
    for old, new in replaced.items():
        old.replace_all_uses_with(new)
    # Not before: an op that is gone and a new one may have the same address, and so be equal.
    for op in reversed(erased):
        op.erase()
    return calls


def _has_known_sizes(value: Any) -> bool:
    return not isinstance(value.type, ir.ShapedType) or value.type.has_static_shape


class _Leaving:
    """The values of a line that are taken after the op that gives them, by the last place."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._last: dict[Any, int] = {}
        self._uses: Counter[Any] = Counter()
        for position, operands in enumerate(line.taken):
            self._last.update((value, position) for value in operands)
            self._uses.update(operands)
        self._across: list[list[Any]] = [[] for _ in range(len(line.ops) + 1)]
        for value, last in self._last.items():
            first = line.place_of(value)
            for position in range(first + 1, last + 1) if first is not None else ():
                self._across[position].append(value)

    def of(self, run: Run) -> list[Any]:
        """Return the values of a run that are taken behind it."""
        own = (value for op in self._line.ops[run.start : run.stop] for value in op.results)
        return [value for value in own if self._last.get(value, 0) >= run.stop]

    def is_seam(self, position: int) -> bool:
        """Return whether no ops of both sides of a place are fused."""
        if not position:
            return True
        if len(self._across[position]) != 1:
            return False
        (value,) = self._across[position]
        op = producer(value)
        if not op.name.startswith(("linalg.", "arith.", "math.")) or op.name in _MOVES:
            return False
        user = self._line.ops[self._last[value]]
        return self._uses[value] > 1 or user.name == "func.return" or is_contraction(user)
