"""Code for one thread and for several: each is made once, and none that no call needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.cache.store import FOLDER
from linalg_ext.runtime import threads
from linalg_ext.runtime.engine import Engine

SHARED = """
func.func @f(%a: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %e = tensor.empty() : tensor<512x512xf32>
  %r = linalg.exp ins(%a : tensor<512x512xf32>) outs(%e : tensor<512x512xf32>)
      -> tensor<512x512xf32>
  return %r : tensor<512x512xf32>
}
"""
LENT = """
func.func private @cosf(f32) -> f32
func.func @f(%a: tensor<512x512xf32>, %s: f32) -> (tensor<512x512xf32>, f32) {
  %c = call @cosf(%s) : (f32) -> f32
  %e = tensor.empty() : tensor<512x512xf32>
  %r = linalg.exp ins(%a : tensor<512x512xf32>) outs(%e : tensor<512x512xf32>)
      -> tensor<512x512xf32>
  return %r, %c : tensor<512x512xf32>, f32
}
"""
ARRAY = np.linspace(0, 1, 512 * 512, dtype=np.float32).reshape(512, 512)


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> list[Engine]:
    """The engines that were made, in order; nothing is kept on disk."""
    made: list[Engine] = []
    original = Engine.__init__

    def counting(self: Engine, *arguments: Any, **options: Any) -> None:
        original(self, *arguments, **options)
        made.append(self)

    monkeypatch.setattr(Engine, "__init__", counting)
    monkeypatch.setenv(FOLDER, "off")
    with threads.using(2):  # which compiles the threads themselves
        lx.compile(SHARED)(ARRAY)
    made.clear()
    return made


@pytest.mark.parametrize("count", [1, 2])
def test_the_code_that_calls_run_is_compiled_alone(count: int, engines: list[Engine]) -> None:
    with threads.using(count):
        kernel = lx.compile(SHARED)
        assert kernel.shared is not None
        for _ in range(3):
            np.testing.assert_allclose(kernel(ARRAY), np.exp(ARRAY), rtol=1e-6)
    assert len(engines) == 1
    times = kernel.times
    for other in (1, 2):
        np.testing.assert_allclose(kernel(ARRAY, threads=other), np.exp(ARRAY), rtol=1e-6)
    assert len(engines) == 2
    assert kernel.times == times, "they are those of the compilation"
    assert [*times] == [*kernel.stages, "code", "total"]
    assert [*kernel.stages] == ["module", "entry", "checks", "linalg", "buffers", "loops", "llvm"]


def test_code_for_one_thread_made_later_is_the_same_code(engines: list[Engine]) -> None:
    objects, shown = [], []
    for count in (1, 2):
        with threads.using(count):
            kernel = lx.compile(SHARED)
        assert (kernel.own.ready is None) == (count == 2)
        shown.append(str(kernel.explain(1)))
        objects.append((kernel.code.object_code(), kernel.as_text("llvm"), kernel.opt_level))
    assert objects[0] == objects[1]
    assert shown[0] == shown[1]


def test_plans_alone_need_no_code_for_several_threads(engines: list[Engine]) -> None:
    with threads.using(2):
        lx.jit(lambda x: np.exp(x)).explain(ARRAY)
    assert len(engines) == 1


def test_code_that_calls_functions_of_others_is_made_while_they_are_there(
    engines: list[Engine],
) -> None:
    with threads.using(2):
        kernel = lx.compile(LENT)
    assert kernel.own.ready is not None


def test_a_kept_kernel_has_the_code_that_its_calls_ran(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    with threads.using(2):
        made = lx.compile(SHARED)
        expected = made(ARRAY)
        found = lx.compile(SHARED)
    assert found.is_kept
    assert found.times == made.times
    assert (made.own.ready, found.own.ready) == (None, None)
    assert repr(found) == repr(made).replace(" ms: ", " ms, kept: ")
    alone = found(ARRAY, threads=1)  # makes the code, and keeps it

    def never(*arguments: Any, **options: Any) -> None:
        raise AssertionError("this was kept, and is made again")

    monkeypatch.setattr(Engine, "__init__", never)
    again = lx.compile(SHARED)
    np.testing.assert_array_equal(again(ARRAY, threads=2), expected)
    np.testing.assert_array_equal(again(ARRAY, threads=1), alone)
    assert str(again.explain()) == str(found.explain())
    assert again.asm() == found.asm()
    assert dict(again.stages) == dict(found.stages)
