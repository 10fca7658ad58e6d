"""The native caller itself: references, threads, its records, and when it is made."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import LinalgExtError
from linalg_ext.runtime import vectorcall
from linalg_ext.runtime import vectorcall as calls
from native_calls import ADD, TWO, array, is_native, native_caller, records_of

Array = np.ndarray[Any, Any]


WAITS = """
func.func @wait(%flag: memref<2xi64>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i64
  %c1 = arith.constant 1 : index
  %nothing = arith.constant 0 : i64
  %most = arith.constant 3000000000 : index
  %here = memref.atomic_rmw assign %one, %flag[%c1] : (i64, memref<2xi64>) -> i64
  scf.while (%n = %c0) : (index) -> index {
    %seen = memref.atomic_rmw addi %nothing, %flag[%c0] : (i64, memref<2xi64>) -> i64
    %unset = arith.cmpi eq, %seen, %nothing : i64
    %few = arith.cmpi ult, %n, %most : index
    %on = arith.andi %unset, %few : i1
    scf.condition(%on) %n : index
  } do {
  ^bb0(%n: index):
    %next = arith.addi %n, %c1 : index
    scf.yield %next : index
  }
  return
}
"""


@pytest.fixture(scope="module", autouse=True)
def _native() -> None:
    native_caller()


@pytest.fixture(scope="module")
def add() -> Any:
    kernel = lx.compile(ADD)
    kernel(array(), array())
    return kernel


def test_no_reference_is_lost_or_kept(add: Any) -> None:
    first, second, out = array(), array(1), np.empty((2, 3), np.float32)
    two = lx.compile(TWO)
    four = np.arange(4, dtype=np.int32)
    two(four, 1, 1.0)
    names = ("out",)
    watched = [first, second, out, add, two, first.dtype, four.dtype, np.ndarray, names, four]
    watched += [*records_of(add), *records_of(two)]
    none = sys.getrefcount(None)
    gc.collect()
    before = [sys.getrefcount(each) for each in watched]
    for _ in range(25_000):
        add(first, second, out=out)
        add(first, second)
        two(four, 1000, 2.5)
        add(first, second, out=None)
    for _ in range(300):
        with pytest.raises(LinalgExtError):
            add(first, four)
    gc.collect()
    after = [sys.getrefcount(each) for each in watched]
    assert after == before
    # Others have references to None, too, and drop them; a call that lost one would lose 25,000.
    assert abs(sys.getrefcount(None) - none) < 12_500


def test_a_kernel_and_its_code_go_when_nobody_holds_them() -> None:
    kernel = lx.compile(ADD)
    kernel(array(), array())
    (record,) = records_of(kernel)
    ends: list[weakref.ref[Any]] = [
        weakref.ref(kernel),
        weakref.ref(kernel.code),
        weakref.ref(record),
    ]
    vars(kernel)["itself"] = kernel
    del kernel, record
    gc.collect()
    assert [end() for end in ends] == [None] * 3


def test_threads_share_a_kernel(add: Any) -> None:
    go = threading.Barrier(8)
    wrong: list[int] = []

    def work(seed: int) -> None:
        one, other, out = array(seed), array(100 + seed), np.empty((2, 3), np.float32)
        expected = one + other
        go.wait()
        for _ in range(2000):
            made = add(one, other)
            add(one, other, out=out)
            if not ((made == expected).all() and (out == expected).all()):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_other_threads_run_while_native_code_does() -> None:
    """A kernel says that it is there, and waits for an answer, for a while at most."""
    kernel = lx.compile(WAITS)
    assert kernel.callee.open_ended
    words = np.ones(2, np.int64)
    for _ in range(20):  # these are short
        kernel(words)
    assert is_native(lambda: kernel(words))
    words[:] = 0
    answers: list[int] = []

    def wait() -> None:
        kernel(words)
        answers.append(int(words[0]))

    thread = threading.Thread(target=wait)
    thread.start()
    while not words[1]:
        pass
    words[0] = 5
    thread.join()
    assert answers == [5]


def test_more_shapes_than_there_are_records() -> None:
    sizes = range(1, 13)
    for _ in range(4):
        for size in sizes:
            one = np.full(size, size, np.float32)
            np.testing.assert_array_equal(lx.ops.sub(one, one), np.zeros(size, np.float32))
    assert len(records_of(lx.ops.sub)) == calls.MOST_RECORDS


def test_calls_are_made_without_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectorcall, "is_as_expected", lambda: False)
    provider = calls._Provider()
    provider.make()
    assert provider() is None


def test_the_caller_is_made_when_calls_have_come_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "COMPILING_PAYS", 3)
    provider = calls._Provider()
    assert [provider() is None for _ in range(2)] == [True, True]
    assert provider() is not None


def test_the_caller_is_loaded_sooner_where_it_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "LOADING_PAYS", 3)
    made = lx.compile(ADD).code  # any code, in the place of what is kept
    asked: list[str] = []

    def kept(name: str) -> Any:
        asked.append(name)
        return None if len(asked) == 1 else made

    monkeypatch.setattr(calls, "kept_own_code", kept)
    monkeypatch.setattr(calls, "Caller", lambda code: code)
    for provider in (calls._Provider(), calls._Provider()):
        assert [provider() for _ in range(2)] == [None, None]
        found: Any = provider()
        assert found is (None if len(asked) == 1 else made)
    assert asked == ["vectorcall"] * 2
