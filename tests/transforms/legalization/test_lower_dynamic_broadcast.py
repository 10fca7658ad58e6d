"""linalg_ext.dynamic_broadcast_in_dim: the documented generic, and NumPy's numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from destination_ops import call, compiled
from linalg_ext.dialects.linalg_ext import dynamic_broadcast_in_dim
from linalg_ext.errors import ExecutionError

TARGET = np.zeros((4, 3, 5), np.float32)


@pytest.fixture(scope="module", params=["4x3x5", "?x?x?"])
def spread(request: pytest.FixtureRequest) -> Any:
    return compiled(
        lambda x, o: dynamic_broadcast_in_dim(x, o, broadcast_dimensions=[0, 2]),
        *("tensor<?x?xf32>", f"tensor<{request.param}xf32>"),
    )


@pytest.mark.parametrize("shape", [(4, 5), (1, 5), (4, 1), (1, 1)])
def test_the_run_tells_what_expands(spread: Any, shape: tuple[int, int]) -> None:
    x = np.arange(20, dtype=np.float32).reshape(4, 5)[: shape[0], : shape[1]].copy()
    np.testing.assert_array_equal(spread(x, TARGET), np.broadcast_to(x[:, None], (4, 3, 5)))


@pytest.mark.parametrize("shape", [(2, 5), (4, 4), (0, 5)])
def test_what_does_not_fit_is_found_by_the_run(spread: Any, shape: tuple[int, int]) -> None:
    with pytest.raises(ExecutionError, match="does not broadcast"):
        spread(np.ones(shape, np.float32), TARGET)


def test_what_is_known_needs_no_look_at_the_sizes() -> None:
    """Element 0 of the first dimension is read everywhere, of the second each."""
    kernel = compiled(
        lambda x, o: dynamic_broadcast_in_dim(
            x, o, broadcast_dimensions=[0, 2], known_expanding=[0], known_nonexpanding=[1]
        ),
        *("tensor<?x?xf32>", "tensor<?x?x?xf32>"),
    )
    x = np.arange(5, dtype=np.float32).reshape(1, 5)
    np.testing.assert_array_equal(kernel(x, TARGET), np.broadcast_to(x[:, None], (4, 3, 5)))
    for shape in ((4, 5), (1, 1)):
        with pytest.raises(ExecutionError, match="does not broadcast"):
            kernel(np.ones(shape, np.float32), TARGET)


def test_dimensions_may_be_permuted() -> None:
    x = np.arange(20, dtype=np.float32).reshape(5, 4)
    types = ("tensor<?x4xf32>", "tensor<?x?x?xf32>")
    found = call(
        lambda x, o: dynamic_broadcast_in_dim(x, o, broadcast_dimensions=[2, 0]), types, x, TARGET
    )
    np.testing.assert_array_equal(found, np.broadcast_to(x.T[:, None], (4, 3, 5)))


def test_a_size_of_1_expands_to_nothing() -> None:
    types = ("tensor<?xf32>", "tensor<?x?xf32>")
    found = call(
        lambda x, o: dynamic_broadcast_in_dim(x, o, broadcast_dimensions=[1]),
        types,
        np.ones(1, np.float32),
        np.zeros((3, 0), np.float32),
    )
    assert found.shape == (3, 0)
