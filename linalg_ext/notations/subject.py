"""The subject of a notation: an op, or its definition."""

from __future__ import annotations

from linalg_ext.definition.model import OpDefinition
from linalg_ext.errors import NotationError


def definition_of(op: object) -> OpDefinition:
    """The definition of an op, or the definition itself.

    Raises:
        NotationError: the object is neither.
    """
    definition = getattr(op, "definition", op)
    if not isinstance(definition, OpDefinition):
        raise NotationError(
            f"{op!r} is no op: it cannot be written down",
            expected="an op declared with @structured_op, or its definition",
        )
    return definition
