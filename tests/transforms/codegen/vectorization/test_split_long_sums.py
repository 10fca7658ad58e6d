"""What loops over scalars add up, in blocks: the pass, and what it leaves alone."""

from __future__ import annotations

from linalg_ext.module import Module
from linalg_ext.transforms.codegen.vectorization import split_long_sums as file


def reduction(
    operation: str, element: str, *, size: str = "9000", output: str = "", map_: str = "k"
) -> str:
    """A module that combines all elements, or those at one place of the map."""
    out = f"memref<{output}{element}>"
    dims = "k" if map_ == "k" else "m, k"
    kinds = '"reduction"' if map_ == "k" else '"parallel", "reduction"'
    return f"""
    func.func @f(%a: memref<{size}x{element}>, %c: {out}) {{
      linalg.generic {{indexing_maps = [affine_map<({dims}) -> ({map_})>,
                                        affine_map<({dims}) -> ({"m" if output else ""})>],
                       iterator_types = [{kinds}]}}
          ins(%a : memref<{size}x{element}>) outs(%c : {out}) {{
      ^bb0(%x: {element}, %old: {element}):
        %s = {operation} %old, %x : {element}
        linalg.yield %s : {element}
      }}
      return
    }}"""


def changed(text: str) -> bool:
    return bool(file.split_long_sums(Module.parse(text, trusted=True)))


def test_sums_of_floats_and_of_complex_numbers_are_split() -> None:
    assert changed(reduction("arith.addf", "f32"))
    assert changed(reduction("arith.addf", "f64", size="?"))
    assert changed(reduction("complex.add", "complex<f32>"))
    assert changed(reduction("complex.add", "complex<f64>", size="?"))


def test_what_loses_nothing_or_keeps_its_order_is_not() -> None:
    assert not changed(reduction("arith.addf", "f32", size="64"))
    assert not changed(reduction("arith.mulf", "f32"))
    assert not changed(reduction("arith.maximumf", "f32"))
    assert not changed(reduction("arith.addi", "i32"))
    assert not changed(reduction("arith.addf", "f16"))
    assert not changed(reduction("arith.addf", "bf16"))
