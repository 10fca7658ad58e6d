"""Attention in plain ops, computed without its scores in memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from attention_texts import Array, AttentionText
from examples import examples
from exported_modules import module_params
from guarded_memory import guarded
from kernels import kernel
from linalg_ext import target
from linalg_ext.module import Module
from linalg_ext.transforms.analysis.fills import comes_of
from linalg_ext.transforms.codegen.attention import fuse_attention as file
from linalg_ext.transforms.codegen.attention.fuse_attention import fuse_attention
from linalg_ext.transforms.codegen.attention.gather_attention import gather_attention
from linalg_ext.transforms.codegen.base.machine import this_machine
from linalg_ext.transforms.parallel.share_work import share_work
from linalg_ext.transforms.pipelines import lower_to_llvm
from targets import runnable_targets

PLAIN = AttentionText()
TOLERANCE = {"f32": (1e-4, 1e-5), "f64": (1e-11, 1e-12)}
"""Relative and absolute: sums of products are in another order than NumPy's."""


AROUND = """
#all = affine_map<(q, k) -> (q, k)>
#row = affine_map<(q, k) -> (q)>
#one = affine_map<(q) -> (q)>
#query = affine_map<(q, k, d) -> (q, d)>
#key = affine_map<(q, k, d) -> (k, d)>
#score = affine_map<(q, k, d) -> (q, k)>
#value = affine_map<(q, k, d) -> (k, d)>
#single = ["parallel"]
#pair = ["parallel", "parallel"]
#reduced = ["parallel", "reduction"]
#sum = ["parallel", "parallel", "reduction"]
#mixed = ["parallel", "reduction", "parallel"]
func.func private @linalg_ext_attention_0(memref<8x4xf32>, memref<9x4xf32>, memref<9x16xf32>,
                                          memref<8x16xf32>)
func.func @f(%q: memref<8x4xf32>, %k: memref<9x4xf32>, %v: memref<9x16xf32>, %r: memref<8x16xf32>) {
  {}
  return
}"""

BUFFERS = """
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %s = memref.alloc() : memref<8x9xf32>
  %e = memref.alloc() : memref<8x9xf32>
  %w = memref.alloc() : memref<8x9xf32>
  %m = memref.alloc() : memref<8xf32>
  %t = memref.alloc() : memref<8xf32>
"""


def test_the_example() -> None:
    before, after = examples(file)[0]
    private = AROUND.index("func.func private")
    public = AROUND.index("func.func @f")
    text = AROUND[:private] + AROUND[public:]
    module = Module.parse(text.replace("{}", BUFFERS + before, 1), trusted=True)
    assert fuse_attention(module).changed["attention"] == 1
    module.run("canonicalize")
    (main,) = [op for op in module.ir.body.operations if "private" not in str(op)[:30]]
    expected = Module.parse(AROUND.replace("{}", after, 1), trusted=True)
    assert str(list(expected.ir.body.operations)[-1]) == str(main)


def is_fused(compiled: Any) -> bool:
    """Whether nothing of the ops is left in the entry but a call."""
    entry, _, nest = compiled.as_text("loops").partition("func.func private")
    return "attention" in nest and "scf." not in entry and "memref.alloc" not in entry


def check(one: AttentionText, *operands: Array, fused: bool = True) -> Array:
    """Run and compare with NumPy."""
    compiled = kernel(one.text)
    given = operands or one.operands()
    got: Array = compiled(*given)
    relative, absolute = TOLERANCE[one.element]
    np.testing.assert_allclose(got, one.reference(*given), rtol=relative, atol=absolute)
    assert is_fused(compiled) == fused
    return got


def sizes(**changed: int) -> dict[str, int]:
    return {"b": 2, "h": 2, "g": 2, "q": 16, "k": 16, "d": 8, "e": 16, **changed}


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize(
    "changed",
    [
        {"q": 7, "k": 500, "d": 40, "e": 40},
        {"q": 131, "k": 513, "d": 80, "e": 17},
        {"q": 50, "k": 1100, "d": 64, "e": 64},
        {"q": 1030, "k": 17, "d": 3, "e": 130},
        {"q": 25, "k": 65, "d": 128, "e": 128},
    ],
)
def test_sizes(changed: dict[str, int], element: str) -> None:
    check(AttentionText(sizes(**changed), element=element))


