"""Functions of a module by their roles: the entry with its status, those of plans, Python's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from linalg_ext.bindings import arith, cf, func, ir
from linalg_ext.errors import LoweringError
from linalg_ext.ir.context import kept_with
from linalg_ext.runtime.callbacks import PREFIX

from .arithmetic import constant
from .walking import functions

STATUS = "linalg_ext.status"
"""Unit attribute of the function whose last argument, a `memref<1xi64>`, takes the status."""

PART = "linalg_ext.part"
"""Unit attribute of a function that does a part of the entry's work, and last gives its status."""

STATUS_OF_PART = "linalg_ext.status_of_part"
"""Unit attribute of an assertion that the status of a part is good: if not, it is handed on."""

APART = "linalg_ext.apart"
"""Unit attribute of a private function whose arguments, those of them that are written, are apart:
no two of them overlap in any call."""

THREADS = "linalg_ext.threads"
"""Attribute of the entry that says for how many threads its loops are cut.

Before a call the word of its status then holds the context by which threads share loops.
"""


def functions_with_status(module: ir.Operation) -> list[Any]:
    """Return the function that takes a status, and those that return that of a part of its work."""
    entry = entry_with_status(module)
    if entry is None:
        return []
    return [entry, *(op for op in functions(module) if PART in op.attributes)]


def entry_with_status(module: ir.Operation) -> Any | None:
    """Return the function that takes a status, or None.

    Raises:
        LoweringError: its last argument is not a `memref<1xi64>`.
    """
    for op in functions(module):
        if STATUS not in op.attributes:
            continue
        arguments = op.regions[0].blocks[0].arguments
        if not len(arguments) or str(arguments[len(arguments) - 1].type) != "memref<1xi64>":
            name = op.attributes["sym_name"]
            raise LoweringError(
                f"{name} has the attribute {STATUS} but takes no status",
                expected="memref<1xi64> as its last argument",
            )
        return op
    return None


ARGUMENTS = "arg_attrs"
"""The attribute of a function that has those of its arguments."""


def attributes_of_arguments(function: Any, prefix: str) -> list[ir.DictAttr]:
    """Return for each argument the attributes whose names begin with a prefix."""
    dictionaries: Any = map(ir.DictAttr, ir.ArrayAttr(function.attributes[ARGUMENTS]))
    return [
        ir.DictAttr.get({own.name: own.attr for own in named if own.name.startswith(prefix)})
        for named in dictionaries
    ]


def calls_python(module: Any) -> bool:
    """Return whether a module declares functions of Python: its code is of this process."""
    names = (
        op.operation.attributes.get("sym_name")
        for op in module.operation.regions[0].blocks[0].operations
    )
    return any(name is not None and ir.StringAttr(name).value.startswith(PREFIX) for name in names)


PLAN = "linalg_ext.plan"
"""The attribute of a function that holds its plan as a table."""

_CAN_LOCATE = getattr(ir.Operation.location, "fset", None) is not None
"""True where this build of MLIR can change the location of an op."""

CONTRACTION, WINDOWS, ATTENTION = NESTS = (
    "linalg_ext_contraction",
    "linalg_ext_windows",
    "linalg_ext_attention",
)
"""Prefixes of the names of functions that structured ops become."""


