"""Equal steps of straight code become a loop; steps that differ in anything stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import linalg_ext as lx
from linalg_ext import cache
from linalg_ext.module import Module
from linalg_ext.transforms.codegen.vectorization import roll_up_steps as file

STEPS = 40


def _function(*lines: str, result: str) -> Module:
    body = "\n".join(lines)
    return Module.parse(
        f"func.func @f(%x: f32, %y: f32) -> f32 {{\n{body}\nreturn {result} : f32\n}}", trusted=True
    )


def _chain(start: str = "%x", *, odd: str = "") -> list[str]:
    """Steps `v = sin(v) * y`; at step 20, `odd` in its place."""
    lines, last = [], start
    for at in range(STEPS):
        lines.append(f"%s{at} = math.sin {last} : f32")
        usual = f"%p{at} = arith.mulf %s{at}, %y : f32"
        lines.append(odd.format(at=at) if odd and at == 20 else usual)
        last = f"%p{at}"
    return lines


def _rolled(module: Module, least: int = 32) -> bool:
    report = file.roll_up_steps(module, least=least)
    assert ("scf.for" in str(module)) == bool(report)
    return bool(report)


def test_a_chain_becomes_a_loop() -> None:
    module = _function(*_chain(), result=f"%p{STEPS - 1}")
    assert _rolled(module)
    assert str(module).count("math.sin") == 1
    assert f"arith.constant {STEPS} : index" in str(module)


@pytest.mark.parametrize(
    "odd",
    [
        "%p{at} = arith.addf %s{at}, %y : f32",
        "%p{at} = arith.mulf %s{at}, %x : f32",
        "%p{at} = arith.mulf %y, %s{at} : f32",
        "%p{at} = arith.mulf %s{at}, %y fastmath<contract> : f32",
    ],
    ids=["op", "operand", "order", "attribute"],
)
def test_a_step_that_differs_ends_the_row(odd: str) -> None:
    assert not _rolled(_function(*_chain(odd=odd), result=f"%p{STEPS - 1}"))
    module = _function(*_chain(odd=odd), result=f"%p{STEPS - 1}")
    assert _rolled(module, least=12)
    # The steps of the shorter side, and the one that differs, stand as they are.
    assert 1 < str(module).count("math.sin") <= 22


def test_another_constant_is_another_step() -> None:
    odd = "%c = arith.constant 2.0 : f32\n%p{at} = arith.mulf %s{at}, %c : f32"
    assert not _rolled(_function(*_chain(odd=odd), result=f"%p{STEPS - 1}"))


def test_a_result_that_is_taken_later_stays() -> None:
    lines = [*_chain(), f"%r = arith.addf %p20, %p{STEPS - 1} : f32"]
    assert not _rolled(_function(*lines, result="%r"))


def test_a_result_of_the_last_step_that_no_step_takes() -> None:
    lines = [*_chain(), f"%r = arith.addf %s{STEPS - 1}, %p{STEPS - 1} : f32"]
    module = _function(*lines, result="%r")
    assert _rolled(module)
    assert str(module).count("math.sin") == 2


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "one value": lambda x, y: np.sin(x),
    "with another operand": lambda x, y: np.tanh(x) * y + 0.5,
    "its own square": lambda x, y: np.sin(x * x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numbers_are_those_of_straight_code(name: str) -> None:
    step = FUNCTIONS[name]

    def function(x: Any, y: Any) -> Any:
        for _ in range(STEPS):
            x = step(x, y)
        return x

    x, y = np.random.default_rng(0).random((2, 7, 19), np.float32)
    np.testing.assert_array_equal(*_both(function, x, y))


def test_two_values_that_change_places() -> None:
    def function(x: Any, y: Any) -> Any:
        for _ in range(2 * STEPS):
            x, y = y, np.sin(x) + y
        return x - y

    x, y = np.random.default_rng(0).random((2, 5, 33), np.float32)
    np.testing.assert_array_equal(*_both(function, x, y))


@given(
    st.lists(
        st.tuples(st.sampled_from(["sin", "add", "mul"]), st.integers(0, 2)), min_size=1, max_size=4
    ),
    st.integers(4, 9),
    st.lists(st.integers(0, 8), max_size=2),
)
def test_random_steps_compute_the_same(
    step: list[tuple[str, int]], count: int, odd: list[int]
) -> None:
    """Steps on a state of three values, some with a constant of their own."""

    def lines() -> list[str]:
        state, text = ["%x", "%y", "%x"], []
        for at in range(count):
            for number, (kind, to) in enumerate(step):
                new, left, right = f"%v{at}_{number}", state[to], state[(to + 1) % 3]
                if at in odd and kind == "add":
                    text.append(f"%k{at}_{number} = arith.constant {at + 1}.0 : f32")
                    right = f"%k{at}_{number}"
                text.append(
                    f"{new} = math.sin {left} : f32"
                    if kind == "sin"
                    else f"{new} = arith.{kind}f {left}, {right} : f32"
                )
                state[to] = new
        return [*text, f"%a = arith.addf {state[0]}, {state[1]} : f32",
                f"%b = arith.addf %a, {state[2]} : f32"]  # fmt: skip

    straight, rolled = (_function(*lines(), result="%b") for _ in range(2))
    file.roll_up_steps(rolled, least=3)
    event("rolled" if "scf.for" in str(rolled) else "straight")
    rolled.verify()
    assert _value(rolled) == pytest.approx(_value(straight), rel=1e-6, nan_ok=True)


def _value(module: Module) -> float:
    """Interpret the ops of a function of two numbers, loops included."""
    values: dict[Any, Any] = {}

    def run(block: Any) -> list[Any]:
        for op in (each.operation for each in block.operations):
            taken = [values[operand] for operand in op.operands]
            if op.name in ("func.return", "scf.yield"):
                return taken
            if op.name == "arith.constant":
                made = [op.attributes["value"].value]
            elif op.name == "scf.for":
                inner = op.regions[0].blocks[0]
                low, high, stride, *made = taken
                for at in range(low, high, stride):
                    values.update(zip(inner.arguments, (at, *made), strict=True))
                    made = run(inner)
            else:
                with np.errstate(all="ignore"):
                    made = [_OPS[op.name](*map(np.float32, taken))]
            values.update(zip(op.results, made, strict=True))
        raise AssertionError("a block without an end")

    block = module.ir.body.operations[0].regions[0].blocks[0]
    values.update(zip(block.arguments, (0.75, 1.25), strict=True))
    return float(run(block)[0])


_OPS: dict[str, Callable[..., Any]] = {
    "math.sin": np.sin,
    "arith.addf": np.add,
    "arith.mulf": np.multiply,
}


def _both(function: Callable[..., Any], *arrays: Any) -> tuple[Any, Any]:
    """Results with and without the pass; the first has rolled something up."""
    with cache.off(), lx.threads.using(1):
        kernel = lx.jit(lambda *given: function(*given))
        rolled = kernel(*arrays)
        loops = kernel.lower(*arrays).compile().as_text("loops")
        assert loops.count("math.") < STEPS
        with mock.patch.object(file, "_may_repeat", return_value=False):
            straight = lx.jit(lambda *given: function(*given))(*arrays)
    return rolled, straight
