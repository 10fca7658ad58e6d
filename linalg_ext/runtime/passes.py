"""Pass managers of upstream's passes, without the patterns that change a module's results.

`canonicalize` folds a tensor that is padded and then inserted into a fill of the same value:

    %p = tensor.pad %x low[1] high[1] { tensor.yield %zero }
    %r = tensor.insert_slice %p into %zeros[0] [5] [2]

becomes `tensor.insert_slice %x into %zeros[1] [3] [2]`, though it begins at 2: the step is not
asked for. Upstream lets patterns be left out by their names, and each compiler writes a name in its
own way. `linalg-fold-unit-extent-dims` has the pattern, `FoldInsertPadIntoFill`, as well and lets
none be left out: there, an op that no pattern knows stands meanwhile before a tensor that is
inserted with steps, whatever `%p` is, for patterns may make a pad of it on the way:

    %o = builtin.unrealized_conversion_cast %p, %p to tensor<5xf32>
    %r = tensor.insert_slice %o into %zeros[0] [5] [2]

Scripts of the transform dialect that users run by `transform-interpreter` are applied as they
stand: canonicalization in them folds as upstream's does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from linalg_ext.bindings import builtin, ir, passmanager
from linalg_ext.ir.context import kept_with

_PATTERN = "FoldInsertPadIntoFill"
_DISABLED = f"{{anonymous}}::{_PATTERN},'(anonymous namespace)::{_PATTERN}'"
_OPTION = "disable-patterns="
_CLEANING = "default-pipeline="
_CLEANED = re.compile(rf"{_CLEANING}\{{?canonicalize\}}?(?=\s|$)")
_PIPELINE = re.compile(r"[\w-]-pipeline(?![\w=-])")
"""The names of upstream's pipelines of passes, which do not contain the names of these passes."""
_UNNAMED = re.compile(r"(?<![\w-])linalg-fold-unit-extent-dims(?![\w-])")
"""The pass that has the pattern, too, and cannot be told to leave it out."""


@dataclass(frozen=True)
class IRPrinting:
    """The IR that a pass manager prints while it runs, as mlir-opt's options have it.

    Attributes:
        before_all, after_all: print before, and after, each pass.
        after_change: like `after_all`, but only the ops that a pass has changed.
        module_scope: print the module, not the op that the pass ran on.
        locations: print locations.
        elide: elements beyond which a constant is elided.
        generic: print the generic form.
        names: print around these passes alone; around every pass if empty.
    """

    before_all: bool = False
    after_all: bool = False
    after_change: bool = False
    module_scope: bool = False
    locations: bool = False
    elide: int | None = None
    generic: bool = False
    names: tuple[str, ...] = ()

    def concerns(self, pass_name: str) -> bool:
        """Return whether anything is printed around a pass."""
        return (self.before_all or self.after_all) and pass_name in (self.names or (pass_name,))

    def enable(self, manager: passmanager.PassManager) -> None:
        """Have a pass manager print; it writes to standard error itself."""
        manager.enable_ir_printing(
            print_before_all=self.before_all,
            print_after_all=self.after_all,
            print_after_change=self.after_change,
            print_module_scope=self.module_scope,
            **self._flags,
        )

    def dump(self, op: ir.Operation, when: str, name: str) -> str:
        """Return an op as a pass manager prints it, `when` being `Before` or `After`."""
        shown = op
        while self.module_scope and shown.parent is not None:
            shown = shown.parent.operation
        return f"// -----// IR Dump {when} {name} //----- //\n{shown.get_asm(**self._flags)}\n\n"

    @property
    def _flags(self) -> dict[str, Any]:
        return {
            "large_elements_limit": self.elide,
            "enable_debug_info": self.locations,
            "print_generic_op_form": self.generic,
        }


def _braces(depth: int) -> str:
    inner = rf"(?:[^{{}}]|{_braces(depth - 1)})*" if depth else r"[^{}]*"
    return rf"\{{{inner}\}}"


_BEGINNING = r"(\A\s*|[(,]\s*|pipelines?=\{?)"
"""The text that precedes a pass. It is needed since an option may have the name of a pass."""
_PASS = re.compile(rf"{_BEGINNING}(canonicalize|inline)(?![\w=-])({_braces(6)})?(?!\{{)")