class Functions:
    """The functions that a pass makes in a module."""

    def __init__(self, module: ir.Operation, stem: str) -> None:
        """
        Args:
            module: where they go, after its other functions.
            stem: the prefix of their names; a number follows.
        """
        self._block = module.regions[0].blocks[0]
        self._stem = stem
        self._made: list[tuple[object, str]] = []
        self._functions: dict[str, ir.Operation] = {}
        self._locations: dict[str, list[ir.Location]] = {}
        self._taken = {
            ir.StringAttr(op.operation.attributes["sym_name"]).value
            for op in self._block.operations
            if "sym_name" in op.operation.attributes
        }

    def known(self, key: object) -> str | None:
        """Return the name of the function that was made for an equal key; None where none was."""
        return next((name for known_key, name in self._made if known_key == key), None)

    def add(self, key: object, plan: object, write: Callable[[str], str]) -> str:
        """Make a function, and name it.

        Args:
            key: all that it is made of.
            plan: the plan that `explain()` shows for it; its `repr` is the table. None where there
                is nothing to tell.
            write: writes a function of a given name as text, and the functions it declares after
                it.
        """
        name = self._next_name()
        parsed = ir.Module.parse(write(name))  # lives for as long as the cloned function
        function, *declarations = parsed.body.operations
        if plan is not None:
            function.attributes[PLAN] = ir.StringAttr.get(repr(plan))
        self._functions[name] = function.operation
        self._block.append(function)
        self._taken.add(name)
        for declaration in declarations:
            symbol = ir.StringAttr(declaration.operation.attributes["sym_name"]).value
            if symbol not in self._taken:
                declaration.operation.clone(ir.InsertionPoint(self._block))
                self._taken.add(symbol)
        self._made.append((key, name))
        return name

    def adopt(self, key: object, function: ir.Operation) -> str:
        """Take a copy of a function of another module, and name it; `key` is as of `add`.

        It may call the functions of this module.
        """
        name = self._next_name()
        copy = function.clone(ir.InsertionPoint(self._block))
        copy.operation.attributes["sym_name"] = ir.StringAttr.get(name, function.context)
        self._functions[name] = copy.operation
        self._taken.add(name)
        self._made.append((key, name))
        return name

    def _next_name(self) -> str:
        number = len(self._made)
        while f"{self._stem}_{number}" in self._taken:
            number += 1
        return f"{self._stem}_{number}"

    def call(self, name: str, operands: Sequence[ir.Value], ops: Sequence[ir.Operation]) -> None:
        """Call a function before an op, and note in its body the ops that it stands for.

        Args:
            name: that `add` gave.
            operands: of the call.
            ops: the ops that the function computes; the call goes before the first of them.
        """
        location = _fused([op.location for op in ops])
        with location, ir.InsertionPoint(ops[0]):
            func.CallOp([], ir.FlatSymbolRefAttr.get(name), list(operands))
        locations = self._locations.setdefault(name, [])
        if _CAN_LOCATE and location not in locations:
            locations.append(location)
            _locate(self._functions[name], _fused(locations))


def declare(module: ir.Operation, text: str) -> bool:
    """Add functions to a module; those that it declares with the same type are there already.

    Args:
        module: where they go, before its other functions.
        text: a module of the functions, and of the variables that they use.

    Returns:
        False where the module means something else by one of their names: it is left as it is.
    """
    symbols = ir.SymbolTable(module)
    parsed = _parsed(text, module.context)  # must outlive the ops that are read of it
    ops = [op.operation for op in parsed.body.operations]
    names = [ir.StringAttr(op.attributes["sym_name"]).value for op in ops]
    are_taken = [name in symbols for name in names]
    for op, name, is_taken in zip(ops, names, are_taken, strict=True):
        if is_taken and not _is_declared_as(op, symbols[name].operation):
            return False
    with ir.InsertionPoint.at_block_begin(module.regions[0].blocks[0]):
        for op, is_taken in zip(ops, are_taken, strict=True):
            if not is_taken:
                op.clone()
    return True


def _parsed(text: str, context: ir.Context) -> ir.Module:
    """Return a module to clone from; a context on loan keeps it."""
    cache = kept_with(context)
    if cache is None:
        return ir.Module.parse(text, context)
    if text not in cache:
        cache[text] = ir.Module.parse(text, context)
    parsed: ir.Module = cache[text]
    return parsed


def _is_declared_as(function: ir.Operation, other: ir.Operation) -> bool:
    """Return whether a function without a body has the type of a module's symbol of its name."""
    types = [op.attributes.get("function_type") for op in (function, other)]
    is_declaration = not len(function.regions[0].blocks)
    return is_declaration and other.name == function.name and types[0] == types[1]


def _fused(locations: Sequence[ir.Location]) -> ir.Location:
    first, *rest = dict.fromkeys(locations)
    return ir.Location.fused([first, *rest]) if rest else first


def _locate(function: ir.Operation, location: ir.Location) -> None:
    """Give a function and all in it a location; its text had none that means anything."""

    def visit(op: ir.Operation) -> ir.WalkResult:
        op.location = location
        return ir.WalkResult.ADVANCE

    function.walk(visit)


def assert_good(status: Any, message: str) -> None:
    """Assert that the status of a part of the entry's work is good; if not, it is handed on."""
    is_good = arith.cmpi(arith.CmpIPredicate.eq, status, constant(status.type, 0))
    check = cf.AssertOp(is_good, message)
    check.operation.attributes[STATUS_OF_PART] = ir.UnitAttr.get()
