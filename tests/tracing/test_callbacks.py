"""Python called from kernels: `lx.pure_callback`, and NumPy's own code for what is not recorded."""

from __future__ import annotations

import gc
import pickle
import threading
import weakref
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import (
    ArgumentError,
    DTypeError,
    ExportError,
    LinalgExtError,
    ShapeError,
    TraceError,
    UnpicklableError,
)
from linalg_ext.executable import disk_cache
from resources import package
from traced_functions import agree, check, random

LINALG: Any = np.linalg
A = random(4, 4, dtype=np.float64) + 4 * np.eye(4)
S = A @ A.T
R = random(5, 3)
V = np.arange(6.0)


def sums(x: Any) -> Any:
    return x.sum(0), {"mean": np.float64(x.mean())}


@pytest.mark.parametrize("dynamic", [False, True])
def test_results_in_containers(dynamic: bool) -> None:
    @lx.jit(dynamic=dynamic)
    def compute(x: Any) -> Any:
        total, more = lx.pure_callback(sums, (x[0], {"mean": ((), float)}), x * 2)
        return total + 1, more["mean"]

    x = random(3, 4, dtype=np.float64)
    total, mean = compute(x)
    np.testing.assert_allclose(total, (2 * x).sum(0) + 1)
    np.testing.assert_allclose(mean, (2 * x).mean())


@pytest.mark.parametrize(
    "dtype",
    [np.float32, np.float16, ml_dtypes.bfloat16, np.bool_, np.uint8, np.int64, np.complex64],
)
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3, 4)])
def test_arrays_arrive_and_return_as_they_are(dtype: Any, shape: tuple[int, ...]) -> None:
    x = random(*shape, dtype=np.float64).astype(dtype)
    seen: list[Any] = []

    def note(y: Any) -> Any:
        seen.append(y)
        return y

    found = lx.jit(lambda x: lx.pure_callback(note, x, x))(x)
    for each in (found, seen[0]):
        assert each.dtype == x.dtype
        np.testing.assert_array_equal(each, x)


def test_outside_of_a_trace_it_is_called_at_once() -> None:
    np.testing.assert_array_equal(lx.pure_callback(np.sort, V, -V), np.sort(-V))
    with pytest.raises(ShapeError, match=r"sum gives an array of shape \(\)"):
        lx.pure_callback(np.sum, V, V)


def test_in_loops_and_branches() -> None:
    def compute(x: Any) -> Any:
        step = lx.loop(3, lambda i, s: lx.pure_callback(lambda a: a + 1, s, s) * 2, x)
        return lx.cond(x[0] > 0, lambda s: lx.pure_callback(np.sort, s, s), lambda s: -s, step)

    check(compute, -V)
    check(compute, 1 - V)


def test_kernels_are_called_from_kernels() -> None:
    inner = lx.jit(lambda x: np.cumsum(x) + 1)
    found = lx.jit(lambda x: lx.pure_callback(lambda a: inner(a), x, x) * 2)(V)
    np.testing.assert_array_equal(found, np.cumsum(V) * 2 + 2)


def test_an_exception_is_the_calls_own() -> None:
    class Odd(Exception):
        pass

    def fail(x: Any) -> Any:
        raise Odd(x[0])

    compute = lx.jit(lambda x: lx.pure_callback(fail, x, x + 1) * 2)
    for number in (1.0, 2.0):
        with pytest.raises(Odd) as caught:
            compute(np.full(3, number))
        assert caught.value.args == (number + 1,)


