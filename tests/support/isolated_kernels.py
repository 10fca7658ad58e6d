"""A kernel in a worker process."""

from __future__ import annotations

from typing import Any

import linalg_ext as lx
from linalg_ext.executable.worker_process import IsolatedKernel, Limits

ADD = """
func.func @add(%a: tensor<?x3xf32>, %b: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %0 = arith.addf %a, %b : tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}
"""
ENDLESS = """
func.func @f(%n: i64) -> i64 {
  %r = scf.while (%i = %n) : (i64) -> i64 {
    %zero = arith.constant 0 : i64
    %again = arith.cmpi ne, %i, %zero : i64
    scf.condition(%again) %i : i64
  } do {
  ^bb0(%i: i64):
    %three = arith.constant 3 : i64
    %next = arith.ori %i, %three : i64
    scf.yield %next : i64
  }
  return %r : i64
}
"""


def isolated(
    text: str | bytes, entry: str | None = None, *, limits: Limits | None = None, **options: Any
) -> IsolatedKernel:
    """A kernel that is called in a process of its own."""
    kernel: IsolatedKernel = lx.compile(text, entry, isolated=limits or True, **options)
    return kernel
