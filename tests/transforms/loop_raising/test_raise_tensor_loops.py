"""Loops that carry tensors or read their elements, raised to structured ops on tensors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import linalg_ext as lx
from linalg_ext.errors import ScheduleError
from raised_loops import same_effect
from tensor_nests import results, tensor_nests

NUMBERS = "".join(
    f"  %c{number} = arith.constant {number} : index\n" for number in (0, 1, 2, 3, 4, 5, 8)
)
HEAD = f"""{NUMBERS}
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32"""


PRODUCT = """
func.func @f(%a: tensor<?x?xTYPE>, %b: tensor<?x?xTYPE>) -> tensor<?x?xTYPE> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant ZERO : TYPE
  %m = tensor.dim %a, %c0 : tensor<?x?xTYPE>
  %k = tensor.dim %a, %c1 : tensor<?x?xTYPE>
  %n = tensor.dim %b, %c1 : tensor<?x?xTYPE>
  %e = tensor.empty(%m, %n) : tensor<?x?xTYPE>
  %r = scf.for %i = %c0 to %m step %c1 iter_args(%t = %e) -> tensor<?x?xTYPE> {
    %row = scf.for %j = %c0 to %n step %c1 iter_args(%u = %t) -> tensor<?x?xTYPE> {
      %s = scf.for %l = %c0 to %k step %c1 iter_args(%v = %zero) -> TYPE {
        %x = tensor.extract %a[%i, %l] : tensor<?x?xTYPE>
        %y = tensor.extract %b[%l, %j] : tensor<?x?xTYPE>
        %p = arith.MUL %x, %y : TYPE
        %q = arith.ADD %v, %p : TYPE
        scf.yield %q : TYPE
      }
      %w = tensor.insert %s into %u[%i, %j] : tensor<?x?xTYPE>
      scf.yield %w : tensor<?x?xTYPE>
    }
    scf.yield %row : tensor<?x?xTYPE>
  }
  return %r : tensor<?x?xTYPE>
}"""


@pytest.mark.parametrize(
    ("kind", "dtype"), [("f32", np.float32), ("f64", np.float64), ("i32", np.int32)]
)
def test_a_product_of_open_sizes_gets_its_name(kind: str, dtype: type[np.generic]) -> None:
    suffix, zero = ("i", "0") if kind == "i32" else ("f", "0.0")
    text = PRODUCT.replace("MUL", f"mul{suffix}").replace("ADD", f"add{suffix}")
    module = lx.parse(text.replace("TYPE", kind).replace("ZERO", zero))
    schedule = lx.Schedule(module).raise_loops().match().specialize()
    assert schedule.taken[-1].report.focus == {"linalg.fill": 1, "linalg.matmul": 1}
    assert "scf." not in str(module)
    assert "insert_slice" not in str(module)
    kernel = lx.compile(module, "f")
    for m, n, k in ((3, 5, 4), (1, 7, 2), (0, 3, 3), (2, 3, 0)):
        rng = np.random.default_rng(m)
        a, b = ((rng.random(shape) * 9).astype(dtype) for shape in ((m, k), (k, n)))
        np.testing.assert_allclose(kernel(a, b), a @ b, rtol=1e-5)


RAISED = {
    "parts and steps, what it began as is read": (
        "%a: tensor<8xf32>, %t: tensor<8xf32>",
        "tensor<8xf32>",
        """
  %r = scf.for %i = %c1 to %c8 step %c2 iter_args(%u = %t) -> tensor<8xf32> {
    %x = tensor.extract %a[%i] : tensor<8xf32>
    %o = tensor.extract %t[%i] : tensor<8xf32>
    %z = arith.mulf %x, %o : f32
    %v = tensor.insert %z into %u[%i] : tensor<8xf32>
    scf.yield %v : tensor<8xf32>
  }
  return %r : tensor<8xf32>""",
        ((8,), (8,)),
    ),
    "neighbours of what it began as": (
        "%t: tensor<8xf32>",
        "tensor<8xf32>",
        """
  %r = scf.for %i = %c1 to %c8 step %c1 iter_args(%u = %t) -> tensor<8xf32> {
    %m = arith.subi %i, %c1 : index
    %x = tensor.extract %t[%m] : tensor<8xf32>
    %v = tensor.insert %x into %u[%i] : tensor<8xf32>
    scf.yield %v : tensor<8xf32>
  }
  return %r : tensor<8xf32>""",
        ((8,),),
    ),
    "an element twice, and its place": (
        "%t: tensor<4x5xf32>",
        "tensor<4x5xf32>",
        """
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%u = %t) -> tensor<4x5xf32> {
    %q = scf.for %j = %c1 to %c4 step %c1 iter_args(%w = %u) -> tensor<4x5xf32> {
      %x = tensor.extract %w[%i, %j] : tensor<4x5xf32>
      %y = arith.addf %x, %one : f32
      %v = tensor.insert %y into %w[%i, %j] : tensor<4x5xf32>
      %z = tensor.extract %v[%i, %j] : tensor<4x5xf32>
      %n = arith.index_cast %j : index to i32
      %f = arith.sitofp %n : i32 to f32
      %g = arith.mulf %z, %f : f32
      %o = tensor.insert %g into %v[%i, %j] : tensor<4x5xf32>
      scf.yield %o : tensor<4x5xf32>
    }
    scf.yield %q : tensor<4x5xf32>
  }
  return %r : tensor<4x5xf32>""",
        ((4, 5),),
    ),
    "several results that begin as one": (
        "%a: tensor<4x8xf32>",
        "(tensor<4xf32>, tensor<4xf32>, f32)",
        """
  %e = tensor.empty() : tensor<4xf32>
  %r:3 = scf.for %i = %c0 to %c4 step %c1 iter_args(%u = %e, %w = %e, %tot = %zero)
      -> (tensor<4xf32>, tensor<4xf32>, f32) {
    %s:2 = scf.for %j = %c0 to %c8 step %c1 iter_args(%p = %zero, %q = %one) -> (f32, f32) {
      %x = tensor.extract %a[%i, %j] : tensor<4x8xf32>
      %p1 = arith.addf %p, %x : f32
      %q1 = arith.minimumf %x, %q : f32
      scf.yield %p1, %q1 : f32, f32
    }
    %mean = arith.mulf %s#0, %one : f32
    %u1 = tensor.insert %mean into %u[%i] : tensor<4xf32>
    %w1 = tensor.insert %s#1 into %w[%i] : tensor<4xf32>
    %y = tensor.extract %a[%i, %c0] : tensor<4x8xf32>
    %t1 = arith.addf %tot, %y : f32
    scf.yield %u1, %w1, %t1 : tensor<4xf32>, tensor<4xf32>, f32
  }
  return %r#0, %r#1, %r#2 : tensor<4xf32>, tensor<4xf32>, f32""",
        ((4, 8),),
    ),
    "in a loop that stays": (
        "%a: tensor<8xf32>, %t: tensor<8xf32>",
        "tensor<8xf32>",
        """
  %k = scf.while (%n = %t) : (tensor<8xf32>) -> tensor<8xf32> {
    %x = tensor.extract %n[%c0] : tensor<8xf32>
    %go = arith.cmpf olt, %x, %one : f32
    scf.condition(%go) %n : tensor<8xf32>
  } do {
  ^bb0(%n: tensor<8xf32>):
    %q = scf.for %i = %c0 to %c8 step %c1 iter_args(%u = %n) -> tensor<8xf32> {
      %x = tensor.extract %u[%i] : tensor<8xf32>
      %z = arith.addf %x, %one : f32
      %v = tensor.insert %z into %u[%i] : tensor<8xf32>
      scf.yield %v : tensor<8xf32>
    }
    scf.yield %q : tensor<8xf32>
  }
  return %k : tensor<8xf32>""",
        ((8,), (8,)),
    ),
}


