"""Every pass does what its docstring shows: *before* becomes *after*, and *refused* is refused.

A new pass is tested by being there. An example that cannot tell what stands around it has a line
in `CONTEXTS`.
"""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from examples import NO_CONTEXT, Context, Example, check_documented, examples_of, modules, refused
from linalg_ext import target
from linalg_ext.errors import LinalgExtError, LoweringError, TargetError, UntrustedError
from linalg_ext.module import Module
from linalg_ext.rewriting.registry import all_passes
from linalg_ext.rewriting.transformation import Transformation
from linalg_ext.transforms.memory.lend_buffers import FUNCTIONS
from linalg_ext.transforms.parallel import poll_interrupts
from rewrite_texts import assert_same_results

CONTEXTS: dict[str, Context] = {
    "check-allocations": Context(
        """
        func.func @f(%n: index, %s: memref<1xi64>) attributes {linalg_ext.status} {
          {}
          %i = arith.constant 5 : index
          %x = arith.constant 1.0 : f32
          memref.store %x, %a[%i] : memref<?xf32>
          return
        }""",
        """
        c0 0 : i64
        c4 4 : i64
        c4611686018427387904 4611686018427387904 : i64
        null 0 : index
        """,
    ),
    "collapse-shapes": Context(options={"retain_trailing_dims": 1}),
    "expand-math": Context(given="largest 0x7F7FFFFF : f32\nleast 0x00800000 : f32"),
    "expand-vector-math": Context(
        given="""
        most dense<89.0> : vector<16xf32>
        least dense<-104.0> : vector<16xf32>
        log2e dense<1.44269502> : vector<16xf32>
        shifter dense<0x4B400000> : vector<16xf32>
        ln2_high dense<-0.693147122> : vector<16xf32>
        ln2_low dense<-5.76999888E-8> : vector<16xf32>
        c4 dense<0.00139269268> : vector<16xf32>
        c3 dense<0.00836377404> : vector<16xf32>
        c2 dense<0.0416665487> : vector<16xf32>
        c1 dense<0.166665733> : vector<16xf32>
        half dense<0.5> : vector<16xf32>
        one dense<1.0> : vector<16xf32>
        i1 dense<1> : vector<16xi32>
        bias dense<127> : vector<16xi32>
        i23 dense<23> : vector<16xi32>
        """
    ),
    "lend-buffers": Context(f"{{}}\n{FUNCTIONS}"),
    "lower-exported-top-k": Context(
        """
        func.func @f(%x: tensor<4x9xf32>, %v: tensor<4x2xf32>, %i: tensor<4x2xi32>)
            -> (tensor<4x2xf32>, tensor<4x2xi32>) {
          {}
          return %r#0, %r#1 : tensor<4x2xf32>, tensor<4x2xi32>
        }""",
        "false false\n" + "\n".join(f"c{number} {number} : index" for number in (0, 1, 2, 4, 9)),
    ),
    "outline-repeated-layers": Context(options={"least": 2}),
    "outline-repeated-parts": Context(options={"least": 1}),
    "pack-before-loops": Context(target="avx2"),
    "poll-interrupts": Context(f"{{}}\n{poll_interrupts.FUNCTIONS}"),
    "roll-up-rounds": Context(options={"least": 3, "saved": 1}),
    "roll-up-steps": Context(options={"least": 3}),
    "set-target": Context(target="generic-x86-64"),
    "specialize-matmul": Context(options={"explicit_transposes": True}),
    "tile-and-fuse": Context(options={"tile_sizes": ((4,),), "as_scf": True}),
    "tile-into-subset-loops": Context(options={"tile_sizes": ((4,),)}),
    "vectorize-loops": Context(options={"vector_bits": 512}),
    "vectorize-scans": Context(
        given="zeros dense<-0.0> : vector<4xf32>", options={"vector_bits": 128}
    ),
}
"""What the examples of a pass do not tell, by its name without `linalg-ext-`."""

_CALLS = "it calls a function that is not shown"
_PARAMETER = "the type of a parameter changes"
APART = {
    "call-libraries": _CALLS,
    "call-library": _CALLS,
    "fuse-attention": _CALLS,
    "link-library-calls": _CALLS,
    "outline-groups": _CALLS,
    "pack-contractions": _CALLS,
    "tile-windows": _CALLS,
    "pack-parameters": _PARAMETER,
    "prepare-filters": _PARAMETER,
    "share-work": "it is done to larger work than is shown",
}
"""Passes whose own tests compare their examples, and why."""


def _transformations() -> dict[str, Transformation]:
    return {
        name.removeprefix("linalg-ext-"): each
        for name, each in all_passes().items()
        if isinstance(each, Transformation) and each.function.__module__.startswith("linalg_ext.")
    }


def _file(each: Transformation) -> ModuleType:
    return sys.modules[each.function.__module__]


ERRORS: dict[str, type[LinalgExtError]] = {
    "refuse-untrusted-0": UntrustedError,
    "require-lowered-1": TargetError,
}
"""Errors of refusals, where it is not a `LoweringError`."""

REFUSALS = {
    name: texts for name, each in _transformations().items() if (texts := refused(_file(each)))
}
CASES = [
    pytest.param(name, example, id=f"{name}-{number}")
    for name, each in _transformations().items()
    if name not in REFUSALS and name not in APART
    for number, example in enumerate(examples_of(each))
    if "..." not in example.before
]


@pytest.mark.parametrize(("name", "example"), CASES)
def test_before_becomes_after(name: str, example: Example) -> None:
    check_documented(_transformations()[name], example, CONTEXTS.get(name, NO_CONTEXT))


@pytest.mark.parametrize(
    ("name", "number"),
    [(name, number) for name, texts in REFUSALS.items() for number in range(len(texts))],
)
def test_what_is_shown_is_refused(name: str, number: int) -> None:
    module = Module.parse(REFUSALS[name][number], trusted=True, legalize=False)
    before = str(module)
    error = ERRORS.get(f"{name}-{number}", LoweringError)
    with target.using("avx2"), pytest.raises(error):
        _transformations()[name](module)
    assert str(module) == before


REWRITES = [
    case
    for case in CASES
    if ".rewrites." in _transformations()[str(case.values[0])].function.__module__
]


@pytest.mark.parametrize(("name", "example"), REWRITES)
def test_a_rewrite_keeps_results(name: str, example: Example) -> None:
    """Both texts give the same on arrays."""
    assert_same_results(*modules(example, CONTEXTS.get(name, NO_CONTEXT)))
