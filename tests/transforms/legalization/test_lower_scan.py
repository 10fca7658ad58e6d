"""linalg_ext.scan: running sums, extrema and recurrences along any dimension, of any length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from destination_ops import call, compiled
from linalg_ext.bindings import arith, ir
from linalg_ext.dialects.linalg_ext import scan
from linalg_ext.errors import ExecutionError
from linalg_ext.target import host

RNG = np.random.default_rng(5)
WHOLE = "tensor<?x?x?xf32>"


def add(before: Any, new: Any) -> Any:
    return arith.addf(before, new)


def along(array: Any, axis: int, step: Callable[[Any, Any], Any], start: Any = None) -> Any:
    """A scan by NumPy, plane by plane; all that is carried, the start in front."""
    planes = list(np.moveaxis(array, axis, 0))
    totals = [start if start is not None else planes.pop(0)]
    for plane in planes:
        totals.append(step(totals[-1], plane))
    return np.stack(totals, axis)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("inclusive", [True, False])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_from_an_initial_value(axis: int, inclusive: bool, reverse: bool) -> None:
    rest = "tensor<?x?xf32>"
    kernel = compiled(
        lambda x, t: scan(
            x, combine=add, initial=t, dimension=axis, inclusive=inclusive, reverse=reverse
        ),
        *(WHOLE, rest),
    )
    for shape in ((2, 3, 5), (1, 70, 2), (3, 2, 67), (4, 4, 0), (0, 3, 2)):
        x = RNG.standard_normal(shape).astype(np.float32)
        t = RNG.standard_normal(np.delete(shape, axis)).astype(np.float32)
        totals = along(np.flip(x, axis) if reverse else x, axis, np.add, t)
        wanted = np.delete(totals, 0 if inclusive else -1, axis)
        result, last = kernel(x, t)
        np.testing.assert_allclose(
            result, np.flip(wanted, axis) if reverse else wanted, rtol=1e-5, atol=1e-5
        )
        np.testing.assert_allclose(last, totals.take(-1, axis), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_without_one_the_first_element_is_itself(axis: int) -> None:
    kernel = compiled(
        lambda x: scan(x, combine=lambda a, b: arith.subf(a, b), dimension=axis), WHOLE
    )
    for shape in ((2, 3, 5), (1, 1, 1), (3, 0, 2), (5, 40, 3)):
        x = RNG.standard_normal(shape).astype(np.float32)
        wanted = along(x, axis, np.subtract) if x.size else x
        np.testing.assert_allclose(kernel(x), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (0, 0)])
@pytest.mark.parametrize("axis", [0, 1])
def test_of_nothing(shape: tuple[int, int], axis: int) -> None:
    (rest,) = np.delete(shape, axis)
    types = f"tensor<{shape[0]}x{shape[1]}xf32>", f"tensor<{rest}xf32>"
    x, start = np.zeros(shape, np.float32), np.full(rest, 7, np.float32)
    result, last = call(
        lambda x, t: scan(x, combine=add, initial=t, dimension=axis), types, x, start
    )
    assert result.shape == shape
    np.testing.assert_array_equal(last, start)


@pytest.mark.parametrize("axis", [0, 1])
def test_a_recurrence_of_two_inputs(axis: int) -> None:
    def step(before: Any, factor: Any, new: Any) -> Any:
        return arith.addf(arith.mulf(before, factor), new)

    a, x = RNG.random((2, 33, 17))
    h = RNG.random(np.delete(a.shape, axis))
    types = ("tensor<33x17xf64>", "tensor<33x17xf64>", f"tensor<{h.size}xf64>")
    result, last = call(
        lambda a, x, h: scan(a, x, combine=step, initial=h, dimension=axis), types, a, x, h
    )
    state, states = h, []
    for factor, new in zip(np.moveaxis(a, axis, 0), np.moveaxis(x, axis, 0), strict=True):
        state = state * factor + new
        states.append(state)
    np.testing.assert_allclose(result, np.stack(states, axis), rtol=1e-12)
    np.testing.assert_allclose(last, state, rtol=1e-12)


def test_bytes_are_carried_in_wider_integers() -> None:
    def step(before: Any, new: Any) -> Any:
        return arith.addi(before, arith.extsi(before.type, new))

    x = RNG.integers(-128, 127, (3, 1000), np.int8, endpoint=True)
    types = ("tensor<3x1000xi8>", "tensor<3xi64>", "tensor<3x1000xi64>")
    result, _ = call(
        lambda x, t, o: scan(x, combine=step, initial=t, outs=o),
        types,
        *(x, np.zeros(3, np.int64), np.zeros(x.shape, np.int64)),
    )
    np.testing.assert_array_equal(result, np.cumsum(x, 1))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_long_sums_lose_nothing(axis: int, dtype: Any) -> None:
    """0.1, three million times: one after another, f32 is off by some percent."""
    shape = [3, 3]
    shape[axis] = 3_000_000
    x = np.full(shape, 0.1, dtype)
    name = f"tensor<{shape[0]}x{shape[1]}x{np.dtype(dtype).name.replace('float', 'f')}>"
    found = call(lambda x: scan(x, combine=add, dimension=axis), (name,), x)
    count = np.arange(1, 3_000_001).reshape([-1 if at == axis else 1 for at in (0, 1)])
    exact = count * np.longdouble(x[0, 0])
    # More vectors of fewer lanes are added up in a row.
    most = 6 if host().vector_bits >= 512 else 8
    assert np.max(np.abs(found - exact) / exact) < most * np.finfo(dtype).eps


@pytest.mark.parametrize("axis", [0, 1])
def test_a_wider_float_is_rounded_where_it_is_written(axis: int) -> None:
    def step(before: Any, new: Any) -> Any:
        return arith.addf(before, arith.extf(before.type, new))

    x = RNG.standard_normal((300, 400)).astype(np.float32)
    start = np.zeros(np.delete(x.shape, axis))
    types = ("tensor<300x400xf32>", f"tensor<{start.size}xf64>", "tensor<300x400xf32>")
    result, last = call(
        lambda x, t, o: scan(x, combine=step, initial=t, dimension=axis, outs=o),
        types,
        *(x, start, np.zeros_like(x)),
    )
    exact = np.cumsum(x, axis, np.float64)
    np.testing.assert_array_max_ulp(result, exact.astype(np.float32), 1)
    np.testing.assert_allclose(last, exact.take(-1, axis), rtol=1e-12)


def test_sizes_that_do_not_fit_are_found_at_run_time() -> None:
    kernel = compiled(
        lambda x, t, o: scan(x, combine=add, initial=t, outs=o),
        *("tensor<?x?xf32>", "tensor<?xf32>", "tensor<?x?xf32>"),
    )
    x = np.zeros((3, 4), np.float32)
    for start, out in ((np.zeros(2, np.float32), x), (np.zeros(3, np.float32), x[:, :3].copy())):
        with pytest.raises(ExecutionError, match="size"):
            kernel(x, start, out)


def test_it_is_tiled_across_its_dimension() -> None:
    from destination_ops import text_of
    from linalg_ext.dialects.gml_st.rules import rule_of
    from linalg_ext.ir.context import new_context

    text = text_of(
        lambda x, t: scan(x, combine=add, initial=t, dimension=1),
        "tensor<4x9x5xf32>",
        "tensor<4x5xf32>",
    )
    with new_context():
        module = ir.Module.parse(text)
        (op,) = [
            each.operation
            for each in module.body.operations[0].regions[0].blocks[0].operations
            if each.operation.name == "linalg_ext.scan"
        ]
        rule = rule_of(op)
        assert rule.domain.whole == {1}
        assert rule.part_for_result(rule.part_of_result(rule.domain.all, 1), 1) == rule.domain.all
        assert [part and part.sizes for part in rule.operand_parts(rule.domain.all)] == [
            *((4, 9, 5),) * 2,
            (4, 5),
        ]
