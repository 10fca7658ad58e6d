"""The kernels that measure the machine do what is counted for them."""

from __future__ import annotations

import re

import numpy as np
import pytest

from benchmarks import limits
from linalg_ext import target
from linalg_ext.compiler import calibration as peaks
from linalg_ext.target.model import element_bits
from resources import skip_machine


@pytest.mark.parametrize("dtype", sorted(peaks.arithmetic()))
def test_a_peak_is_of_products_that_are_computed(dtype: str) -> None:
    kind = peaks.arithmetic()[dtype]
    lanes = kind.bits // element_bits(kind.factors)
    factors = peaks.aligned(2 * lanes, kind.factors)
    factors[:lanes], factors[lanes:] = 2, 3
    result = peaks.aligned(peaks.accumulators() * kind.lanes, kind.sums)
    peaks.multiply_add_kernel(kind)(factors, result, 5)
    assert kind.flops == 2 * lanes
    np.testing.assert_array_equal(result, 5 * 6 * kind.depth)


@pytest.mark.parametrize("traffic", limits.TRAFFIC, ids=lambda one: str(one.name))
def test_traffic_moves_every_element(traffic: limits.Traffic) -> None:
    (work,), moved = limits.traffic_work(1 << 16, traffic=traffic)
    *inputs, out, _ = work.args  # type: ignore[attr-defined]  # of functools.partial
    for index, array in enumerate(inputs):
        array[:] = np.arange(array.size) + index
    work()
    np.testing.assert_array_equal(out, sum(inputs))
    assert moved == sum(array.nbytes for array in (*inputs, out))
    assert 0 <= (1 << 16) - moved < 3 * 4 * 4 * target.current().lanes("f32") * 4


def test_non_temporal_stores_are_in_the_code() -> None:
    if target.host().architecture != "x86_64":
        skip_machine("a CPU of x86-64")
    assert re.search("movnt", limits._traffic_kernel(limits.STREAMING_COPY).asm())
    assert not re.search("movnt", limits._traffic_kernel(limits.COPY).asm())


def test_every_thread_has_a_stretch_of_its_own() -> None:
    works, moved = limits.traffic_work(1 << 18, threads=3)
    arrays = [array for work in works for array in work.args[:-1]]  # type: ignore[attr-defined]
    assert len(works) == 3
    assert moved == sum(array.nbytes for array in arrays)
    assert not any(
        np.may_share_memory(one, other) for at, one in enumerate(arrays) for other in arrays[:at]
    )


def test_rates() -> None:
    assert limits.Rate.of(12.0, [2.0, 4.0, 3.0]) == limits.Rate(4.0, 6.0)


def test_the_least_time_is_of_arithmetic_or_of_memory() -> None:
    one = limits.Limits(1, {"f32": 100.0}, {1000: 50.0, 2000: 10.0})
    assert one.seconds(flops=500, moved=100) == 5
    assert one.seconds(flops=5, moved=100) == 2
    assert one.seconds(flops=5, moved=1001) == pytest.approx(100.1)
    assert one.seconds(flops=5, moved=4000) == 400
