"""Compute types made plain linalg: the examples, every named op, memrefs, options, refusals."""

from __future__ import annotations

import functools
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from compute_types import Stated, assert_close, run
from core_ops import build, core_ops, problem
from examples import examples
from linalg_ext.bindings import ir, linalg
from linalg_ext.errors import (
    LinalgExtError,
    LoweringError,
    PipelineError,
    VerificationError,
)
from linalg_ext.module import Module
from linalg_ext.opdsl import StructuredOp
from linalg_ext.transforms.rewrites import materialize_compute_type as file

materialize = file.materialize_compute_type

BF16 = ml_dtypes.bfloat16


def named_ops() -> dict[str, StructuredOp]:
    """Every op that upstream has by name, of upstream's own library and of this one."""
    ours = {name: getattr(lx.ops, name) for name in dir(lx.ops)}
    both = {**core_ops(), **{n: op for n, op in ours.items() if isinstance(op, StructuredOp)}}
    known = {getattr(op, "OPERATION_NAME", "") for op in vars(linalg).values()}
    return {name: op for name, op in both.items() if f"linalg.{name}" in known}


SETTINGS: dict[str, tuple[Any, dict[str, Any], str]] = {
    "bf16 in f32": (BF16, {}, "f32"),
    "bf16 to i8 in f32": (BF16, {"U": np.int8}, "f32"),
    "f16 in f8": (np.float16, {}, "f8E4M3FN"),
    "f32 in bf16": (np.float32, {}, "bf16"),
    "f32 in f64": (np.float32, {}, "f64"),
    "i8 in i32": (np.int8, {}, "i32"),
    "i8 to f32 in i64": (np.int8, {"U": np.float32}, "i64"),
    "i32 in f32": (np.int32, {}, "f32"),
    "complex": (np.complex64, {}, "complex<f64>"),
}


@functools.cache
def stated_ops(setting: str) -> tuple[Stated, ...]:
    """The named ops that have a meaning for the types of a setting, on arrays of them."""
    dtype, dtypes, compute = SETTINGS[setting]
    found = []
    for op in named_ops().values():
        try:
            stated = Stated(problem(op, dtype, dtypes=dtypes), compute)
            stated.form()
            build([stated.case])
        except (LinalgExtError, KeyError):
            continue  # no meaning for the types, or an index of unknown size
        found.append(stated)
    return tuple(found)


def test_the_named_ops_are_many() -> None:
    assert len(named_ops()) >= 80
    assert {"matmul", "batch_matmul", "conv_2d", "exp", "dot", "mmt4d"} <= set(named_ops())
    assert len(stated_ops("bf16 in f32")) >= 79  # poolings by unsigned extremes take integers alone
    assert len(stated_ops("i8 in i32")) >= 60


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_named_op_computes_in_its_compute_type(setting: str) -> None:
    cases = stated_ops(setting)
    # All of them at two settings; at the others each family in turn.
    cases = cases if setting in ("bf16 in f32", "i8 in i32") else cases[hash_of(setting) :: 3]
    results = run(cases)
    assert sum(name != "linalg.generic" for name, _ in results) > 5
    for stated, (name, got) in zip(cases, results, strict=True):
        assert_close(got, stated.reference(), stated.compute, f"{name} {setting}")


def hash_of(setting: str) -> int:
    return len(setting) % 3


def test_every_op_as_a_generic_on_memrefs() -> None:
    cases = stated_ops("bf16 to i8 in f32")
    results = run(cases, emit_generic=True, memref=True)
    for stated, (_, got) in zip(cases, results, strict=True):
        assert_close(got, stated.reference(), stated.compute, stated.case.definition.name)


def test_ops_with_several_outputs() -> None:
    ops = [getattr(lx.ops, name) for name in dir(lx.ops)]
    cases = [
        Stated(problem(op, BF16), "f32")
        for op in ops
        if isinstance(op, StructuredOp)
        and len(op.definition.outputs) > 1
        # An op of several steps is several structured ops, each of which has a type of its own.
        and len(op.definition.steps) == 1
    ]
    assert len(cases) >= 5
    for stated, (_, got) in zip(cases, run(cases), strict=True):
        assert_close(got, stated.reference(), "f32", stated.case.definition.name)


def test_without_its_compute_type_an_op_differs() -> None:
    """What the test above finds if the attribute is dropped: most results, not some."""
    cases = stated_ops("bf16 to i8 in f32")
    differing = 0
    for stated in cases:
        expected, without = stated.reference(), stated.reference_without()
        differing += any(not np.array_equal(x, y) for x, y in zip(expected, without, strict=True))
    assert differing > len(cases) // 2


