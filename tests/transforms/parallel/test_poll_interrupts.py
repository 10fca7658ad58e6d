"""Polls of interrupts: which loops have one, and that cut loops go the same rounds."""

from __future__ import annotations

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.module import Module
from linalg_ext.runtime.interrupts import VARIABLE
from linalg_ext.transforms.parallel import poll_interrupts as file


def polled(text: str) -> str:
    """The text of a module after the pass."""
    module = Module.parse(text, trusted=True)
    file.poll_interrupts(module)
    module.verify()
    return str(module)


def nest(trips: str, *, kind: str = "index") -> str:
    """An entry with a loop in a loop; `trips` are those of both."""
    outer, inner = trips.split()
    return f"""
    func.func @entry(%x: memref<f32>, %n: index, %v: memref<?xf32>, %status: memref<1xi64>)
        attributes {{linalg_ext.status}} {{
      %zero = arith.constant 0 : {kind}
      %one = arith.constant 1 : {kind}
      %first = arith.constant 0 : index
      %size = memref.dim %v, %first : memref<?xf32>
      %few = arith.constant 10 : {kind}
      %many = arith.constant 1000000 : {kind}
      scf.for %i = %zero to %{outer} step %one : {kind} {{
        scf.for %j = %zero to %{inner} step %one : {kind} {{
          %a = memref.load %x[] : memref<f32>
          %b = arith.addf %a, %a : f32
          memref.store %b, %x[] : memref<f32>
        }}
      }}
      return
    }}"""


@pytest.mark.parametrize("trips", ["few few", "many few", "few many", "few size", "size size"])
def test_short_work_is_left_alone(trips: str) -> None:
    text = nest(trips)
    assert polled(text) == str(Module.parse(text, trusted=True))


@pytest.mark.parametrize(
    ("trips", "loops"),
    [("many many", 2), ("n few", 3), ("few n", 3), ("many n", 3), ("many size", 3)],
)
def test_one_loop_of_a_long_nest_polls(trips: str, loops: int) -> None:
    """The outermost one with a round that is neither too short nor too long; else one is cut."""
    text = polled(nest(trips))
    assert text.count("cf.assert") == 1
    assert text.count("scf.for") == loops


def test_blocks_of_short_work_have_a_greatest_size() -> None:
    loop = "scf.for %{} = %zero to %rows step %one {{"
    text = f"""
    func.func @entry(%x: memref<f32>, %status: memref<1xi64>) attributes {{linalg_ext.status}} {{
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %block = arith.constant 126 : index
      %size = arith.constant 1000 : index
      scf.for %i = %zero to %size step %block {{
        %left = arith.subi %size, %i : index
        %rows = arith.minsi %left, %block : index
        {" ".join(map(loop.format, "jkl"))}
          %a = memref.load %x[] : memref<f32>
          memref.store %a, %x[] : memref<f32>
        }} }} }}
      }}
      return
    }}"""
    assert polled(text) == str(Module.parse(text, trusted=True))


def test_long_rows_of_ops_poll_between_them() -> None:
    loop = nest("many few").partition("scf.for")[2].rpartition("return")[0]
    text = nest("many few").replace("      return\n", 30 * f"scf.for{loop}" + "      return\n")
    found = polled(text)
    assert found.count("scf.for") == 62
    assert 5 <= found.count("cf.assert") <= 31


def test_a_function_takes_the_count_of_its_caller() -> None:
    inside = (
        nest("many many").replace("@entry", "private @part").replace(", %status: memref<1xi64>", "")
    )
    text = """
    func.func @entry(%x: memref<f32>, %n: index, %v: memref<?xf32>, %status: memref<1xi64>)
        attributes {linalg_ext.status} {
      call @part(%x, %n, %v) : (memref<f32>, index, memref<?xf32>) -> ()
      call @part(%x, %n, %v) : (memref<f32>, index, memref<?xf32>) -> ()
      return
    }""" + inside.replace("attributes {linalg_ext.status}", "")
    found = polled(text)
    assert found.count("call @part(") == found.count("memref<?xf32>, i64) -> ()") == 2
    assert found.count("call @lx_interrupts") == 2  # one in the entry, one in the loop


def test_a_loop_that_nothing_goes_round_hides_none() -> None:
    text = nest("zero n").replace(
        "return",
        nest("n few").partition("%many = ")[2].partition("index\n")[2].rpartition("return")[0]
        + "return",
    )
    assert "cf.assert" in polled(text)


BOUNDS = [
    (0, 10, 1), (0, 0, 1), (5, 3, 1), (-7, 8, 2), (3, 1_000_003, 7), (2**62, 2**62 + 9, 4),
    (-(2**63), -(2**63) + 5, 2), (2**63 - 6, 2**63 - 1, 5), (-(2**62), 2**62, 2**61),
]  # fmt: skip


@pytest.mark.parametrize("threads", [1, 2])
def test_a_loop_in_chunks_goes_the_same_rounds(threads: int) -> None:
    """Of sums: one wraps where bounds are large, as in the loop that is not cut."""
    kernel = lx.compile("""
    func.func @f(%lower: index, %upper: index, %step: index) -> (i64, i64) {
      %none = arith.constant 0 : i64
      %one = arith.constant 1 : i64
      %r:2 = scf.for %i = %lower to %upper step %step iter_args(%n = %none, %s = %none)
          -> (i64, i64) {
        %more = arith.addi %n, %one : i64
        %i64 = arith.index_cast %i : index to i64
        %sum = arith.addi %s, %i64 : i64
        scf.yield %more, %sum : i64, i64
      }
      return %r#0, %r#1 : i64, i64
    }""")
    assert kernel.code.variable(VARIABLE) is not None
    for bounds in BOUNDS:
        rounds = range(*bounds)
        total = (sum(rounds) + 2**63) % 2**64 - 2**63
        assert tuple(map(int, kernel(*bounds, threads=threads))) == (len(rounds), total), bounds


def test_a_loop_over_narrow_integers_is_cut() -> None:
    kernel = lx.compile("""
    func.func @f(%lower: i32, %upper: i32, %step: i32) -> i64 {
      %none = arith.constant 0 : i64
      %r = scf.for %i = %lower to %upper step %step iter_args(%s = %none) -> i64 : i32 {
        %wide = arith.extsi %i : i32 to i64
        %sum = arith.addi %s, %wide : i64
        scf.yield %sum : i64
      }
      return %r : i64
    }""")
    assert kernel.code.variable(VARIABLE) is not None
    for bounds in ((-(2**31), 2**31 - 1, 1_000_000), (-5, 400_000, 1), (4, 4, 1)):
        assert kernel(*map(np.int32, bounds)) == sum(range(*bounds))


@pytest.mark.parametrize(("rounds", "polls"), [(1000, 0), (4_000_000_000, 1)])
def test_affine_loops_poll_by_their_bounds(rounds: int, polls: int) -> None:
    text = f"""
    func.func @entry(%x: memref<f32>, %status: memref<1xi64>) attributes {{linalg_ext.status}} {{
      affine.for %i = 0 to {rounds} {{
        %a = memref.load %x[] : memref<f32>
        %b = arith.addf %a, %a : f32
        memref.store %b, %x[] : memref<f32>
      }}
      return
    }}"""
    assert polled(text).count("cf.assert") == polls


def test_known_calls_of_short_kernels_stay_native() -> None:
    short = lx.compile(
        "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"
    )
    assert not short.callee.own.polls
