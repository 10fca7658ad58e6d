"""The attributes of one call: given values checked, defaults filled in."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linalg_ext.definition.functions import FUNCTIONS, REDUCTIONS, Function, FunctionKind
from linalg_ext.definition.model import OpDefinition, Operand, OperandKind
from linalg_ext.errors import ArgumentError, ArityError, counted


@dataclass(frozen=True)
class CallAttributes:
    """The attributes of an op in one call.

    Attributes:
        symbols: the value of each symbol that an index attribute binds.
        functions: the function of each function attribute.
        changed: the index attributes that differ from their defaults, by name.
    """

    symbols: Mapping[str, int] = field(default_factory=dict)
    functions: Mapping[str, Function] = field(default_factory=dict)
    changed: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def key(self) -> tuple[object, ...]:
        """Hashable identity."""
        return (tuple(self.symbols.items()), tuple(self.functions.items()))


FUNCTION_KINDS: Mapping[OperandKind, FunctionKind] = {
    OperandKind(f"{kind.value}_fn_attr"): kind for kind in FunctionKind
}
"""The kind of functions that a function attribute chooses from."""

_MOST = (1 << 63) - 1
"""The largest value of an index attribute: MLIR's indices have 64 bits."""


def resolve_attributes(
    definition: OpDefinition, keywords: Mapping[str, object], *, also: tuple[str, ...] = ()
) -> CallAttributes:
    """Check the attributes given in a call and fill in the defaults.

    Args:
        keywords: values by name: integers (or one for all) for an index attribute; a function
            or its name for a function attribute.
        also: other keywords that the call takes, for the error message.

    Raises:
        ArityError: the op has no attribute of that name.
        ArgumentError: a value does not fit.
    """
    names = [operand.name for operand in definition.attributes]
    for name in keywords:
        if name not in names:
            raise _unknown_keyword(definition, name, [*names, *also])
    symbols: dict[str, int] = {}
    functions: dict[str, Function] = {}
    changed: dict[str, tuple[int, ...]] = {}
    for operand in definition.attributes:
        value = keywords.get(operand.name, operand.default)
        if operand.kind is OperandKind.INDEX_ATTR:
            if operand.name not in keywords and operand.default is None:
                raise ArityError(
                    f"{definition.name} got no attribute {operand.name}",
                    hint=f"give it: {operand.name}={[1] * operand.rank}, or another size that "
                    "is meant",
                )
            indices = _indices(definition, operand, value)
            symbols.update(
                (symbol, number)
                for expr, number in zip(operand.shape, indices, strict=True)
                for symbol in expr.symbols
            )
            if indices != operand.default:
                changed[operand.name] = indices
        else:
            functions[operand.name] = _function(definition, operand, value)
    return CallAttributes(symbols, functions, changed)


def _unknown_keyword(definition: OpDefinition, name: str, keywords: list[str]) -> ArityError:
    """The error for a keyword that an op does not take."""
    names = [o.name for o in definition.arguments if o.kind.is_tensor]
    maps = [f"{word}_{name}" for word in ("broadcast", "permutation", "map") for name in names]
    near = difflib.get_close_matches(name, [*keywords, *maps], 1)
    shown = [f"{word}_{names[0]}" for word in ("broadcast", "permutation", "map") if names]
    map_hint = f"; {', '.join(shown)} and so on say how an operand is given" if shown else ""
    return ArityError(
        f"{definition.name} has no argument {name!r}",
        expected=(f"one of {', '.join(keywords)}" if keywords else "no attribute: there are none")
        + map_hint,
        hint=f"did you mean {near[0]}?" if near else None,
    )


def _indices(definition: OpDefinition, operand: Operand, value: object) -> tuple[int, ...]:
    if not operand.rank and value != ():
        raise ArityError(
            f"{definition.name}: attribute {operand.name} is read by no index of the op",
            hint="leave it out of the call",
        )
    values = [value] * operand.rank if _is_int(value) else value
    numbers: tuple[Any, ...] = tuple(values) if isinstance(values, Iterable) else ()
    if len(numbers) != operand.rank or not all(map(_is_int, numbers)):
        raise ArgumentError(
            f"{definition.name}: attribute {operand.name} cannot be {value!r}",
            expected=f"{counted(operand.rank, 'integer')} for "
            f"({', '.join(map(str, operand.shape))}), "
            "or one integer for all of them",
        )
    if any(number < operand.minimum for number in numbers):
        raise ArgumentError(
            f"{definition.name}: attribute {operand.name} = {list(numbers)} is "
            + {0: "negative", 1: "not positive"}.get(
                operand.minimum, f"less than {operand.minimum}"
            ),
            expected=f"integers of {operand.minimum} or more"
            + (", as strides and dilations are" if operand.minimum == 1 else ""),
        )
    if any(number > _MOST for number in numbers):
        raise ArgumentError(
            f"{definition.name}: attribute {operand.name} = {list(numbers)} is beyond 64 bits",
            expected=f"integers up to {_MOST}",
        )
    return tuple(int(number) for number in numbers)


def _is_int(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _function(definition: OpDefinition, operand: Operand, value: object) -> Function:
    table = FUNCTIONS[FUNCTION_KINDS[operand.kind]]
    reduces = any(
        a.reduction and a.reduction.attribute == operand.name for a in definition.assignments
    )
    allowed = {function.name: function for function in REDUCTIONS} if reduces else table
    function = getattr(value, "function", value)
    name = function.name if isinstance(function, Function) else function
    chosen = allowed.get(name) if isinstance(name, str) else None
    if chosen is not None and function in (name, chosen):
        return chosen
    kind = "reduction" if reduces else FUNCTION_KINDS[operand.kind].value
    raise ArgumentError(
        f"{definition.name}: attribute {operand.name} cannot be {value!r}",
        expected=f"a {kind} function: {', '.join(allowed)}",
    )
