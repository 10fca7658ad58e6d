"""NumPy's own tests of einsum, with our function in the place of theirs.

The module is the one that comes with the installed NumPy. Calls are computed by the nests that all
shapes share; and by a kernel of their own, in which NumPy has no part: some of the tests, and all
where `LINALG_EXT_THOROUGH=1` is set.
"""

from __future__ import annotations

import importlib.util
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from einsum_ways import WAYS, computed
from linalg_ext.errors import DTypeError
from resources import THOROUGH

LONGDOUBLE = "no MLIR type is an x87 or quadruple longdouble that the compiler takes down"
OBJECT = "elements are Python objects, for which no code can be compiled"

DESELECTED = {
    "test_einsum_sums_longdouble": LONGDOUBLE,
    "test_einsum_sums_clongdouble": LONGDOUBLE,
    "test_einsum_sums_object": OBJECT,
    "test_einsum_object_errors": OBJECT,
    "test_object_loop": OBJECT,
}
"""What NumPy tests and we refuse, and why. Of `test_different_paths`, the dtypes below as well."""

DESELECTED_DTYPES = {"g": LONGDOUBLE, "G": LONGDOUBLE}


def _load() -> types.ModuleType:
    """NumPy's test module, in which `np.einsum` is `lx.einsum` and all else is NumPy's."""
    spec = importlib.util.find_spec("numpy._core.tests.test_einsum")
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError("this NumPy comes without its tests: install its wheel")
    module = importlib.util.module_from_spec(spec)
    theirs = np.einsum
    np.einsum = lx.einsum  # type: ignore[assignment]  # parameters of tests are made of it while the module is read
    try:
        spec.loader.exec_module(module)
    finally:
        np.einsum = theirs
    module.np = _NumPyWithOurs("numpy")  # type: ignore[attr-defined]
    return module


class _NumPyWithOurs(types.ModuleType):
    einsum = staticmethod(lx.einsum)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


numpy_tests = _load()


@pytest.fixture(autouse=True, params=WAYS if THOROUGH else ["nests"])
def _way(request: pytest.FixtureRequest) -> Iterator[None]:
    with computed(request.param):
        yield


TestEinsumPath = numpy_tests.TestEinsumPath
test_overlap = numpy_tests.test_overlap
test_einsum_chunking_precision = numpy_tests.test_einsum_chunking_precision


class TestEinsum(numpy_tests.TestEinsum):  # type: ignore[misc, name-defined]
    """NumPy's, without what is deselected by name."""

    @pytest.mark.parametrize(
        "dtype",
        [
            code
            for code in np.typecodes["AllFloat"] + np.typecodes["AllInteger"]
            if code not in DESELECTED_DTYPES
        ],
    )
    def test_different_paths(self, dtype: str) -> None:
        super().test_different_paths(dtype)


for _name in DESELECTED:
    setattr(TestEinsum, _name, None)


@pytest.mark.parametrize("name", ["misc", "broadcast", "all_contig_non_contig_output"])
def test_with_kernels_alone(name: str) -> None:
    with computed("kernel"):
        getattr(numpy_tests.TestEinsum(), f"test_einsum_{name}")()


def test_nothing_else_is_left_out() -> None:
    theirs = {name for name in vars(numpy_tests) if name.startswith(("test", "Test"))}
    assert theirs == {
        "TestEinsum", "TestEinsumPath", "test_overlap", "test_einsum_chunking_precision"
    }  # fmt: skip
    ours = {name for name in dir(TestEinsum) if callable(getattr(TestEinsum, name))}
    assert set(dir(numpy_tests.TestEinsum)) - ours - {"__doc__"} <= {
        *DESELECTED, *dir(object), "__dict__", "__module__", "__weakref__"
    }  # fmt: skip


@pytest.mark.skipif(
    np.dtype("g") == np.dtype("d"), reason="machine: longdouble is double on this machine"
)
@pytest.mark.parametrize("name", DESELECTED)
def test_what_is_left_out_is_refused_with_one_clear_error(name: str) -> None:
    with pytest.raises(DTypeError, match=r"einsum: operand 0: .*(float128|complex256|object)"):
        getattr(numpy_tests.TestEinsum(), name)()


@pytest.mark.skipif(
    np.dtype("g") == np.dtype("d"), reason="machine: longdouble is double on this machine"
)
@pytest.mark.parametrize("dtype", DESELECTED_DTYPES)
def test_dtypes_left_out_are_refused_with_one_clear_error(dtype: str) -> None:
    with pytest.raises(DTypeError, match=r"einsum: operand 0: .*(float128|complex256)"):
        numpy_tests.TestEinsum().test_different_paths(dtype)
