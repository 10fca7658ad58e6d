"""Loops, branches, affine and index arithmetic, calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernels import run

F = np.float32
A = np.arange(24, dtype=F).reshape(4, 6)
T = "tensor<4x6xf32>"
M = "memref<4x6xf32>"

# The signature, the body, the arguments, the results. %c0, %c1, %c2, %c4, %f0 and %f1 are given.
CASES: dict[str, tuple[str, str, tuple[Any, ...], Any]] = {
    "scf.while": (
        "(%n: i32) -> i32",
        """%r = scf.while (%i = %n) : (i32) -> i32 {
          %z = arith.constant 100 : i32
          %c = arith.cmpi slt, %i, %z : i32
          scf.condition(%c) %i : i32
        } do {
        ^bb0(%i: i32):
          %j = arith.addi %i, %i : i32
          scf.yield %j : i32
        }
        return %r : i32""",
        (3,),
        192,
    ),
    "scf.while that carries a tensor": (
        f"(%a: {T}) -> {T}",
        f"""%r:2 = scf.while (%t = %a, %i = %c0) : ({T}, index) -> ({T}, index) {{
          %c = arith.cmpi slt, %i, %c4 : index
          scf.condition(%c) %t, %i : {T}, index
        }} do {{
        ^bb0(%t: {T}, %i: index):
          %j = arith.addi %i, %c1 : index
          %0 = arith.addf %t, %a : {T}
          scf.yield %0, %j : {T}, index
        }}
        return %r#0 : {T}""",
        (A,),
        5 * A,
    ),
    "scf.if and scf.for that carry tensors": (
        f"(%a: {T}, %b: i1) -> {T}",
        f"""%r = scf.for %i = %c0 to %c4 step %c1 iter_args(%t = %a) -> {T} {{
          %u = scf.if %b -> {T} {{
            %0 = arith.addf %t, %a : {T}
            scf.yield %0 : {T}
          }} else {{
            scf.yield %t : {T}
          }}
          scf.yield %u : {T}
        }}
        return %r : {T}""",
        (A, True),
        5 * A,
    ),
    "scf.parallel that reduces": (
        f"(%m: {M}) -> f32",
        f"""%r = scf.parallel (%i, %j) = (%c0, %c0) to (%c4, %c2) step (%c1, %c1)
            init (%f0) -> f32 {{
          %x = memref.load %m[%i, %j] : {M}
          scf.reduce(%x : f32) {{
          ^bb0(%l: f32, %q: f32):
            %s = arith.addf %l, %q : f32
            scf.reduce.return %s : f32
          }}
        }}
        return %r : f32""",
        (A,),
        A[:, :2].sum(),
    ),
    "scf.forall on memory": (
        f"(%m: {M}) -> f32",
        f"""scf.forall (%i) = (0) to (4) step (2) {{
          %x = memref.load %m[%i, %c0] : {M}
          memref.store %x, %m[%i, %c1] : {M}
        }}
        %r = memref.load %m[%c2, %c1] : {M}
        return %r : f32""",
        (A.copy(),),
        12,
    ),
    "scf.index_switch": (
        f"(%i: index, %a: {T}) -> (i32, {T})",
        f"""%r, %t = scf.index_switch %i -> i32, {T}
        case 2 {{
          %0 = arith.constant 20 : i32
          %1 = arith.addf %a, %a : {T}
          scf.yield %0, %1 : i32, {T}
        }}
        case 5 {{
          %0 = arith.constant 50 : i32
          scf.yield %0, %a : i32, {T}
        }}
        default {{
          %0 = arith.constant 0 : i32
          scf.yield %0, %a : i32, {T}
        }}
        return %r, %t : i32, {T}""",
        (2, A),
        (20, 2 * A),
    ),
    "scf.execute_region": (
        "(%b: i1) -> i32",
        """%r = scf.execute_region -> i32 {
          cf.cond_br %b, ^x, ^y
        ^x:
          %0 = arith.constant 1 : i32
          scf.yield %0 : i32
        ^y:
          %1 = arith.constant 2 : i32
          scf.yield %1 : i32
        }
        return %r : i32""",
        (False,),
        2,
    ),
    "branches with tensors": (
        f"(%b: i1, %a: {T}) -> {T}",
        f"""cf.cond_br %b, ^x, ^y(%a : {T})
        ^x:
          %0 = arith.addf %a, %a : {T}
          cf.br ^y(%0 : {T})
        ^y(%t: {T}):
          return %t : {T}""",
        (True, A),
        2 * A,
    ),
    "a loop of branches": (
        "(%n: i32) -> i32",
        """cf.br ^head(%c0, %n : index, i32)
        ^head(%i: index, %v: i32):
          %c = arith.cmpi slt, %i, %c4 : index
          cf.cond_br %c, ^body, ^end
        ^body:
          %j = arith.addi %i, %c1 : index
          %w = arith.addi %v, %v : i32
          cf.br ^head(%j, %w : index, i32)
        ^end:
          return %v : i32""",
        (3,),
        48,
    ),
    "cf.switch and several returns": (
        "(%n: i32) -> i32",
        """cf.switch %n : i32, [default: ^other, 1: ^one, 2: ^two]
        ^other:
          return %n : i32
        ^one:
          %0 = arith.constant 10 : i32
          return %0 : i32
        ^two:
          %1 = arith.constant 20 : i32
          return %1 : i32""",
        (2,),
        20,
    ),
    "affine.for, if, load, store": (
        f"(%m: {M}) -> f32",
        f"""affine.for %i = 0 to 4 {{
          affine.for %j = max affine_map<(d0) -> (d0, 1)>(%i) to 6 step 2 {{
            affine.if affine_set<(d0, d1) : (d0 - d1 + 3 >= 0)>(%i, %j) {{
              %x = affine.load %m[%i, %j] : {M}
              %y = arith.addf %x, %x : f32
              affine.store %y, %m[%i, %j] : {M}
            }}
          }}
        }}
        %r = affine.for %i = 0 to 4 iter_args(%s = %f0) -> f32 {{
          %x = affine.load %m[%i, 3] : {M}
          %y = arith.addf %s, %x : f32
          affine.yield %y : f32
        }}
        return %r : f32""",
        (A.copy(),),
        # Row 2 begins at column 2 and leaves column 3 out.
        3 * 2 + 9 * 2 + 15 + 21 * 2,
    ),
    "affine.apply, min, max, delinearize, linearize": (
        "(%k: index) -> (index, index, index, index, index, index)",
        """%a = affine.apply
          affine_map<(d0)[s0] -> (d0 floordiv 2 + s0 mod 3 - d0 ceildiv s0)>(%k)[%k]
        %b = affine.min affine_map<(d0) -> (d0, 3)>(%k)
        %d = affine.max affine_map<(d0) -> (d0, 30)>(%k)
        %r:2 = affine.delinearize_index %k into (4, 6) : index, index
        %l = affine.linearize_index [%r#1, %r#0] by (6, 4) : index
        return %a, %b, %d, %r#0, %r#1, %l : index, index, index, index, index, index""",
        (17,),
        (8 + 2 - 1, 3, 30, 2, 5, 22),
    ),
    "affine.parallel, vector_load, vector_store": (
        f"(%m: {M}) -> (f32, f32)",
        f"""%r = affine.parallel (%i, %j) = (0, 0) to (4, 6) reduce ("addf") -> f32 {{
          %x = affine.load %m[%i, %j] : {M}
          affine.yield %x : f32
        }}
        %v = affine.vector_load %m[%c1, %c0] : {M}, vector<4xf32>
        affine.vector_store %v, %m[%c0, %c2] : {M}, vector<4xf32>
        %q = memref.load %m[%c0, %c4] : {M}
        return %r, %q : f32, f32""",
        (A.copy(),),
        (A.sum(), 8),
    ),
    "index": (
        "(%a: index, %b: index) -> (index, index, index, index, index, index, i1, i32, index)",
        """%add = index.add %a, %b
        %mul = index.mul %add, %b
        %sub = index.sub %mul, %a
        %and = index.and %a, %b
        %or = index.or %and, %sub
        %xor = index.xor %or, %b
        %shl = index.shl %b, %b
        %shrs = index.shrs %a, %b
        %shru = index.shru %b, %b
        %maxs = index.maxs %a, %b
        %minu = index.minu %a, %b
        %less = index.cmp slt(%a, %b)
        %cast = index.casts %a : index to i32
        %size = index.sizeof
        return %xor, %shl, %shrs, %shru, %maxs, %minu, %less, %cast, %size
          : index, index, index, index, index, index, i1, i32, index""",
        (-7, 2),
        ((((-7 + 2) * 2 + 7) | (-7 & 2)) ^ 2, 8, -2, 0, 2, 2, True, -7, 64),
    ),
    "ub.poison that is not chosen": (
        "(%n: i32, %b: i1) -> i32",
        """%p = ub.poison : i32
        %s = arith.select %b, %n, %p : i32
        return %s : i32""",
        (3, True),
        3,
    ),
    "a function as a value": (
        "(%a: f32, %b: i1) -> f32",
        """%c = constant @twice : (f32) -> f32
        %d = constant @square : (f32) -> f32
        %s = arith.select %b, %c, %d : (f32) -> f32
        %0 = call_indirect %s(%a) : (f32) -> f32
        return %0 : f32""",
        (3.0, False),
        9,
    ),
    "calls with several results": (
        f"(%a: {T}) -> ({T}, f32)",
        f"""%0:2 = call @both(%a) : ({T}) -> ({T}, f32)
        %1:2 = call @both(%0#0) : ({T}) -> ({T}, f32)
        %2 = call @twice(%1#1) : (f32) -> f32
        return %1#0, %2 : {T}, f32""",
        (A,),
        (4 * A, 2),
    ),
}

FUNCTIONS = f"""
func.func private @twice(%a: f32) -> f32 {{ %0 = arith.addf %a, %a : f32  return %0 : f32 }}
func.func private @square(%a: f32) -> f32 {{ %0 = arith.mulf %a, %a : f32  return %0 : f32 }}
func.func private @both(%a: {T}) -> ({T}, f32) {{
  %f = arith.constant 1.0 : f32
  %0 = arith.addf %a, %a : {T}
  return %0, %f : {T}, f32
}}
"""


@pytest.mark.parametrize("case", CASES)
def test_case(case: str) -> None:
    signature, body, arguments, expected = CASES[case]
    text = f"""{FUNCTIONS}
    func.func @f{signature} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c4 = arith.constant 4 : index
      %f0 = arith.constant 0.0 : f32
      {body}
    }}"""
    actual = run(text, *arguments, entry="f")
    if not isinstance(expected, tuple):
        actual, expected = (actual,), (expected,)
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(one, other)
