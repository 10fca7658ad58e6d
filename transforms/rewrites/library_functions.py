"""Ops replaced by calls of a library, and their description for `kernel.explain()`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import func, ir, linalg
from linalg_ext.libraries import Gemm
from linalg_ext.structured.contraction import fill_number

from ._adoption import adopt
from ._library_body import CallBody
from .library_choice import Chosen
from .library_stub import stub

PREFIX = "lx.library.call"
"""Begins the names of these functions."""


@dataclass(frozen=True)
class LibraryCall:
    """An op that became a call, described for `kernel.explain()`."""

    symbol: str
    op: str
    chosen: Chosen
    types: tuple[str, ...]
    copied: tuple[int, ...]

    @property
    def title(self) -> str:
        """The title of the table."""
        return f"library call @{self.symbol}"

    def rows(self) -> Sequence[tuple[str, str]]:
        """The op, the function, where it is, and what is copied for it."""
        native = self.chosen.native
        rows = [
            ("op", f"{self.op} on {', '.join(self.types)}"),
            ("function", str(native.function)),
            ("library", f"{native.library}, {native.file or 'of this process'}"),
        ]
        if self.copied:
            rows.append(("copied", ", ".join(f"operand {number}" for number in self.copied)))
        return rows


class LibraryFunctions:
    """Makes the functions of a module through which its ops call libraries."""

    def __init__(self, module: ir.Operation) -> None:
        self._module = module

    def replace(self, op: Any, chosen: Chosen) -> LibraryCall:
        """Replace an op by a call; the op is gone then."""
        name = op.name
        operands = list(op.operands)
        given = tuple(str(value.type) for value in operands)
        results = list(op.results)
        symbol = self._free_symbol()
        overwrites = (
            bool(results) and isinstance(chosen.native.function, Gemm) and _unfill(operands)
        )
        types = [_buffer_type(v.type, n, chosen) for n, v in enumerate(operands)]
        body = CallBody(symbol, chosen, types, linalg.get_indexing_maps(op))
        with op.location:
            made = body.module(overwrites=overwrites)
            adopt(self._module, made)
            callee = symbol
            if results:
                callee = f"{symbol}.stub"
                tensors = [value.type for value in operands]
                made = stub(symbol, callee, tensors, types, chosen.inputs)
                adopt(self._module, made)
            with ir.InsertionPoint(op):
                call = func.CallOp([r.type for r in results], callee, operands)
            for old, new in zip(results, call.operation.results, strict=True):
                old.replace_all_uses_with(new)
        op.erase()
        return LibraryCall(symbol, name, chosen, given, tuple(body.copied))

    def _free_symbol(self) -> str:
        table = ir.SymbolTable(self._module)
        number = 0
        while f"{PREFIX}{number}" in table:
            number += 1
        return f"{PREFIX}{number}"


def _unfill(operands: list[Any]) -> bool:
    """Return whether the last operand is a fill with zeros, and replace it by the filled value."""
    if fill_number(operands[-1]) != 0:
        return False
    operands[-1] = operands[-1].owner.operation.operands[1]
    return True


def _buffer_type(type_: Any, number: int, chosen: Chosen) -> Any:
    """Return the memref type of an operand: the function's for an input, dense for an output."""
    if not isinstance(type_, ir.RankedTensorType):
        return type_
    layout = chosen.native.function.operands[number].layout
    if number >= chosen.inputs or not layout:
        return ir.MemRefType.get(type_.shape, type_.element_type)
    return ir.MemRefType.get(type_.shape, type_.element_type, ir.Attribute.parse(layout))
