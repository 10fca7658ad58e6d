"""Random ops with transposes, broadcasts and reshapes around them: folded, unfolded, folded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arranged_ops import MARK, ArrangedOp, arranged_ops
from kernels import run
from linalg_ext import transforms
from linalg_ext.bindings import ir
from linalg_ext.module import Module
from linalg_ext.structured import definition_of

ONE_BY_ONE = ("fold_transposes", "fold_broadcasts", "fold_unit_dims")


def check(module: Module, example: ArrangedOp) -> None:
    result = np.asarray(run(str(module), *example.arrays))
    assert result.shape == example.expected.shape
    np.testing.assert_array_equal(result, example.expected)


def marked(module: Module) -> Any:
    """The definition of the op in the middle, in its canonical form."""
    found: list[Any] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if MARK in op.attributes:
            found.append(definition_of(op).canonical())
        return ir.WalkResult.ADVANCE

    module.ir.operation.walk(visit)
    assert len(found) == 1, "the op lost its attribute, or is there twice"
    return found[0]


@pytest.mark.parametrize("elementwise", [True, False], ids=["elementwise", "contractions"])
def test_fold_unfold_fold(elementwise: bool) -> None:
    @settings(max_examples=25, deadline=None)
    @given(arranged_ops(elementwise=elementwise))
    def property_(example: ArrangedOp) -> None:
        module = Module.parse(example.text, trusted=True)
        transforms.fold_into_maps(module)
        check(module, example)
        folded = marked(module)
        assert not transforms.fold_into_maps(module)
        transforms.unfold_maps(module)
        check(module, example)
        transforms.fold_into_maps(module)
        check(module, example)
        assert marked(module) == folded

    property_()


@pytest.mark.parametrize("elementwise", [True, False], ids=["elementwise", "contractions"])
def test_one_by_one_in_any_order(elementwise: bool) -> None:
    @settings(max_examples=25, deadline=None)
    @given(arranged_ops(elementwise=elementwise), st.permutations(ONE_BY_ONE))
    def property_(example: ArrangedOp, order: list[str]) -> None:
        module = Module.parse(example.text, trusted=True)
        for name in order:
            getattr(transforms, name)(module)
        check(module, example)

    property_()
