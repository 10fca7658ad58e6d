"""TC: the notation of `mlir-linalg-ods-gen`, a text in the manner of Tensor Comprehensions.

    def batch_matmul(A: f32(Batch, M, K), B: f32(Batch, K, N)) -> (C: f32(Batch, M, N)) {
      C(b, m, n) = std_addf<k>(std_mulf(A(b, m, k), B(b, k, n)));
    }

Source: "Linalg Dialect", section "Named Payload Ops Specification" (LLVM, 2020 and 2024).
"""

from __future__ import annotations

from typing import Any

from linalg_ext.definition.model import OpDefinition
from linalg_ext.errors import NotationError
from linalg_ext.notations.registry import Notation, read, register
from linalg_ext.notations.source_text import SourceText
from linalg_ext.notations.tc_semantics import build
from linalg_ext.notations.tc_syntax import parse
from linalg_ext.notations.tc_writer import to_tc


def tc(text: str, *, name: str = "TC text") -> Any:
    """Return the ops that a text of TC defines.

    Args:
        text: one definition or more.
        name: what errors call the text: the name of its file.

    Returns:
        For one definition its op, a `StructuredOp`. For several a named tuple of ops, in order:
        `ops.matmul`, or `matmul, dot = tc(...)`.

    Raises:
        NotationError: with the line, the column and a caret under what is wrong.

    Example:
        >>> dot = tc("def dot(A: f32(M), B: f32(M)) -> (C: f32()) {"
        ...          "  C() = std_addf<m>(std_mulf(A(m), B(m))); }")
        >>> dot(np.float32([1, 2]), np.float32([3, 4]))
        array(11., dtype=float32)
    """
    return read(text, "tc", filename=name)


def read_tc(text: str, *, filename: str | None = None) -> tuple[OpDefinition, ...]:
    """The definitions of a text of TC, in order.

    Raises:
        NotationError: as `tc` does.
    """
    source = SourceText(text, filename or "TC text")
    syntax = parse(source)
    seen: set[str] = set()
    for each in syntax:
        if each.name.text in seen:
            raise NotationError(
                f"{each.name} is defined twice",
                where=source.place(each.name.start, each.name.end),
                hint="give each op a name of its own",
            )
        seen.add(each.name.text)
    return tuple(build(each, source) for each in syntax)


register(
    Notation(
        "tc",
        "Tensor Comprehensions, as the linalg dialect's documents have them",
        read=read_tc,
        write=to_tc,
        suffixes=(".tc",),
    )
)