def test_upstream_drops_it_without_a_word() -> None:
    """Why it is consumed first: a pass of upstream's before it, and the result is another."""
    stated = Stated(problem(named_ops()["matmul"], BF16, dtypes={"U": np.int8}), "f32")
    ((_, kept),) = run([stated])
    ((_, dropped),) = run([stated], before="convert-linalg-to-affine-loops")  # on tensors: nothing
    np.testing.assert_array_equal(kept[0], dropped[0])
    ((_, dropped),) = run(
        [stated], before="func.func(linalg-block-pack-matmul{block-factors=2,2,2})"
    )
    assert not np.array_equal(kept[0], dropped[0])


AROUND = {
    "matmul": """
    func.func @f(%a: tensor<16x64xbf16>, %b: tensor<64x32xf32>, %c: tensor<16x32xi8>)
        -> tensor<16x32xi8> {
      {}
      return %r : tensor<16x32xi8>
    }""",
    "exp": """
    func.func @f(%a: tensor<8xbf16>, %c: tensor<8xbf16>) -> tensor<8xbf16> {
      {}
      return %r : tensor<8xbf16>
    }""",
}


def matmul(attribute: str = "f32") -> str:
    before, _ = examples(file)[0]
    return AROUND["matmul"].replace("{}", before.replace("f32}", attribute + "}"), 1)


def wish_list_arrays() -> tuple[Any, Any, Any]:
    random = np.random.default_rng(3)
    a = random.uniform(-1, 1, (16, 64)).astype(BF16)
    b = random.uniform(-2, 2, (64, 32)).astype(np.float32)
    return a, b, random.integers(-20, 20, (16, 32)).astype(np.int8)


def test_the_numbers_of_the_wish_list() -> None:
    a, b, c = wish_list_arrays()
    exact = c.astype(np.float64) + a.astype(np.float64) @ b.astype(np.float64)
    got = lx.compile(matmul(), entry="f")(a, b, c)
    is_clear = np.abs(exact - np.round(exact)) > 1e-3  # elsewhere f32 may truncate the other way
    assert is_clear.mean() > 0.9
    np.testing.assert_array_equal(got[is_clear], np.trunc(exact)[is_clear].astype(np.int8))
    default = lx.compile(matmul().replace("{linalg_ext.compute_type = f32}", ""), entry="f")
    assert not np.array_equal(default(a, b, c), got)


def test_at_every_step_the_generic_is_that_of_the_wish_list() -> None:
    module = Module.parse(matmul())
    materialize(module, per_iteration=True)
    text = str(module)
    assert text.count("linalg.generic") == 1
    body = [line.split("= ")[-1] for line in text.splitlines() if "arith." in line]
    assert sorted(line.split()[0] for line in body) == [
        "arith.addf",
        "arith.extf",
        "arith.fptosi",
        "arith.mulf",
        "arith.sitofp",
    ]
    a, b, c = wish_list_arrays()
    stated = Stated(
        problem(named_ops()["matmul"], BF16, dtypes={"T2": np.float32, "U": np.int8}), "f32"
    )
    expected = stated.form().at_every_point().reference(a, b, init=c)
    np.testing.assert_array_equal(lx.compile(module, entry="f")(a, b, c), expected)
    once = lx.compile(matmul(), entry="f")(a, b, c)
    assert not np.array_equal(once, expected)


def test_a_fill_is_filled_anew() -> None:
    module = Module.parse(
        """
        func.func @f(%a: tensor<?x8xbf16>, %b: tensor<8x?xbf16>, %c: tensor<?x?xbf16>,
                     %s: bf16) -> (tensor<?x?xbf16>, tensor<?x?xbf16>) {
          %z = arith.constant -1.5 : bf16
          %i = linalg.fill ins(%z : bf16) outs(%c : tensor<?x?xbf16>) -> tensor<?x?xbf16>
          %r = linalg.matmul {linalg_ext.compute_type = f32}
                 ins(%a, %b : tensor<?x8xbf16>, tensor<8x?xbf16>)
                 outs(%i : tensor<?x?xbf16>) -> tensor<?x?xbf16>
          %j = linalg.fill ins(%s : bf16) outs(%c : tensor<?x?xbf16>) -> tensor<?x?xbf16>
          %q = linalg.matmul {linalg_ext.compute_type = f32}
                 ins(%a, %b : tensor<?x8xbf16>, tensor<8x?xbf16>)
                 outs(%j : tensor<?x?xbf16>) -> tensor<?x?xbf16>
          return %r, %q : tensor<?x?xbf16>, tensor<?x?xbf16>
        }"""
    )
    materialize(module)
    text = str(module)
    assert "arith.constant -1.500000e+00 : f32" in text
    assert text.count("linalg.fill ins") == 4
    assert text.count("arith.extf %arg3") == 1
    assert text.count("linalg.matmul") == 2
    module.run("canonicalize,cse")
    assert "tensor<?x?xbf16>) -> tensor<?x?xbf16>" not in str(module).replace("func.func", "")
    random = np.random.default_rng(0)
    a, b = (random.uniform(-1, 1, s).astype(BF16) for s in ((3, 8), (8, 5)))
    c = np.zeros((3, 5), BF16)
    got, other = lx.compile(module, entry="f")(a, b, c, 0.5)
    exact = a.astype(np.float32) @ b.astype(np.float32)
    np.testing.assert_allclose(got.astype(np.float32), exact - 1.5, rtol=2**-8)
    np.testing.assert_allclose(other.astype(np.float32), exact + 0.5, rtol=2**-7, atol=2**-9)


