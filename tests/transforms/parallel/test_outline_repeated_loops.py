"""Loops that are alike are one function; what comes after is done once for all of them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from examples import examples
from linalg_ext.module import Module
from linalg_ext.transforms.parallel import outline_repeated_loops as file


@pytest.mark.parametrize(("old", "new"), [("addf", "mulf"), ("to %c8", "to %c1")])
def test_loops_that_differ_stay(old: str, new: str) -> None:
    before, loop, second = examples(file)[0][0].rpartition("scf.for")
    module = Module.parse(before + loop + second.replace(old, new), trusted=True)
    assert not file.outline_repeated_loops(module)


def test_a_loop_that_gives_a_value_stays() -> None:
    body = """
    %{0} = scf.for %i = %c0 to %c8 step %c1 iter_args(%s = %zero) -> (f32) {{
      %x = memref.load %a[%i] : memref<8xf32>
      %t = arith.addf %s, %x : f32
      scf.yield %t : f32
    }}
    memref.store %{0}, %a[%c0] : memref<8xf32>"""
    module = Module.parse(
        f"""
    func.func @entry(%a: memref<8xf32>, %status: memref<1xi64>) attributes {{linalg_ext.status}} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      %zero = arith.constant 0.0 : f32
      {body.format("r")} {body.format("s")}
      return
    }}""",
        trusted=True,
    )
    assert not file.outline_repeated_loops(module)


def layers(count: int) -> Any:
    """Layers of a product and a norm of rows, each with weights of its own."""

    def model(x: Any, *weights: Any) -> Any:
        for weight in weights:
            x = x @ weight
            x = x - np.mean(x, axis=1, keepdims=True)
            x = x / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + 1e-5)
        return x

    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((24, 40), np.float32)]
    arrays += [rng.standard_normal((40, 40), np.float32) for _ in range(count)]
    return model, arrays


def _functions(kernel: Any, stage: str) -> list[str]:
    return re.findall(r"func(?: internal)? (?:private )?@(linalg_ext_\w+)\(", kernel.as_text(stage))


def test_layers_share_their_functions() -> None:
    """Their number grows with the kinds of layers, not with layers; the numbers are right."""
    found = []
    for count in (4, 8):
        model, arrays = layers(count)
        kernel = lx.jit(model).lower(*arrays).compile()
        wanted = model(*(array.astype(np.float64) for array in arrays))
        np.testing.assert_allclose(kernel(*arrays), wanted, rtol=1e-3, atol=1e-4)
        found.append({stage: _functions(kernel, stage) for stage in ("loops", "llvm")})
    assert found[0] == found[1]
    kinds = {name.rpartition("_")[0] for name in found[1]["llvm"]}
    assert kinds == {"linalg_ext_contraction", "linalg_ext_part"}, "they are inlined again"


def test_slices_share_their_functions() -> None:
    model, arrays = layers(6)
    with lx.threads.using(2):
        found = lx.jit(model)(*arrays)
    with lx.threads.using(1):
        np.testing.assert_allclose(found, lx.jit(model)(*arrays), rtol=1e-4, atol=1e-5)
