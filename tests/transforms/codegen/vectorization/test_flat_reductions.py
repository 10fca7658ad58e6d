"""Reductions over several loops as one: of short rows, and of places in all of an array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from examples import examples
from linalg_ext.bindings import ir
from linalg_ext.module import Module
from linalg_ext.transforms.codegen.vectorization import _flat_reductions as file
from linalg_ext.transforms.codegen.vectorization._flat_reductions import flat_reduction
from linalg_ext.transforms.ir_utils.walking import operations

RANDOM = np.random.default_rng(5)

SUM = """
    ^bb0(%x: f32, %old: f32):
      %s = arith.addf %old, %x : f32
      linalg.yield %s : f32
    }"""


def flattened(text: str) -> Module:
    module = Module.parse(text, trusted=True)
    with module.ir.context, ir.Location.unknown():
        for op in operations(module.ir.operation, {"linalg.generic"}):
            flat_reduction(op)
    module.ir.operation.verify()
    return module


def test_the_example() -> None:
    ((before, after),) = examples(file)
    around = "func.func @f(%a: memref<30000x2xf32>, %c: memref<f32>) {{\n{}\nreturn\n}}"
    texts = [around.format(part.replace("{...}", "{" + SUM)) for part in (before, after)]
    assert str(flattened(texts[0])) == str(Module.parse(texts[1], trusted=True))


def loops_of(text: str) -> list[int]:
    """The number of loops of each generic."""
    return [
        len(ir.ArrayAttr(op.attributes["iterator_types"]))
        for op in operations(flattened(text).ir.operation, {"linalg.generic"})
    ]


def summed(type_: str, kinds: str = "reduction reduction", result: str = "") -> str:
    rank = len(kinds.split())
    loops = ", ".join(f"d{number}" for number in range(rank))
    iterators = ", ".join(f'"{kind}"' for kind in kinds.split())
    dims = "?x" if result else ""
    return f"""
    func.func @f(%a: {type_}, %c: memref<{dims}f32>) {{
      linalg.generic {{indexing_maps = [affine_map<({loops}) -> ({loops})>,
                                       affine_map<({loops}) -> ({result})>],
                      iterator_types = [{iterators}]}}
          ins(%a : {type_}) outs(%c : memref<{dims}f32>) {{{SUM}
      return
    }}"""


def test_what_is_left() -> None:
    assert loops_of(summed("memref<70x5x2x3xf32>", "reduction " * 4)) == [3], (
        "joined are long enough"
    )
    assert loops_of(summed("memref<?x3xf32>")) == [1]
    assert loops_of(summed("memref<70x8xf32>")) == [2], "the loop over vectors joins them itself"
    assert loops_of(summed("memref<70x2xf32, strided<[5, 1]>>")) == [2]
    assert loops_of(summed("memref<70x2xf32, strided<[1, 70]>>")) == [2]
    assert loops_of(summed("memref<?x70x2xf32>", "parallel reduction reduction", "d0")) == [2]
    assert loops_of(summed("memref<70x?x2xf32>", "reduction parallel reduction", "d1")) == [3]


@pytest.mark.parametrize("shape", [(70, 2), (5, 7, 3), (40, 8), (6, 50), (3, 1, 4, 2)])
@pytest.mark.parametrize("function", [np.argmax, np.argmin])
def test_places_in_all_of_an_array(function: Any, shape: tuple[int, ...]) -> None:
    x = RANDOM.integers(-9, 9, shape).astype(np.float32)
    for given in (x, x.T, np.where(x == 3, np.nan, x).astype(np.float32)):
        assert lx.jit(function)(given) == function(given)
        assert lx.jit(lambda x: function(x * x - x))(given) == function(given * given - given)


def test_places_are_found_as_those_of_one_row() -> None:
    def loops(*shape: int) -> int:
        kernel = lx.jit(lambda x: x.argmax()).lower(np.ones(shape, np.float32)).compile().kernel
        return str(kernel.as_text("loops")).count("scf.for")

    assert loops(60, 20) == loops(5, 12, 20) == loops(1200)
