"""Programs as data: arrays, and steps that name what they call and what it is given."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Input:
    """An argument of the program, by number."""

    number: int

    def __repr__(self) -> str:
        return f"x{self.number}"


@dataclass(frozen=True)
class Result:
    """A result of an earlier step, by number."""

    number: int

    def __repr__(self) -> str:
        return f"r{self.number}"


@dataclass(frozen=True)
class Step:
    """A call.

    Attributes:
        kind: function, ufunc, method, property, operator, "in place", index, at, write or writer.
        name: of what is called, as the library's tables have it.
        arguments, keywords: its arguments; an `Input` or a `Result` stands for an array.
    """

    kind: str
    name: str
    arguments: tuple[Any, ...]
    keywords: dict[str, Any] = field(default_factory=dict)

    def __call__(self, inputs: Sequence[Any], results: Sequence[Any]) -> Any:
        """Call it, on arrays or on traced values."""

        def given(value: Any) -> Any:
            if isinstance(value, Input):
                return inputs[value.number]
            if isinstance(value, Result):
                return results[value.number]
            if isinstance(value, list | tuple):
                return type(value)(map(given, value))
            return value

        arguments = [given(argument) for argument in self.arguments]
        keywords = {name: given(value) for name, value in self.keywords.items()}
        return getattr(self, f"_{self.kind.replace(' ', '_')}")(*arguments, **keywords)

    def _function(self, *arguments: Any, **keywords: Any) -> Any:
        return named(self.name)(*arguments, **keywords)

    _ufunc = _function

    def _method(self, value: Any, *arguments: Any, **keywords: Any) -> Any:
        if self.name == "sort":  # it gives nothing, and changes the value
            value = value.copy()
            value.sort(*arguments, **keywords)
            return value
        return getattr(value, self.name)(*arguments, **keywords)

    def _property(self, value: Any) -> Any:
        return getattr(value, self.name)

    def _operator(self, *arguments: Any) -> Any:
        return _OPERATORS[self.name](*arguments)

    def _in_place(self, value: Any, other: Any) -> Any:
        # A scalar where the rank is 0: of those a trace does not tell arrays apart.
        return getattr(operator, self.name)(value.copy() if np.ndim(value) else value[()], other)

    def _index(self, value: Any, index: Any) -> Any:
        return value[index]

    def _at(self, value: Any, index: Any, other: Any) -> Any:
        if hasattr(value, "at"):
            part = value.at[index]
            return part.get() if self.name == "get" else getattr(part, self.name)(other)
        if self.name == "get":
            return value[index]
        changed = np.array(value)
        if self.name == "set":
            changed[index] = other
        else:
            ufunc = {"max": np.maximum, "min": np.minimum}.get(self.name) or getattr(np, self.name)
            ufunc.at(changed, index, np.asarray(other).astype(changed.dtype))
        return changed

    def _write(self, value: Any, index: Any, other: Any) -> Any:
        changed = value.copy()
        rows = changed[...]
        if self.name == "set":
            changed[index] = other
        elif self.name == "iadd":
            changed[index] += other
        else:  # through a view
            part = changed[index]
            part *= other
        return changed, rows

    def _writer(self, value: Any, *arguments: Any) -> Any:
        changed = value.copy()
        if self.name == "fill":
            changed.fill(*arguments)
        else:
            named(self.name)(changed, *arguments)
        return changed

    def __repr__(self) -> str:
        shown = [*map(repr, self.arguments), *(f"{k}={v!r}" for k, v in self.keywords.items())]
        return f"{self.kind} {self.name}({', '.join(shown)})"


_OPERATORS = {
    **{name: getattr(operator, name) for name in dir(operator) if name.startswith("__")},
    "__divmod__": divmod,
}


def named(name: str) -> Any:
    """A function of NumPy's by its name: `linalg.norm`, `add.reduce`."""
    return operator.attrgetter(name)(np)


@dataclass
class Program:
    """Arrays and steps.

    Attributes:
        inputs: arrays and Python numbers.
        steps: the calls, in order.
        dynamic: as `jit` takes it.
    """

    inputs: list[Any]
    steps: list[Step]
    dynamic: bool = False

    def shown(self) -> str:
        """The program as text, its arrays shortened."""
        lines = [f"x{n} = {_shown(value)}" for n, value in enumerate(self.inputs)]
        lines += [f"{step!r}" for step in self.steps]
        return "\n".join([*lines, *(["dynamic=True"] if self.dynamic else [])])


def _shown(value: Any) -> str:
    if not isinstance(value, np.ndarray):
        return repr(value)
    numbers = np.array2string(value, threshold=12, edgeitems=4, separator=", ").replace("\n", "")
    return f"{value.dtype}{value.shape} {numbers}"


def flat(value: Any) -> list[Any]:
    """The arrays and numbers that a call gives."""
    if isinstance(value, list | tuple):
        return [leaf for each in value for leaf in flat(each)]
    return [value]
