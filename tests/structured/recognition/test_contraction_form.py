"""Definitions as contractions of any number of operands, and why some are none."""

from __future__ import annotations

import pytest

import linalg_ext as lx
from linalg_ext.definition.attributes import resolve_attributes
from linalg_ext.definition.model import OpDefinition
from linalg_ext.definition.specialization import specialize
from linalg_ext.notations.einsum import KINDS, definition_of_einsum
from linalg_ext.opdsl import StructuredOp
from linalg_ext.structured.contraction_form import ContractionForm, find_contraction


def form_of(op: StructuredOp | OpDefinition, **types: str) -> ContractionForm | str:
    """A definition at element types; f32 where nothing is said."""
    definition = op.definition if isinstance(op, StructuredOp) else op
    given = {t.name: types.get(t.name, "f32") for t in definition.type_vars}
    special = specialize(definition, given, resolve_attributes(definition, {}))
    named = {
        str(new.type_var): given.get(str(old.type_var), str(old.type_var).lower())
        for old, new in zip(
            (*definition.inputs, *definition.outputs),
            (*special.inputs, *special.outputs),
            strict=True,
        )
    }
    return find_contraction(special, named)


@pytest.mark.parametrize(
    "text", ["mk,kn->mn", "iij,jk,l->k", "a,b,c,d,e,f->", "ab,ab,ab->a", "ij->", "ii->"]
)
@pytest.mark.parametrize("kind", [name for name in KINDS if name != "or and"])
def test_every_einsum_is_one(text: str, kind: str) -> None:
    found = form_of(definition_of_einsum(text, kind=kind))
    assert isinstance(found, ContractionForm)
    terms = text.partition("->")[0].split(",")
    assert ["".join(map(str, factor.indices)) for factor in found.factors] == terms
    if len(terms) > 1:
        assert found.kind.name == kind
    assert found.kind.add == KINDS[kind].add
    assert found.accumulates
    assert {*found.summed} == {*"".join(terms)} - {*text.partition("->")[2]}


def test_the_cast_is_the_one_that_matters() -> None:
    """A float is cast alike with and without a sign; an integer is not."""
    floats = form_of(lx.ops.matmul, T1="f16", T2="bf16")
    assert isinstance(floats, ContractionForm)
    assert floats.cast.name == "cast_signed"
    zero_points = form_of(lx.ops.quantized_matmul, T1="i8", T2="i8", U="i32")
    assert isinstance(zero_points, ContractionForm)
    assert [str(factor.difference) != "None" for factor in zero_points.factors] == [True, True]


@pytest.mark.parametrize(
    ("op", "reason"),
    [
        ("exp", "not an operand"),
        ("add", "not an operand"),
        ("conv_2d_nhwc_hwcf", None),
    ],
)
def test_what_is_none_says_why(op: str, reason: str | None) -> None:
    found = form_of(getattr(lx.ops, op))
    if reason is None:
        assert isinstance(found, ContractionForm)
    else:
        assert isinstance(found, str)
        assert reason in found
