"""Results that the caches cannot hold are stored past them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import linalg_ext as lx
from kernels import kernel
from linalg_ext.compiler import code_generation
from linalg_ext.transforms.codegen.base.machine import this_machine
from linalg_ext.transforms.codegen.vectorization import _vector_loop
from linalg_ext.transforms.pipelines import lower_to_llvm
from loop_texts import function, generic


@pytest.mark.parametrize("offset", range(0, 20, 3))
@pytest.mark.parametrize("columns", [1, 15, 16, 64, 200, 1031])
def test_stores_past_the_caches(offset: int, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = replace(this_machine(), l3_bytes=1)
    monkeypatch.setattr(_vector_loop, "this_machine", lambda: machine)
    type_ = f"memref<3x{columns}xf32>"
    operands = [("%a", type_), ("%b", f"memref<{columns}xf32>"), ("%o", type_)]
    body = "%r = arith.addf %in0, %in1 : f32"
    text = function(operands, generic(["i, j", "j", "i, j"], ["parallel"] * 2, operands, body))
    run = kernel(text)
    if columns >= machine.vector_bytes // 4:
        assert "nontemporal" in run.as_text("loops")
    rng = np.random.default_rng(0)
    memory = np.full(3 * columns + 64, 7, np.float32)
    out = memory[offset : offset + 3 * columns].reshape(3, columns)
    a, b = (rng.normal(size=shape).astype(np.float32) for shape in (out.shape, columns))
    run(a, b, out)
    np.testing.assert_array_equal(out, a + b)
    assert (memory[:offset] == 7).all()
    assert (memory[offset + out.size :] == 7).all()


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("columns", [1031, 4096])
def test_slices_too_are_stored_past_the_caches(
    threads: int, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What counts is the size of the whole, and where a slice starts only the run tells."""
    machine = replace(this_machine(), l3_bytes=4 * 1024 * columns - 1)
    monkeypatch.setattr(_vector_loop, "this_machine", lambda: machine)
    texts: list[str] = []
    monkeypatch.setattr(
        code_generation,
        "lower_to_llvm",
        lambda module, **options: lower_to_llvm(
            module, **{**options, "on_stage": lambda _, now: texts.append(str(now))}
        ),
    )
    x = np.random.default_rng(0).normal(size=(1024, columns)).astype(np.float32)
    with lx.threads(1):
        run = lx.jit(lambda x: x * x + x).lower(x).compile()
    assert run.direct is not None
    texts.clear()
    np.testing.assert_array_equal(run(x, threads=threads), run(x, threads=1))
    assert "nontemporal" in texts[0]
