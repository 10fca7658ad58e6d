"""LLVM leaves loops over vectors rolled, and no others."""

from __future__ import annotations

import numpy as np
import pytest

import linalg_ext as lx
from examples import examples
from linalg_ext.module import Module
from linalg_ext.transforms.llvm import keep_loops_rolled as file


@pytest.mark.parametrize(("rounds", "is_rolled"), [(8, False), (9, True)])
def test_loops_of_few_rounds_are_left_to_llvm(rounds: int, is_rolled: bool) -> None:
    text = examples(file)[0][0].replace("scf.for %i = %c0 to %n", "scf.for %i = %c0 to %end")
    text = text.replace("%c0 =", f"%end = arith.constant {8 * rounds} : index\n%c0 =")
    assert bool(file.keep_loops_rolled(Module.parse(text, trusted=True))) is is_rolled


def test_loops_over_scalars_are_left_to_llvm() -> None:
    text = examples(file)[0][0].replace("vector.load", "memref.load").replace(", vector<8xf32>", "")
    text = text.replace("vector.store", "memref.store").replace(": vector<8xf32>", ": f32")
    assert not file.keep_loops_rolled(Module.parse(text, trusted=True))


def test_the_code_has_one_copy_of_the_round() -> None:
    """Unrolled, there are eight or more of each."""
    x = np.ones(1 << 16, np.float32)
    with lx.target.using("avx512"):
        kernel = lx.jit(lambda x: x + 1).lower(x).compile()
    assert "loop_annotation" in kernel.as_text("llvm")
    assert 1 <= kernel.asm().count("vaddps") <= 4


@pytest.mark.parametrize(("length", "copies"), [(1, 4), (40, 2), (60, 1)])
def test_short_sums_get_a_few_copies(length: int, copies: int) -> None:
    rows = "\n".join(f"%s{i + 1} = arith.addf %s{i}, %v : vector<8xf32>" for i in range(length))
    text = f"""
    func.func @f(%x: memref<4096xf32>, %zero: vector<8xf32>, %n: index) -> vector<8xf32> {{
      %c0 = arith.constant 0 : index
      %c8 = arith.constant 8 : index
      %sum = scf.for %i = %c0 to %n step %c8 iter_args(%s0 = %zero) -> vector<8xf32> {{
        %v = vector.load %x[%i] : memref<4096xf32>, vector<8xf32>
        {rows}
        scf.yield %s{length} : vector<8xf32>
      }}
      return %sum : vector<8xf32>
    }}
    """
    module = Module.parse(text, trusted=True)
    file.keep_loops_rolled(module)
    unroll = f"count = {copies} : i32" if copies > 1 else "disable = true"
    assert f"#llvm.loop_unroll<{unroll}>" in str(module)
