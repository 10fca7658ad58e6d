"""`tune=`: what is measured, taken, told and remembered. What measures is made up: no clock."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.compiler.tuning import Finding, Tuning
from linalg_ext.compiler.tuning.search import search
from linalg_ext.compiler.tuning.timing import in_turn
from linalg_ext.errors import ArgumentError, UntrustedError
from linalg_ext.transforms.codegen.base.choices import Choices
from linalg_ext.transforms.codegen.contractions.plan_selection import PlannedContraction
from linalg_ext.transforms.grouping import Search

Array = np.ndarray[Any, np.dtype[Any]]


@pytest.fixture(autouse=True)
def _file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINALG_EXT_TUNING", str(tmp_path / "tuning.json"))


def product(a: Any, b: Any) -> Any:
    return a @ b


def arrays() -> tuple[Array, Array]:
    random = np.random.default_rng(0)
    return random.random((65, 140), np.float32), random.random((140, 77), np.float32)


def measuring(old: float, new: float) -> Callable[..., Sequence[float]]:
    """Runs each call once, and says that one takes `old` seconds and the other `new`."""

    def measure(calls: Sequence[Callable[[], object]], seconds: float) -> Sequence[float]:
        for call in calls:
            call()
        return [old, new]

    return measure


def unasked(calls: Sequence[Callable[[], object]], seconds: float) -> Sequence[float]:
    raise AssertionError("nothing is to be measured")


def test_the_fastest_is_taken_told_and_remembered() -> None:
    a, b = arrays()
    tuned = lx.jit(product, tune=Tuning(candidates=3, measure=measuring(2.0, 1.0)))
    np.testing.assert_allclose(tuned(a, b), a @ b, rtol=1e-5)
    text = str(tuned.explain(a, b))
    assert "measured  2.00 times as fast as the model's plan: 2 s -> 1 s" in text
    assert "the best of 4" in text
    (entry,) = lx.tuning.entries().values()
    assert entry["speed_up"] == 2.0

    again = lx.jit(product, tune=Tuning(measure=unasked))
    np.testing.assert_allclose(again(a, b), a @ b, rtol=1e-5)
    assert "remembered  2.00 times as fast" in str(again.explain(a, b))
    (one,) = (d for d in tuned.explain(a, b).decisions if isinstance(d, PlannedContraction))
    (other,) = (d for d in again.explain(a, b).decisions if isinstance(d, PlannedContraction))
    assert one.plan == other.plan != one.model


def test_what_is_not_worthwhile_is_not_taken() -> None:
    a, b = arrays()
    tuned = lx.jit(product, tune=Tuning(candidates=2, measure=measuring(1.0, 0.99)))
    tuned(a, b)
    assert "the model's plan is the fastest of 3" in str(tuned.explain(a, b))
    (found,) = (d for d in tuned.explain(a, b).decisions if isinstance(d, PlannedContraction))
    assert found.plan == found.model


def test_the_number_of_threads_is_part_of_what_is_remembered() -> None:
    a, b = arrays()
    for threads in (1, 2):
        with lx.threads.using(threads):
            lx.jit(product, tune=Tuning(candidates=1, measure=measuring(2.0, 1.0)))(a, b)
    assert len(lx.tuning.entries()) == 2


def test_time_that_is_over_ends_the_search() -> None:
    a, b = arrays()
    ticks = itertools.count()
    tuning = Tuning(seconds=3, measure=measuring(2.0, 1.0), clock=lambda: float(next(ticks)))
    tuned = lx.jit(product, tune=tuning)
    tuned(a, b)
    assert "the best of 2" in str(tuned.explain(a, b))


def test_a_wrong_result_is_never_chosen() -> None:
    a, b = arrays()
    kernel = lx.jit(product).lower(a, b).compile()
    finding = search(
        kernel,
        kernel.explain().decisions,
        lambda choices: lambda a, b: a @ b + 1,
        lambda: [a, b],
        lambda given, returned: [returned],
        Tuning(candidates=4, measure=unasked),
    )
    assert finding == Finding(Choices(), tried=0)


def test_compile_tunes_modules_on_memory_too() -> None:
    text = """func.func @f(%a: memref<48x60xf32, strided<[64, 1], offset: 3>>,
                           %b: memref<60x50xf32>, %c: memref<48x50xf32>) {
      linalg.matmul ins(%a, %b : memref<48x60xf32, strided<[64, 1], offset: 3>>, memref<60x50xf32>)
        outs(%c : memref<48x50xf32>)
      return
    }"""
    kernel = lx.compile(text, trusted=True, tune=Tuning(candidates=2, measure=measuring(2.0, 1.0)))
    assert "2.00 times as fast" in str(kernel.explain())
    memory = np.random.default_rng(0).random(3 + 48 * 64, np.float32)
    a = np.lib.stride_tricks.as_strided(memory[3:], (48, 60), (256, 4))
    b, c = np.ones((60, 50), np.float32), np.ones((48, 50), np.float32)
    kernel(a, b, c)
    np.testing.assert_allclose(c, 1 + a @ b, rtol=1e-5)


def test_loops_are_tuned_as_well() -> None:
    x = np.ones(3000, np.float32)
    tuned = lx.jit(lambda x: x * x + x, tune=Tuning(measure=measuring(2.0, 1.0)))
    np.testing.assert_array_equal(tuned(x), x * x + x)
    text = str(tuned.explain(x))
    assert "bits" in text
    assert "stores past the caches" in text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "func.func @f(%a: tensor<?xf32>) -> tensor<?xf32> {"
            " %r = arith.addf %a, %a : tensor<?xf32> return %r : tensor<?xf32> }",
            "sizes are known at run time only",
        ),
        (
            "func.func @f(%a: f32) -> f32 { return %a : f32 }",
            "every op has one plan only",
        ),
    ],
)
def test_what_cannot_be_tuned_says_why(text: str, why: str) -> None:
    kernel = lx.compile(text, trusted=True, tune=Tuning(measure=unasked))
    assert why in str(kernel.explain())
    assert lx.tuning.entries() == {}


def test_an_entry_that_somebody_spoilt_is_measured_anew(tmp_path: Path) -> None:
    a, b = arrays()
    tuning = Tuning(candidates=1, measure=measuring(2.0, 1.0))
    lx.jit(product, tune=tuning)(a, b)
    file = lx.tuning.path()
    file.write_text(file.read_text().replace('"speed_up": 2.0', '"speed_up": "fast"'))
    tuned = lx.jit(product, tune=tuning)
    tuned(a, b)
    assert "measured" in str(tuned.explain(a, b))


@pytest.mark.parametrize("text", ["mk,kn->mn", "mk,kn->nm", "mk,kn->"])
def test_einsum_is_tuned(text: str) -> None:
    a, b = arrays()
    tuning = Tuning(candidates=1, measure=measuring(2.0, 1.0))
    expected = np.einsum(text, a, b)
    result = lx.einsum(text, a, b, tune=tuning)
    assert type(result) is type(expected)
    np.testing.assert_allclose(result, expected, rtol=1e-4)
    out = np.empty(expected.shape, np.float32)
    assert lx.einsum(text, a, b, tune=tuning, out=out) is out
    np.testing.assert_allclose(out, expected, rtol=1e-4)
    assert lx.tuning.entries()


def test_an_einsum_along_a_list_is_not_tuned() -> None:
    a, b = arrays()
    with pytest.raises(ArgumentError, match="an order of contraction that is a list"):
        lx.einsum("mk,kn->mn", a, b, optimize=["einsum_path", (0, 1)], tune=True)


@pytest.mark.parametrize("wrong", ["yes", 0, -1.5, float("nan"), [1]])
def test_a_wrong_tune_is_refused(wrong: Any) -> None:
    if wrong == 0:
        assert Tuning.of(False) is None
    with pytest.raises(ArgumentError, match="tun"):
        lx.jit(product, tune=wrong)


def test_jit_with_tune_is_a_decorator() -> None:
    @lx.jit(tune=Tuning(candidates=1, measure=measuring(1.0, 1.0)))
    def triple(x: Any) -> Any:
        return x * 3

    np.testing.assert_array_equal(triple(np.ones(4)), np.full(4, 3.0))


def test_calls_are_measured_in_turn() -> None:
    order: list[str] = []
    times = in_turn([lambda: order.append("a"), lambda: order.append("b")], 1e-6)
    assert len(times) == 2
    assert order[:4] == ["a", "a", "b", "b"]


@pytest.mark.parametrize("asked", [{"tune": True}, {"search": Search(measure=1)}])
def test_what_nobody_vouches_for_is_not_run_while_it_is_compiled(asked: Any) -> None:
    # It would end this process: the index is out of bounds, and nothing asks.
    text = """
    func.func @f(%a: memref<64x64xf32>, %c: memref<64x64xf32>) {
      %far = arith.constant 1000000000000 : index
      %x = memref.load %a[%far, %far] : memref<64x64xf32>
      memref.store %x, %a[%far, %far] : memref<64x64xf32>
      linalg.matmul ins(%a, %a : memref<64x64xf32>, memref<64x64xf32>)
        outs(%c : memref<64x64xf32>)
      return
    }"""
    for module in (text, lx.parse(text)):
        with pytest.raises(UntrustedError, match=r"(?s)runs the module .*trusted=True"):
            lx.compile(module, checked=False, **asked)
