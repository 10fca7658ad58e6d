"""`lx.options`: what holds inside a `with` block, and only there."""

from __future__ import annotations

import dataclasses
import threading
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ArgumentError, ExecutionError, TargetError

LOAD = """
func.func @load(%a: tensor<3xf32>, %i: index) -> f32 {
  %x = tensor.extract %a[%i] : tensor<3xf32>
  return %x : f32
}
"""


def test_they_hold_inside_and_not_after() -> None:
    before = lx.Options.current()
    with lx.options(threads=3, target="avx2", checked=False) as outer:
        assert outer == lx.Options.current() == lx.Options(3, lx.target.named("avx2"), False)
        assert (lx.threads.current(), lx.target.current()) == (3, outer.target)
        with lx.options(threads=1) as inner:
            assert inner == dataclasses.replace(outer, threads=1)
        with pytest.raises(ZeroDivisionError), lx.options(checked=True):
            raise ZeroDivisionError
        assert lx.Options.current() == outer
    assert lx.Options.current() == before
    assert before.checked
    with lx.options() as unchanged:
        assert unchanged == before


def test_they_hold_for_one_thread() -> None:
    seen: list[lx.Options] = []
    before = lx.Options.current()
    with lx.options(threads=7, checked=False):
        thread = threading.Thread(target=lambda: seen.append(lx.Options.current()))
        thread.start()
        thread.join()
    assert seen == [before]


def test_checks_are_left_out_where_they_say_so() -> None:
    array = np.ones(3, np.float32)
    with lx.options(checked=False):
        without = lx.compile(LOAD)
        with_checks = lx.compile(LOAD, checked=True)
    kernels = [lx.compile(LOAD), with_checks]
    for kernel in kernels:
        assert kernel(array, 2) == 1
        with pytest.raises(ExecutionError):
            kernel(array, 3)
        assert "checks" in kernel.stages
    assert without(array, 2) == 1
    assert "checks" not in without.stages


WRONG: list[dict[str, Any]] = [
    {"threads": 0}, {"threads": True}, {"threads": "2"}, {"threads": 1.5}, {"checked": 1},
    {"checked": "no"}, {"target": "avx1024"},
]  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_what_is_wrong_is_refused_and_changes_nothing(wrong: dict[str, Any]) -> None:
    before = lx.Options.current()
    with pytest.raises((ArgumentError, TargetError)), lx.options(**{"threads": 5, **wrong}):
        pass
    assert lx.Options.current() == before
