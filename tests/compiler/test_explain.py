"""What a kernel says of its plans, in a file, in a terminal and on the command line."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import linalg_ext as lx
from linalg_ext.cli import main
from linalg_ext.errors import ArgumentError
from linalg_ext.transforms.codegen.contractions.plan_selection import _compared


def biased(a: Any, b: Any, c: Any) -> Any:
    return lx.ops.relu(lx.ops.add(lx.ops.matmul(a, b), c, broadcast_rhs=[0]))


def softmax(x: Any) -> Any:
    e = lx.ops.exp(lx.ops.sub(x, lx.ops.row_max(x), broadcast_rhs=[1]))
    return lx.ops.div(e, lx.ops.row_sum(e), broadcast_rhs=[1])


def test_a_contraction_and_what_is_fused_into_it() -> None:
    a, b, c = (np.ones(shape, np.float32) for shape in ((200, 300), (300, 400), (400,)))
    explanation = lx.jit(biased).explain(a, b, c)
    text = str(explanation)
    (contraction,) = explanation.decisions
    rows = dict(contraction.rows())
    assert text.startswith("kernel biased(tensor<200x300xf32>")
    assert "contraction @linalg_ext_contraction_0\n" in text
    assert rows["rows"].endswith(":200")
    assert rows["depth"].endswith(":300")
    assert rows["epilogue"].startswith("addf maximumf")
    assert rows["work"].startswith("48 M flops on 1016 KiB")
    assert "products" in rows["model"]
    assert "packing" in rows["model"]
    assert "by the estimate" in rows["not"]
    assert explanation.target == lx.target.current()


@pytest.mark.parametrize(
    ("relative", "told"),
    [
        (0.74, "26% faster, by the estimate alone; `tune=True` measures it"),
        (1.004, "about as fast, by the estimate"),
        (1.5, "50% slower, by the estimate"),
    ],
)
def test_a_plan_that_was_not_taken_is_compared_in_words(relative: float, told: str) -> None:
    assert _compared(relative) == told


def test_a_chain_is_one_pass() -> None:
    explanation = lx.jit(softmax).explain(np.ones((64, 128), np.float32))
    (loops,) = explanation.decisions
    rows = loops.rows()
    assert loops.title == "loops over vectors, 6 ops in one pass"
    assert ("computes", "subf exp") in rows
    assert ("loops", "64 x 128+") in rows
    assert ("memory", "64 KiB") in rows


def test_slices_for_several_threads_have_plans_of_their_own() -> None:
    a = np.ones((640, 640), np.float32)
    kernel = lx.jit(lambda a, b: a @ b).lower(a, a).compile()
    whole, part = (dict(kernel.explain(threads).decisions[0].rows())["work"] for threads in (1, 2))
    assert whole.startswith("524 M flops")
    assert part.startswith("262 M flops")
    assert "slices" in kernel.explain(2).threads
    with pytest.raises(ArgumentError):
        kernel.explain(0)


def test_what_is_left_says_why() -> None:
    text = """func.func @f(%a: memref<8x8xf32>, %d: memref<8xf32>) {
      linalg.generic {indexing_maps = [affine_map<(i) -> (i, i)>, affine_map<(i) -> (i)>],
                      iterator_types = ["parallel"]}
        ins(%a : memref<8x8xf32>) outs(%d : memref<8xf32>) {
      ^bb0(%x: f32, %old: f32):
        linalg.yield %x : f32
      }
      return
    }"""
    assert "vectorize-loops  linalg.generic: the innermost loop does not run along memory" in str(
        lx.compile(text).explain()
    )


def test_the_target_in_force_is_the_one_explained() -> None:
    with lx.target.using("avx2"):
        kernel = lx.jit(softmax).lower(np.ones((64, 128), np.float32)).compile()
    assert "avx2: 16 vectors of 256 bits" in str(kernel.explain())
    assert "8 elements in 256 bits" in str(kernel.explain())


def test_in_a_terminal_and_in_a_notebook_it_is_a_table() -> None:
    explanation = lx.jit(softmax).explain(np.ones((64, 128), np.float32))
    console = Console(file=io.StringIO(), width=80, record=True)
    console.print(explanation)
    shown = console.export_text()
    assert "loops over vectors" in shown
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert "<pre" in explanation._repr_html_()


def test_plans_of_other_nests_are_read_from_their_functions() -> None:
    text = """
    func.func private @nest(%x: f32) -> f32 attributes {
        linalg_ext.plan = "some nest  of mine\\nblocks     3", no_inline} {
      return %x : f32
    }
    func.func @f(%x: f32) -> f32 {
      %r = call @nest(%x) : (f32) -> f32
      return %r : f32
    }"""
    (plan,) = lx.compile(text, "f").explain().decisions
    assert plan.title.startswith("nest @")
    assert list(plan.rows()) == [("some nest", "of mine"), ("blocks", "3")]


def test_the_command_explains_without_running(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.mlir"
    file.write_text(
        "func.func @f(%a: tensor<64xf32>) -> tensor<64xf32> {"
        " %r = arith.addf %a, %a : tensor<64xf32> return %r : tensor<64xf32> }"
    )
    assert main(["run", str(file), "--explain"]) == 0
    assert "loops over vectors, 1 op in one pass" in capsys.readouterr().out
