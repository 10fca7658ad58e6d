"""Whether a call was answered by native code, or went through Python."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from linalg_ext.runtime.vectorcall import Caller, caller

Array = np.ndarray[Any, Any]

ADD = """
func.func @add(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %e = tensor.empty() : tensor<2x3xf32>
  %r = linalg.add ins(%a, %b : tensor<2x3xf32>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>)
       -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}
"""
TWO = """
func.func @two(%a: tensor<4xi32>, %x: i32, %y: f32) -> (tensor<4xi32>, tensor<2xf32>) {
  %c0 = arith.constant 0 : index
  %r = tensor.insert %x into %a[%c0] : tensor<4xi32>
  %s = tensor.splat %y : tensor<2xf32>
  return %r, %s : tensor<4xi32>, tensor<2xf32>
}
"""


def native_caller() -> Caller:
    """The compiled caller, which calls that come again go through from now on."""
    caller.make()
    found = caller()
    assert found is not None, "this interpreter has no native calls"
    return found


def array(seed: int = 0) -> Array:
    """Two rows of three numbers, others for each seed."""
    return np.random.default_rng(seed).random((2, 3), np.float32)


def records_of(target: Any) -> list[Any]:
    """The records that native code has of an object."""
    found: list[Any] = target._native_records
    return found


def is_native(call: Callable[[], Any]) -> bool:
    """Return whether `call` runs no Python of the library's."""
    seen: list[str] = []

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and "linalg_ext" in frame.f_code.co_filename.split("/"):
            seen.append(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(before)
    return not seen