@pytest.mark.parametrize("name", RAISED)
@pytest.mark.parametrize("way", ["step", "pass"])
def test_nests_on_tensors(name: str, way: str) -> None:
    arguments, results, body, shapes = RAISED[name]
    text = f"func.func @f({arguments}) -> {results} {{\n{HEAD}{body}\n}}"
    module = lx.parse(text)
    if way == "step":
        lx.Schedule(module).raise_loops()
    else:
        assert lx.transforms.raise_loops(module)
    assert "scf.for" not in str(module)
    assert "memref" not in str(module)
    same_effect(text, module, *shapes)


SOFTMAX = """
func.func @f(%a: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %m = tensor.dim %a, %c0 : tensor<?x?xf32>
  %n = tensor.dim %a, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %r = scf.for %i = %c0 to %m step %c1 iter_args(%t = %e) -> tensor<?x?xf32> {
  %max = scf.for %j = %c0 to %n step %c1 iter_args(%v = %low) -> f32 {
     %x = tensor.extract %a[%i, %j] : tensor<?x?xf32>
     %q = arith.maximumf %v, %x : f32
     scf.yield %q : f32
  }
  %sum = scf.for %j = %c0 to %n step %c1 iter_args(%v = %zero) -> f32 {
     %x = tensor.extract %a[%i, %j] : tensor<?x?xf32>
     %d = arith.subf %x, %max : f32
     %p = math.exp %d : f32
     %q = arith.addf %v, %p : f32
     scf.yield %q : f32
  }
  %row = scf.for %j = %c0 to %n step %c1 iter_args(%u = %t) -> tensor<?x?xf32> {
     %x = tensor.extract %a[%i, %j] : tensor<?x?xf32>
     %d = arith.subf %x, %max : f32
     %p = math.exp %d : f32
     %q = arith.divf %p, %sum : f32
     %w = tensor.insert %q into %u[%i, %j] : tensor<?x?xf32>
     scf.yield %w : tensor<?x?xf32>
  }
  scf.yield %row : tensor<?x?xf32>
  }
  return %r : tensor<?x?xf32>
}"""
"""Three loops in a loop; what the first two carry is read in those behind."""


