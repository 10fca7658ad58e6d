"""A long entry is compiled in parts; a short one, and short loops of a long one, stay."""

from __future__ import annotations

import re

import numpy as np
import pytest

import linalg_ext as lx
from examples import examples
from linalg_ext.module import Module
from linalg_ext.transforms.parallel import outline_long_entries as file


@pytest.mark.parametrize("limits", [{"least": 1}, {"longest": 0}])
def test_what_is_short_stays(limits: dict[str, int]) -> None:
    module = Module.parse(examples(file)[0][0], trusted=True)
    assert not file.outline_long_entries(module, **limits)


def tiled(count: int) -> Module:
    """Products of matrices of several sizes, each in loops over tiles that do not divide it."""
    shape = "tensor<{0}x{1}xf32>".format
    sizes = [11 + 2 * (number % 7) for number in range(count + 1)]
    arguments = ["%x0: " + shape(5, sizes[0])]
    arguments += [f"%w{n}: {shape(sizes[n], sizes[n + 1])}" for n in range(count)]
    lines = ["%z = arith.constant 0.0 : f32"]
    for n in range(count):
        made, weight = shape(5, sizes[n + 1]), shape(sizes[n], sizes[n + 1])
        lines += [
            f"%e{n} = tensor.empty() : {made}",
            f"%f{n} = linalg.fill ins(%z : f32) outs(%e{n} : {made}) -> {made}",
            f"%x{n + 1} = linalg.matmul ins(%x{n}, %w{n} : {shape(5, sizes[n])}, {weight})"
            f" outs(%f{n} : {made}) -> {made}",
        ]
    result = shape(5, sizes[count])
    body = "\n".join([*lines, f"return %x{count} : {result}"])
    module = Module.parse(
        f"func.func @main({', '.join(arguments)}) -> {result} {{\n{body}\n}}", trusted=True
    )
    for number in range(count):
        lx.Schedule(module).match("matmul", position=number).tile([3, 4, 5])
    return module


def test_a_long_entry_is_made_in_parts_and_keeps_the_numbers() -> None:
    count = 24
    module = tiled(count)
    kernel = lx.compile(module, entry="main")
    rng = np.random.default_rng(0)
    types = re.findall(r"%\w+: tensor<(\d+)x(\d+)xf32>", str(module))
    arrays = [rng.standard_normal(tuple(map(int, each)), np.float32) / 4 for each in types]
    arrays = arrays[: count + 1]
    wanted = np.linalg.multi_dot([array.astype(np.float64) for array in arrays])
    np.testing.assert_allclose(kernel(*arrays), wanted, rtol=1e-3, atol=1e-3 * abs(wanted).max())
    parts = re.findall(r"llvm.func internal (?:\w+ )*@linalg_ext_loops_\d+", kernel.as_text("llvm"))
    assert len(parts) > count / 3
