"""The options of our passes: keyword-only parameters in Python, `{name=value}` in pipelines."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from linalg_ext.errors import ArgumentError, PipelineError

_TRUTH_VALUES = {"true": True, "false": False, "1": True, "0": False}


def _parse_bool(text: str) -> bool:
    return _TRUTH_VALUES[text.lower()]


def _parse_integers(text: str) -> tuple[int, ...]:
    return tuple(int(item) for item in text.split(",") if item.strip())


def _parse_strings(text: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(",") if item.strip())


def _parse_lists(text: str) -> tuple[tuple[int, ...], ...]:
    if "[" not in text:
        return (_parse_integers(text),) if text.strip() else ()
    if not re.fullmatch(r"\s*\[[^][]*\](\s*,\s*\[[^][]*\])*\s*", text):
        raise ValueError(text)
    return tuple(_parse_integers(items) for items in re.findall(r"\[([^][]*)\]", text))


_PARSERS: Mapping[Any, tuple[str, Callable[[str], Any]]] = {
    bool: ("true or false", _parse_bool),
    int: ("an integer", int),
    float: ("a number", float),
    str: ("a text", str),
    tuple[int, ...]: ("integers with commas between", _parse_integers),
    tuple[tuple[int, ...], ...]: ("lists of integers, as in [64,64],[8,8]", _parse_lists),
    tuple[str, ...]: ("words with commas between", _parse_strings),
}


@dataclass(frozen=True)
class PassOption:
    """One option: its name, its values, and its default (`inspect.Parameter.empty`: none)."""

    name: str
    kind: Any
    default: Any

    @property
    def spelling(self) -> str:
        """The name as pipelines write it, with dashes."""
        return self.name.replace("_", "-")

    def parse(self, text: str, pass_name: str) -> Any:
        """Return the value of a text in a pipeline."""
        expected, parser = _PARSERS[self.kind]
        try:
            return parser(text)
        except (ValueError, KeyError):
            raise PipelineError(
                f"option {self.spelling} of {pass_name} cannot be {text!r}",
                pass_name=pass_name,
                expected=expected,
            ) from None

    def __str__(self) -> str:
        expected, _ = _PARSERS[self.kind]
        required = self.default is inspect.Parameter.empty
        return f"{self.spelling}: {expected}" + (
            "" if required else f" (default {_text_of(self.default)})"
        )


def declared_options(
    function: Callable[..., Any], reserved: int, pass_name: str
) -> dict[str, PassOption]:
    """Return the keyword-only parameters of `function`, after its `reserved` positional ones.

    Raises:
        ArgumentError: the signature is not that of a pass, or a type is not one of `_PARSERS`.
    """
    parameters = list(inspect.signature(function).parameters.values())
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    keyword = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    if len(positional) != reserved or len(positional) + len(keyword) != len(parameters):
        shape = "(op, rewriter, *, ...)" if reserved == 2 else "(op, *, ...)"
        raise ArgumentError(
            f"the function of {pass_name} takes {inspect.signature(function)}",
            expected=f"{shape} with options, if any, after the star",
        )
    hints = typing.get_type_hints(function) if keyword else {}
    options = {p.name: PassOption(p.name, hints.get(p.name), p.default) for p in keyword}
    for option in options.values():
        if option.kind not in _PARSERS:
            raise ArgumentError(
                f"option {option.name} of {pass_name} is annotated as {option.kind}",
                expected="one of " + ", ".join(_name(kind) for kind in _PARSERS),
            )
    return options


def parse_options(
    texts: Mapping[str, str | None], declared: Mapping[str, PassOption], pass_name: str
) -> dict[str, Any]:
    """Return a pipeline's `{name=value name}` as keyword arguments.

    Raises:
        PipelineError: an option is unknown, missing, or has a value of the wrong kind.
    """
    by_spelling = {option.spelling: option for option in declared.values()}
    values: dict[str, Any] = {}
    for spelling, text in texts.items():
        option = by_spelling.get(spelling.replace("_", "-"))
        if option is None:
            raise PipelineError(
                f"{pass_name} has no option {spelling!r}",
                pass_name=pass_name,
                expected=f"one of its options: {', '.join(by_spelling)}"
                if by_spelling
                else "no options",
            )
        values[option.name] = option.parse("true" if text is None else text, pass_name)
    for option in declared.values():
        if option.default is inspect.Parameter.empty and option.name not in values:
            raise PipelineError(
                f"{pass_name} needs the option {option.spelling}",
                pass_name=pass_name,
                hint=f"write {pass_name}{{{option.spelling}=...}}",
            )
    return values


def _text_of(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(map(str, value)) or "none"
    return str(value)


def _name(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) and not typing.get_args(kind) else str(kind)