@pytest.mark.parametrize(
    ("query", "key", "value", "result"),
    [
        ("bhqd", "bhkd", "bhke", "bhqe"),
        ("bqhd", "bkhd", "bkhe", "bqhe"),
        ("bqhd", "bhdk", "bhek", "bhqe"),
        ("bdq", "bdk", "bek", "beq"),
        ("qd", "kd", "ke", "qe"),
        # Heads that share keys and values, as rows; and keys that are shared, values that are not.
        ("bhgqd", "bhkd", "bhke", "bhgqe"),
        ("bqhd", "bkd", "bke", "bqhe"),
        ("bhqd", "bkd", "bhke", "bhqe"),
    ],
)
@pytest.mark.parametrize("chain", [False, True])
def test_layouts(query: str, key: str, value: str, result: str, chain: bool) -> None:
    changed = sizes(q=37, k=70, d=24, e=20)
    check(AttentionText(changed, query, key, value, result, chain=chain))


@pytest.mark.parametrize("mask", ["qk", "bqk", "k", "q", "hk", "bhqk"])
@pytest.mark.parametrize("keys", [48, 70, 600])
def test_masks(mask: str, keys: int) -> None:
    one = AttentionText(sizes(q=29, k=keys), "bhqd", "bhkd", "bhke", "bhqe", mask=mask)
    *operands, added = one.operands()
    added[added < -1] = -np.inf
    if "k" in mask:
        added[..., 0] = 0
    else:
        added[:] = np.maximum(added, -3)
    check(one, *operands, added)


@pytest.mark.parametrize("seen", ["qk", "bqk", "bk", "bq", "bhqk"])
@pytest.mark.parametrize("keys", [48, 70, 600])
def test_masks_of_booleans(seen: str, keys: int) -> None:
    one = AttentionText(sizes(q=29, k=keys), "bhqd", "bhkd", "bhke", "bhqe", mask="k", seen=seen)
    got = check(one)
    assert np.isnan(got).any() == ("k" not in seen)


def test_masks_that_end_where_memory_does() -> None:
    one = AttentionText(sizes(b=1, q=13, k=37), mask="qk", seen="qk")
    check(one, *map(guarded, one.operands()))


@pytest.mark.parametrize("layout", ["bqhd", "bhqd"])
@pytest.mark.parametrize(("queries", "keys"), [(37, 37), (70, 20), (20, 70), (600, 1100)])
def test_causal(layout: str, queries: int, keys: int) -> None:
    key, value, result = (layout.replace(*pair) for pair in ("qk", "qk", "de"))
    one = AttentionText(
        sizes(q=queries, k=keys), layout, key, value.replace("d", "e"), result, causal=True
    )
    check(one)


@pytest.mark.parametrize(("lag", "keys"), [(30, 60), (-9, 60), (30, 1100), (-700, 1100)])
def test_causal_with_a_lag(lag: int, keys: int) -> None:
    got = check(AttentionText(sizes(q=50, k=keys), causal=True, lag=lag))
    assert np.isnan(got[:, : max(lag, 0)]).all()
    assert np.isfinite(got[:, max(lag, 0) :]).all()


@pytest.mark.parametrize("window", [1, 20, 400])
@pytest.mark.parametrize("lag", [0, 9, -30])
@pytest.mark.parametrize(("queries", "keys"), [(70, 70), (300, 200), (900, 1100)])
def test_a_window(window: int, lag: int, queries: int, keys: int) -> None:
    one = AttentionText(sizes(q=queries, k=keys), causal=True, lag=lag, window=window)
    check(replace(one, key="bdk", value="bek") if lag else one)


def test_causal_with_heads_that_share_keys() -> None:
    one = AttentionText(sizes(q=45, k=70), "bgqd", "bkd", "bke", "bgqe", causal=True, mask="gqk")
    check(one)