def test_softmax_needs_no_loop() -> None:
    module = lx.parse(SOFTMAX)
    lx.Schedule(module).raise_loops()
    assert "scf." not in str(module)
    assert str(module).count("linalg.generic") == 5
    kernel = lx.compile(module, "f")
    for shape in ((3, 5), (1, 1), (0, 4), (4, 7)):
        a = np.random.default_rng(1).random(shape, dtype=np.float32)
        powers = np.exp(a)
        np.testing.assert_allclose(kernel(a), powers / powers.sum(1, keepdims=True), rtol=1e-5)


@settings(max_examples=20, deadline=None)
@given(tensor_nests())
def test_random_nests_mean_the_same(text: str) -> None:
    module = lx.parse(text)
    if lx.transforms.raise_loops(module):
        for found, array in zip(results(module), results(text), strict=True):
            np.testing.assert_array_equal(found, array)


INNER = """
  %r:2 = scf.for %k = %c0 to %c3 step %c1 iter_args(%p = %t, %q = %s)
      -> (tensor<8xf32>, tensor<8xf32>) {
    %w = scf.for %i = %c0 to %c8 step %c1 iter_args(%u = %q) -> tensor<8xf32> {
      %x = tensor.extract %p[%i] : tensor<8xf32>
      %y = arith.addf %x, %one : f32
      %v = tensor.insert %y into %u[%i] : tensor<8xf32>
      scf.yield %v : tensor<8xf32>
    }
    scf.yield %w, %p : tensor<8xf32>, tensor<8xf32>
  }
  return %r#0 : tensor<8xf32>"""
"""Steps in time between two tensors."""


def test_what_is_inside_is_raised_where_the_rest_cannot_be() -> None:
    text = (
        f"func.func @f(%t: tensor<8xf32>, %s: tensor<8xf32>) -> tensor<8xf32> {{{HEAD}{INNER}\n}}"
    )
    module = lx.parse(text)
    report = lx.transforms.raise_loops(module)
    assert str(module).count("scf.for") == str(module).count("linalg.generic") == 1
    assert "the loop yields another tensor than the one that it carries (scf.for at" in str(report)
    same_effect(text, module, (8,), (8,))


LEFT = {
    "in_memory": (
        "%m = arith.subi %i, %c1 : index\n%x = tensor.extract %u[%m] : tensor<8xf32>",
        "may access its results at other places",
    ),
    "as it was": (
        "%w = tensor.insert %one into %u[%c0] : tensor<8xf32>\n"
        "%x = tensor.extract %u[%i] : tensor<8xf32>",
        "reads a tensor as it was before an insertion",
    ),
    "slices": (
        "%l = tensor.extract_slice %t[%i] [1] [1] : tensor<8xf32> to tensor<1xf32>\n"
        "%x = tensor.extract %l[%c0] : tensor<1xf32>",
        "tensor.extract_slice in it is about whole tensors",
    ),
    "another": (
        "%l = tensor.insert %one into %t[%i] : tensor<8xf32>\n"
        "%x = tensor.extract %l[%c0] : tensor<8xf32>",
        "inserts elements into a tensor that the loop does not carry",
    ),
    "a call": ("%x = func.call @g(%one) : (f32) -> f32", "func.call in it does more than compute"),
    "a place from a tensor": (
        "%o = tensor.extract %at[%i] : tensor<8xindex>\n%x = tensor.extract %t[%o] : tensor<8xf32>",
        "an index is more than a sum of multiples",
    ),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_is_left_and_why(name: str) -> None:
    statement, reason = LEFT[name]
    text = f"""
    func.func private @g(%x: f32) -> f32
    func.func @f(%t: tensor<8xf32>, %at: tensor<8xindex>) -> tensor<8xf32> {{{HEAD}
      %r = scf.for %i = %c1 to %c8 step %c1 iter_args(%u = %t) -> tensor<8xf32> {{
        {statement}
        %v = tensor.insert %x into %u[%i] : tensor<8xf32>
        scf.yield %v : tensor<8xf32>
      }}
      return %r : tensor<8xf32>
    }}"""
    module = lx.parse(text, trusted=True)
    before = str(module)
    with pytest.raises(ScheduleError, match=f"{reason}.*scf.for at"):
        lx.Schedule(module).raise_loops()
    assert str(module) == before
