"""`linalg-ext-lower-elementwise`: the text of its documentation, numbers, and what it leaves."""

from __future__ import annotations

import numpy as np
import pytest

import linalg_ext as lx

SEGMENTS = {n: ", ".join(["1"] * n + ["0"] * (25 - n) + ["1"]) for n in (1, 2, 3, 4)}


def module(kind: str, types: list[str], result: str, attributes: str = "") -> lx.Module:
    names = [f"%{letter}" for letter in "abcdefgh"[: len(types)]]
    arguments = ", ".join(f"{n}: {t}" for n, t in zip(names, types, strict=True))
    return lx.parse(f"""func.func @f({arguments}, %o: {result}) -> {result} {{
      %r = "linalg_ext.elementwise"({", ".join([*names, "%o"])}) {{kind = {kind},
        operandSegmentSizes = array<i32: {SEGMENTS[len(types)]}>{attributes}}}
        : ({", ".join([*types, result])}) -> {result}
      return %r : {result} }}""")


def test_upstreams_op_takes_what_it_can_say() -> None:
    target = module(
        "#linalg.elementwise_kind<add>",
        ["tensor<3xf32>", "tensor<3x4xf32>"],
        "tensor<3x4xf32>",
        ", broadcast_a = [1], my.note",
    )
    before = str(target)
    report = lx.transforms.lower_elementwise(target)
    assert report.changed.total() == 1
    assert "linalg.elementwise kind=#linalg.elementwise_kind<add>" in str(target)
    assert "my.note" in str(target)
    assert "broadcast_a" not in str(target)
    rng = np.random.default_rng(0)
    a, b, o = (rng.random(shape).astype("f4") for shape in ((3,), (3, 4), (3, 4)))
    for text in (before, str(target)):
        np.testing.assert_array_equal(lx.compile(text)(a, b, o), a[:, None] + b)


@pytest.mark.parametrize(
    ("kind", "types", "result"),
    [
        ("add", ["tensor<3xf32>", "tensor<3xbf16>"], "tensor<3xf32>"),
        ("mul", ["tensor<3xf32>"] * 4, "tensor<3xf32>"),
        ("max_signed", ["tensor<3xi8>", "tensor<3xi8>", "tensor<3xi32>"], "tensor<3xi32>"),
    ],
)
def test_what_upstream_lacks_becomes_generic(kind: str, types: list[str], result: str) -> None:
    target = module(f"#linalg.elementwise_kind<{kind}>", types, result)
    lx.transforms.lower_elementwise(target)
    assert "linalg.generic" in str(target)
    assert "linalg_ext" not in str(target)


def test_a_cast_in_another_type_is_left_for_the_pass_that_knows_it() -> None:
    target = module(
        "#linalg.elementwise_kind<add>",
        ["tensor<3xf32>", "tensor<3xbf16>"],
        "tensor<3xi8>",
        ", linalg_ext.compute_type = f32",
    )
    before = str(target)
    report = lx.transforms.lower_elementwise(target)
    assert str(target) == before
    assert "materialize-compute-type" in repr(report)
