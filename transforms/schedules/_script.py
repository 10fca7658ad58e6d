"""The requests of steps to upstream: lines of the transform dialect about the op in `%target`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from linalg_ext.bindings import ir, passmanager
from linalg_ext.runtime.passes import hide_spread_slices, reveal_spread_slices

ANY = "!transform.any_op"
FOR = '!transform.op<"scf.for">'
VALUE = "!transform.any_value"
FUNCTIONS = (
    f'%functions = transform.structured.match ops{{["func.func"]}} in %root : ({ANY}) -> {ANY}'
)
"""The line that finds all functions."""

_ENTRY = "linalg_ext_steps"
_CANONICALIZING = "transform.apply_patterns.canonicalization"
_SEQUENCES = "transform.with_named_sequence"
_HANDLE = re.compile(r"%([a-z]\w*)")
_SHARED = frozenset({"target", "root"})


class Doubt(NamedTuple):
    """The likely reason for upstream to refuse an op: upstream gives none itself."""

    what: str
    hint: str | None = None


@dataclass(frozen=True)
class Script:
    """Lines about `%target`, with names of their own for what they make.

    Attributes:
        lines: of the transform dialect; `%root` is the module.
        focus: the handle of what the next step is about. None: of what was `%target` and is still
            there, which keeps its attributes.
        one_by_one: True where upstream takes one op at a time.
        doubt: the reason to report for the op if upstream refuses it.
    """

    lines: tuple[str, ...]
    focus: str | None = None
    one_by_one: bool = False
    doubt: Doubt | None = field(default=None, compare=False)

    def numbered(self, number: int, target: str) -> tuple[list[str], str | None]:
        """The lines and the focus with handles that no other step has."""

        def renamed(match: re.Match[str]) -> str:
            if match[1] == "target":
                return target
            return match[0] if match[1] in _SHARED else f"%{match[1]}_{number}"

        focus = None if self.focus is None else _HANDLE.sub(renamed, self.focus)
        return [_HANDLE.sub(renamed, line) for line in self.lines], focus


def line(result: str, text: str, operands: Sequence[str] = (ANY,), results: int = 1) -> str:
    """`%result = transform.text : (operands) -> results`, all of them of any op."""
    types = ", ".join([ANY] * results)
    made = types if results == 1 else f"({types})"
    return f"{result} = transform.{text} : ({', '.join(operands)}) -> {made}"


def integers(values: Sequence[int]) -> str:
    """`[1, 2]`."""
    return f"[{', '.join(map(str, values))}]"


def sequence(lines: Sequence[str], name: str = "__transform_main") -> str:
    """A module with one named sequence of these lines."""
    body = "\n".join(f"    {line}" for line in lines)
    return (
        "module attributes {transform.with_named_sequence} {\n"
        f"  transform.named_sequence @{name}(%root: {ANY} {{transform.readonly}}) {{\n"
        f"{body}\n    transform.yield\n  }}\n}}\n"
    )


def matched(handle: str, mark: str) -> str:
    """The line that finds the ops which carry a mark."""
    return (
        f"{handle} = transform.structured.match attributes {{{mark}}} in %root : ({ANY}) -> {ANY}"
    )


def marked(handle: str, mark: str) -> str:
    """The line that puts a mark on ops."""
    return f'transform.annotate {handle} "{mark}" : {ANY}'


def interpret(root: ir.Operation, lines: Sequence[str]) -> None:
    """Apply lines to the module `root`, in place.

    The sequence stands in the module meanwhile, and the pass runs it: unlike a call of the
    interpreter, it leaves what is said of single ops to the context, and prints nothing itself.

    Raises:
        MLIRError: a transform failed.
    """
    is_canonicalizing = any(_CANONICALIZING in line for line in lines)
    if is_canonicalizing:
        # Of its patterns none can be left out, though one folds such slices wrongly.
        hide_spread_slices(root)
    holder = root.regions[0].blocks[0]
    with root.context, ir.Location.unknown():
        parsed = ir.Module.parse(sequence(lines, _ENTRY))
        steps = parsed.body.operations[0].operation
        with ir.InsertionPoint.at_block_begin(holder):
            steps = steps.clone()
        has_mark = _SEQUENCES in root.attributes
        root.attributes[_SEQUENCES] = ir.UnitAttr.get()
        try:
            manager = passmanager.PassManager("builtin.module")
            manager.add(f"transform-interpreter{{entry-point={_ENTRY}}}")
            manager.enable_verifier(False)  # the caller names the step, or the function
            manager.run(root)
        finally:
            steps.erase()
            if not has_mark:
                del root.attributes[_SEQUENCES]
    if is_canonicalizing:
        reveal_spread_slices(root)