@pytest.mark.parametrize("keys", [40, 700])
def test_rows_without_keys_are_nan_and_others_are_not(keys: int) -> None:
    one = AttentionText(sizes(q=30, k=keys), mask="bqk")
    *operands, mask = one.operands()
    mask[0, 3] = -np.inf
    mask[1, :, : keys - 1] = -np.inf
    got = check(one, *operands, mask)
    assert np.isnan(got[0, 3]).all()
    assert np.isfinite(got[1]).all()


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("keys", [40, 700])
def test_a_score_that_is_no_number_makes_its_row_nan(value: float, keys: int) -> None:
    one = AttentionText(sizes(q=30, k=keys), mask="bqk")
    *operands, mask = one.operands()
    mask[0, 5, keys - 3] = value
    got = check(one, *operands, mask)
    assert np.isnan(got[0, 5]).all()
    assert np.isfinite(np.delete(got[0], 5, 0)).all()


def test_large_scores_do_not_overflow() -> None:
    one = AttentionText(sizes(q=30, k=700), scale=100.0)
    query, key, value = one.operands()
    check(one, query, key[:, ::-1], value)
    assert np.isfinite(check(one, query * 10, key * 10, value)).all()


@pytest.mark.parametrize("one", runnable_targets())
def test_targets(one: target.Target) -> None:
    text = AttentionText(sizes(q=61, k=130, d=24, e=40), causal=True)
    with target.using(one):
        compiled = kernel(text.text)
    operands = text.operands()
    np.testing.assert_allclose(compiled(*operands), text.reference(*operands), rtol=1e-4, atol=1e-5)
    assert is_fused(compiled) == one.has_fma


@pytest.mark.parametrize("queries", [8, 33])
@pytest.mark.parametrize("batch", [1, 5])
def test_threads_share_batches_or_queries(queries: int, batch: int) -> None:
    one = AttentionText(sizes(b=batch, q=40 * queries, k=300, d=32, e=32))
    compiled = lx.compile(one.text)
    operands = one.operands()
    with lx.threads.using(3):
        first, again = compiled(*operands), compiled(*operands)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_allclose(first, one.reference(*operands), rtol=1e-4, atol=1e-5)
    work = Module.parse(compiled.as_text("buffers"))
    assert share_work(work, threads=3)
    work.run("cse")
    report = fuse_attention(work)
    assert report.changed["attention"] in (1, 2)  # the last slice may be of another size
    assert not report.left


def test_a_long_sequence_needs_no_scores() -> None:
    one = AttentionText(sizes(b=1, q=4096, k=4096, d=64, e=64))
    loops = kernel(one.text).as_text("loops")
    allocated = [
        line.partition("memref<")[2].partition("xf32")[0]
        for line in loops.splitlines()
        if "memref.alloc(" in line
    ]
    assert allocated
    assert sum(4 * int(size) for size in allocated) <= 2 * target.current().cache(2).size


def test_operands_at_the_end_of_their_memory() -> None:
    one = AttentionText(sizes(b=1, q=13, k=37, d=5, e=21), mask="qk")
    check(one, *map(guarded, one.operands()))


def test_results_in_a_given_array() -> None:
    one = AttentionText(sizes(q=30, k=30))
    compiled = kernel(one.text)
    operands = one.operands()
    out = np.full((2, 30, 16), 7, np.float32)
    assert compiled(*operands, out=out) is out
    np.testing.assert_allclose(out, one.reference(*operands), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("arith.divf", "arith.mulf", "the weights are not divided by their sum"),
        ("arith.subf", "arith.addf", "the exponent is not a difference from a maximum"),
        ("arith.maximumf", "arith.minimumf", "the subtracted value is not a maximum"),
        ("0xFF800000", "1.0", "the maximum does not start from the lowest value"),
        ("math.exp %s", "math.exp %x0", "the exponent is not a difference from a maximum"),
        ("arith.addf %x0, %o", "arith.mulf %x0, %o", "the divisor is not the sum of the weights"),
    ],
)
def test_what_is_nearly_attention_is_left(old: str, new: str, reason: str) -> None:
    text = replace(PLAIN, chain=True).text
    assert old in text
    module = Module.parse(text.replace(old, new))
    lower_to_llvm(module.ir, stages=("linalg",))
    report = gather_attention(module)
    assert report.left == {"attention": {reason}}
    assert not report


