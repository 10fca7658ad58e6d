"""The examples in the docstrings of rewrites, run: *before* becomes *after*."""

from __future__ import annotations

import re
import textwrap
from types import ModuleType
from typing import Any

from kernels import normalized
from linalg_ext.module import Module
from linalg_ext.rewriting import Transformation

_REFUSED = re.compile(r"^refused\b.*:\n((?:    .*\n|\n)+)", re.MULTILINE)
_EXAMPLE = re.compile(r"^before:\n(.*?)^after:\n(.*?)(?=^\S|\Z)", re.MULTILINE | re.DOTALL)


def examples(module: ModuleType) -> list[tuple[str, str]]:
    """The *before* and *after* of each example in the docstring of a rewrite's file."""
    found = _EXAMPLE.findall(module.__doc__ or "")
    assert found, f"{module.__name__} shows no example"
    return [(textwrap.dedent(before), textwrap.dedent(after)) for before, after in found]


def refused(module: ModuleType) -> str:
    """What the docstring of a file shows as refused."""
    found = _REFUSED.search((module.__doc__ or "") + "\n")
    assert found, f"{module.__name__} shows nothing that it refuses"
    return textwrap.dedent(found[1])


def check_example(
    rewrite: Transformation,
    example: tuple[str, str],
    *,
    around: str = "{}",
    given: str = "",
    **options: Any,
) -> Module:
    """Run one example.

    Args:
        around: the function around the lines of the example, `{}` where they stand.
        given: definitions of the constants that they use, name and value and type a line.
        options: of the rewrite.
    """
    constants = "".join(
        f"%{name} = arith.constant {value}\n"
        for name, _, value in (line.strip().partition(" ") for line in given.strip().splitlines())
    )
    before, after = (around.replace("{}", constants + body, 1) for body in example)
    module = Module.parse(before, trusted=True, legalize=False)
    report = rewrite(module, **options)
    assert report, "nothing was changed"
    for attribute in list(module.ir.operation.attributes):
        del module.ir.operation.attributes[attribute]
    expected = Module.parse(after, trusted=True, legalize=False)
    assert normalized(module.clone().ir) == normalized(expected.ir)
    return module
