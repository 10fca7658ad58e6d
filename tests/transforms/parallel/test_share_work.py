"""The work of an entry in slices: each element is computed once, by the slice that owns it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from examples import check_documented, examples_of
from linalg_ext.compiler import code_generation
from linalg_ext.executable import code_variants
from linalg_ext.module import Module
from linalg_ext.transforms.parallel import _partition
from linalg_ext.transforms.parallel import share_work as file
from linalg_ext.transforms.parallel._partition import Cut, cut_into
from linalg_ext.transforms.pipelines import lower_to_llvm

Array = np.ndarray[Any, Any]
ops: Any = lx.ops


def array(*shape: int, dtype: Any = np.float32) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


CASES: dict[str, tuple[Any, tuple[Array, ...]]] = {
    "element-wise": (lambda x, y: x * y + x, (array(37, 5), array(37, 5))),
    "one axis": (lambda x: ops.exp(x), (array(1003),)),
    "long": (lambda x: x + x, (array(5000),)),
    "broadcast": (lambda x, y: x + y, (array(37, 5), array(5))),
    "transposed": (lambda x: ops.transpose_2d(x) + 1.0, (array(37, 5),)),
    "matmul": (lambda x, y: x @ y, (array(33, 20), array(20, 17))),
    "matmul, bias, relu": (
        lambda x, y, z: ops.max(x @ y + z, np.zeros((33, 17), np.float32)),
        (array(33, 20), array(20, 17), array(17)),
    ),
    "two matmuls": (
        lambda x, y, z: (x @ y) @ z,
        (array(33, 20), array(20, 17), array(17, 9)),
    ),
    "a matmul of what is computed": (
        lambda x, y, z: ops.exp(x @ y) @ z,
        (array(33, 20), array(20, 17), array(17, 9)),
    ),
    "batched": (lambda x, y: ops.batch_matmul(x, y), (array(5, 6, 7), array(5, 7, 8))),
    "convolution": (
        lambda x, k: ops.conv_2d_nhwc_hwcf(x, k, strides=(2, 1), dilations=(1, 2)),
        (array(1, 19, 12, 3), array(3, 3, 3, 4)),
    ),
    "pooling": (
        lambda x: ops.pooling_nhwc_max(x, np.zeros((3, 2), np.float32), strides=(2, 2)),
        (array(2, 19, 12, 3),),
    ),
    "int8": (
        lambda x, y: x + y,
        (array(40, 9, dtype=np.int8), array(40, 9, dtype=np.int8)),
    ),
}


@pytest.fixture(autouse=True)
def _every_work_is_worth_sharing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_partition, "WORTH_SHARING", 0)
    monkeypatch.setattr(_partition, "LEAST_SLICE", 1e-3)
    monkeypatch.setattr(code_variants, "LEAST_BYTES", 0)


def test_the_example(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_partition, "LEAST_SLICE", 8_000)
    check_documented(file.share_work, examples_of(file.share_work)[0])


@pytest.mark.parametrize("threads", [2, 3, 4, 7])
@pytest.mark.parametrize("name", CASES)
def test_slices_make_up_the_whole(name: str, threads: int) -> None:
    function, arguments = CASES[name]
    kernel = lx.jit(function).lower(*arguments).compile()
    assert kernel.direct is not None
    assert kernel.direct.callee.shared is not None, "its work is not seen to be sharable"
    alone = kernel(*arguments, threads=1)
    out = np.full_like(alone, 77)
    shared = kernel(*arguments, out=out, threads=threads)
    assert kernel.direct.callee.shared.for_threads(threads) is not None
    np.testing.assert_allclose(shared, alone, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(kernel(*arguments, threads=threads), shared)


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_results_that_share_nothing(threads: int) -> None:
    x = array(37, 20)
    kernel = lx.jit(lambda x: (x + x, ops.row_sum(x))).lower(x).compile().kernel
    assert kernel.shared is not None
    assert kernel.shared.for_threads(threads) is not None
    doubled, sums = kernel(x, threads=threads)
    np.testing.assert_array_equal(doubled, x + x)
    np.testing.assert_allclose(sums, x.sum(1), rtol=1e-5)


def test_a_slice_knows_that_it_starts_from_zeros(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it would write zeros first, and read them again."""
    texts: list[str] = []

    def lower(module: Any, **keywords: Any) -> Any:
        keywords["on_stage"] = lambda _, stage: texts.append(str(stage))
        return lower_to_llvm(module, **keywords)

    with lx.threads(1):
        kernel = lx.jit(lambda x, y: x @ y).lower(array(64, 64), array(64, 64)).compile()
    monkeypatch.setattr(code_generation, "lower_to_llvm", lower)
    assert kernel.direct is not None
    assert kernel.direct.callee.shared is not None
    assert kernel.direct.callee.shared.for_threads(2) is not None
    assert "overwritten" in texts[0]
    assert "added to" not in texts[0]