@pytest.mark.parametrize(
    ("name", "function"), [("tanh", np.tanh), ("sin", np.sin), ("cbrt", np.cbrt), ("ceil", np.ceil)]
)
def test_scores_go_through_whatever_vectors_compute(name: str, function: Any) -> None:
    scaled = "%v0 = arith.mulf %x0, %scale : f32"
    changed = f"%v = arith.mulf %x0, %scale : f32\n%v0 = math.{name} %v : f32"
    one = AttentionText(sizes(q=30, k=30))
    assert scaled in one.text
    compiled = kernel(one.text.replace(scaled, changed))
    assert "linalg_ext_attention" in compiled.as_text("loops")
    # Of halves of whole numbers the scores are exact: none is rounded to the other side of one.
    query, key, value = (np.rint(each) for each in one.operands())
    scores = function(np.einsum("bqd,bkd->bqk", query, key).astype(np.float64) / 2)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    expected = (weights / weights.sum(-1, keepdims=True)) @ value
    np.testing.assert_allclose(compiled(query, key, value), expected, rtol=1e-4, atol=1e-5)


def test_scores_that_others_read_are_left() -> None:
    text = PLAIN.text.replace(
        "-> tensor<2x16x8xf32> {", "-> (tensor<2x16x8xf32>, tensor<2x16x16xf32>) {", 1
    ).replace(
        "return %result : tensor<2x16x8xf32>",
        "return %result, %weights : tensor<2x16x8xf32>, tensor<2x16x16xf32>",
    )
    module = Module.parse(text)
    lower_to_llvm(module.ir, stages=("linalg",))
    report = gather_attention(module)
    assert report.left == {"attention": {"the scores or weights are read by other ops"}}


def test_gathered_ops_stand_together_with_destinations_of_their_own() -> None:
    module = Module.parse(AttentionText(sizes(q=16, k=16, e=16), mask="qk").text)
    lower_to_llvm(module.ir, stages=("linalg",))
    (main,) = module.ir.body.operations
    ops = [op.operation for op in main.regions[0].blocks[0].operations]
    written = [
        op.operands[len(op.operands) - 1]
        for op in ops
        if op.name in ("linalg.generic", "linalg.contract")
    ]
    empty = [value for value in written if comes_of(value, "tensor.empty")]
    assert len(empty) == len({value.get_name() for value in empty}) >= 5


def test_gathering_leaves_what_is_computed_as_it_is() -> None:
    one = AttentionText(sizes(q=20, k=30), mask="qk", causal=True)
    module = Module.parse(one.text)
    lower_to_llvm(module.ir, stages=("linalg",))
    assert gather_attention(module).changed["attention"] == 1
    # By hand, for `lower_to_llvm` would go on to fuse it.
    with target.using("generic-x86-64"):
        compiled = kernel(str(module))
    operands = one.operands()
    np.testing.assert_allclose(compiled(*operands), one.reference(*operands), rtol=1e-4, atol=1e-5)


def test_a_plan_says_what_it_does() -> None:
    module = Module.parse(AttentionText(sizes(b=8, q=512, k=512, d=64, e=64)).text)
    with target.using("avx2"):
        lower_to_llvm(module.ir, stages=("linalg", "buffers"))
        assert fuse_attention(module).changed["attention"] == 1
    text = str(module).replace("\\0A", "\n")
    assert "queries    512, by 516 and 24" in text or "queries    512, by" in text
    assert "keys       512, by" in text


@pytest.mark.parametrize("path", module_params("*attention.mlir"))
def test_exported_modules(path: Path) -> None:
    compiled = kernel(path.read_text())
    # Its heads have 4 elements and 16 queries.
    is_short = "mingpt" in path.name and this_machine().vector_bytes > 16
    is_softmax = "relu" not in path.name
    is_fused = "linalg_ext_attention" in compiled.as_text("loops")
    assert is_fused == (is_softmax and not is_short)


@pytest.mark.parametrize(("keys", "is_fused"), [(16, False), (512, True)])
def test_vectors_that_are_filled_in_part_are_repaid_by_many_scores(
    keys: int, is_fused: bool
) -> None:
    elements = this_machine().vector_bytes // 8
    one = AttentionText(sizes(b=1, q=keys, k=keys, d=16, e=elements))
    assert ("linalg_ext_attention" in kernel(one.text).as_text("loops")) == is_fused
