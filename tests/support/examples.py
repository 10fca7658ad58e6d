"""The examples in the docstrings of passes, run: *before* becomes *after*.

An example is a few lines of a function. What stands around them follows from them: values that they
use and do not define are parameters, constants where their names are those of numbers; values that
both texts define and do not use are results; functions that they call are declared.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

import linalg_ext as lx
from kernels import normalized
from linalg_ext.errors import IRError
from linalg_ext.module import Module
from linalg_ext.rewriting import Transformation
from linalg_ext.transforms.schedules.step import Step

_REFUSED = re.compile(r"^refused\b.*:\n((?:    .*\n|\n)+)", re.MULTILINE)
_EXAMPLE = re.compile(
    r"^ *before\b[^\n]*:\n(.*?)^ *after\b(?: `([^`\n]*)`)?[^\n]*:\n((?:[ \t]+[^\n]*\n|\n)+)",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Example:
    """One example of a docstring.

    Attributes:
        before, after: the two texts.
        call: the call of a schedule that the label of `after` shows; None for a pass by itself.
    """

    before: str
    after: str
    call: str | None = None


def examples_of(transformation: Transformation) -> list[Example]:
    """The examples of a transformation: those of its function, else those of its file."""
    function = transformation.function
    for said in (inspect.getdoc(function), sys.modules[function.__module__].__doc__):
        if found := _EXAMPLE.findall((said or "") + "\n"):
            return [
                Example(_written_out(before), _written_out(after), call or None)
                for before, call, after in found
            ]
    raise AssertionError(f"{transformation.pass_name} shows no example")


def examples(module: ModuleType) -> list[tuple[str, str]]:
    """The *before* and *after* of each example in the docstring of a rewrite's file."""
    found = _EXAMPLE.findall((module.__doc__ or "") + "\n")
    assert found, f"{module.__name__} shows no example"
    return [(_written_out(before), _written_out(after)) for before, _, after in found]


def _written_out(text: str) -> str:
    """A text of an example, with its abbreviations of long lists of zeros written out."""
    text = textwrap.dedent(text)
    return text.replace("SLOTS_16", "1" + ", 0" * 15).replace("SLOTS_64", "1" + ", 0" * 63)


def refused(module: ModuleType) -> list[str]:
    """The texts that the docstring of a file shows as refused."""
    return [textwrap.dedent(text) for text in _REFUSED.findall((module.__doc__ or "") + "\n")]


@dataclass(frozen=True)
class Context:
    """What an example cannot tell about itself.

    Attributes:
        around: the text around it, `{}` where it stands; by default a function that fits.
        given: the constants that it uses: name, value and type a line.
        options: of the pass.
        target: the machine that it is about; this one if empty.
    """

    around: str | None = None
    given: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    target: str = ""


NO_CONTEXT = Context()


def check_documented(
    transformation: Transformation, example: Example, context: Context = NO_CONTEXT
) -> Module:
    """Run one example, compare what comes out with what it shows, and return it.

    Where it shows `...` in place of lines, something is to change.

    Raises:
        AssertionError: nothing was changed, or it became something else.
    """
    in_part = "..." in example.after
    module, after = modules(replace(example, after=example.before) if in_part else example, context)
    with lx.target.using(context.target) if context.target else nullcontext():
        if example.call is None:
            assert transformation(module, **context.options), "nothing was changed"
        else:
            schedule: Any = eval(f"schedule.{example.call}", {"schedule": lx.Schedule(module)})
            assert isinstance(transformation, Step)
            assert transformation.name in [each.name for each in schedule.taken]
    for attribute in list(module.ir.operation.attributes):
        del module.ir.operation.attributes[attribute]
    assert (_plain(module) == _plain(after)) is not in_part
    return module


def modules(example: Example, context: Context) -> list[Module]:
    """The two texts of an example as modules."""
    around = context.around or _around(example, context.given)
    return [_parsed(around, context.given, body) for body in (example.before, example.after)]


def _parsed(around: str, given: str, body: str) -> Module:
    text = around.replace("{}", constants(given) + body, 1)
    return Module.parse(text, trusted=True, legalize=False, filename="-")


def _plain(module: Module) -> str:
    """A module's text, without a flag of `gml_st` that says what holds without it."""
    return normalized(module.clone().ir).replace("accumulator_flags = array<i1: false>, ", "")


def constants(given: str) -> str:
    """The ops of constants that are given as a name, a value and a type a line."""
    return "".join(
        f"%{name} = arith.constant {value}\n"
        for name, _, value in (line.strip().partition(" ") for line in given.strip().splitlines())
    )


