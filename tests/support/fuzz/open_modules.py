"""Modules of open sizes, each with arguments that fit it: what misfits are made from.

the file beside this one      an op in one of its forms, all sizes open
upstream's named ops          on tensors and on memrefs, all sizes open, and some of them
the tests' own modules        whatever is open there, and what can be opened
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fuzz.seeds import seeds
from named_op_modules import named_module, upstream_ops

_FUNCTION = re.compile(
    r"^// (?P<sizes>.*)\n(?P<text>func\.func @(?P<name>\w+)(?:.*\n)*?\}\n)", re.M
)
_SHAPED = re.compile(r"\b(?:tensor|memref)<((?:\d+x)+)([a-z]\w*(?:<\w+>)?)>")
_ARGUMENT = re.compile(r"%\w+: (?:(?:tensor|memref)<((?:[\d?]+x)*)|[a-z]\w*)")

Sizes = tuple[int, ...] | int


@dataclass(frozen=True)
class OpenModule:
    """A module with sizes that only a call tells.

    Attributes:
        name: of it, to find it again.
        text: of it.
        fitting: for each argument the shape of an array that fits, or a number; None where that is
            not known: all open sizes are of one number then.
    """

    name: str
    text: str
    fitting: tuple[Sizes, ...] | None


@functools.cache
def open_modules() -> tuple[OpenModule, ...]:
    """All of them, in an order that hangs on nothing but the files."""
    found: dict[str, OpenModule] = {}
    for module in (*written(), *_named(), *_from_tests()):
        found.setdefault(module.text, module)
    return tuple(found.values())


@functools.cache
def written() -> tuple[OpenModule, ...]:
    """The modules of the file beside this one."""
    text = Path(__file__).with_suffix(".mlir").read_text(encoding="utf-8")
    aliases = "".join(line + "\n" for line in text.splitlines() if re.match(r"[#!]\w+ =", line))
    return tuple(
        OpenModule(found["name"], aliases + found["text"], _sizes(found["sizes"]))
        for found in _FUNCTION.finditer(text)
    )


def _sizes(text: str) -> tuple[Sizes, ...]:
    """The sizes of a comment: `4x5 x 7 2.`, a matrix, an array without axes, a number, a vector."""
    return tuple(
        int(word)
        if word.lstrip("-").isdigit()
        else tuple(int(size) for size in word.strip("x.").split("x") if size)
        for word in text.split()
    )


def _named() -> Iterator[OpenModule]:
    dice = random.Random(0)
    for name in upstream_ops():
        for types, memref in (("f32", False), ("f32", True), ("i8 into i32", False)):
            module = named_module(name, types, memref=memref)
            if module is None:
                continue
            text = str(module)
            yield opened(text, f"{name} {types}{' memref' if memref else ''}")
            if types == "f32" and not memref:
                yield opened(text, f"{name} half", dice)


def opened(text: str, name: str, dice: random.Random | None = None) -> OpenModule:
    """A module of static sizes with the sizes of its types open.

    Args:
        text: of it.
        name: for the module that comes of it.
        dice: choose which sizes are opened, a half of them; all are where there are none.
    """
    head = text[: text.index("{", text.index("func.func @"))]
    shapes = tuple(
        tuple(int(size) for size in (found[1] or "").split("x") if size)
        if found[1] is not None
        else 1
        for found in _ARGUMENT.finditer(head)
    )
    known: dict[str, str] = {}

    def open_type(found: re.Match[str]) -> str:
        if found[0] not in known:
            sizes = [
                "?" if dice is None or dice.random() < 0.5 else size
                for size in found[1].split("x")[:-1]
            ]
            known[found[0]] = f"{found[0].partition('<')[0]}<{'x'.join(sizes)}x{found[2]}>"
        return known[found[0]]

    # Constants and attributes are of types that stay.
    parts = re.split(r"(dense<[^<>]*> : tensor<[^<>]*>)", text)
    parts[::2] = [_SHAPED.sub(open_type, part) for part in parts[::2]]
    return OpenModule(name, "".join(parts) + "\n", shapes)


def _from_tests() -> Iterator[OpenModule]:
    for number, text in enumerate(seeds()):
        head = text[text.index("func.func @") :].partition("{")[0]
        if re.search(r"(?:tensor|memref)<[\dx]*\?", head):
            yield OpenModule(f"test {number}", text, None)
        elif text.count("func.func @") == 1 and _SHAPED.search(head):
            yield opened(text, f"test {number} opened")
