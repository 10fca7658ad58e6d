"""Contractions raised: what is one, whatever it is called, and what is nearly one left alone."""

from __future__ import annotations

import pytest

import linalg_ext as lx
from contraction_texts import contraction_text
from raised_contractions import ADDED, CONTRACT, generic, op, raised
from rewrite_texts import assert_same_results, function, parsed

raise_to_contract = lx.transforms.raise_to_contract
lower_contract = lx.transforms.lower_contract


NAMED = {
    "matmul": op("linalg.matmul", ["tensor<4x3xf32>", "tensor<3x2xf32>"], "tensor<4x2xf32>"),
    "matmul of an open size": op(
        "linalg.matmul", ["tensor<?x3xf32>", "tensor<3x?xf32>"], "tensor<?x?xf32>"
    ),
    "matmul that casts": op(
        "linalg.matmul", ["tensor<4x3xi8>", "tensor<3x2xi8>"], "tensor<4x2xi32>"
    ),
    "matmul of unsigned": op(
        "linalg.matmul",
        ["tensor<4x3xi8>", "tensor<3x2xi8>"],
        "tensor<4x2xi32>",
        "{cast = #linalg.type_fn<cast_unsigned>}",
    ),
    "matmul of booleans": op(
        "linalg.matmul", ["tensor<4x3xi1>", "tensor<3x2xi1>"], "tensor<4x2xi1>"
    ),
    "matvec": op("linalg.matvec", ["tensor<4x3xf32>", "tensor<3xf32>"], "tensor<4xf32>"),
    "vecmat": op("linalg.vecmat", ["tensor<3xf32>", "tensor<3x4xf32>"], "tensor<4xf32>"),
    "dot": op("linalg.dot", ["tensor<3xf32>", "tensor<3xf32>"], "tensor<f32>"),
    "batch_matmul": op(
        "linalg.batch_matmul", ["tensor<2x4x3xf32>", "tensor<2x3x5xf32>"], "tensor<2x4x5xf32>"
    ),
    "batch_matvec": op(
        "linalg.batch_matvec", ["tensor<2x4x3xf32>", "tensor<2x3xf32>"], "tensor<2x4xf32>"
    ),
    "batch_vecmat": op(
        "linalg.batch_vecmat", ["tensor<2x3xf32>", "tensor<2x3x4xf32>"], "tensor<2x4xf32>"
    ),
    "batch_reduce_matmul": op(
        "linalg.batch_reduce_matmul", ["tensor<2x4x3xf32>", "tensor<2x3x5xf32>"], "tensor<4x5xf32>"
    ),
    "mmt4d": op(
        "linalg.mmt4d", ["tensor<2x3x4x2xf32>", "tensor<5x3x2x2xf32>"], "tensor<2x5x4x2xf32>"
    ),
    "batch_mmt4d": op(
        "linalg.batch_mmt4d",
        ["tensor<2x2x3x4x2xf32>", "tensor<2x5x3x2x2xf32>"],
        "tensor<2x2x5x4x2xf32>",
    ),
}

BACK = {
    "matmul of an open size": "linalg.matmul",
    "matmul that casts": "linalg.matmul",
    "matmul of unsigned": "linalg.matmul {cast = #linalg.type_fn<cast_unsigned>}",
    "matmul of booleans": "linalg.matmul",
}
"""What each op is after it was raised and lowered again, where that is not its name."""


@pytest.mark.parametrize("name", NAMED)
def test_a_named_op_is_raised_and_comes_back(name: str) -> None:
    module = raised(NAMED[name])
    assert CONTRACT in str(module)
    assert not any(line.lstrip().startswith("%0 = linalg.") for line in str(module).splitlines())
    lower_contract(module)
    assert BACK.get(name, f"linalg.{name} ") in str(module)
    assert_same_results(parsed(NAMED[name]), module)


