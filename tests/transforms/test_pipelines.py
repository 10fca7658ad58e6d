"""The way down as a whole: its stages, and what it tells about the result."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
import pytest

from kernels import kernel
from linalg_ext import errors, samples
from linalg_ext.module import Module
from linalg_ext.rewriting.registry import all_passes
from linalg_ext.rewriting.transformation import Transformation
from linalg_ext.transforms import legalization, pipelines
from linalg_ext.transforms.llvm.report_failures import MESSAGES

ENTRY = """
func.func @f(%a: memref<4xf32>, %i: index, %status: memref<1xi64>)
    attributes {linalg_ext.status, llvm.emit_c_interface} {
  %c4 = arith.constant 4 : index
  %inside = arith.cmpi ult, %i, %c4 : index
  cf.assert %inside, "outside"
  %b = memref.alloc(%i) : memref<?xf32>
  linalg.exp ins(%a : memref<4xf32>) outs(%a : memref<4xf32>)
  %x = memref.load %a[%i] : memref<4xf32>
  memref.store %x, %b[%i] : memref<?xf32>
  %y = memref.load %b[%i] : memref<?xf32>
  memref.store %y, %a[%i] : memref<4xf32>
  return
}
"""


def test_the_stages_and_what_is_told() -> None:
    module = Module.parse(ENTRY, trusted=True)
    texts: dict[str, str] = {}
    info = pipelines.lower_to_llvm(
        module.ir, on_stage=lambda name, now: texts.update({name: pipelines.stage_text(now)})
    )
    assert list(texts) == list(pipelines.PIPELINES) == ["linalg", "buffers", "loops", "llvm"]
    assert "linalg.generic" in texts["linalg"]
    assert "memref.dealloc" in texts["buffers"]
    assert "linalg.generic" not in texts["loops"]
    assert set(re.findall(r"\b([a-z]+)\.\w+", texts["llvm"])) <= {"llvm", "ir", "linalg_ext"}
    assert "outside" in info.assertions
    assert info.out_of_memory == 1 + info.assertions.index(
        "out of memory: an intermediate buffer could not be allocated"
    )
    assert MESSAGES not in module.ir.operation.attributes
    assert info.instructions > 20
    assert list(info.seconds) == list(texts)


def test_each_stage_goes_by_a_name() -> None:
    module = Module.parse(ENTRY, trusted=True)
    for stage in pipelines.PIPELINES:
        assert f"linalg-ext-stage-{stage}" in all_passes()
        module.run(f"linalg-ext-stage-{stage}")
    assert "llvm.func" in str(module)


def test_the_way_down_can_be_told_on_one_page() -> None:
    assert sum(map(len, pipelines.PHASES.values())) <= 100


OTHERS_IN_USE = {
    # A group may ask for tiles.
    "linalg-ext-outline-groups": {"linalg-ext-tile-and-fuse"},
    # One walk builds the lowerings of all ops; a sort asks how much of it is read.
    "linalg-ext-lower-destination-ops": {
        "linalg-ext-lower-scan",
        "linalg-ext-lower-sort",
        "linalg-ext-slice-producers",
    },
    # A slice is a consumer, too.
    "linalg-ext-fuse-producers": {"linalg-ext-slice-producers"},
    # Complex products are packed as products of their parts.
    "linalg-ext-pack-contractions": {"linalg-ext-split-complex-products"},
}
"""Passes of the way down whose files use others, and these others."""


def test_no_pass_of_the_way_down_is_a_row_of_others() -> None:
    names = re.findall(r"linalg-ext-[\w-]+", " ".join(chain(*pipelines.PHASES.values())))
    in_use = {}
    for name in names:
        file = sys.modules[function_of(name).__module__]
        passes = [value for value in vars(file).values() if isinstance(value, Transformation)]
        others = {each.pass_name for each in passes if each.function.__module__ != file.__name__}
        if others:
            in_use[name] = others
    assert in_use == OTHERS_IN_USE


def function_of(name: str) -> Callable[..., Any]:
    found = all_passes()[name]
    assert isinstance(found, Transformation)
    return found.function


def test_checks_run_nothing_twice() -> None:
    assert len(set(pipelines.CHECKS)) == len(pipelines.CHECKS)
    assert pipelines.CHECKS.index("linalg-ext-check-sizes") == len(legalization.OUTLINING)
    rest = pipelines.after_checks("linalg")
    assert rest == (*legalization.DESTINATION_OPS, *pipelines.PHASES["fusion"])


def test_a_failing_pass_is_named() -> None:
    text = """
    func.func @f(%a: tensor<*xf32>) -> tensor<*xf32> {
      %0 = arith.addf %a, %a : tensor<*xf32>
      return %0 : tensor<*xf32>
    }"""
    with pytest.raises(errors.LinalgExtError, match=r"pass [\w-]+|no lowering"):
        pipelines.lower_to_llvm(Module.parse(text, trusted=True).ir)


def test_large_constants_are_elided_in_texts() -> None:
    text = (
        "func.func @f() -> tensor<64xi32> { %0 = arith.constant dense<[CONTENT]> : tensor<64xi32>"
    )
    text = text.replace("CONTENT", ", ".join(map(str, range(64)))) + " return %0 : tensor<64xi32> }"
    module = Module.parse(text, trusted=True)
    assert "dense_resource<__elided__>" in pipelines.stage_text(module.ir)
    assert len(pipelines.stage_text(module.ir)) < 300


@pytest.mark.parametrize("name", ["causal_attention", "gemm_swish_clamp_tanh"])
@pytest.mark.parametrize("checked", [True, False])
def test_models(name: str, checked: bool) -> None:
    sample = samples.load(name)
    run = kernel(sample.text, checked=checked, opt_level=None)
    made = run(*sample.inputs)
    np.testing.assert_allclose(made, sample.outputs[0], rtol=1e-4, atol=1e-5)
    # What is known is not checked at run time.
    assert len(run.as_text("linalg")) < 60_000


def test_checks_survive_folding() -> None:
    text = """
    func.func @f(%a: tensor<?xf32>, %b: tensor<?xf32>, %i: index) -> f32 {
      %0 = arith.addf %a, %b : tensor<?xf32>
      %x = tensor.extract %0[%i] : tensor<?xf32>
      return %x : f32
    }"""
    run = kernel(text, checked=True)
    long, short = np.ones(1 << 20, np.float32), np.ones(2, np.float32)
    assert run(short, short, 1) == 2
    with pytest.raises(errors.ExecutionError):
        run(long, short, 1)
    with pytest.raises(errors.ExecutionError):
        run(short, short, 2)
