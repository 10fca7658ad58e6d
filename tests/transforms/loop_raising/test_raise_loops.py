"""Loops over buffers raised to structured ops: the same numbers, and none of the loops left."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import linalg_ext as lx
from examples import check_documented, examples_of
from linalg_ext.errors import ScheduleError
from linalg_ext.transforms.loop_raising import raise_loops as raising
from loop_nests import nests, results
from schedule_corpus.subjects import subject

CONSTANTS = "".join(
    f"  %c{number} = arith.constant {number} : index\n" for number in (0, 1, 2, 3, 4, 6, 8)
)


def test_the_example_of_raising() -> None:
    module = check_documented(raising.raise_loops, examples_of(raising.raise_loops)[0])
    assert lx.Schedule(module).match().specialize().taken[-1].report.focus == {"linalg.matmul": 1}


@settings(max_examples=12, deadline=None)
@given(nests())
def test_random_nests_mean_the_same(text: str) -> None:
    module = lx.parse(text)
    lx.transforms.accumulate_in_memory(module)
    lx.transforms.distribute_loops(module)
    lx.transforms.raise_loops(module)
    for found, array in zip(results(module), results(text), strict=True):
        np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize(
    "name",
    ["matmul", "conv_2d_nhwc_hwcf", "row_max_of_absolutes", "pooling_nhwc_sum", "where_greater"],
)
@pytest.mark.parametrize("kind", ["scf", "affine"])
def test_ops_of_the_library_come_back_from_loops(name: str, kind: str) -> None:
    one = subject(name)
    module = one.module()
    schedule = lx.Schedule(module).bufferize().match()
    schedule.lower_to_loops(kind).raise_loops()
    assert "linalg.generic" in str(module)
    one.check(module)


def raised(arguments: str, body: str) -> tuple[lx.Module, lx.Module]:
    """A function of loops, and what is made of it."""
    text = f"func.func @f({arguments}) {{\n{CONSTANTS}{body}\n  return\n}}"
    module = lx.parse(text)
    lx.Schedule(module).raise_loops()
    return lx.parse(text), module


def assert_same_effect(modules: tuple[lx.Module, lx.Module], *shapes: tuple[int, ...]) -> None:
    """What two functions of `f32` buffers do to them is the same."""
    found = []
    for module in modules:
        rng = np.random.default_rng(7)
        arrays = [rng.random(shape, dtype=np.float32) for shape in shapes]
        lx.compile(module, "f")(*arrays)
        found.append(arrays)
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_loops_that_begin_late_and_take_steps_are_about_parts_of_buffers() -> None:
    modules = raised(
        "%a: memref<8x8xf32>, %c: memref<8xf32>",
        """
        scf.for %i = %c1 to %c8 step %c3 {
          %next = arith.addi %i, %c1 : index
          scf.for %k = %c2 to %c6 step %c2 {
            %x = memref.load %a[%k, %i] : memref<8x8xf32>
            %y = memref.load %c[%i] : memref<8xf32>
            %z = arith.maximumf %x, %y : f32
            memref.store %z, %c[%i] : memref<8xf32>
          }
        }""",
    )
    assert "scf.for" not in str(modules[1])
    assert "memref.subview %arg0[2, 1] [2, 3] [2, 3]" in str(modules[1])
    assert_same_effect(modules, (8, 8), (8,))


def test_windows_backwards_and_places_stay_in_maps_and_bodies() -> None:
    modules = raised(
        "%a: memref<8xf32>, %w: memref<3xf32>, %c: memref<6xf32>",
        """
        scf.for %i = %c0 to %c6 step %c1 {
          %zero = arith.index_cast %i : index to i32
          %first = arith.sitofp %zero : i32 to f32
          %sum = scf.for %k = %c0 to %c3 step %c1 iter_args(%s = %first) -> (f32) {
            %at = arith.addi %i, %k : index
            %back = arith.subi %c2, %k : index
            %x = memref.load %a[%at] : memref<8xf32>
            %y = memref.load %w[%back] : memref<3xf32>
            %z = memref.load %w[%k] : memref<3xf32>
            %q = arith.mulf %x, %y : f32
            %p = arith.mulf %q, %z : f32
            %t = arith.addf %p, %s : f32
            scf.yield %t : f32
          }
          memref.store %sum, %c[%i] : memref<6xf32>
        }""",
    )
    text = str(modules[1])
    assert "scf.for" not in text
    for kept in ("linalg.index 0", "(d0 + d1)", "(-d1 + 2)"):
        assert kept in text
    assert_same_effect(modules, (8,), (3,), (6,))


def test_sizes_that_are_read_are_those_of_whole_buffers() -> None:
    modules = raised(
        "%a: memref<?x?xf32>, %c: memref<?x?xf32>",
        """
        %m = memref.dim %a, %c0 : memref<?x?xf32>
        %n = memref.dim %a, %c1 : memref<?x?xf32>
        affine.for %i = 0 to %m {
          affine.for %j = 0 to %n {
            %x = affine.load %a[%i, %j] : memref<?x?xf32>
            %y = math.exp %x : f32
            affine.store %y, %a[%i, %j] : memref<?x?xf32>
            %z = affine.load %a[%i, %j] : memref<?x?xf32>
            affine.store %z, %c[%j, %i] : memref<?x?xf32>
          }
        }""",
    )
    (generic,) = [line for line in str(modules[1]).splitlines() if "linalg.generic" in line]
    assert "outs(%arg0, " in generic
    assert_same_effect(modules, (3, 5), (5, 3))
    assert_same_effect(modules, (0, 5), (5, 0))


def test_what_a_loop_carries_is_kept_on_the_stack_where_nothing_stores_it() -> None:
    text = f"""
    func.func @f(%a: memref<8x6xf32>, %start: f32) -> f32 {{
      {CONSTANTS}
      %sum = scf.for %i = %c0 to %c8 step %c1 iter_args(%s = %start) -> (f32) {{
        %row = scf.for %j = %c0 to %c6 step %c1 iter_args(%t = %s) -> (f32) {{
          %x = memref.load %a[%i, %j] : memref<8x6xf32>
          %u = arith.addf %t, %x : f32
          scf.yield %u : f32
        }}
        scf.yield %row : f32
      }}
      return %sum : f32
    }}"""
    module = lx.parse(text)
    lx.Schedule(module).raise_loops()
    assert "scf.for" not in str(module)
    assert "memref.alloca()" in str(module)
    array = np.arange(48, dtype=np.float32).reshape(8, 6)
    assert lx.compile(module, "f")(array, 2.0) == array.sum() + 2


def test_what_is_handed_on_unchanged_is_not_put_in_memory() -> None:
    text = f"""
    func.func @f(%a: memref<8x6xf32>, %start: f32) -> (f32, f32, f32) {{
      {CONSTANTS}
      %r:3 = scf.for %i = %c0 to %c8 step %c1 iter_args(%s = %start, %k = %start, %l = %start)
          -> (f32, f32, f32) {{
        %row:2 = scf.for %j = %c0 to %c6 step %c1 iter_args(%t = %s, %m = %k) -> (f32, f32) {{
          %x = memref.load %a[%i, %j] : memref<8x6xf32>
          %y = arith.mulf %x, %m : f32
          %u = arith.addf %t, %y : f32
          scf.yield %u, %m : f32, f32
        }}
        scf.yield %row#0, %row#1, %k : f32, f32, f32
      }}
      return %r#0, %r#1, %r#2 : f32, f32, f32
    }}"""
    module = lx.parse(text)
    lx.Schedule(module).raise_loops()
    assert "scf.for" not in str(module)
    assert str(module).count("memref.alloca()") == 1
    array = np.arange(48, dtype=np.float32).reshape(8, 6)
    assert lx.compile(module, "f")(array, 2.0) == (2 * array.sum() + 2, 2, 2)


def test_a_place_itself_is_stored() -> None:
    text = f"""
    func.func @f(%c: memref<6xindex>) {{
      {CONSTANTS}
      scf.for %i = %c1 to %c6 step %c2 {{
        memref.store %i, %c[%i] : memref<6xindex>
      }}
      return
    }}"""
    module = lx.parse(text)
    lx.transforms.raise_loops(module)
    assert "scf.for" not in str(module)
    found = np.zeros(6, np.int64)
    lx.compile(module, "f")(found)
    assert found.tolist() == [0, 1, 0, 3, 0, 5]


def test_what_threads_would_share_is_not_put_on_the_stack() -> None:
    text = f"""
    func.func @f(%a: memref<8x6xf32>, %c: memref<8xf64>, %start: f32) {{
      {CONSTANTS}
      scf.forall (%i) in (8) {{
        %sum = scf.for %j = %c0 to %c6 step %c1 iter_args(%s = %start) -> (f32) {{
          %x = memref.load %a[%i, %j] : memref<8x6xf32>
          %u = arith.addf %s, %x : f32
          scf.yield %u : f32
        }}
        %e = arith.extf %sum : f32 to f64
        memref.store %e, %c[%i] : memref<8xf64>
      }}
      return
    }}"""
    with pytest.raises(ScheduleError, match="a parallel loop around would need its own memory"):
        lx.Schedule(lx.parse(text)).raise_loops()


LEFT = [
    (
        "%y = memref.load %a[%i, %k] : memref<8x8xf32>\n memref.store %y, %c[%i] : memref<8xf32>",
        "do not combine",
    ),
    ("memref.store %x, %a[%k, %k] : memref<8x8xf32>", "sums of induction variables"),
    (
        "%y = memref.load %c[%k] : memref<8xf32>\n memref.store %y, %c[%i] : memref<8xf32>",
        "its results at other places",
    ),
    ("%o = arith.muli %i, %k : index\n memref.store %x, %c[%o] : memref<8xf32>", "multiples"),
    ("func.call @g() : () -> ()", "func.call in it"),
    (
        "%y = memref.load %c[%i] : memref<8xf32>\n%w = memref.load %a[%i, %k] : memref<8x8xf32>\n"
        "%z = arith.subf %y, %w : f32\nmemref.store %z, %c[%i] : memref<8xf32>",
        "do not combine",
    ),
    ("memref.store %x, %c[%c0] : memref<8xf32>", "loop 0 is the size of no buffer"),
    (
        "%n = arith.addi %k, %c1 : index\n memref.store %x, %a[%i, %n] : memref<8x8xf32>",
        "the access reaches beyond a buffer",
    ),
    (
        "%v = memref.subview %c[%i] [1] [1] : memref<8xf32> to memref<1xf32, strided<[1], "
        "offset: ?>>\n memref.store %x, %v[%c0] : memref<1xf32, strided<[1], offset: ?>>",
        "run fold-memref-alias-ops first",
    ),
]


@pytest.mark.parametrize(("statement", "reason"), LEFT, ids=[reason for _, reason in LEFT])
def test_what_is_no_structured_op_is_left_and_why(statement: str, reason: str) -> None:
    text = f"""
    func.func private @g()
    func.func @f(%a: memref<8x8xf32>, %c: memref<8xf32>, %x: f32) {{
      {CONSTANTS}
      scf.for %i = %c0 to %c8 step %c1 {{
        scf.for %k = %c0 to %c8 step %c1 {{
          {statement}
        }}
      }}
      return
    }}"""
    module = lx.parse(text, trusted=True)
    before = str(module)
    report = lx.transforms.raise_loops(module.clone())
    assert reason in str(report)
    if not report:
        with pytest.raises(ScheduleError, match="raise_loops cannot be done"):
            lx.Schedule(module).raise_loops()
        assert str(module) == before


def test_a_module_without_loops_is_refused() -> None:
    with pytest.raises(ScheduleError, match="the module has no loops of scf or affine"):
        lx.Schedule(lx.parse("func.func @f() { return }")).raise_loops()


GLOBALS = f"""
memref.global "private" @table : memref<8xf32> = dense<[1., 2., 3., 4., 5., 6., 7., 8.]>
memref.global "private" @other : memref<8xf32> = uninitialized
func.func @f(%a: memref<8xf32>, %c: memref<8xf32>) {{
{CONSTANTS}
  %t = memref.get_global @table : memref<8xf32>
  %o = memref.get_global @other : memref<8xf32>
  scf.for %i = %c0 to %c8 step %c1 {{
    %x = memref.load %a[%i] : memref<8xf32>
    %k = memref.load %t[%i] : memref<8xf32>
    %y = arith.mulf %x, %k : f32
    memref.store %y, %c[%i] : memref<8xf32>
  }}
  return
}}"""


def test_nobody_writes_to_constants() -> None:
    module = lx.parse(GLOBALS.replace('"private" @table', '"private" constant @table'))
    lx.Schedule(module).raise_loops()
    x, c = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    lx.compile(module, entry="f")(x, c)
    np.testing.assert_array_equal(c, x * np.arange(1, 9))


BETWEEN = GLOBALS.replace("%y, %c[", "%y, %o[").replace("%a[", "%t[")
"""From one variable to another."""


def test_variables_of_different_names_lie_apart() -> None:
    lx.Schedule(lx.parse(BETWEEN)).raise_loops()


@pytest.mark.parametrize(
    "text", [GLOBALS, BETWEEN.replace("get_global @other", "get_global @table")]
)
def test_what_may_be_written_under_another_name_is_left(text: str) -> None:
    with pytest.raises(ScheduleError, match="may access its results at other places"):
        lx.Schedule(lx.parse(text)).raise_loops()
