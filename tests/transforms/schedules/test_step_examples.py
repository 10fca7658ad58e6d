"""The example of each step: its *before*, the call in the label, its *after*."""

from __future__ import annotations

import re
import sys
import textwrap
from typing import Any

import pytest

import linalg_ext as lx
from kernels import normalized
from linalg_ext.module import Module
from linalg_ext.transforms.schedules._catalogue import all_steps
from linalg_ext.transforms.schedules.step import Step
from rewrite_texts import function, parsed

_EXAMPLE = re.compile(
    r"^ *before:\n(?P<before>.*?)^ *after `(?P<call>.*?)`.*?:\n(?P<after>.*?)(?=^ *[A-Z]\w+|\Z)",
    re.MULTILINE | re.DOTALL,
)

_VECTOR = ("%a: tensor<8xf32>, %c: tensor<8xf32>", "tensor<8xf32>")
_ROWS = ("%a: tensor<8x16xf32>, %c: tensor<8xf32>", "tensor<8xf32>")
_PRODUCT = ("%a: tensor<8x16xf32>, %b: tensor<16x12xf32>, %c: tensor<8x12xf32>", "tensor<8x12xf32>")

AROUND: dict[str, tuple[str, str | None]] = {
    "decompose": (
        "%a: tensor<1x1x8x4xf32>, %b: tensor<1x3x4x2xf32>, %c: tensor<1x1x6x2xf32>",
        "tensor<1x1x6x2xf32>",
    ),
    "fold_unit_extents": ("%a: tensor<1x8xf32>, %c: tensor<1x8xf32>", "tensor<1x8xf32>"),
    "fuse": _VECTOR,
    "fuse_elementwise": _VECTOR,
    "hoist": (_VECTOR[0] + ", %x: f32", _VECTOR[1]),
    "hoist_pads": (_PRODUCT[0].replace("8x16", "7x16"), _PRODUCT[1]),
    "lower_subsets": _VECTOR,
    "lower_to_loops": ("%a: memref<8xf32>, %c: memref<8xf32>", None),
    "lower_vectors": (
        "%a: vector<2x3xf32>, %b: vector<3x4xf32>, %c: vector<2x4xf32>",
        "vector<2x4xf32>",
    ),
    "pad": (_PRODUCT[0].replace("8x", "7x"), "tensor<7x12xf32>"),
    "parallelize": _VECTOR,
    "peel": _VECTOR,
    "promote": _VECTOR,
    "propagate_packs": (_VECTOR[0] + ", %p: tensor<2x4xf32>", _VECTOR[1]),
    "raise_loops": ("%a: memref<8xf32>, %c: memref<f32>", None),
    "simplify": ("%a: f32", "f32"),
    "split_reduction": _ROWS,
    "tile_continuously": ("%a: tensor<7xf32>, %c: tensor<7xf32>", "tensor<7xf32>"),
    "tile_evenly": _VECTOR,
    "tile_reduction": _ROWS,
    "tile_subsets": _VECTOR,
    "unroll": _VECTOR,
    "unroll_windows": (
        "%a: tensor<6x8xf32>, %b: tensor<1x2xf32>, %c: tensor<6x7xf32>",
        "tensor<6x7xf32>",
    ),
    "unroll_and_jam": ("%a: memref<4x6xf32>, %c: memref<4x6xf32>", None),
    "vectorize": _VECTOR,
}
"""The arguments and the result of the function around an example; a product of matrices if none."""

_SHOWN_AS_REWRITES = {"generalize", "specialize"}
_IN_PART = "call_library"


def example(step: Step) -> tuple[str, str, str]:
    """The text before a step, the call that takes it, and the text after it."""
    for said in (step.__doc__, sys.modules[step.function.__module__].__doc__):
        if found := _EXAMPLE.search((said or "") + "\n"):
            before, call, after = found.group("before", "call", "after")
            return textwrap.dedent(before), call, textwrap.dedent(after)
    raise AssertionError(f"{step.name} shows no example")


def module(step: Step, body: str) -> Module:
    """A module with the text of an example, in the function that it is about."""
    if "func.func" in body:
        return parsed(body)
    arguments, result = AROUND.get(step.name, _PRODUCT)
    return parsed(function(arguments, body, result))


def taken(one: Module, call: str) -> lx.Schedule:
    """A schedule on which a call was made, as it stands in the documentation."""
    schedule: Any = eval(f"schedule.{call}", {"schedule": lx.Schedule(one)})
    assert isinstance(schedule, lx.Schedule)
    return schedule


def text(one: Module) -> str:
    """A module's text, without a flag of `gml_st` that says what holds without it."""
    return normalized(one.ir).replace("accumulator_flags = array<i1: false>, ", "")


@pytest.mark.parametrize("name", sorted({*all_steps()} - _SHOWN_AS_REWRITES - {_IN_PART}))
def test_a_step_does_what_it_shows(name: str) -> None:
    step = all_steps()[name]
    before, call, after = example(step)
    changed = module(step, before)
    assert name in [each.name for each in taken(changed, call).taken]
    assert text(changed) == text(module(step, after))


def test_a_call_of_a_library_replaces_the_op() -> None:
    """What stands behind the call is the library's, and not shown."""
    before, call, after = example(all_steps()[_IN_PART])
    changed = module(all_steps()[_IN_PART], before)
    with lx.libraries.openblas():
        taken(changed, call)
    shown = " ".join(after.split()).replace("%r", "%0")
    for number, name in enumerate("abc"):
        shown = shown.replace(f"%{name}", f"%arg{number}")
    assert shown in " ".join(str(changed).split())
