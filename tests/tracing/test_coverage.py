"""Every function of NumPy's either records or says that it cannot: none runs unseen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ArgumentError, DTypeError, LinalgExtError, TraceError
from linalg_ext.tracing.functions.numpy_functions import CALLED_BACK, FUNCTIONS
from linalg_ext.tracing.functions.updates import WRITERS
from linalg_ext.tracing.values.traced import Traced

X = np.arange(1, 10, dtype=np.float64).reshape(3, 3) / 9


def dispatched(module: Any) -> list[Any]:
    """Functions that ask their arguments what to do, as NumPy's protocol has it."""
    found = [getattr(module, name) for name in sorted(dir(module)) if name[0] != "_"]
    return [f for f in found if hasattr(f, "_implementation")]


def with_names(functions: list[Any]) -> list[Any]:
    return [pytest.param(f, id=f.__name__) for f in functions if callable(f)]


def tried(call: Callable[[Any], Any]) -> Any:
    """What a call gives on a traced value; None where it refuses."""
    given: list[Any] = []

    def function(x: Any) -> Any:
        try:
            given.append(call(x))
        except (LinalgExtError, TypeError, ValueError, IndexError) as error:
            given.append(error)
        return x

    lx.jit(function).lower(X)
    (result,) = given
    return result


BITWISE = {
    np.gcd,
    np.lcm,
    np.ldexp,
    np.bitwise_and,
    np.bitwise_count,
    np.bitwise_or,
    np.bitwise_xor,
    np.invert,
    np.left_shift,
    np.right_shift,
}
NOT_RECORDED = {np.isnat}


@pytest.mark.parametrize(
    "ufunc", with_names([f for f in vars(np).values() if isinstance(f, np.ufunc)])
)
def test_ufuncs(ufunc: np.ufunc) -> None:
    result = tried(lambda x: ufunc(*[x] * ufunc.nin))
    if ufunc in BITWISE:
        assert isinstance(result, DTypeError | ArgumentError)
        assert "float64" in result.what or f"ufunc '{ufunc.__name__}'" in result.what
    elif ufunc in NOT_RECORDED:
        assert isinstance(result, TraceError)
        assert f"numpy.{ufunc.__name__}" in result.what
        assert result.hint
    else:
        results = result if isinstance(result, tuple) else (result,)
        assert len(results) == ufunc.nout
        for each in results:
            assert isinstance(each, Traced)
            assert each.shape == (3, 3) or ufunc.signature


SERVED = {*FUNCTIONS, *CALLED_BACK, *WRITERS}


@pytest.mark.parametrize("function", with_names([f for f in dispatched(np) if f not in SERVED]))
def test_what_is_not_recorded_is_refused(function: Any) -> None:
    for arguments in (1, 2, 3, 4):
        result = tried(lambda x, n=arguments: function(*[x] * n))  # type: ignore[misc]
        if isinstance(result, TraceError):
            assert result.hint
            return
        assert isinstance(result, TypeError | ValueError), f"{function.__name__} gave {result!r}"
    pytest.fail(f"{function.__name__} takes no number of arrays that was tried")