@pytest.mark.parametrize("splat", ["0xFF80", "-3.0"])
def test_a_constant_init_is_made_in_the_compute_type(splat: str) -> None:
    module = Module.parse(
        f"""
        func.func @f(%a: tensor<4x8xbf16>) -> tensor<4xbf16> {{
          %i = arith.constant dense<{splat}> : tensor<4xbf16>
          %r = linalg.reduce {{arith.maximumf}} ins(%a : tensor<4x8xbf16>)
                 outs(%i : tensor<4xbf16>) dimensions = [1] {{linalg_ext.compute_type = f32}}
          return %r : tensor<4xbf16>
        }}"""
    )
    materialize(module)
    assert str(module).count("linalg.fill") == 1
    a = np.random.default_rng(0).uniform(-9, -4, (4, 8)).astype(BF16)
    got = lx.compile(module, entry="f")(a)
    expected = a.max(axis=1) if splat != "-3.0" else np.full(4, -3.0, BF16)
    np.testing.assert_array_equal(got, expected)


def test_a_buffer_is_made_cast_in_and_cast_out() -> None:
    module = Module.parse(
        """
        func.func @f(%a: memref<?x8xbf16>, %o: memref<?xbf16>) {
          linalg.reduce {arith.addf} ins(%a : memref<?x8xbf16>) outs(%o : memref<?xbf16>)
            dimensions = [1] {linalg_ext.compute_type = f32}
          return
        }"""
    )
    materialize(module)
    text = str(module)
    order = ["memref.alloc", "arith.extf", "arith.addf", "arith.truncf", "memref.dealloc"]
    places = [text.index(op) for op in order]
    assert places == sorted(places)
    a = np.full((3, 8), 0.00390625, BF16)
    o = np.ones(3, BF16)
    lx.compile(module, entry="f")(a, o)
    # In bf16, 1 + 1/256 is 1 again and again.
    np.testing.assert_array_equal(o.astype(np.float32), 1.03125)


@pytest.mark.parametrize("per_iteration", [False, True])
def test_saturation(per_iteration: bool) -> None:
    a = np.array([300.5, -300.5, 127.9, -128.9, np.nan, np.inf, -np.inf, 3.7], np.float32)
    text = """
    func.func @f(%a: tensor<8xf32>, %c: tensor<8xi8>) -> tensor<8xi8> {
      %r = linalg.copy {linalg_ext.compute_type = f32}
             ins(%a : tensor<8xf32>) outs(%c : tensor<8xi8>) -> tensor<8xi8>
      return %r : tensor<8xi8>
    }"""
    module = Module.parse(text.replace("f32}", "f64}"))
    materialize(module, saturate=True, per_iteration=per_iteration)
    got = lx.compile(module, entry="f")(a, np.zeros(8, np.int8))
    np.testing.assert_array_equal(got, [127, -128, 127, -128, 0, 127, -128, 3])


def test_saturation_of_an_accumulator() -> None:
    a = np.full((16, 64), 1, BF16)
    b = np.full((64, 32), 3, np.float32)
    module = Module.parse(matmul())
    materialize(module, saturate=True)
    got = lx.compile(module, entry="f")(a, b, np.zeros((16, 32), np.int8))
    np.testing.assert_array_equal(got, 127)  # 192


