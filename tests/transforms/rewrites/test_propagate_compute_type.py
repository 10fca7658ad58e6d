"""Compute types spread through element-wise chains: the example, bubbles, what stays."""

from __future__ import annotations

import ml_dtypes
import numpy as np

import linalg_ext as lx
from examples import check_documented, examples_of
from linalg_ext.bindings import func, ir
from linalg_ext.ir.context import new_context
from linalg_ext.module import Module
from linalg_ext.structured.compute_type import set_compute_type
from linalg_ext.transforms.rewrites import propagate_compute_type as file

propagate = file.propagate_compute_type
BF16 = ml_dtypes.bfloat16


def test_the_example() -> None:
    module = check_documented(propagate, examples_of(propagate)[0])
    a = np.linspace(-2, 1, 8).astype(BF16)
    got = lx.compile(module, entry="main")(a, np.zeros(8, BF16))
    once = np.tanh(np.exp(a.astype(np.float32))).astype(BF16)
    np.testing.assert_array_equal(got, once)
    twice = np.tanh(np.exp(a.astype(np.float32)).astype(BF16).astype(np.float32)).astype(BF16)
    assert not np.array_equal(once, twice)


CHAIN = """
    func.func @f(%a: tensor<?x8xbf16>, %b: tensor<8x8xbf16>, %e: tensor<?x8xbf16>)
        -> (tensor<?x8xbf16>, tensor<?x8xbf16>) {
      %z = arith.constant 0.0 : bf16
      %i = linalg.fill ins(%z : bf16) outs(%e : tensor<?x8xbf16>) -> tensor<?x8xbf16>
      %m = linalg.matmul {linalg_ext.compute_type = f32}
             ins(%a, %b : tensor<?x8xbf16>, tensor<8x8xbf16>) outs(%i : tensor<?x8xbf16>)
             -> tensor<?x8xbf16>
      %t = linalg.tanh ins(%m : tensor<?x8xbf16>) outs(%e : tensor<?x8xbf16>) -> tensor<?x8xbf16>
      %r = linalg.add ins(%t, %m : tensor<?x8xbf16>, tensor<?x8xbf16>)
             outs(%e : tensor<?x8xbf16>) -> tensor<?x8xbf16>
      return %r, %t : tensor<?x8xbf16>, tensor<?x8xbf16>
    }"""


def test_from_a_product_on_with_dynamic_sizes_and_other_users() -> None:
    module = Module.parse(CHAIN)
    report = propagate(module)
    # The attribute and the new op, for each that had none.
    assert report.changed == {"linalg.matmul": 1, "linalg.tanh": 2, "linalg.add": 2}
    text = str(module)
    assert "compute_type" not in text
    assert "outs(" in text.split("linalg.matmul")[1].splitlines()[0]
    assert "tensor<?x8xf32>" in text.split("linalg.matmul")[1].splitlines()[0]
    assert text.count("arith.truncf") == 2  # of %r, and of %t for its other user
    random = np.random.default_rng(0)
    a, b = (random.uniform(-1, 1, s).astype(BF16) for s in ((3, 8), (8, 8)))
    got, other = lx.compile(module, entry="f")(a, b, np.zeros((3, 8), BF16))
    m = a.astype(np.float32) @ b.astype(np.float32)
    assert_rounded(got, np.tanh(m) + m)
    assert_rounded(other, np.tanh(m))


def assert_rounded(got: np.ndarray[tuple[int, ...], np.dtype[np.generic]], exact: object) -> None:
    """Rounded to bf16 once: nearly everywhere the nearest number, as after two it would not be."""
    wide = np.asarray(exact, np.float32)
    assert (got == wide.astype(BF16)).mean() > 0.9
    np.testing.assert_allclose(got.astype(np.float64), wide, rtol=2**-8 * 1.01, atol=1e-6)


def generic(name: str, argument: str, result: str, kinds: tuple[str, str], body: str) -> str:
    source, target = kinds
    return f"""
      %{name} = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                                iterator_types = ["parallel"]}}
             ins(%{argument} : tensor<8x{source}>) outs(%{result} : tensor<8x{target}>) {{
      ^bb0(%in: {source}, %out: {target}):
        {body}
      }} -> tensor<8x{target}>"""


def chain(middle: str) -> str:
    return f"""
    func.func @f(%a: tensor<8xbf16>, %e: tensor<8xbf16>, %q: tensor<8xi8>, %w: tensor<8xf16>)
        -> tensor<8xbf16> {{
      %x = linalg.exp {{linalg_ext.compute_type = f32}}
             ins(%a : tensor<8xbf16>) outs(%e : tensor<8xbf16>) -> tensor<8xbf16>
      {middle}
      return %r : tensor<8xbf16>
    }}"""


def test_quantized_integers_between_floats_stay() -> None:
    there = "%y = arith.fptosi %in : bf16 to i8 linalg.yield %y : i8"
    back = "%y = arith.sitofp %in : i8 to bf16 linalg.yield %y : bf16"
    middle = generic("n", "x", "q", ("bf16", "i8"), there)
    middle += generic("r", "n", "e", ("i8", "bf16"), back)
    module = Module.parse(chain(middle))
    report = propagate(module)
    # The first only rounds; the second is never reached.
    assert report.left == {"linalg.generic": {"the op only rounds"}}
    assert str(module).count("compute_type") == 1