def test_slices_have_a_part_each_of_the_last_cache() -> None:
    """All of them pack at once: their panels together are as large as the one of a single core."""
    text = """
    func.func @entry(%a: memref<16000x512xf32>, %b: memref<512x4000xf32>,
                     %c: memref<16000x4000xf32>, %status: memref<1xi64>)
        attributes {linalg_ext.status} {
      linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
                                       affine_map<(m, n, k) -> (k, n)>,
                                       affine_map<(m, n, k) -> (m, n)>],
                      iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : memref<16000x512xf32>, memref<512x4000xf32>)
        outs(%c : memref<16000x4000xf32>) {
      ^bb0(%x: f32, %y: f32, %z: f32):
        %p = arith.mulf %x, %y : f32
        %s = arith.addf %z, %p : f32
        linalg.yield %s : f32
      }
      return
    }"""
    limit = lx.target.current().cache(3).size // 4
    for slices in (1, 2, 8):
        module = Module.parse(text, trusted=True)
        lx.transforms.share_work(module, threads=slices)
        lx.transforms.pack_contractions(module)
        panels = [
            int(size) for size in re.findall(r"memref.alloc\(\).*memref<(\d+)xf32>", str(module))
        ]
        assert slices * 4 * max(panels) <= limit * 1.1


STRIDED = """
func.func @product(%a: memref<24x40xf32, strided<[1, 50], offset: 0>>, %b: memref<40x33xf32>,
                   %c: memref<24x33xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<24x33xf32>)
  linalg.matmul ins(%a, %b : memref<24x40xf32, strided<[1, 50], offset: 0>>, memref<40x33xf32>)
                outs(%c : memref<24x33xf32>)
  return
}
"""


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_arguments_that_go_the_long_way(threads: int) -> None:
    kernel = lx.compile(STRIDED)
    assert kernel.direct is None
    assert kernel.shared is not None
    a, b = array(40, 50)[:, :24].T, array(40, 33)
    assert (kernel.shared.for_threads(threads) is None) == (threads == 1)
    c = np.full((24, 33), np.nan, np.float32)
    for _ in range(3):
        kernel(a, b, c, threads=threads)
        np.testing.assert_allclose(c, a @ b, rtol=1e-5, atol=1e-5)


COPY = """
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<8x8xf32>) outs(%b : memref<8x8xf32>) {
      ^bb0(%x: f32, %y: f32): linalg.yield %x : f32 }
"""

