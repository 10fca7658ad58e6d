"""The user's file and line are in the IR, and in the errors of passes."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

import linalg_ext as lx
from traced_functions import random


def chain(x: Any, w: Any) -> Any:
    y = np.tanh(x @ w)
    y = y.reshape(-1)[1:]
    return lx.ops.exp(y).sum()


def test_each_op_has_the_line_that_made_it() -> None:
    text = (
        lx.jit(chain)
        .lower(random(3, 4), random(4, 2))
        .module.ir.operation.get_asm(enable_debug_info=True, use_local_scope=True)
    )
    _, first = inspect.getsourcelines(chain)
    for op, line in (
        ("arith.mulf", 1),
        ("math.tanh", 1),
        ("tensor.collapse_shape", 2),
        ("tensor.extract_slice", 2),
        ("linalg.exp", 3),
        ("arith.addf %out", 3),
    ):
        lines = [each for each in text.splitlines() if op in each and "loc(" in each]
        assert lines, op
        assert any(f'test_locations.py":{first + line}:' in each for each in lines), (op, lines)
