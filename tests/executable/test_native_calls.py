"""Calls that native code answers: as Python would, or not at all."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ArityError, ExecutionError, LinalgExtError
from linalg_ext.runtime.machine_code import address_of_function
from linalg_ext.runtime.pool import SMALLEST
from native_calls import ADD, TWO, array, is_native, native_caller, records_of

Array = np.ndarray[Any, Any]


COPY = """
func.func @copy(%a: memref<6xf32>, %b: memref<6xf32>) {
  memref.copy %a, %b : memref<6xf32> to memref<6xf32>
  return
}
"""


ASSERTS = """
func.func @positive(%a: tensor<1xi32>) -> tensor<1xi32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %x = tensor.extract %a[%c0] : tensor<1xi32>
  %ok = arith.cmpi sgt, %x, %zero : i32
  cf.assert %ok, "not positive"
  return %a : tensor<1xi32>
}
"""


@pytest.fixture(scope="module", autouse=True)
def _native() -> None:
    native_caller()


@pytest.fixture(scope="module")
def add() -> Any:
    kernel = lx.compile(ADD)
    kernel(array(), array())
    return kernel


def frozen(array: Array) -> Array:
    array.flags.writeable = False
    return array


NATIVE: dict[str, Callable[[], Any]] = {
    "as it lies": array,
    "read-only": lambda: frozen(array()),
    "unpickled, with a dtype of its own": lambda: pickle.loads(pickle.dumps(array())),
    "a view": lambda: np.concatenate([array(), array()])[2:],
}


THROUGH_PYTHON: dict[str, Callable[[], Any]] = {
    "transposed": lambda: np.asfortranarray(array()),
    "every other": lambda: np.repeat(array(), 2, axis=1)[:, ::2],
    "broadcast": lambda: np.broadcast_to(array()[0], (2, 3)),
    "misaligned": lambda: np.zeros(64, np.uint8)[1:25].view(np.float32).reshape(2, 3),
    "a list": lambda: array().tolist(),
}


REFUSED: dict[str, Callable[[], Any]] = {
    "float64": lambda: array().astype(np.float64),
    "int32": lambda: array().astype(np.int32),
    "big-endian": lambda: array().astype(">f4"),
    "another shape": lambda: array().T.copy(),
    "another rank": lambda: array().reshape(1, 2, 3),
    "rank 0": lambda: np.array(1, np.float32),
    "masked": lambda: np.ma.masked_array(array()),
    "objects": lambda: array().astype(object),
    "None": lambda: None,
    "a type": lambda: np.ndarray,
    "a text": lambda: "abc",
    "an integer": lambda: 1 << 80,
}


@pytest.mark.parametrize("kind", NATIVE)
@pytest.mark.parametrize("with_out", [False, True])
def test_what_fits_is_answered_without_python(add: Any, kind: str, with_out: bool) -> None:
    first, second = NATIVE[kind](), array(1)
    out = np.empty((2, 3), np.float32) if with_out else None
    found: list[Array] = []
    assert is_native(lambda: found.append(add(first, second, out=out)))
    np.testing.assert_array_equal(found[0], first + second)
    assert (found[0] is out) == with_out
    assert found[0].flags.owndata
    assert found[0].flags.writeable


@pytest.mark.parametrize("kind", THROUGH_PYTHON)
@pytest.mark.parametrize("place", [0, 1])
def test_what_needs_a_copy_goes_through_python(add: Any, kind: str, place: int) -> None:
    arguments = [array(1), array(2)]
    arguments[place] = THROUGH_PYTHON[kind]()
    assert not is_native(lambda: add(*arguments))
    expected = np.add(*(np.asarray(each, np.float32) for each in arguments))
    np.testing.assert_array_equal(add(*arguments), expected)


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        (kind, place)
        for kind in REFUSED
        for place in (0, 1, "out")
        if (kind, place) != ("None", "out")
    ],
)
def test_what_is_wrong_is_refused_as_python_refuses_it(
    add: Any, kind: str, place: int | str
) -> None:
    arguments, keywords = [array(1), array(2)], {}
    if isinstance(place, int):
        arguments[place] = REFUSED[kind]()
    else:
        keywords["out"] = REFUSED[kind]()
    messages = []
    for call in (add, add.__call__):
        with pytest.raises(LinalgExtError) as caught:
            call(*arguments, **keywords)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_the_calls_keywords_are_pythons(add: Any) -> None:
    out = np.empty((2, 3), np.float32)
    assert is_native(lambda: add(array(), array(), out=None))
    assert is_native(lambda: add(array(), array()))
    built = "".join(["o", "ut"])  # not the same object as the name
    assert add(array(), array(1), **{built: out}) is out
    np.testing.assert_array_equal(out, array() + array(1))
    assert add(array(), array(1), out=out, threads=1) is out
    for wrong in ({"to": out}, {"threads": 0}, {"out": out, "to": out}):
        with pytest.raises(LinalgExtError):
            add(array(), array(), **wrong)
    with pytest.raises(TypeError):
        add(array(), array(), **{1: out})  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [0, 1, 3, 40, 100_000])
def test_another_number_of_arguments_is_an_error(add: Any, count: int) -> None:
    with pytest.raises(ArityError):
        add(*[array()] * count)


@pytest.mark.parametrize("shift", range(-7, 8))
def test_memory_that_meets_is_found_at_each_distance(add: Any, shift: int) -> None:
    memory = np.zeros(32, np.float32)
    one, other = memory[10:16], memory[10 + shift : 16 + shift]
    copy = lx.compile(COPY)
    copy(np.zeros(6, np.float32), np.zeros(6, np.float32))
    ways: list[Callable[[], Any]] = [
        lambda: add(one.reshape(2, 3), array(), out=other.reshape(2, 3)),
        lambda: copy(one, other),
    ]
    for call in ways:
        if abs(shift) < 6:
            with pytest.raises(LinalgExtError, match="shares memory"):
                call()
        else:
            assert is_native(call)


def test_what_is_written_must_be_writable() -> None:
    copy = lx.compile(COPY)
    source, target = frozen(np.arange(6, dtype=np.float32)), np.zeros(6, np.float32)
    assert copy(source, target) is None
    target[:] = 0
    assert is_native(lambda: copy(source, target))
    np.testing.assert_array_equal(target, source)
    with pytest.raises(LinalgExtError, match="read-only"):
        copy(target, source)


NUMBERS = [
    (7, 2.5), (-(1 << 31), 3), (np.int32(-5), np.float32(0.1)), ((1 << 32) - 1, float("nan")),
    (1 << 32, 1.0), (-(1 << 31) - 1, 1.0), (1 << 70, 1.0), (True, 1.0), (2.0, 1.0), (1, 1e300),
    (1, -1e300), (1, float("inf")), (np.int64(1), 1.0), (1, np.float64(1)), (1, 1j), (None, 1.0),
    (1, 1 << 60), (1, 10**400), (np.array(3, np.int32), 1.0), (np.uint32(1 << 31), 1e-50),
]  # fmt: skip


@pytest.mark.parametrize("numbers", NUMBERS, ids=repr)
def test_numbers_mean_the_same_natively(numbers: tuple[Any, Any]) -> None:
    kernel = lx.compile(TWO)
    given = np.arange(4, dtype=np.int32)
    kernel(given, 1, 1.0)
    assert is_native(lambda: kernel(given, 1, 1.0))
    answers: list[Any] = []
    for call in (kernel, kernel.__call__):
        try:
            whole, splat = call(given, *numbers)
            answers.append((whole.tobytes(), splat.tobytes(), whole.dtype, splat.dtype))
        except LinalgExtError as error:
            answers.append((type(error), error.what, error.expected))
    assert answers[0] == answers[1]


def test_a_failed_assertion_is_reported_from_native_code() -> None:
    kernel = lx.compile(ASSERTS)
    good, bad = np.array([5], np.int32), np.array([-1], np.int32)
    kernel(good)
    assert is_native(lambda: kernel(good))
    held = sys.getrefcount(bad)
    for _ in range(3):
        with pytest.raises(ExecutionError, match="not positive") as caught:
            kernel(bad)
        assert "test_native_calls.py" in str(caught.value.where)
    del caught
    assert sys.getrefcount(bad) == held
    assert kernel(good)[0] == 5


def test_a_loop_over_whole_arrays_is_not_open_ended(add: Any) -> None:
    assert not add.callee.open_ended


def test_a_setting_that_differs_is_respected() -> None:
    one, other = array(), array(1)
    for _ in range(3):
        lx.ops.add(one, other)
    assert is_native(lambda: lx.ops.add(one, other))
    with lx.target.using("avx2"):
        assert not is_native(lambda: lx.ops.add(one, other))
        np.testing.assert_array_equal(lx.ops.add(one, other), one + other)
        assert is_native(lambda: lx.ops.add(one, other))  # a record of its own
    assert is_native(lambda: lx.ops.add(one, other))


@pytest.mark.parametrize("with_out", [False, True])
def test_work_for_several_threads_goes_to_them(with_out: bool) -> None:
    one, other = (np.random.default_rng(seed).random((192, 192)) for seed in (0, 1))
    kernel = lx.jit(lambda x, y: np.tanh(x @ y)).lower(one, other).compile().kernel
    ways: list[Callable[..., Any]] = [kernel, lx.ops.matmul, lx.jit(lambda x, y: np.tanh(x @ y))]
    for call in ways:
        expected = {count: call(one, other, threads=count) for count in (1, 2, 3)}
        for count in (1, 2, 1, 3, 2):
            keywords = {"out": np.empty_like(one)} if with_out else {}
            with lx.threads.using(count):
                for _ in range(3):
                    np.testing.assert_array_equal(call(one, other, **keywords), expected[count])
                assert is_native(partial(call, one, other, **keywords))
    assert kernel.shared is not None
    codes = {record.words[1] for record in records_of(kernel)}
    shared = [kernel.shared.for_threads(count) for count in (2, 3)]
    assert codes == {
        address_of_function(code.function) for code in (kernel.own, *shared) if code is not None
    }


@pytest.mark.skipif(not hasattr(os, "fork"), reason="machine: no fork")
def test_a_forked_process_has_threads_of_its_own() -> None:
    """A forked process uses nothing that native code knows of its parent's threads."""
    done = subprocess.run(
        [sys.executable, "-c", FORKING], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr


FORKING = """
import os
import numpy as np
import linalg_ext as lx
from linalg_ext.runtime.vectorcall import caller

caller.make()
product = lx.jit(lambda x: x @ x)
x = np.ones((192, 192))
with lx.threads.using(2):
    for _ in range(3):
        product(x)
    (record,) = product._native_records
    child = os.fork()
    if child == 0:
        fits = all((product(x) == 192).all() for _ in range(3))
        product._known.clear()
        fits = fits and (product.__call__(x) == 192).all() and len(product._native_records) == 2
        os._exit(0 if fits else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0, status
"""


def test_large_results_are_made_as_python_makes_them() -> None:
    """In memory of the pool's, which NumPy's own is not."""
    double = lx.jit(lambda x: x + x)
    given = np.ones(SMALLEST // 4, np.float32)
    matrix = np.ones((1450, 1450), np.float32)
    for _ in range(40):
        turned = lx.einsum("ij,jk->ki", matrix, matrix)
    for _ in range(3):
        made = double(given)
    assert len(records_of(double)) == 1
    assert made.base is not None
    assert turned.base is not None
    np.testing.assert_array_equal(made, given + given)
    np.testing.assert_array_equal(turned, np.full_like(matrix, 1450))
    through_python = double.__call__(given)
    assert through_python.flags.num == made.flags.num


def test_ops_know_dtypes_apart() -> None:
    """-1 and 4294967295 are the same bits, and not the same number."""
    signed, unsigned = np.full(3, -8, np.int32), np.full(3, -8, np.int32).view(np.uint32)
    for _ in range(4):
        assert (lx.ops.max(signed, np.zeros(3, np.int32)) == 0).all()
        assert (lx.ops.max(unsigned, np.zeros(3, np.uint32)) == (1 << 32) - 8).all()
    assert is_native(lambda: lx.ops.max(unsigned, unsigned))
    # The last one makes a float64 of the array.
    for number, native in ((2.5, True), (2, True), (np.float32(2.5), True), (np.float64(2), False)):
        for _ in range(3):
            made = lx.ops.mul(array(), number)
            expected = array() * number
            assert made.dtype == expected.dtype
            np.testing.assert_array_equal(made, expected)
        assert is_native(partial(lx.ops.mul, array(), number)) == native


@pytest.mark.parametrize("size", [7, 64, 65, 5000])
def test_truth_values_of_odd_bytes_are_not_taken_as_they_are(size: int) -> None:
    plain = np.arange(size) % 5 % 3 > 0
    plain[[0, -1]] = True
    for _ in range(3):
        np.testing.assert_array_equal(lx.ops.logical_not(plain), ~plain)
    assert is_native(lambda: lx.ops.logical_not(plain))
    for at in (0, size // 2, size - 1):
        odd = plain.view(np.uint8).copy()
        odd[at] *= 6
        np.testing.assert_array_equal(lx.ops.logical_not(odd.view(np.bool_)), ~plain)


@pytest.mark.parametrize("text", ["ij,jk->ik", "ij,jk->ki", "ji,jk->ik", "ij,kj->ik"])
@pytest.mark.parametrize("with_out", [False, True])
def test_einsum_comes_again(text: str, with_out: bool) -> None:
    generator = np.random.default_rng(0)
    one, other = (generator.integers(-5, 5, (9, 9)).astype(np.float32) for _ in range(2))
    expected = np.einsum(text, one, other)
    out = np.empty_like(one) if with_out else None
    same_text = "".join(list(text))
    for _ in range(120):
        np.testing.assert_array_equal(lx.einsum(same_text, one, other, out=out), expected)
    assert is_native(lambda: lx.einsum(text, one, other, out=out))
    turned = lx.einsum(text, one.T, other, out=out)
    np.testing.assert_array_equal(turned, np.einsum(text, one.T, other))
    with pytest.raises(LinalgExtError):
        lx.einsum(text, one, other[:5, :7], out=out)
    np.testing.assert_array_equal(lx.einsum(text, one, other, dtype=np.float64), expected)


def test_a_jitted_function_comes_again() -> None:
    @lx.jit
    def twice(x: Any, y: Any) -> Any:
        return x + y, x * y

    one, other = array(), array(1)
    for _ in range(3):
        total, product = twice(one, other)
    assert is_native(lambda: twice(one, other))
    np.testing.assert_array_equal(total, one + other)
    np.testing.assert_array_equal(product, one * other)
    np.testing.assert_array_equal(twice(one[:1], other[:1])[0], (one + other)[:1])