LEFT = {
    "one buffer in two views": (
        """
        %v = memref.subview %b[1, 0] [7, 8] [1, 1]
          : memref<8x8xf32> to memref<7x8xf32, strided<[8, 1], offset: 8>>
        %w = memref.subview %b[0, 0] [7, 8] [1, 1]
          : memref<8x8xf32> to memref<7x8xf32, strided<[8, 1]>>
        memref.copy %v, %w : memref<7x8xf32, strided<[8, 1], offset: 8>>
          to memref<7x8xf32, strided<[8, 1]>>
        """,
        "along one axis of the written memory alone",
    ),
    "a sum over all": (
        """
        linalg.generic {indexing_maps = [#id, #sc], iterator_types = ["reduction", "reduction"]}
          ins(%a : memref<8x8xf32>) outs(%c : memref<f32>) {
          ^bb0(%x: f32, %y: f32):
            %s = arith.addf %x, %y : f32
            linalg.yield %s : f32 }
        """,
        "along one axis of the written memory alone",
    ),
    "a read of a neighbour": (
        """
        linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
          ins(%a : memref<8x8xf32>) outs(%b : memref<8x8xf32>) {
          ^bb0(%x: f32, %y: f32):
            %s = memref.load %b[%c0, %c0] : memref<8x8xf32>
            linalg.yield %s : f32 }
        """,
        "not its operands",
    ),
    "a load": ("%v = memref.load %a[%c0, %c0] : memref<8x8xf32>", "memref.load"),
    "nothing": ("", "no structured op"),
    "positions of both loops": (
        """
        linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]}
          outs(%b : memref<8x8xf32>) {
          ^bb0(%y: f32):
            %i = linalg.index 0 : index
            %j = linalg.index 1 : index
            %k = arith.addi %i, %j : index
            %l = arith.index_cast %k : index to i64
            %s = arith.sitofp %l : i64 to f32
            linalg.yield %s : f32 }
        """,
        "along one axis of the written memory alone",
    ),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_cannot_be_cut_is_left_with_its_reason(name: str) -> None:
    body, reason = LEFT[name]
    module = _entry(body)
    before = str(module)
    report = lx.transforms.share_work(module, threads=2)
    assert not report
    assert reason in repr(report)
    assert str(module) == before


def test_a_loop_whose_position_is_asked_is_not_cut() -> None:
    module = _entry(LEFT["positions of both loops"][0].replace("linalg.index 1", "linalg.index 0"))
    assert lx.transforms.share_work(module, threads=2)
    assert "memref<8x1xf32" in str(module)


@pytest.mark.parametrize("target", ["generic-x86-64", "avx2", "avx512"])
def test_elements_may_be_wider_than_a_register(target: str) -> None:
    type_ = "memref<40xvector<16xf64>>"
    text = f"func.func @f(%x: {type_}) -> {type_} {{ return %x : {type_} }}"
    with lx.target.using(target):
        module = Module.parse(lx.compile(text).as_text("buffers"), trusted=True)
        assert lx.transforms.share_work(module, threads=2)
    assert "linalg_ext.slices" in str(module)


def test_never_more_slices_than_steps() -> None:
    module = _entry(COPY)
    assert lx.transforms.share_work(module, threads=9)
    assert "linalg_ext.slices = 8" in str(module)


def test_a_row_that_ends_where_the_buffer_of_another_one_goes() -> None:
    through = COPY.replace("%b : memref", "%t : memref") + COPY.replace(
        "%a : memref", "%t : memref"
    )
    module = _entry(
        f"""
        %t = memref.alloc() : memref<8x8xf32>
        {through}
        %v = memref.load %a[%c0, %c0] : memref<8x8xf32>
        memref.store %v, %c[] : memref<f32>
        {COPY}
        memref.dealloc %t : memref<8x8xf32>
        """
    )
    assert lx.transforms.share_work(module, threads=2).changed["linalg"] == 2
    module.verify()
    assert re.findall("memref.store|scf.forall|return", str(module)) == [
        *("scf.forall", "memref.store", "scf.forall", "return")
    ]


@pytest.mark.parametrize("granule", [1, 4])
@pytest.mark.parametrize("extent", [*range(2, 60), 127, 128, 129, 1000])
def test_slices_are_of_nearly_one_size(extent: int, granule: int) -> None:
    for slices in range(2, min(extent, 70) + 1):
        cut = cut_into(extent, granule, slices)
        assert cut.size * (cut.slices - 1) + cut.last == extent
        assert 1 <= cut.last <= cut.size
        assert cut.slices <= slices
        assert cut.size < (extent / slices + 1) * (1 + 1 / 16)


def test_long_slices_begin_where_a_cache_line_does() -> None:
    assert cut_into(1000, 16, 2) == Cut(slices=2, size=512, last=488)
    assert cut_into(1000, 16, 7) == Cut(slices=7, size=143, last=142)


@pytest.mark.parametrize(("m", "n", "halves"), [(16, 512, "16x256"), (512, 16, "256x16")])
def test_what_every_slice_would_reach_again_is_cut(m: int, n: int, halves: str) -> None:
    kernel = lx.jit(lambda x, y: x @ y).lower(array(m, 256), array(256, n)).compile()
    module = Module.parse(kernel.as_text("buffers"), trusted=True)
    assert lx.transforms.share_work(module, threads=2)
    written = re.findall(r"outs\(%\S+ : memref<(\d+x\d+)xf32", str(module))
    assert set(written) == {halves}


def _entry(body: str) -> Module:
    text = f"""
    #id = affine_map<(m, n) -> (m, n)>
    #tr = affine_map<(m, n) -> (n, m)>
    #sc = affine_map<(m, n) -> ()>
    func.func @entry(%a: memref<8x8xf32>, %b: memref<8x8xf32>, %c: memref<f32>,
                     %status: memref<1xi64>) attributes {{linalg_ext.status}} {{
      %c0 = arith.constant 0 : index
      {body}
      return
    }}"""
    return Module.parse(text, trusted=True)
