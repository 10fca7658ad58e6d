"""The destination-style ops of this library's own dialects."""

from __future__ import annotations

import re

import pytest

import linalg_ext as lx
from gml_st_texts import BUFFERS, FOR
from linalg_ext.errors import ArgumentError
from linalg_ext.structured import destination_style, interface
from linalg_ext.structured.destination_ops import VIEWS
from op_instances import ops_in, scratch


def slots(*counts: tuple[int, int]) -> str:
    numbers = [1 if n < given else 0 for given, most in counts for n in range(most)]
    return f"array<i32: {', '.join(map(str, numbers))}>"


MOVING = f"""
func.func @f(%a: tensor<4x8xf32>, %o: tensor<8x8xf32>, %i: tensor<3x1xindex>, %v: tensor<8xf32>,
    %w: tensor<3xf32>, %u: tensor<3x1xf32>, %n: tensor<8xi32>) {{
  %0 = "linalg_ext.concatenate"(%a, %a, %o) {{dimension = 0 : i64,
      operandSegmentSizes = {slots((2, 25), (1, 1))}}}
    : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = "linalg_ext.reverse"(%a, %a) {{dimensions = array<i64: 1>}}
    : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = "linalg_ext.dynamic_broadcast_in_dim"(%v, %a) {{broadcast_dimensions = array<i64: 1>}}
    : (tensor<8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = "linalg_ext.gather"(%v, %i, %w)
    : (tensor<8xf32>, tensor<3x1xindex>, tensor<3xf32>) -> tensor<3xf32>
  %4 = "linalg_ext.scatter"(%i, %u, %v) ({{
  }}) : (tensor<3x1xindex>, tensor<3x1xf32>, tensor<8xf32>) -> tensor<8xf32>
  %5:2 = "linalg_ext.sort"(%v, %n, %v, %n) ({{
  ^bb0(%a0: f32, %b0: f32, %a1: i32, %b1: i32):
    %before = arith.cmpf olt, %a0, %b0 : f32
    "linalg_ext.yield"(%before) : (i1) -> ()
  }}) {{dimension = 0 : i64, is_stable = true, operandSegmentSizes = {slots((2, 8), (2, 8))},
      resultSegmentSizes = {slots((2, 8))}}}
    : (tensor<8xf32>, tensor<8xi32>, tensor<8xf32>, tensor<8xi32>) -> (tensor<8xf32>, tensor<8xi32>)
  %6:2 = "linalg_ext.scan"(%o, %o, %v) ({{
  ^bb0(%before: f32, %new: f32):
    "linalg_ext.yield"(%new) : (f32) -> ()
  }}) {{dimension = 0 : i64, operandSegmentSizes = {slots((1, 8), (1, 1), (1, 1))},
      resultSegmentSizes = {slots((2, 2))}}}
    : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>)
  return
}}"""

EXPECTED: dict[str, dict[int, bool]] = {
    "linalg_ext.concatenate": {2: False},
    "linalg_ext.reverse": {1: False},
    "linalg_ext.dynamic_broadcast_in_dim": {1: False},
    "linalg_ext.gather": {2: False},
    "linalg_ext.scatter": {2: True},  # it keeps what no window covers
    "linalg_ext.sort": {2: False, 3: False},
    "linalg_ext.scan": {1: False, 2: True},  # it begins with the second one
}
"""The positions of the destinations, and for each whether what it held matters."""


def test_every_op_that_moves_elements_has_the_interface() -> None:
    module = lx.parse(MOVING)
    found = {op.name: destination_style(op) for op in ops_in(module.ir) if op.name in VIEWS}
    assert found.keys() == VIEWS.keys() == EXPECTED.keys()
    for name, x in found.items():
        positions = EXPECTED[name]
        assert x.init_positions == tuple(positions)
        assert {each: x.uses_initial_value(each) for each in positions} == positions
        assert [x.tied_result(position) for position in positions] == list(x.op.results)
        with scratch(x.op):
            assert re.sub(r"%\w+", "%", str(x.clone())) == re.sub(r"%\w+", "%", str(x.op))
        with pytest.raises(ArgumentError, match=r"is not a structured op"):
            interface(x.op)


@pytest.mark.parametrize(("text", "name"), [(BUFFERS, "gml_st.loop"), (FOR, "gml_st.for")])
def test_loops_over_tiles_have_the_interface(text: str, name: str) -> None:
    module = lx.parse(text)
    x = destination_style(next(op for op in ops_in(module.ir) if op.name == name))
    assert x.inits == tuple(x.op.operands)[-x.num_inits :]
    assert x.num_inits >= 1
    assert x.has_buffer_semantics == (name == "gml_st.loop")
    tied = [x.tied_result(position) for position in x.init_positions]
    assert [result for result in tied if result is not None] == list(x.op.results)
    assert all(x.uses_initial_value(position) for position in x.init_positions)
    with scratch(x.op):
        assert re.sub(r"%\w+", "%", str(x.clone())) == re.sub(r"%\w+", "%", str(x.op))
