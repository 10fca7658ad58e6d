"""MLIR for pygments, and so for `rich.syntax.Syntax`."""

from __future__ import annotations

from typing import Any, ClassVar

from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Number, String, Text

from linalg_ext.explain.pieces import MLIR

_TOKENS: dict[str, Any] = {
    "comment": Comment.Single,
    "string": String.Double,
    "value": Name.Variable,
    "symbol": Name.Function,
    "block": Name.Label,
    "alias": Name.Constant,
    "type": Keyword.Type,
    "op": Name.Builtin,
    "number": Number,
    "keyword": Keyword,
}


class MlirLexer(RegexLexer):
    """MLIR's textual form."""

    name = "MLIR"
    aliases: ClassVar[list[str]] = ["mlir"]
    filenames: ClassVar[list[str]] = ["*.mlir"]
    tokens: ClassVar[dict[str, list[tuple[str, Any]]]] = {
        "root": [*((p, _TOKENS[kind]) for kind, p in MLIR), (r"\w+|\s+|.", Text)]
    }
