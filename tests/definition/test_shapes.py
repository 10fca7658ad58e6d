"""Sizes that follow from the operands, and sizes that do not fit."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core_ops import core_ops
from linalg_ext.definition import OpDefinition
from linalg_ext.definition.attributes import resolve_attributes
from linalg_ext.definition.shapes import check_rank, check_shapes, infer_extents, output_shape
from linalg_ext.errors import ShapeError
from linalg_ext.opdsl import D, IndexAttrDef, S, ScalarDef, T, TensorDef, structured_op

# an operand is declared by a call as a default
# mypy: allow-untyped-defs

CONV = core_ops()["conv_2d_nhwc_hwcf"].definition


@structured_op
def product(
    A=TensorDef(T, S.M, S.K), B=TensorDef(T, S.K, S.N), C=TensorDef(T, S.M, S.N, output=True)
):
    C[D.m, D.n] += A[D.m, D.k] * B[D.k, D.n]


@structured_op
def symmetric(A=TensorDef(T, S.M, S.M), C=TensorDef(T, S.M, S.M, output=True)):
    C[D.i, D.j] = A[D.i, D.j]


@structured_op
def reverse(A=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):
    C[D.m] = A[S.M - 1 - D.m]


@structured_op
def upsample(
    A=TensorDef(T, S.M), C=TensorDef(T, S.N, output=True), factor=IndexAttrDef(S.F, default=[2])
):
    C[D.n] = A[D.n // S.F]


@structured_op
def ramp(x=ScalarDef(T), C=TensorDef(T, S.M, output=True)):
    C[D.m] = x


def _outcome(
    definition: OpDefinition, *shapes: tuple[int | None, ...], **attributes: Any
) -> tuple[Any, ...]:
    """The shape of the output that the shapes of the inputs lead to."""
    symbols = resolve_attributes(definition, attributes).symbols
    tensors = [operand for operand in definition.inputs if operand.kind.is_tensor]
    known = {operand.name: shape for operand, shape in zip(tensors, shapes, strict=True)}
    extents = infer_extents(definition, known, symbols)
    check_shapes(definition, known, symbols, extents)
    return output_shape(definition, definition.outputs[0].name, extents)


def test_product() -> None:
    assert _outcome(product.definition, (3, 4), (4, 5)) == (3, 5)
    assert _outcome(product.definition, (3, None), (4, 5)) == (3, 5)
    assert _outcome(product.definition, (0, 4), (4, 5)) == (0, 5)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(*[st.integers(1, 4)] * 2, *[st.integers(1, 3)] * 2, st.integers(0, 9))
def test_convolution_is_as_long_as_windows_fit(
    kh: int, kw: int, stride: int, dilation: int, more: int
) -> None:
    height, width = (kh - 1) * dilation + 1 + more, (kw - 1) * dilation + 1
    shape = _outcome(
        CONV, (2, height, width, 3), (kh, kw, 3, 5), strides=stride, dilations=dilation
    )
    windows = [s for s in range(0, height, stride) if s + (kh - 1) * dilation < height]
    assert shape == (2, len(windows), 1, 5)


def test_different_steps_along_different_axes() -> None:
    image, kernel = (1, 9, 11, 1), (3, 2, 1, 1)
    assert _outcome(CONV, image, kernel, strides=[2, 3], dilations=[1, 2]) == (1, 4, 3, 1)


@pytest.mark.parametrize(
    ("definition", "shapes", "words"),
    [
        (product.definition, [(3, 4), (5, 6)], "dimension k is 4 for A (axis 1), but B has size 5"),
        (
            CONV,
            [(1, 2, 9, 1), (3, 3, 1, 1)],
            "needs 3 elements of I, which has size 2",
        ),
        (CONV, [(1, 9, 9, 2), (3, 3, 1, 1)], "dimension c is 2 for I (axis 3), but K has size 1"),
        (symmetric.definition, [(3, 4)], "M is 3 for A (axis 0), but A has size 4 along axis 1"),
    ],
)
def test_sizes_that_do_not_fit(
    definition: OpDefinition, shapes: list[tuple[int, ...]], words: str
) -> None:
    with pytest.raises(ShapeError) as raised:
        _outcome(definition, *shapes)
    assert words in str(raised.value)


def test_indices_out_of_range() -> None:
    sizes = {"A": (3,), "C": (3,)}
    extents = infer_extents(reverse.definition, sizes, {})
    check_shapes(reverse.definition, sizes, {}, extents)
    sizes = {"A": (3,), "C": (8,)}
    with pytest.raises(ShapeError, match=r"`n floordiv F` reaches index 3 of A"):
        check_shapes(upsample.definition, sizes, {"F": 2}, {"n": 8})
    check_shapes(upsample.definition, sizes, {"F": 3}, {"n": 8})


def test_what_the_inputs_do_not_determine() -> None:
    with pytest.raises(ShapeError, match=r"(?s)output C along n does not follow.*out=.*\(N\)"):
        _outcome(upsample.definition, (3,))
    with pytest.raises(ShapeError, match="output C along m"):
        _outcome(ramp.definition)


def test_rank() -> None:
    check_rank(product.definition, "A", 2)
    with pytest.raises(ShapeError, match=r"(?s)operand A is of rank 3.*A\(M, K\)"):
        check_rank(product.definition, "A", 3)