@pytest.mark.parametrize(
    "operands",
    [
        ("mk", "kn", "nm"),
        ("km", "nk", "mn"),
        ("bmk", "kn", "bmn"),
        ("mbk", "bkn", "nbm"),
        ("k", "k", ""),
        ("bmkl", "kln", "nmb"),
        ("mm", "mn", "n"),
        ("mkl", "kn", "mn"),
    ],
    ids=",".join,
)
def test_a_generic_is_raised(operands: tuple[str, str, str]) -> None:
    module = raised(contraction_text("generic", *operands))
    assert CONTRACT in str(module)
    lower_contract(module)
    assert_same_results(parsed(contraction_text("generic", *operands)), module)


SEMIRINGS = {
    "max+": "%p = arith.addf %xa, %xb : f32\n %y = arith.maximumf %p, %xo : f32",
    "min+": "%p = arith.addf %xa, %xb : f32\n %y = arith.minimumf %xo, %p : f32",
    "max*": "%p = arith.mulf %xb, %xa : f32\n %y = arith.maximumf %p, %xo : f32",
}


@pytest.mark.parametrize("kind", SEMIRINGS)
def test_every_semiring_is_found(kind: str) -> None:
    text = generic(["d0, d2", "d2, d1"], "d0, d1", SEMIRINGS[kind])
    module = raised(text)
    assert f'kind = "{kind}"' in str(module)
    lower_contract(module)
    assert_same_results(parsed(text), module)


NEAR_MISSES = {
    "booleans that are the last bits": (
        op("linalg.matmul", ["tensor<4x3xi32>", "tensor<3x2xi32>"], "tensor<4x2xi1>"),
        "keeps one bit of a number",
    ),
    "a greatest difference": (
        generic(
            ["d0, d2", "d2, d1"],
            "d0, d1",
            "%p = arith.subf %xa, %xb : f32\n %y = arith.maximumf %p, %xo : f32",
        ),
        "is not an operand",
    ),
    "a sum of sums": (
        generic(["d0, d2", "d2, d1"], "d0, d1", ADDED.replace("mulf", "addf")),
        "is not an operand",
    ),
    "a product of all": (
        generic(["d0, d2", "d2, d1"], "d0, d1", ADDED.replace("addf", "mulf")),
        "the sum of no known semiring",
    ),
    "a rounding in the middle": (
        generic(
            ["d0, d2", "d2, d1"],
            "d0, d1",
            "%q = arith.mulf %xa, %xb : f32\n %h = arith.truncf %q : f32 to bf16\n"
            "%p = arith.extf %h : bf16 to f32\n %y = arith.addf %xo, %p : f32",
        ),
        "rounded midway",
    ),
    "a factor that is a function": (
        generic(
            ["d0, d2", "d2, d1"],
            "d0, d1",
            "%q = math.absf %xa : f32\n %p = arith.mulf %q, %xb : f32\n"
            "%y = arith.addf %xo, %p : f32",
        ),
        "is not an operand",
    ),
    "a destination that is scaled": (
        generic(
            ["d0, d2", "d2, d1"],
            "d0, d1",
            "%p = arith.mulf %xa, %xb : f32\n %q = arith.mulf %xo, %xb : f32\n"
            "%y = arith.addf %q, %p : f32",
        ),
        "reads its destination",
    ),
    "windows that overlap": (
        op(
            "linalg.conv_2d_nhwc_hwcf",
            ["tensor<1x5x5x2xf32>", "tensor<3x3x2x4xf32>"],
            "tensor<1x3x3x4xf32>",
        ),
        "overlap",
    ),
    "windows that leave gaps": (
        op(
            "linalg.conv_1d_nwc_wcf",
            ["tensor<1x8x2xf32>", "tensor<2x2x4xf32>"],
            "tensor<1x3x4xf32>",
            "{strides = dense<3> : tensor<1xi64>}",
        ),
        "leave gaps",
    ),
    "a sum of one operand": (
        generic(["d0, d1, d2"], "d0, d1", "%y = arith.addf %xo, %xa : f32"),
        "the op multiplies no two operands",
    ),
}


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_what_is_nearly_one_is_left_alone(name: str) -> None:
    text, reason = NEAR_MISSES[name]
    module = parsed(text)
    report = raise_to_contract(module)
    assert not report
    assert str(module) == str(parsed(text))
    assert reason in repr(report)


