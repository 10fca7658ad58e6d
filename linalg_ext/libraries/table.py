"""Reading what a library is registered for: ops, and the functions for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeAlias

from linalg_ext import opdsl_defs
from linalg_ext.definition.model import OpDefinition
from linalg_ext.errors import LibraryError
from linalg_ext.libraries.gemm import Gemm
from linalg_ext.libraries.prototype import Prototype
from linalg_ext.opdsl import StructuredOp

Op: TypeAlias = str | StructuredOp
Given: TypeAlias = str | Prototype
Many: TypeAlias = Given | Sequence[Given]
Functions: TypeAlias = Mapping[Any, Many]
"""By `Op`, which types cannot say: a mapping of the names, or of the very ops, is one as well."""
Key: TypeAlias = str | OpDefinition


def read_table(functions: Functions) -> dict[Key, tuple[Prototype, ...]]:
    """The functions for each name that ops may ask for, and for what each op computes.

    Raises:
        LibraryError: an op or a function is none, or they do not fit each other.
    """
    if not isinstance(functions, Mapping) or not functions:
        raise LibraryError(
            f"{functions!r} names no functions",
            expected='a dict of them: {"add": "add(memref<?xf32>, memref<?xf32>)"}',
        )
    table = {_key(op): _functions(op, given) for op, given in functions.items()}
    _check_symbols([function for many in table.values() for function in many])
    return table


def _key(op: Op) -> Key:
    if isinstance(op, StructuredOp):
        return op.definition
    if not isinstance(op, str) or not op:
        raise LibraryError(
            f"{op!r} is no op",
            expected='what a library_call says, an op of lx.ops, or its name: "linalg.matmul"',
        )
    if not op.startswith("linalg."):
        return op
    name = op.removeprefix("linalg.")
    found = getattr(opdsl_defs, name, None) if name in dir(opdsl_defs) else None
    if not isinstance(found, StructuredOp):
        near = get_close_matches(name, dir(opdsl_defs), n=1)
        raise LibraryError(
            f"{op!r} is not an op of the library",
            hint=f"did you mean 'linalg.{near[0]}'?" if near else "see dir(lx.ops)",
        )
    return found.definition


def op_named(key: str, functions: Sequence[Prototype]) -> OpDefinition | None:
    """Return the op of `lx.ops` that a key of a table may mean; None if absent.

    The functions have to take as many operands as it has.
    """
    found = getattr(opdsl_defs, key, None) if key in dir(opdsl_defs) else None
    if not isinstance(found, StructuredOp):
        return None
    definition = found.definition
    count = len(definition.inputs) + len(definition.outputs)
    fits = all(len(function.operands) == count for function in functions)
    return definition if fits else None


def _functions(op: Op, given: Many) -> tuple[Prototype, ...]:
    many = given if isinstance(given, list | tuple) else [given]
    functions = tuple(_function(op, one) for one in many)
    if not functions:
        raise LibraryError(
            f"the list of functions for {_shown(op)} is empty", expected="one or several"
        )
    return functions


def _function(op: Op, given: object) -> Prototype:
    function = Prototype.parse(given) if isinstance(given, str) else given
    if not isinstance(function, Prototype):
        raise LibraryError(
            f"{given!r} is no function for {_shown(op)}",
            expected="a name and what it takes: `add(memref<?x?xf32>, memref<?x?xf32>)`",
        )
    definition = _key(op)
    is_matmul = isinstance(definition, OpDefinition) and definition.name == "matmul"
    if isinstance(function, Gemm) and not is_matmul:
        raise LibraryError(
            f"`{function.symbol}` multiplies matrices, and {_shown(op)} may be anything",
            hint='register it for "linalg.matmul"',
        )
    if isinstance(definition, OpDefinition):
        count = len(definition.inputs) + len(definition.outputs)
        if len(function.operands) != count:
            raise LibraryError(
                f"`{function}` takes {len(function.operands)} operands, {_shown(op)} has {count}",
                expected="one for each input, then one for each output",
            )
    return function


def _check_symbols(functions: Sequence[Prototype]) -> None:
    known: dict[str, Prototype] = {}
    for function in functions:
        other = known.setdefault(function.symbol, function)
        if other != function:
            raise LibraryError(
                f"`{function.symbol}` is said to take two things: `{other}` and `{function}`",
                expected="one prototype for one function",
            )


def _shown(op: Op) -> str:
    return f"`{op if isinstance(op, str) else op.op_name}`"
