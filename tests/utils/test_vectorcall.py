"""Classes with room for native code are classes as any other."""

from __future__ import annotations

import ctypes
import gc
import inspect
import pickle
import pydoc
import weakref
from typing import Any

import pytest

import linalg_ext as lx
from linalg_ext.utils.vectorcall import AVAILABLE, quick_function, quickly_called


class Plain:
    """What it is."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *arguments: Any, out: Any = None) -> Any:
        return self.name, arguments, out


Quick: Any = quickly_called(Plain)


class Derived(Quick):  # type: ignore[misc]
    def __call__(self, *arguments: Any, out: Any = None) -> Any:
        return "derived", *super().__call__(*arguments, out=out)


def test_the_class_keeps_its_name_and_its_words() -> None:
    assert Quick is not Plain
    for attribute in ("__name__", "__qualname__", "__module__", "__doc__"):
        assert getattr(Quick, attribute) == getattr(Plain, attribute)
    assert isinstance(Quick("a"), Plain)
    assert str(inspect.signature(Quick("a"))) == str(inspect.signature(Plain("a")))


def test_its_objects_are_called_through_python_until_there_is_native_code() -> None:
    one = Quick("one")
    assert one(1, 2, out=3) == ("one", (1, 2), 3)
    assert Derived("two")(4) == ("derived", "two", (4,), None)
    assert one.__call__(5) == ("one", (5,), None)
    assert one._native_code == 0


@pytest.mark.skipif(not AVAILABLE, reason="machine: an interpreter without vectorcall")
def test_native_code_is_asked_first() -> None:
    """Of `type Plain`: it gives how many arguments there are."""
    kind = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.py_object, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p
    )
    code = kind(lambda own, values, count, names: (own, count & ((1 << 63) - 1), bool(names)))
    for made in (Quick("one"), Quick("two")):
        made._native_code = ctypes.cast(code, ctypes.c_void_p).value
        assert made(1, 2, 3) == (made, 3, False)
        assert made(1, out=3) == (made, 1, True)
        assert made.__call__(1) == (made.name, (1,), None)
        made._native_code = 0
        assert made(1) == (made.name, (1,), None)


def test_a_cycle_through_the_records_is_collected() -> None:
    one = Quick("one")
    one._native_records = [one]
    end = weakref.ref(one)
    del one
    gc.collect()
    assert end() is None


@quick_function
def doubled(x: int, *, more: int = 0) -> int:
    """Twice a number."""
    return 2 * x + more


class Holder:
    method: Any = doubled


def test_a_quick_function_is_like_the_function() -> None:
    assert doubled(3, more=1) == 7
    assert doubled.__name__ == "doubled"
    assert str(inspect.signature(doubled)) == "(x: 'int', *, more: 'int' = 0) -> 'int'"
    assert pickle.loads(pickle.dumps(doubled)) is doubled
    assert "Twice a number." in pydoc.render_doc(doubled)
    assert Holder.method is doubled
    with pytest.raises(TypeError):
        Holder().method()  # bound: it doubles the holder


def test_einsum_is_documented_as_a_function() -> None:
    page = pydoc.plain(pydoc.render_doc(lx.einsum))
    assert "*operands" in page
    assert "sums of products of arrays" in page
