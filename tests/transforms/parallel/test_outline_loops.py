"""Loops that are alike are one function; a long entry is compiled in parts, a short one stays."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from examples import examples
from linalg_ext.module import Module
from linalg_ext.transforms.parallel import outline_loops as file


def _second_loop_changed(old: str, new: str) -> Module:
    """Return the entry of the example, with a text in the second of its two loops replaced."""
    before, loop, second = examples(file)[0][0].rpartition("scf.for")
    return Module.parse(before + loop + second.replace(old, new), trusted=True)


@pytest.mark.parametrize("limits", [{}, {"least": 1}, {"longest": 0}])
@pytest.mark.parametrize(("old", "new"), [("addf", "mulf"), ("to %c8", "to %c1")])
def test_loops_that_differ_stay_in_a_short_entry(
    old: str, new: str, limits: dict[str, int]
) -> None:
    assert not file.outline_loops(_second_loop_changed(old, new), **limits)


def test_each_loop_of_a_long_entry_is_a_function() -> None:
    module = _second_loop_changed("addf", "mulf")
    assert file.outline_loops(module, longest=0, least=1)
    text = str(module)
    entry, *functions = re.split(r"func\.func (?=private @linalg_ext_loops_\d)", text)
    assert "scf.for" not in entry
    assert re.findall(r"call @(\w+)", entry) == ["linalg_ext_loops_0", "linalg_ext_loops_1"]
    assert ["arith.addf" in function for function in functions] == [True, False]
    assert ["arith.mulf" in function for function in functions] == [False, True]


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
    assert not file.outline_loops(module)


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
