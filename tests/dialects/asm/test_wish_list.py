"""Every example of the wish list by its own text: what it means, in numbers, or why it is none."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext import errors
from wish_list import EXAMPLES, in_function

RNG = np.random.default_rng(0)


def arrays(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    return [RNG.standard_normal(shape).astype("f4") for shape in shapes]


@pytest.mark.parametrize("name", ["broadcast", "broadcast map"])
def test_broadcast(name: str) -> None:
    x, y, out = arrays((16,), (16, 64), (16, 64))
    module = lx.parse(in_function(EXAMPLES[name]))
    assert "linalg.elementwise kind=#linalg.elementwise_kind<add>" in str(module)
    assert "affine_map<(d0, d1) -> (d0)>" in str(module)
    np.testing.assert_array_equal(lx.compile(module)(x, y, out), x[:, None] + y)


def test_broadcast_op() -> None:
    x, out = arrays((16,), (16, 64))
    text = in_function(EXAMPLES["broadcast op"])
    np.testing.assert_array_equal(lx.compile(text)(x, out), np.broadcast_to(x[:, None], (16, 64)))


def test_transpose() -> None:
    x, y, out = arrays((64, 32, 64), (32, 64, 64), (64, 64, 32))
    text = in_function(EXAMPLES["transpose"])
    expected = x.transpose(0, 2, 1) + y.transpose(1, 2, 0)
    np.testing.assert_array_equal(lx.compile(text)(x, y, out), expected)
    maps = re.findall(r"affine_map<\(d0, d1, d2\) -> \(.*?\)>", str(lx.parse(text)))
    assert [map.partition("-> ")[2] for map in maps] == [
        "(d0, d2, d1)>",
        "(d2, d0, d1)>",
        "(d0, d1, d2)>",
    ]


def test_the_second_map_of_the_transpose_is_the_inverse_of_what_it_means() -> None:
    text = in_function(EXAMPLES["transpose map"])
    with pytest.raises(errors.VerificationError) as caught:
        lx.parse(text)
    assert caught.value.hint == (
        "map_b is the inverse of the permutation that fits: say map_b = (d0, d1, d2) -> (d2, "
        "d0, d1)"
    )
    assert "line 2, column" in str(caught.value.where)
    assert str(caught.value.where).splitlines()[-1].strip() == "^" * len(
        "map_b = { (d0, d1, d2) -> (d1, d2, d0) }"
    )
    # As it is meant, it is what the sugar says.
    meant = text.replace("(d1, d2, d0)", "(d2, d0, d1)")
    assert str(lx.parse(meant)) == str(lx.parse(in_function(EXAMPLES["transpose"])))


def test_square_operands_run_untransposed() -> None:
    x, y, out = arrays((64, 64), (64, 64), (64, 64))
    np.testing.assert_array_equal(lx.compile(in_function(EXAMPLES["square add"]))(x, y, out), x + y)
    text = in_function(EXAMPLES["square matmul"])
    assert "linalg.matmul ins" in str(lx.parse(text))
    np.testing.assert_allclose(lx.compile(text)(x, y, out), x @ y + out, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "what", "hint"),
    [
        ("numpy", "add: a is of rank 1: tensor<64xf32>", "broadcast_a = [0]"),
        ("valid?", "add: a is of rank 1: tensor<16xf32>", "broadcast_a = [1]"),
        (
            "which?",
            "add: a is of rank 1: tensor<16xf32>",
            "broadcast_a = [0] or broadcast_a = [1]",
        ),
        (
            "unit",
            "add: dimension d0 is 1 for a (axis 0), but b has size 16 along axis 0",
            "broadcast_a = [0], of a without its dimensions of size 1",
        ),
        (
            "transposed add",
            "add: dimension d0 is 64 for a (axis 0), but b has size 16 along axis 0",
            "permutation_a = [1, 0]",
        ),
        (
            "transposed matmul",
            "matmul: dimension k is 64 for a (axis 1), but b has size 16 along axis 0",
            "permutation_a = [1, 0]",
        ),
        (
            "ambiguous",
            "add: dimension d0 is 64 for a (axis 0), but b has size 32 along axis 0",
            "permutation_a = [0, 2, 1] with permutation_b = [1, 2, 0] or "
            "permutation_a = [0, 2, 1] with permutation_b = [2, 1, 0] or "
            "permutation_a = [2, 0, 1] with permutation_b = [1, 2, 0] or "
            "permutation_a = [2, 0, 1] with permutation_b = [2, 1, 0]",
        ),
    ],
)
def test_unequal_shapes_are_no_op(name: str, what: str, hint: str) -> None:
    with pytest.raises(errors.VerificationError) as caught:
        lx.parse(in_function(EXAMPLES[name]))
    assert caught.value.what == what
    assert caught.value.hint == f"say how to broadcast or transpose: {hint}"
    assert str(caught.value.where).startswith("-, line 2, column")


def test_each_reading_that_is_named_is_one() -> None:
    shapes = ((64, 32, 64), (32, 64, 64), (64, 64, 32))
    with pytest.raises(errors.VerificationError) as caught:
        lx.parse(in_function(EXAMPLES["ambiguous"]))
    readings = str(caught.value.hint).partition(": ")[2].split(" or ")
    assert len(readings) == 4
    for reading in readings:
        x, y, out = arrays(*shapes)
        said = reading.replace(" with ", ", ")
        op, _, result = EXAMPLES["ambiguous"].rpartition(" : ")
        text = in_function(f"{op} {said} : {result}")
        a, b = (eval(each.partition(" = ")[2]) for each in reading.split(" with "))
        expected = x.transpose(a) + y.transpose(b)
        np.testing.assert_array_equal(lx.compile(text)(x, y, out), expected)


def test_compute_type_is_an_attribute_of_the_op() -> None:
    default = lx.parse(in_function(EXAMPLES["default type"]))
    assert "linalg.matmul ins" in str(default)
    module = lx.parse(in_function(EXAMPLES["compute type"]))
    assert "linalg.matmul {linalg_ext.compute_type = f32} ins" in str(module)
    # What the wish list says the op becomes by default: inputs cast to i8, a product of i8.
    default.run("linalg-generalize-named-ops")
    body = re.findall(r"arith\.\w+", str(default))
    assert body == ["arith.fptosi", "arith.fptosi", "arith.muli", "arith.addi"]
    x = np.ones((16, 64), ml_dtypes.bfloat16)
    y = np.full((64, 32), 2, "f4")
    out = np.zeros((16, 32), "i1")
    kernel = lx.compile(in_function(EXAMPLES["default type"]))
    np.testing.assert_array_equal(kernel(x, y, out), np.full((16, 32), -128, "i1"))


def test_an_op_is_where_its_text_stands() -> None:
    text = in_function(EXAMPLES["broadcast"].replace(" outs", "\n  outs"))
    module = lx.parse(text)
    located = module.ir.operation.get_asm(enable_debug_info=True)
    column = text.splitlines()[1].index("linalg.add") + 1
    assert f'"-":2:{column}' in located
    # The `return` comes after an op that has lost its second line.
    assert '"-":4:' in located