def test_an_operand_may_be_a_factor_twice() -> None:
    text = generic(["d0, d2"], "d0, d1", ADDED.replace("%xb", "%xa"))
    module = raised(text)
    assert "(%arg0, %arg0, %arg1)" in str(module)
    lower_contract(module)
    assert_same_results(parsed(text), module)


def test_zero_points_are_subtracted_first() -> None:
    inputs = ["tensor<4x3xi8>", "tensor<3x2xi8>", "i32", "i32"]
    text = op("linalg.quantized_matmul", inputs, "tensor<4x2xi32>")
    module = raised(text)
    assert str(module).count("arith.subi") == 2
    assert CONTRACT in str(module)
    batched = ["tensor<2x4x3xi8>", "tensor<2x3x2xi8>", "i32", "i32"]
    raised(op("linalg.quantized_batch_matmul", batched, "tensor<2x4x2xi32>"))


def test_notes_on_an_op_and_its_compute_type_stay() -> None:
    notes = "{linalg_ext.compute_type = f32, my.note = 7 : i64}"
    text = op("linalg.matmul", ["tensor<4x3xf16>", "tensor<3x2xf16>"], "tensor<4x2xf16>", notes)
    module = parsed(text)
    raise_to_contract(module)
    assert CONTRACT in str(module)
    assert "linalg_ext.compute_type = f32" in str(module)
    assert "my.note = 7" in str(module)
    quantized = parsed(
        op(
            "linalg.quantized_matmul",
            ["tensor<4x3xi8>", "tensor<3x2xi8>", "i32", "i32"],
            "tensor<4x2xi32>",
            "{linalg_ext.compute_type = i64}",
        )
    )
    assert "compute type" in repr(raise_to_contract(quantized))


@pytest.mark.parametrize(
    ("element", "stored", "compute", "unsigned"),
    [
        ("bf16", "i8", "f32", False),
        ("i8", "i8", "i32", False),
        ("i8", "i8", "i32", True),
        ("i8", "i32", "f32", False),
        ("i8", "i64", "i32", False),
        ("i8", "i64", "i32", True),
        ("f32", "bf16", "f64", False),
        ("i32", "i8", "i64", False),
        ("i32", "i8", "i64", True),
        ("f32", "i32", "f32", False),
    ],
)
def test_a_compute_type_means_the_same_both_ways(
    element: str, stored: str, compute: str, unsigned: bool
) -> None:
    """A named op with one, made plain linalg directly and by way of a contraction."""
    cast = ", cast = #linalg.type_fn<cast_unsigned>" if unsigned else ""
    text = op(
        "linalg.matmul",
        [f"tensor<4x3x{element}>", f"tensor<3x2x{element}>"],
        f"tensor<4x2x{stored}>",
        f"{{linalg_ext.compute_type = {compute}{cast}}}",
    )
    module = parsed(text)
    assert raise_to_contract(module)
    lower_contract(module)
    assert "compute_type" not in str(module)
    assert_same_results(parsed(text), module)


def test_products_and_sums_are_raised_where_that_is_asked_for() -> None:
    outer = op("linalg.mul", ["tensor<4x3xf32>", "tensor<4x3xf32>"], "tensor<4x3xf32>")
    total = generic(["d0, d1, d2"], "d0, d1", "%y = arith.addf %xo, %xa : f32")
    for text, option in ((outer, "elementwise"), (total, "reductions")):
        assert not raise_to_contract(parsed(text))
        module = raised(text, **{option: True})
        lower_contract(module)
        assert_same_results(parsed(text), module)


