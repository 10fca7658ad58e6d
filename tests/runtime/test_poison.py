"""LINALG_EXT_POISON=1: what nobody wrote shows in results, whoever allocated them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

UNWRITTEN = """
import numpy as np
import linalg_ext as lx
from linalg_ext.runtime.pool import memory

STATIC = "func.func @f(%a: tensor<SxT>) -> tensor<SxT> {"
STATIC += " %e = tensor.empty() : tensor<SxT> return %e : tensor<SxT> }"
for size, dtype, name in ((7, np.float32, "f32"), (1 << 20, np.float32, "f32"), (9, np.int8, "i8")):
    kernel = lx.compile(STATIC.replace("S", str(size)).replace("T", name))
    of = np.zeros(size, dtype)
    expected = np.resize(np.frombuffer(b"\\xf4\\x7f", dtype if name == "i8" else np.uint8), size)
    for _ in range(CALLS if size < 100 else 2):
        found = kernel(of)
        assert np.isnan(found).all() if name == "f32" else (found == expected).all(), (name, size)
kernel = lx.compile(
    "func.func @f(%n: index) -> tensor<?xf64> {"
    " %e = tensor.empty(%n) : tensor<?xf64> return %e : tensor<?xf64> }"
)
assert np.isnan(kernel(5)).all() and np.isnan(kernel(100_000)).all()
assert np.isnan(memory.empty((2, 3))).all() and np.isnan(memory.empty((1 << 20,))).all()
"""


EMPTY_MEANS = """
import warnings

import numpy as np
import linalg_ext as lx

warnings.simplefilter("ignore")
for dtype in ("i8", "i4", "f4"):
    mean = lx.jit(lambda x: np.mean(x, axis=2, dtype=dtype))
    x = np.zeros((3, 33, 0, 3), "u2")
    np.testing.assert_array_equal(mean(x), np.mean(x, axis=2, dtype=dtype))
"""


def run(program: str, said: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LINALG_EXT_POISON": said}
    return subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )


def test_results_hold_the_pattern_where_nobody_wrote() -> None:
    # So many calls that the native caller makes the results.
    done = run(UNWRITTEN.replace("CALLS", "3000"), "1")
    assert done.returncode == 0, done.stderr


def test_means_of_nothing_are_written() -> None:
    done = run(EMPTY_MEANS, "1")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("said", ["", "0"])
def test_it_is_off_by_default(said: str) -> None:
    program = "from linalg_ext.runtime import poison; import numpy\n"
    program += "assert not poison.ON and poison.empty is numpy.empty"
    done = run(program, said)
    assert done.returncode == 0, done.stderr


def test_what_it_is_not_is_an_error() -> None:
    done = run("import linalg_ext; linalg_ext.memory", "yes")
    assert "LINALG_EXT_POISON is 'yes'" in done.stderr