_OUTSIDE = re.compile(
    r"^(?:func\.func|llvm\.func|llvm\.mlir\.global|module|memref\.global)\b", re.M
)
_DEFINED = re.compile(r"^(%[\w.$-]+(?::\d+)?(?:, %[\w.$-]+)*) = ", re.MULTILINE)
_CALL = re.compile(
    r"\b(llvm\.)?(?:func\.)?call @([\w.$]+)\([^)]*\)[^:\n]*:\s*\(([^)]*)\)\s*->\s*(\([^)]*\)|\S+)"
)
_NAME = re.compile(r"%[\w.$-]+")
_NUMBER = re.compile(r"%c(-?\d+)(?:_\w+)?$")
_NUMBERS = {"%zero": 0, "%one": 1, "%two": 2, "%half": 0.5, "%minus_two": -2}
_PLACE = re.compile(r":(\d+):(\d+)")
_TWO_TYPES = re.compile(
    r"use of value '(%[^'#]+)[^']*' expects different type than prior uses: '(.*?)' vs '(.*?)'",
    re.DOTALL,
)


def _around(example: Example, given: str) -> str:
    """The function that an example stands in."""
    if _OUTSIDE.search(example.before):
        return "{}"
    defined = [set(_defined(body)) for body in (example.before, example.after)]
    results = [
        name
        for name in _defined(example.before)
        if name in defined[1]
        and len(re.findall(rf"{re.escape(name)}(?![\w.$-])", example.before)) == 1
    ]
    frame = _Frame(results, constants(given))
    for body in (example.after, example.before, example.after):
        frame.fit(body)
    frame.constants = ""
    return frame.text("{}", example.before + example.after)


def _defined(body: str) -> list[str]:
    lists = _DEFINED.findall(body)
    return [name.partition(":")[0] for names in lists for name in names.split(", ")]


class _Frame:
    """A function around lines, which the parser's messages tell the types of."""

    def __init__(self, results: list[str], constants: str) -> None:
        self.constants = constants
        self.parameters: dict[str, str] = {}
        self.numbers: dict[str, str] = {}
        self.results = dict.fromkeys(results, "none")

    def text(self, body: str, said: str) -> str:
        parameters = ", ".join(f"{name}: {type_}" for name, type_ in self.parameters.items())
        numbers = "".join(
            f"{name} = arith.constant {_literal(name, type_)}\n"
            for name, type_ in self.numbers.items()
        )
        types = ", ".join(self.results.values())
        end = f"return {', '.join(self.results)}{' : ' if types else ''}{types}\n"
        if re.search(r"^(?:func\.)?return\b", said, re.MULTILINE):
            end = ""
        return (
            f"{_declared(said)}func.func @main({parameters}) -> ({types}) {{\n"
            f"{numbers}{self.constants}{body}\n{end}}}\n"
        )

    def fit(self, body: str) -> None:
        """Learn what the parser needs to read a text."""
        for _ in range(100):
            text = self.text(body, body)
            try:
                Module.parse(text, trusted=True, legalize=False, filename="-")
            except IRError as error:
                self._learn(error, text)
            else:
                return
        raise AssertionError(f"no function fits around\n{body}")

    def _learn(self, error: IRError, text: str) -> None:
        message = error.diagnostics[0]
        if two := _TWO_TYPES.search(message):
            name, *types = two.groups()
            for known in (self.parameters, self.numbers, self.results):
                if known.get(name) in types:
                    types.remove(known[name])
                    if known is self.parameters and known[name] != "none":
                        raise error
                    known[name] = types[0]
                    return
        elif "use of undeclared SSA value name" in message:
            place = _PLACE.search(message)
            assert place is not None
            line = text.splitlines()[int(place[1]) - 1]
            name = _NAME.match(line[int(place[2]) - 1 :])[0]  # type: ignore[index]
            if name in _NUMBERS or _NUMBER.match(name):
                self.numbers[name] = "f32" if _NUMBERS.get(name) == 0.5 else "index"
            else:
                self.parameters[name] = "none"
            return
        raise error


def _literal(name: str, type_: str) -> str:
    found = _NUMBER.match(name)
    value: float = int(found[1]) if found else _NUMBERS[name]
    text = str(float(value)) if re.search(r"(?:\b|x)(?:bf|f|tf)\d+", type_) else str(value)
    return f"dense<{text}> : {type_}" if "<" in type_ else f"{text} : {type_}"


def _declared(text: str) -> str:
    """Declarations of the functions that a text calls."""
    declared: dict[str, str] = {}
    for llvm, name, inputs, results in _CALL.findall(text):
        if f"func @{name}(" not in text and f"func private @{name}(" not in text:
            kind = "llvm.func" if llvm else "func.func private"
            arrow = "" if results == "()" else f" -> {results}"
            declared[name] = f"{kind} @{name}({inputs}){arrow}\n"
    return "".join(declared.values())