def test_exceptions_of_threads_are_their_own() -> None:
    def fail(x: Any) -> Any:
        raise KeyError(float(x))

    compute = lx.jit(lambda x: lx.pure_callback(fail, x, x))
    wrong: list[Any] = []

    def work(number: float) -> None:
        for _ in range(50):
            try:
                compute(np.float64(number))
            except KeyError as error:
                if error.args != (number,):
                    wrong.append(error)

    threads = [threading.Thread(target=work, args=(float(n),)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize(
    ("like", "function", "kind", "message"),
    [
        (V, lambda x: x[:2], ShapeError, r"shape \(2,\)(.|\n)*shape \(6,\), as was declared"),
        (V, lambda x: x.astype("f4"), DTypeError, r"float32(.|\n)*result\.astype\('float64'\)"),
        (V, lambda x: (x, x), ArgumentError, "by like"),
        (V, 3, ArgumentError, "expected a function"),
        ("text", np.sort, ArgumentError, "ShapeDtype"),
        ((), np.sort, ArgumentError, "ShapeDtype"),
        ((3.5, float), np.sort, LinalgExtError, "ShapeDtype|tuple"),
    ],
)
def test_misuse(like: Any, function: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message) as caught:
        lx.jit(lambda x: lx.pure_callback(function, like, x))(V)
    assert getattr(caught.value, "where", None) is not None


def test_a_kernel_that_calls_python_stays_in_its_process(tmp_path: Any) -> None:
    jitted = lx.jit(lambda x: lx.pure_callback(np.sort, x, x))
    kernel = jitted.lower(V).compile().kernel
    with pytest.raises(UnpicklableError, match="calls functions of Python"):
        pickle.dumps(kernel)
    with pytest.raises(ExportError):
        kernel.export(tmp_path)
    del jitted
    np.testing.assert_array_equal(kernel(-V), np.sort(-V))


def test_it_is_kept_on_disk_under_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[Any] = []
    monkeypatch.setattr(disk_cache, "keep", lambda key, kernel: keys.append(key))
    lx.jit(lambda x: lx.pure_callback(np.sort, x, x))(V)
    assert keys == [None]


def test_a_function_goes_with_the_last_kernel() -> None:
    jitted = lx.jit(lambda x: lx.pure_callback(np.sort, x, x))
    kernel = jitted.lower(V).compile().kernel
    left = weakref.ref(kernel.callbacks[0])
    gc.collect()
    assert left() is not None
    del kernel, jitted
    gc.collect()
    assert left() is None


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "inv": (LINALG.inv, (A,)),
    "inv of several": (LINALG.inv, (np.stack([A, S]),)),
    "solve": (LINALG.solve, (A, V[:4])),
    "solve of matrices": (LINALG.solve, (A, A[:, :2])),
    "det": (lambda a: LINALG.det(a) * 2, (A,)),
    "cholesky": (LINALG.cholesky, (S,)),
    "eigh": (lambda a: LINALG.eigh(a).eigenvalues, (S,)),
    "slogdet": (LINALG.slogdet, (A,)),
    "pinv": (LINALG.pinv, (R,)),
    "norm": (lambda a: (LINALG.norm(a, 2), LINALG.norm(a, "nuc", axis=(0, 1))), (A,)),
    "matrix_power": (lambda a: LINALG.matrix_power(a, -2), (A,)),
    "matrix_rank": (LINALG.matrix_rank, (R,)),
    "fft": (lambda x: (np.fft.fft(x), np.fft.rfft(x), np.fft.irfft(np.fft.rfft(x))), (V,)),
    "fft2": (np.fft.fft2, (A,)),
    "polyfit": (lambda x, y: np.polyfit(x, y, 2), (V, V**2)),
    "along": (lambda x: np.apply_along_axis(lambda r: np.sort(r)[:2] * np.ones(2), 1, x), (A,)),
    "gcd": (lambda x: np.gcd(x, 12), (np.arange(6),)),
    "reduceat": (lambda x: np.add.reduceat(x, [0, 2]), (V,)),
    "logaddexp.reduce": (lambda x: np.logaddexp.reduce(x), (V,)),
    "subtract.accumulate": (lambda x: np.subtract.accumulate(x), (V,)),
    "frexp": (np.frexp, (V,)),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_like_numpy(name: str, dynamic: bool) -> None:
    function, arguments = FUNCTIONS[name]
    found = lx.jit(function, dynamic=dynamic)(*arguments)
    expected = function(*arguments)
    agree(found, expected)
    if isinstance(expected, tuple):
        assert type(found) is type(expected)


@pytest.mark.parametrize(
    "function",
    [
        lambda a: LINALG.qr(a),
        lambda a: LINALG.svd(a, full_matrices=False),
        lambda a: LINALG.svd(a, compute_uv=False),
        lambda a: LINALG.lstsq(a, a[:, 0], rcond=None),
    ],
)
def test_sizes_of_results_are_those_of_the_call_where_no_open_one_is_it(function: Any) -> None:
    check(function, R)
    compute = lx.jit(function, dynamic=True)
    for x in (R, R[:, :2], R):
        agree(compute(x), function(x))
    with pytest.raises(TraceError, match="the size is open"):
        lx.jit(function).lower(lx.ShapeDtype((lx.Dim("n"), lx.Dim("m")), "f64"))


def test_ufuncs_of_others_are_called() -> None:
    special = package("scipy.special", "pip install 'linalg-ext[jax]'")
    check(lambda x: special.erf(x) + special.xlogy.outer(x[0], x[0])[:2, 0], A[:2, :2])
    check(lambda x: special.sici(x), A)
    logarithm = np.frompyfunc(lambda x: x + 1, 1, 1)
    with pytest.raises(DTypeError, match="is not a dtype that can be traced"):
        lx.jit(logarithm)(V)


def test_eigenvalues_are_complex_whatever_they_are() -> None:
    found = lx.jit(LINALG.eig)(S)
    expected = LINALG.eig(S)
    assert found.eigenvalues.dtype == found.eigenvectors.dtype == np.complex128
    np.testing.assert_array_equal(found.eigenvectors, expected.eigenvectors)


def test_errors_are_numpys() -> None:
    with pytest.raises(ArgumentError, match=r"numpy\.linalg\.inv: Last 2 dimensions"):
        lx.jit(LINALG.inv)(R)
    with pytest.raises(ShapeError, match=r"a\.shape\[0\] is 5, a\.shape\[1\] is 3"):
        lx.jit(lambda a: LINALG.inv(a), dynamic=True)(R)
    with pytest.raises(LINALG.LinAlgError, match="Singular matrix"):
        lx.jit(LINALG.inv)(np.zeros((3, 3)))
