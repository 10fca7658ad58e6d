"""Which target is in force, and that kernels for one are never taken for another."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext import target
from linalg_ext.compiler.einsum import kernels
from linalg_ext.compiler.einsum.algebra import REDUCE, Algebra
from linalg_ext.errors import TargetError
from linalg_ext.notations.einsum.definitions import KINDS
from linalg_ext.target import Target, selection
from linalg_ext.target.features import known_features


def test_a_with_block_names_the_target_and_ends() -> None:
    with target.using("avx2") as outer:
        assert target.current() is outer
        with target.using("generic-x86-64"):
            assert target.current().name == "generic-x86-64"
            assert target.override() == target.named("generic-x86-64")
        assert target.current() is outer
    assert target.current() == target.host()
    assert target.override() is None


def test_it_ends_by_an_error_too() -> None:
    with pytest.raises(ZeroDivisionError), target.using("avx2"):
        _ = 1 // 0
    assert target.override() is None


@pytest.mark.parametrize("chosen", ["host", target.host()])
def test_this_machine_is_no_override(chosen: Target | str) -> None:
    with target.using("avx2"), target.using(chosen):
        assert target.override() is None


def test_another_thread_begins_with_this_machine() -> None:
    seen: list[str] = []
    with target.using("avx2"):
        thread = threading.Thread(target=lambda: seen.append(target.current().name))
        thread.start()
        thread.join()
    assert seen == ["host"]


def test_a_name_that_is_none_lists_those_there_are() -> None:
    with pytest.raises(
        TargetError, match=r"'avx-2' is not a known target(.|\n)*did you mean avx2\?"
    ):
        target.named("avx-2")


def test_a_named_target_is_the_same_on_every_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    described = {name: str(target.named(name)) for name in target.names()}
    told = {name: str(target.figures(name)) for name in target.names() if name != "host"}
    elsewhere = replace(target.host(), logical_cores=97, physical_cores=53, page_bytes=1 << 16)
    monkeypatch.setattr(selection, "host", lambda: elsewhere)
    assert str(target.named("host")) != described["host"]
    for name, figures in told.items():
        assert str(target.named(name)) == described[name]
        assert str(target.figures(name)) == figures


def test_kernels_of_ops_functions_and_einsums_are_kept_by_target() -> None:
    """A kernel for a machine that this one is not refuses to run; the one for this machine runs."""
    a = np.ones((6, 6), np.float32)

    @lx.jit
    def twice(x):
        return x + x

    calls = {
        "op": lambda: lx.ops.matmul(a, a),
        "jit": lambda: twice(a),
    }
    expected = {name: call() for name, call in calls.items()}
    for name, call in calls.items():
        with target.using(_impossible()), pytest.raises(TargetError, match="cannot run here"):
            call()
        np.testing.assert_array_equal(call(), expected[name])


def test_einsum_kernels_are_kept_by_target() -> None:
    algebra = Algebra(KINDS["min+"], np.dtype(np.float32))
    here = kernels.kernel_for(REDUCE, algebra, kernels.COMPILING_PAYS)
    with target.using("generic-x86-64"):
        there = kernels.kernel_for(REDUCE, algebra, kernels.COMPILING_PAYS)
    assert here is not None
    assert there is not None
    assert here is not there


def _impossible() -> Target:
    """A machine with every extension of x86-64: no CPU has them all (SSE4A is AMD's)."""
    return replace(target.named("avx512"), name="impossible", features=known_features("x86_64"))
