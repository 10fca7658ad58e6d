"""Searches for operations, their replacement one by one, and the text that locates one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, LoweringError
from linalg_ext.rewriting import ModulePass, Report, module_pass, transformation
from linalg_ext.structured import operands as structured_operands
from linalg_ext.structured.maps import line_of

producer: Callable[[Any], Any] = structured_operands.producer
"""The op that a value is a result of; None for an argument of a block."""

replace_operands: Callable[[Any, Mapping[Any, Any]], None] = structured_operands.replace_operands
"""Replace operands of an op and of all operations nested in it by new values."""

copied: Callable[[Any, dict[Any, Any]], Any] = structured_operands.copied
"""Copy an op to the insertion point, with values replaced; the new results are added to them."""

copied_on: Callable[[Any, Iterable[Any]], Any] = structured_operands.copied_on
"""Copy an op to the insertion point, on other operands."""

operations: Callable[[Any, Collection[str]], list[Any]] = transformation.operations
"""The ops of some names in an op, in the order of the text."""


def select(root: Any, keep: Callable[[Any], bool]) -> list[Any]:
    """Return the operations in `root` for which `keep` is true, in the order of `operations`."""
    return structured_operands.ops_where(root.operation, keep, pre_order=True)


def count_operations(root: Any) -> int:
    """Return the number of operations: `root` and all nested in it."""
    count = 0

    def visit(_: Any) -> Any:
        nonlocal count
        count += 1
        return ir.WalkResult.ADVANCE

    root.walk(visit)
    return count


def functions(module: Any) -> list[Any]:
    """Return the `func.func` operations of a module that have a body."""
    ops = (op.operation for op in module.operation.regions[0].blocks[0].operations)
    return [op for op in ops if op.name == "func.func" and len(op.regions[0].blocks)]


def ops_of(block: Any) -> list[Any]:
    """Return the operations of a block, its terminator last."""
    return [op.operation for op in block.operations]


def ancestor_in(block: Any, op: Any) -> Any | None:
    """Return the op of a block that is an op, or has it in its regions; None where none is."""
    while op.block != block:
        op = op.parent.operation
        if op.name == "func.func":
            return None
    return op


def first_of(ops: Iterable[Any]) -> Any:
    """Return the op that comes first of ops of one block."""
    return functools.reduce(lambda first, op: op if op.is_before_in_block(first) else first, ops)


def last_of(ops: Iterable[Any]) -> Any:
    """Return the op that comes last of ops of one block."""
    return functools.reduce(lambda last, op: op if last.is_before_in_block(op) else last, ops)


def is_unused(value: Any) -> bool:
    """Return whether nothing uses a value."""
    return next(iter(value.uses), None) is None


def replace_op(op: Any, *values: Any) -> None:
    """Replace the results of `op` by values, one for each, and erase `op`."""
    for result, value in zip(op.results, values, strict=True):
        result.replace_all_uses_with(value)
    op.erase()


def element_type(type_: Any) -> Any:
    """Return the element type of a shaped type, and any other type itself."""
    return type_.element_type if isinstance(type_, ir.ShapedType) else type_


def text_of(op: Any) -> str:
    """Return the head of an operation's text on one line of at most 160 characters."""
    head = " ".join(line_of(op.operation, large=4).split())
    return head if len(head) <= 160 else head[:157] + "..."


def place(op: Any) -> str:
    """Return the location of an operation, if known, and the head of its text, for an error."""
    head = text_of(op)
    location = str(op.operation.location)
    location = location.removeprefix("loc(").removesuffix(")")
    return head if location == "unknown" else f"{location}: {head}"


@contextmanager
def at_op(op: Any) -> Iterator[None]:
    """Build before an op, with its location; a rule that is broken is an error at its place.

    Raises:
        LoweringError: an ArgumentError was raised inside.
    """
    try:
        with op.location, ir.InsertionPoint(op):
            yield
    except ArgumentError as error:
        # Nothing raises once the op is gone.
        raise LoweringError(
            error.what, where=place(op), expected=error.expected, hint=error.hint
        ) from error


Build = Callable[[Any], Any]
"""Builds the replacement of an op, at its place and location.

It gives the value of the only result, a list of the values of all, or a text: why the op is left.
None leaves it without a word.
"""


def replace_each(name: str, ops: Iterable[Any], build: Build) -> Report:
    """Replace each op by the value that `build` makes of it, and erase it.

    Args:
        name: of the pass, for its report.
        ops: those that it matches.
        build: makes the values of an op.
    """
    report = Report(name)
    for op in ops:
        report.matched[op.name] += 1
        with op.location, ir.InsertionPoint(op):
            replacement = build(op)
        if isinstance(replacement, str):
            report.leave(op.name, replacement)
        elif replacement is not None:
            report.changed[op.name] += 1
            replace_op(op, *(replacement if isinstance(replacement, list) else [replacement]))
    return report


def lowering_pass(name: str, *on: str) -> Callable[[Build], ModulePass]:
    """Make a function that builds an op's replacement a pass that replaces all such ops.

    Args:
        name: `linalg-ext-...`.
        on: the names of the ops.
    """

    def decorate(build: Build) -> ModulePass:
        @module_pass(name, on=on)
        @functools.wraps(build)
        def lower(module: ir.Operation) -> Report:
            return replace_each(name, operations(module, on), build)

        _BUILDS[name] = dict.fromkeys(on, build)
        return lower

    return decorate


def builds_of(*passes: ModulePass) -> Mapping[str, Build]:
    """Return the functions of lowering passes, by the names of the ops."""
    return {op: build for pass_ in passes for op, build in _BUILDS[pass_.pass_name].items()}


_BUILDS: dict[str, dict[str, Build]] = {}
"""The function for each op of a lowering pass, by the name of the pass."""


def enclosing(op: Any, name: str) -> Any | None:
    """Return the nearest op of a name around an op; None if absent."""
    around = op.parent
    while around is not None and around.name != name:
        around = around.operation.parent
    return None if around is None else around.operation


def is_in_sequence(op: Any) -> bool:
    """Return whether only sequential loops and branches enclose an op in its function."""
    around = op.parent
    while around.name in ("scf.for", "scf.if", "scf.while"):
        around = around.operation.parent
    return bool(around.name == "func.func")


def function_type(function: Any) -> ir.FunctionType:
    """Return the type of a `func.func`."""
    return ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)


def set_function_type(function: Any, inputs: Sequence[Any], results: Sequence[Any]) -> None:
    """Give a `func.func` another type; its blocks and its callers are left as they are."""
    type_ = ir.FunctionType.get(list(inputs), list(results))
    function.attributes["function_type"] = ir.TypeAttr.get(type_)


def name_of(function: Any) -> str:
    """Return the name of a function, or of another symbol."""
    return ir.StringAttr(function.attributes["sym_name"]).value


def is_private(function: Any) -> bool:
    """Return whether a symbol is private."""
    visibility = function.attributes.get("sym_visibility")
    return visibility is not None and ir.StringAttr(visibility).value == "private"


def callee_of(call: Any) -> str:
    """Return the name of the function that an op calls."""
    return ir.FlatSymbolRefAttr(call.attributes["callee"]).value


def rename_op(op: Any, name: str) -> Any:
    """Put an op of another name, and the same in all else, in the place of an op; return it."""
    with op.location, ir.InsertionPoint(op):
        new = ir.Operation.create(
            name,
            results=[result.type for result in op.results],
            operands=list(op.operands),
            attributes=dict(op.attributes.items()),
        )
    replace_op(op, *new.results)
    return new
