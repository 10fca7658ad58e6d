"""The before and after of a transformation's docstring, as modules that are run and compared."""

from __future__ import annotations

import re
import sys
import textwrap
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

import linalg_ext as lx
from linalg_ext.module import Module
from linalg_ext.rewriting.transformation import Transformation

Array = NDArray[Any]

_SECTION = re.compile(r"^(before|after)[^\n]*:\n((?:    [^\n]*\n|\n)+)", re.MULTILINE)
_ARGUMENT = re.compile(r"%\w+: ((?:tensor|memref)<((?:(?:\d+|\?)x)*)([a-z]\w*)>|\w+)")
_DTYPES: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "i1": np.bool_,
    "i8": np.int8,
    "i32": np.int32,
    "i64": np.int64,
}


def sections(transformation: Transformation) -> dict[str, str]:
    """The IR under `before:` and `after:` in the docstring of a transformation's file."""
    text = sys.modules[transformation.function.__module__].__doc__ or ""
    return {name: textwrap.dedent(body) for name, body in _SECTION.findall(text + "\n")}


def function(arguments: str, body: str, result: str | None) -> str:
    """A module text whose `main` has a body that leaves its result in `%r`, or none."""
    arrow = f" -> {result}" if result else ""
    returned = f"%r : {result}" if result else ""
    return f"func.func @main({arguments}){arrow} {{\n{body}\nreturn {returned}\n}}"


def parsed(text: str) -> Module:
    return Module.parse(text, trusted=True)


def assert_same_results(one: Module, other: Module, *, seed: int = 0) -> None:
    """The `main` of two modules give the same on random arrays, what they write to included.

    Floats are small whole numbers, so that sums of products of them are exact in any order.
    """
    arguments = random_arguments(str(one), seed)
    outcomes = []
    for module in (one, other):
        copies = [array.copy() for array in arguments]
        results = lx.compile(module, entry="main")(*copies)
        outcomes.append([*copies, *(results if isinstance(results, tuple) else (results,))])
    for x, y in zip(*outcomes, strict=True):
        np.testing.assert_array_equal(x, y)


def random_arguments(text: str, seed: int = 0) -> list[Array]:
    """An array for each argument of `main`; sizes that are not known are 3."""
    rng = np.random.default_rng(seed)
    signature = text[text.index("@main(") : text.index("\n", text.index("@main("))]
    signature = signature.partition(") ->")[0]
    arrays = []
    for whole, shape, element in _ARGUMENT.findall(signature):
        sizes = [3 if size == "?" else int(size) for size in shape.split("x") if size]
        values = rng.integers(-4, 5, sizes)
        arrays.append(np.asarray(values).astype(_DTYPES[element or whole]))
    return arrays
