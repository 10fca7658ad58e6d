"""Upstream's YAML op definitions read back into ops that can be called.

The format keeps no names of dimensions and symbols: they get those that the document's affine maps
write, `d0, d1, ...` and `s0, s1, ...` where this library or upstream wrote it.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.definition.model import OpDefinition
from linalg_ext.errors import NotationError
from linalg_ext.notations.registry import definitions, read
from linalg_ext.notations.yaml.document import read_document
from linalg_ext.notations.yaml.nodes import Source
from linalg_ext.opdsl.op import StructuredOp


def from_yaml(text: str, *, filename: str | None = None) -> Any:
    """Return the op of a text with one YAML document; a tuple of ops for several documents.

    (`Any` to type checkers, because it depends on the text; `from_yaml_all` is always a tuple.)

    Args:
        text: documents in upstream's format, one an op.
        filename: the name of the file that it comes from, for error messages.

    Raises:
        NotationError: the text is no such document; says where, and what was expected.

    Example:
        >>> matmul = from_yaml(to_yaml(lx.ops.matmul))
        >>> matmul(np.ones((2, 3)), np.ones((3, 1)))
        array([[3.],
               [3.]])
    """
    return read(_checked(text), "yaml", filename=filename)


def from_yaml_all(text: str, *, filename: str | None = None) -> tuple[StructuredOp, ...]:
    """The ops of a text, one a document, in order; arguments and errors as of `from_yaml`."""
    return tuple(map(StructuredOp, definitions(_checked(text), "yaml", filename)))


def _checked(text: str) -> str:
    if isinstance(text, str):
        return text
    raise NotationError(
        f"from_yaml() got a {type(text).__name__}",
        expected="the text of YAML documents",
        hint='read the file: lx.read(Path(...), "yaml"), or its read_text()',
    )


def read_yaml(text: str, *, filename: str | None = None) -> tuple[OpDefinition, ...]:
    """The definitions of a text, in order; arguments and errors as of `from_yaml`."""
    found = tuple(map(read_document, Source(text, filename).documents()))
    if not found:
        raise NotationError(
            "the text holds no document",
            where=filename,
            expected="one that begins with `--- !LinalgOpConfig`",
        )
    return found