def test_an_op_that_only_rounds_is_not_crossed() -> None:
    there = "%y = arith.truncf %in : bf16 to f8E5M2 linalg.yield %y : f8E5M2"
    back = "%y = arith.extf %in : f8E5M2 to bf16 linalg.yield %y : bf16"
    middle = generic("n", "x", "w", ("bf16", "f8E5M2"), there)
    middle += generic("r", "n", "e", ("f8E5M2", "bf16"), back)
    module = Module.parse(chain(middle).replace("xf16>", "xf8E5M2>"))
    assert not propagate(module)


def test_one_that_says_another_type_is_not_crossed() -> None:
    middle = """
      %r = linalg.tanh {linalg_ext.compute_type = f64}
             ins(%x : tensor<8xbf16>) outs(%e : tensor<8xbf16>) -> tensor<8xbf16>"""
    module = Module.parse(chain(middle))
    before = str(module)
    report = propagate(module)
    assert report.left == {
        "linalg.tanh": {"the op has another compute type"},
        "linalg.exp": {"the op has another compute type"},
    }
    assert str(module) == before


def test_one_whose_functions_the_type_lacks_is_not_crossed() -> None:
    text = """
    func.func @f(%a: tensor<8xi8>, %e: tensor<8xi8>) -> tensor<8xi8> {
      %x = linalg.add {linalg_ext.compute_type = i32}
             ins(%a, %a : tensor<8xi8>, tensor<8xi8>) outs(%e : tensor<8xi8>) -> tensor<8xi8>
      %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                           iterator_types = ["parallel"]}
             ins(%x : tensor<8xi8>) outs(%e : tensor<8xi8>) {
      ^bb0(%in: i8, %out: i8):
        %f = arith.sitofp %in : i8 to f32
        %g = math.exp %f : f32
        %h = arith.fptosi %g : f32 to i8
        linalg.yield %h : i8
      } -> tensor<8xi8>
      return %r : tensor<8xi8>
    }"""
    module = Module.parse(text)
    (reason,) = propagate(module).left["linalg.generic"]
    assert "exp has no meaning" in reason


def test_an_accumulation_without_a_compute_type_is_not_crossed() -> None:
    middle = """
      %s = linalg.reduce {arith.addf} ins(%x : tensor<8xbf16>) outs(%z : tensor<bf16>)
             dimensions = [0]
      %r = linalg.broadcast ins(%s : tensor<bf16>) outs(%e : tensor<8xbf16>) dimensions = [0]"""
    text = chain(middle).replace("%w: tensor<8xf16>", "%z: tensor<bf16>")
    module = Module.parse(text)
    report = propagate(module)
    assert not report
    assert "accumulates" in str(report.left)


def test_nothing_spreads_on_memrefs() -> None:
    text = """
    func.func @f(%a: memref<8xbf16>, %b: memref<8xbf16>) {
      linalg.exp {linalg_ext.compute_type = f32} ins(%a : memref<8xbf16>) outs(%b : memref<8xbf16>)
      linalg.tanh ins(%b : memref<8xbf16>) outs(%b : memref<8xbf16>)
      return
    }"""
    module = Module.parse(text)
    before = str(module)
    assert not propagate(module)
    assert str(module) == before


def test_the_bubble_of_the_wish_list() -> None:
    """Four quantized arrays, dequantized, combined by three ops, quantized: f32 in between."""
    with new_context(), ir.Location.unknown():
        module = ir.Module.create()
        quantized = ir.Type.parse("tensor<?xi8>")
        floats = ir.Type.parse("tensor<?xbf16>")
        with ir.InsertionPoint(module.body):
            main = func.FuncOp("main", ([quantized] * 4 + [floats], [quantized]))
        with ir.InsertionPoint(main.add_entry_block()):
            *given, empty = main.arguments
            values = [
                lx.ops.dequantize(x, 0.125, zero, outs=[empty]) for zero, x in enumerate(given)
            ]
            total = values[0]
            for value in values[1:]:
                total = lx.ops.mul(total, value, outs=[empty])
            set_compute_type(total.owner, "f32")
            result = lx.ops.quantize(total, 0.0625, 0.0, -128.0, 127.0, outs=[given[0]])
            func.ReturnOp([result])
    propagated = Module(module).clone()
    report = propagate(propagated)
    assert report.left == {}
    inside = [line for line in str(propagated).splitlines() if "linalg.generic" in line]
    assert len(inside) == 8
    assert not any("bf16>) -> tensor" in line for line in inside)
    propagated.run("linalg-fuse-elementwise-ops,canonicalize,cse")
    assert str(propagated).count("linalg.generic") == 1
    random = np.random.default_rng(5)
    arrays = [random.integers(-20, 20, 64).astype(np.int8) for _ in range(4)]
    space = np.zeros(64, BF16)
    got = lx.compile(propagated, entry="main")(*arrays, space)
    exact = np.prod([(x.astype(np.float64) - z) * 0.125 for z, x in enumerate(arrays)], axis=0)
    scaled = exact / 0.0625
    expected = np.clip(np.copysign(np.floor(np.abs(scaled) + 0.5), scaled), -128, 127)
    np.testing.assert_array_equal(got, expected.astype(np.int8))
    narrow = lx.compile(Module(module).clone(), entry="main")(*arrays, space)
    assert not np.array_equal(narrow, got)