def test_integers_wrap_or_saturate() -> None:
    text = """
    func.func @f(%a: tensor<4x3xi8>, %b: tensor<3x4xi8>, %c: tensor<4x4xi8>) -> tensor<4x4xi8> {
      %r = linalg.matmul {linalg_ext.compute_type = i32}
             ins(%a, %b : tensor<4x3xi8>, tensor<3x4xi8>) outs(%c : tensor<4x4xi8>)
             -> tensor<4x4xi8>
      return %r : tensor<4x4xi8>
    }"""
    a, b = np.full((4, 3), -100, np.int8), np.full((3, 4), 100, np.int8)
    c = np.zeros((4, 4), np.int8)
    wrapped = (a.astype(np.int32) @ b.astype(np.int32)).astype(np.int8)
    np.testing.assert_array_equal(lx.compile(text, entry="f")(a, b, c), wrapped)
    module = Module.parse(text)
    materialize(module, saturate=True)
    np.testing.assert_array_equal(lx.compile(module, entry="f")(a, b, c), -128)


def test_unsigned_casts_are_honoured() -> None:
    text = """
    func.func @f(%a: tensor<2x2xi8>, %b: tensor<2x2xi8>, %c: tensor<2x2xi8>) -> tensor<2x2xi8> {
      %r = linalg.matmul {cast = #linalg.type_fn<cast_unsigned>, linalg_ext.compute_type = f32}
             ins(%a, %b : tensor<2x2xi8>, tensor<2x2xi8>) outs(%c : tensor<2x2xi8>)
             -> tensor<2x2xi8>
      return %r : tensor<2x2xi8>
    }"""
    a, b = (np.array(v, np.uint8) for v in ([[200, 0], [0, 0]], [[1, 0], [0, 0]]))
    got = lx.compile(text, entry="f")(a.view(np.int8), b.view(np.int8), np.zeros((2, 2), np.int8))
    np.testing.assert_array_equal(got.view(np.uint8), [[200, 0], [0, 0]])


def test_casts_in_a_chain_fuse() -> None:
    module = Module.parse(
        """
        func.func @f(%a: tensor<8xbf16>, %c: tensor<8xbf16>) -> tensor<8xbf16> {
          %x = linalg.exp {linalg_ext.compute_type = f32}
                 ins(%a : tensor<8xbf16>) outs(%c : tensor<8xbf16>) -> tensor<8xbf16>
          %r = linalg.tanh {linalg_ext.compute_type = f32}
                 ins(%x : tensor<8xbf16>) outs(%c : tensor<8xbf16>) -> tensor<8xbf16>
          return %r : tensor<8xbf16>
        }"""
    )
    module.run("linalg-ext-materialize-compute-type{saturate=true},linalg-fuse-elementwise-ops")
    assert str(module).count("linalg.generic") == 1


def test_an_op_that_computes_so_anyway_only_loses_the_attribute() -> None:
    module = Module.parse(matmul().replace("xi8", "xf32"))
    report = materialize(module)
    assert report.changed == {"linalg.matmul": 1}
    assert str(module).count("linalg.") == 1
    assert "compute_type" not in str(module)


def test_other_attributes_stay() -> None:
    module = Module.parse(matmul("f32, other.note = 7 : i32"))
    materialize(module)
    assert "linalg.matmul {other.note = 7 : i32}" in str(module)


def test_what_has_none_is_left_alone() -> None:
    text = matmul().replace("{linalg_ext.compute_type = f32}", "")
    module = Module.parse(text)
    before = str(module)
    assert not materialize(module)
    assert str(module) == before


BEYOND = """
    func.func @f(%a: tensor<4xi32>, %t: tensor<9xf32>, %c: tensor<4xf32>) -> tensor<4xf32> {
      %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                           iterator_types = ["parallel"]}
             ins(%a : tensor<4xi32>) outs(%c : tensor<4xf32>)
             attrs = {linalg_ext.compute_type = f64} {
      ^bb0(%in: i32, %out: f32):
        %i = arith.index_cast %in : i32 to index
        %x = tensor.extract %t[%i] : tensor<9xf32>
        linalg.yield %x : f32
      } -> tensor<4xf32>
      return %r : tensor<4xf32>
    }"""


def test_what_no_definition_says_is_left_and_not_lowered() -> None:
    module = Module.parse(BEYOND)
    before = str(module)
    report = materialize(module)
    assert report.left == {"linalg.generic": {"the index is computed"}}
    assert str(module) == before
    with pytest.raises((LoweringError, PipelineError), match="no definition describes it"):
        lx.compile(BEYOND, entry="f")


def test_a_wrong_one_is_an_error_that_names_it() -> None:
    module = Module.parse(matmul())
    op = module.ir.body.operations[0].regions[0].blocks[0].operations[0]
    with module.context:
        op.attributes["linalg_ext.compute_type"] = ir.StringAttr.get("f32")
    with pytest.raises(VerificationError, match="expected a type"):
        materialize(module)
