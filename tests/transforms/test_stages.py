"""The named pipelines and what `lower_to_llvm` says of its work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.bindings import ir
from linalg_ext.errors import LoweringError
from linalg_ext.rewriting.pipeline_text import NamedPipeline
from linalg_ext.rewriting.registry import find
from linalg_ext.transforms.pipelines import (
    LARGE_ELEMENTS,
    PIPELINES,
    lower_to_llvm,
    stage_text,
    suggest_opt_level,
)

ENTRY = """
func.func @entry(%n: index, %x: i1, %out: memref<1xi64>, %status: memref<1xi64>)
    attributes {llvm.emit_c_interface, linalg_ext.status} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i64
  cf.assert %x, "first"
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    cf.assert %x, "second"
    cf.assert %x, "first"
    memref.store %zero, %out[%c0] : memref<1xi64>
  }
  return
}
"""


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    with ir.Context(), ir.Location.unknown():
        yield


def test_stages_are_reported_in_order_with_their_text() -> None:
    stages: dict[str, str] = {}
    info = lower_to_llvm(
        ir.Module.parse(ENTRY), on_stage=lambda name, now: stages.update({name: stage_text(now)})
    )
    assert list(stages) == list(PIPELINES) == list(info.seconds)
    assert "scf.for" in stages["loops"]
    assert "llvm.func @_mlir_ciface_entry" in stages["llvm"]
    assert "scf." not in stages["llvm"]


def test_each_message_has_one_status() -> None:
    info = lower_to_llvm(ir.Module.parse(ENTRY))
    assert info.assertions == ("first", "interrupted by SIGINT", "second")
    assert info.out_of_memory is None


def test_allocations_have_a_status_of_their_own() -> None:
    text = ENTRY.replace(
        "%zero = arith.constant 0 : i64",
        "%zero = arith.constant 0 : i64\n"
        "%m = memref.alloc(%n) : memref<?xi64>\n"
        "memref.store %zero, %m[%n] : memref<?xi64>\n"
        "memref.copy %m, %m2 : memref<?xi64> to memref<?xi64>",
    ).replace("%x: i1,", "%x: i1, %m2: memref<?xi64>,")
    info = lower_to_llvm(ir.Module.parse(text))
    assert info.out_of_memory is not None
    assert info.assertions[info.out_of_memory - 1].startswith("out of memory")


def test_nothing_aborts() -> None:
    module = ir.Module.parse(ENTRY)
    lower_to_llvm(module)
    assert "abort" not in str(module)


def test_every_stage_is_a_named_pipeline() -> None:
    for stage, passes in PIPELINES.items():
        named = find(f"linalg-ext-stage-{stage}")
        assert isinstance(named, NamedPipeline)
        assert named.text == ",".join(passes)


def test_longer_code_gets_less_optimization() -> None:
    levels = [suggest_opt_level(10**digits) for digits in range(7)]
    assert levels == sorted(levels, reverse=True)
    assert levels[0] == 3
    assert levels[-1] == 0


def test_large_constants_are_left_out_of_the_text() -> None:
    values = ", ".join(str(value) for value in range(LARGE_ELEMENTS + 1))
    module = ir.Module.parse(
        f"memref.global @g : memref<{LARGE_ELEMENTS + 1}xi64> = dense<[{values}]>"
    )
    assert "elided" in stage_text(module)


def test_an_entry_whose_status_is_of_another_type_is_refused() -> None:
    text = "func.func @f(%status: memref<2xi64>) attributes {linalg_ext.status} { return }"
    with pytest.raises(LoweringError, match="takes no status"):
        lower_to_llvm(ir.Module.parse(text))


def test_recursion_is_refused_with_its_cycle() -> None:
    text = """
    func.func private @g(%a: i32) -> i32 {
      %0 = call @h(%a) : (i32) -> i32
      return %0 : i32
    }
    func.func private @h(%a: i32) -> i32 {
      %0 = call @g(%a) : (i32) -> i32
      return %0 : i32
    }"""
    with pytest.raises(LoweringError, match="@g -> @h -> @g"):
        lower_to_llvm(ir.Module.parse(text))


def _loops(count: int, rounds: int) -> str:
    loop = """
      scf.for %{i} = %c0 to %n step %c1 {{
        %x{i} = memref.load %a[%{i}] : memref<4096xf32>
        %own{i} = arith.constant {number}.5 : f32
        %y{i} = arith.addf %x{i}, %own{i} : f32
        %z{i} = arith.maximumf %y{i}, %x{i} : f32
        memref.store %z{i}, %a[%{i}] : memref<4096xf32>
      }}"""
    loops = "".join(loop.format(i=f"i{number}", number=number) for number in range(count))
    return f"""
    func.func @f(%a: memref<4096xf32>, %status: memref<1xi64>) attributes {{linalg_ext.status}} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = arith.constant {rounds} : index
      {loops}
      return
    }}"""


@pytest.mark.parametrize(("rounds", "level"), [(4096, 2), (2, 0)])
def test_loops_over_scalars_ask_for_the_optimizer_if_they_take_long(
    rounds: int, level: int
) -> None:
    assert lower_to_llvm(ir.Module.parse(_loops(40, rounds))).suggested_opt_level == level


def test_long_code_on_vectors_does_not_ask_for_it() -> None:
    def model(x: Any) -> Any:
        for _ in range(6):
            x = np.exp(x - np.max(x, axis=1, keepdims=True))
            x = x / np.sum(x, axis=1, keepdims=True)
        return x

    assert lx.jit(model).lower(np.ones((64, 64), np.float32)).compile().kernel.opt_level == 0