def pass_manager(anchor: str, context: ir.Context, text: str) -> passmanager.PassManager:
    """A pass manager for upstream's passes, `text` with commas between, on ops of a kind.

    Of a context on loan it is kept: `canonicalize` takes a millisecond to collect the patterns of
    all ops, at the first run of each of its pass managers. A ValueError where the text is wrong.
    """
    cache = kept_with(context)
    if cache is None or _REMEMBERING in text:
        return _written_out(anchor, context, text)
    if (anchor, text) not in cache:
        cache[anchor, text] = _written_out(anchor, context, text)
    manager: passmanager.PassManager = cache[anchor, text]
    return manager


_REMEMBERING = "convert-math-to-funcs"
"""A pass that keeps the functions it made, and would call those of a module that is gone."""


def _written_out(anchor: str, context: ir.Context, text: str) -> passmanager.PassManager:
    if _PIPELINE.search(text):
        # Written out, it can be read again.
        manager = passmanager.PassManager(anchor, context)
        manager.add(text)
        _, _, text = str(manager).partition("(")
        text = text.removesuffix(")")
    return _new_manager(anchor, context, sound(text))


def without_own_options(printed: str) -> str:
    """Return a pass manager's printed text without the options that `sound` gave to its passes."""
    own = f"{{anonymous}}::{_PATTERN},{{(anonymous namespace)::{_PATTERN}}}"
    return printed.replace(f"disable-patterns={{{own}}}", "disable-patterns={}")


def sound(text: str) -> str:
    """The text of a pipeline, with its cleaning passes without their wrong patterns."""
    return _PASS.sub(_without_faults, text)


def _without_faults(match: re.Match[str]) -> str:
    before, name, options = match[1], match[2], (match[3] or "{}")[1:-1]
    if name == "inline":
        # It canonicalizes the functions into which it has inlined, unless it is told otherwise.
        options = sound(_CLEANED.sub(_CLEANING, options))
        options = options if _CLEANING in options else f"{options} {_CLEANING}".strip()
    elif _OPTION in options:
        options = options.replace(_OPTION, f"{_OPTION}{_DISABLED},")
    else:
        options = f"{options} {_OPTION}{_DISABLED}".strip()
    return f"{before}{name}{{{options}}}"


def _new_manager(anchor: str, context: ir.Context, text: str) -> passmanager.PassManager:
    manager = passmanager.PassManager(anchor, context)
    if not _UNNAMED.search(text):
        manager.add(text)
        return manager
    for is_unnamed, parts in groupby(
        _elements(text), key=lambda element: bool(_UNNAMED.search(element))
    ):
        if is_unnamed:
            manager.add(lambda op, _: hide_spread_slices(op.operation), name="hide-spread-slices")
        manager.add(",".join(parts))
        if is_unnamed:
            manager.add(lambda op, _: reveal_spread_slices(op.operation), name="reveal")
    return manager


def _elements(text: str) -> list[str]:
    """Return the elements of a pipeline in order, each with all that is nested in it."""
    elements, depth = [""], 0
    for character in text:
        depth += (character in "({[") - (character in ")}]")
        if character == "," and not depth:
            elements.append("")
        else:
            elements[-1] += character
    return elements


_INSERT = "tensor.insert_slice"
_CAST = "builtin.unrealized_conversion_cast"
_MARK = "linalg_ext.hidden"


def hide_spread_slices(root: ir.Operation) -> None:
    """Put an op that no pattern knows before each slice that is inserted with steps."""
    for insert in _ops(root, _INSERT):
        strides = ir.DenseI64ArrayAttr(insert.attributes["static_strides"])
        if all(stride == 1 for stride in strides):
            continue
        source = insert.operands[0]
        with insert.location, ir.InsertionPoint(insert):
            # A cast of one operand would fold: it converts nothing.
            cast = builtin.UnrealizedConversionCastOp([source.type], [source, source])
        cast.operation.attributes[_MARK] = ir.UnitAttr.get(root.context)
        insert.operands[0] = cast.operation.results[0]


def reveal_spread_slices(root: ir.Operation) -> None:
    """Take out the ops that `hide_spread_slices` put in."""
    for cast in _ops(root, _CAST):
        if _MARK in cast.attributes:
            cast.results[0].replace_all_uses_with(cast.operands[0])
            cast.erase()


def _ops(root: ir.Operation, name: str) -> Sequence[ir.Operation]:
    ops: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == name:
            ops.append(op)
        return ir.WalkResult.ADVANCE

    root.walk(visit)
    return ops