CHAIN = """
    %z = arith.constant {start} : f32
    %e = tensor.empty() : tensor<4x5xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x5xf32>) -> tensor<4x5xf32>
    %t = linalg.matmul ins(%a, %b : tensor<4x3xf32>, tensor<3x5xf32>)
                       outs(%f : tensor<4x5xf32>) -> tensor<4x5xf32>
    {more}
    %r = linalg.matmul ins(%t, {other} : tensor<4x5xf32>, tensor<5x4xf32>)
                       outs(%o : tensor<4x4xf32>) -> tensor<4x4xf32>
"""
CHAIN_ARGUMENTS = (
    "%a: tensor<4x3xf32>, %b: tensor<3x5xf32>, %c: tensor<5x4xf32>, %o: tensor<4x4xf32>"
)


def chain(start: str = "0.0", more: str = "", other: str = "%c") -> str:
    body = CHAIN.format(start=start, more=more, other=other)
    return function(CHAIN_ARGUMENTS, body, "tensor<4x4xf32>")


def test_a_chain_becomes_one_contraction() -> None:
    assert str(raised(chain())).count(CONTRACT) == 2
    module = raised(chain(), merge=True)
    assert str(module).count(CONTRACT) == 1
    assert "(%arg0, %arg1, %arg2, %arg3)" in str(module)
    lower_contract(module)
    assert_same_results(parsed(chain()), module)


def test_contracts_that_are_there_already_are_merged() -> None:
    module = raised(chain())
    assert raise_to_contract(module, merge=True).changed == {"linalg_ext.contract": 1}
    assert str(module).count(CONTRACT) == 1
    assert_same_results(parsed(chain()), module)


@pytest.mark.parametrize(
    "text",
    [
        chain(start="1.0"),
        chain(
            more="%u = linalg.transpose ins(%t : tensor<4x5xf32>) outs(%x : tensor<5x4xf32>) "
            "permutation = [1, 0]",
            other="%u",
        ).replace("%z =", "%x = tensor.empty() : tensor<5x4xf32>\n %z ="),
    ],
    ids=["it starts from one", "somebody else reads it"],
)
def test_what_is_read_otherwise_is_not_merged(text: str) -> None:
    assert str(raised(text, merge=True)).count(CONTRACT) == 2


def test_what_is_rounded_between_is_not_merged() -> None:
    text = (
        chain()
        .replace("%t = linalg.matmul", "%t = linalg.matmul {linalg_ext.compute_type = f64}")
        .replace("%r = linalg.matmul", "%r = linalg.matmul {linalg_ext.compute_type = f64}")
    )
    module = parsed(text)
    raise_to_contract(module, merge=True)
    assert str(module).count(CONTRACT) == 2


def test_on_memrefs_it_is_upstreams_op() -> None:
    memrefs = "%a: memref<4x3xf32>, %b: memref<3x2xf32>, %o: memref<4x2xf32>"
    body = """linalg.matmul ins(%a, %b : memref<4x3xf32>, memref<3x2xf32>)
                            outs(%o : memref<4x2xf32>)"""
    module = raised(function(memrefs, body, None))
    assert "linalg.contract" in str(module)
    assert not raise_to_contract(module)
    windows = function(
        "%a: memref<1x4x4x2xf32>, %b: memref<2x2x2x3xf32>, %o: memref<1x2x2x3xf32>",
        """linalg.conv_2d_nhwc_hwcf {strides = dense<2> : tensor<2xi64>}
             ins(%a, %b : memref<1x4x4x2xf32>, memref<2x2x2x3xf32>)
             outs(%o : memref<1x2x2x3xf32>)""",
        None,
    )
    report = raise_to_contract(parsed(windows))
    assert not report
    assert "memrefs" in repr(report)
