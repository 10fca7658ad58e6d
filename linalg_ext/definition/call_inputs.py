"""The inputs of one call, by position and by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.definition.model import OpDefinition
from linalg_ext.errors import ArityError


def split_inputs(
    definition: OpDefinition, operands: Sequence[Any], keywords: dict[str, Any]
) -> list[Any]:
    """The inputs of a call in order, those given by name taken out of `keywords`.

    Raises:
        ArityError: too many or too few.
    """
    names = [operand.name for operand in definition.inputs]
    if len(operands) > len(names):
        raise ArityError(
            f"{definition.name} got {len(operands)} inputs",
            expected=f"{len(names)}: {', '.join(names)}",
        )
    given = list(operands)
    for name in names[len(operands) :]:
        if name not in keywords:
            raise ArityError(
                f"{definition.name} got no input {name}",
                expected=f"{len(names)} input(s): {', '.join(names)}",
            )
        given.append(keywords.pop(name))
    repeated = [name for name in names if name in keywords]
    if repeated:
        raise ArityError(f"{definition.name} got input {repeated[0]} twice")
    return given


def per_output(definition: OpDefinition, keyword: str, value: Any) -> dict[str, Any]:
    """`out=` or `init=` by the name of the output; a tuple has one, or None, for each output.

    Raises:
        ArityError: too many or too few.
    """
    if value is None:
        return {}
    names = [output.name for output in definition.outputs]
    values = value if isinstance(value, tuple) else (value,)
    if len(values) != len(names):
        raise ArityError(
            f"{definition.name}: {keyword}= has {len(values)} array(s)",
            expected=f"{len(names)}: for {', '.join(names)}",
        )
    return {name: array for name, array in zip(names, values, strict=True) if array is not None}
