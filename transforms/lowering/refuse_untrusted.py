"""Refuse what lets a module that nobody vouches for run code of its choice in this process.

That is: functions that it only declares, of which a few are known to be harmless; assembly;
pointers made of integers; variables and aliases of the process; code that runs when the module is
loaded. A module without such passes unchanged; that it computes within its own memory, this does
not say.

refused:
    func.func private @system(!llvm.ptr) -> i32
    func.func @f(%command: !llvm.ptr) -> i32 {
      %0 = call @system(%command) : (!llvm.ptr) -> i32
      return %0 : i32
    }
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import UntrustedError
from linalg_ext.rewriting import module_pass

from ._known_functions import KNOWN
from ._walk import place, select

NAME = "linalg-ext-refuse-untrusted"

_FUNCTIONS = frozenset({"func.func", "llvm.func"})
_MOST_NAMED = 8

_DANGERS: Mapping[str, str] = {
    "llvm.inline_asm": "inline assembly",
    "llvm.inttoptr": "a pointer made of an integer",
    "llvm.mlir.alias": "another name for a symbol of the process",
    "llvm.mlir.ifunc": "a function that is chosen when the module is loaded",
    "llvm.mlir.global_ctors": "code that runs when the module is loaded",
    "llvm.mlir.global_dtors": "code that runs when the module is unloaded",
}


@module_pass(NAME)
def refuse_untrusted(module: ir.Operation) -> None:
    """Refuse a module that reaches beyond itself.

    Raises:
        UntrustedError: names each thing that does, and its place.
    """
    check_trust(module, provided=lambda name: False)


def check_trust(module: ir.Operation, *, provided: Callable[[str], bool]) -> None:
    """As the pass does, where the caller vouches for some functions.

    Args:
        module: read, not changed.
        provided: whether a library that the caller gave has the function of a name.

    Raises:
        UntrustedError: names each thing that reaches beyond the module, and its place.
    """
    found = list(_dangers(module, provided))
    if not found:
        return
    more = len(found) - _MOST_NAMED
    raise UntrustedError(
        f"the module holds {found[0][0]}",
        where=found[0][1],
        expected="a module that calls nothing but mathematics, memory allocation and functions "
        "of the given libraries",
        cure="pass the library that has it as libraries=[...], or trusted=True for a module "
        "whose author you trust",
        notes=[
            *(f"also {what}: {where}" for what, where in found[1:_MOST_NAMED]),
            *([f"and {more} more"] if more > 0 else []),
        ],
    )


def _dangers(module: ir.Operation, provided: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    for op in select(module, lambda op: op.name in _FUNCTIONS or op.name in _NAMES):
        what = _declared(op, provided) if op.name in _FUNCTIONS else _danger(op)
        if what is not None:
            yield what, place(op)


_NAMES = frozenset({*_DANGERS, "llvm.mlir.global", "memref.global"})


def _declared(op: Any, provided: Callable[[str], bool]) -> str | None:
    if len(op.regions[0].blocks):
        return None
    name = ir.StringAttr(op.attributes["sym_name"]).value
    # LLVM's own are instructions; which of them this machine has is looked at later.
    if name in KNOWN or name.startswith("llvm.") or provided(name):
        return None
    return f"the declaration of the function `{name}`, which is not its own"


def _danger(op: Any) -> str | None:
    if op.name == "memref.global":
        is_here = "initial_value" in op.attributes
    elif op.name == "llvm.mlir.global":
        is_here = "value" in op.attributes or bool(_blocks(op.regions))
    else:
        return _DANGERS[op.name]
    if is_here:
        return None
    name = ir.StringAttr(op.attributes["sym_name"]).value
    return f"the declaration of the variable `{name}`, which is not its own"


def _blocks(regions: Sequence[Any]) -> list[Any]:
    return [block for region in regions for block in region.blocks]
