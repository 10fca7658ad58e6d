"""Definitions at known element types and attributes."""

from __future__ import annotations

import pytest

import linalg_ext as lx
from linalg_ext.definition.attributes import resolve_attributes
from linalg_ext.definition.specialization import at_rank, specialize
from linalg_ext.errors import DefinitionError
from linalg_ext.notations.formula import formula


def test_casts_between_equal_types_are_gone() -> None:
    matmul = lx.ops.row_sum.definition
    alike = specialize(matmul, {"T1": "f32", "U": "f32"})
    assert formula(alike, casts=True) == "O[m] = Σ_{n} A[m, n]"
    assert [t.name for t in alike.type_vars] == ["T"]
    mixed = specialize(matmul, {"T1": "i8", "U": "f32"})
    assert formula(mixed, casts=True) == "O[m] = Σ_{n} T2(A[m, n])"


def test_attributes_become_numbers_and_functions() -> None:
    op = lx.ops.pooling_nwc_max.definition
    at = specialize(
        op,
        dict.fromkeys(("T1", "T2", "U"), "f32"),
        resolve_attributes(op, {"strides": 2, "dilations": 3}),
    )
    assert at.formula() == "O[n, ow, c] = max_{kw ∈ K} I[n, ow * 2 + kw * 3, c]"
    assert at.attributes == ()


def test_functions_that_mean_the_same_for_a_type_become_one() -> None:
    op = lx.ops.pooling_nwc_max_unsigned.definition
    names = {}
    for element in ("i32", "i1"):
        at = specialize(op, dict.fromkeys(("T1", "T2", "U"), element))
        names[element] = str(at.assignments[0].reduction and at.assignments[0].reduction.function)
    assert names == {"i32": "max_unsigned", "i1": "add"}


def test_every_type_variable_needs_a_type() -> None:
    with pytest.raises(DefinitionError, match="no element type is given for U"):
        specialize(lx.ops.row_sum.definition, {"T1": "f32"})


def test_an_op_of_any_rank_gets_one() -> None:
    assert at_rank(lx.ops.exp.definition, 2).formula() == "O[d0, d1] = exp(I[d0, d1])"
    assert at_rank(lx.ops.dot.definition, 2) is lx.ops.dot.definition
