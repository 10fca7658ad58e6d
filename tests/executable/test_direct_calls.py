"""The short way into a kernel makes every check of the long one, and gives the same answers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import (
    AliasingError,
    ArityError,
    DTypeError,
    ExecutionError,
    LayoutError,
    LinalgExtError,
    ShapeError,
)
from linalg_ext.executable.known_calls import KnownCalls
from linalg_ext.runtime.pool import SMALLEST
from native_calls import native_caller

ADD = """
func.func @add(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %e = tensor.empty() : tensor<2x3xf32>
  %r = linalg.add ins(%a, %b : tensor<2x3xf32>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>)
       -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}
"""
WRITES = """
func.func @copy(%a: memref<6xf32>, %b: memref<6xf32>) {
  memref.copy %a, %b : memref<6xf32> to memref<6xf32>
  return
}
"""
TWO_RESULTS = """
func.func @both(%a: tensor<4xi32>) -> (tensor<4xi32>, i32) {
  %c1 = arith.constant 1 : index
  %x = tensor.extract %a[%c1] : tensor<4xi32>
  return %a, %x : tensor<4xi32>, i32
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


@pytest.fixture(scope="module")
def add() -> lx.Kernel:
    native_caller()
    kernel = lx.compile(ADD)
    kernel(array(), array())  # the next such call is answered by native code
    return kernel


def array(seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).random((2, 3), np.float32)


def room(nbytes: int = 64) -> np.ndarray[Any, Any]:
    return np.zeros(nbytes, np.uint8)


INPUTS = {
    "as it lies": array,
    "transposed": lambda: np.asfortranarray(array()),
    "every other": lambda: np.repeat(array(), 2, axis=1)[:, ::2],
    "backwards": lambda: array()[::-1, ::-1],
    "broadcast": lambda: np.broadcast_to(array()[0], (2, 3)),
    "misaligned": lambda: room()[1:25].view(np.float32).reshape(2, 3),
    "read-only": lambda: _frozen(array()),
    "a list": lambda: array().tolist(),
    "a subclass": lambda: array().view(np.matrix),
    "float64": lambda: array().astype(np.float64),
    "big-endian": lambda: array().astype(">f4"),
    "another shape": lambda: array().T.copy(),
    "another rank": lambda: array().reshape(1, 2, 3),
    "None": lambda: None,
}


@pytest.mark.parametrize(("first", "second"), [*itertools.product(INPUTS, INPUTS)])
@pytest.mark.parametrize("with_out", [False, True])
def test_all_ways_agree(add: lx.Kernel, first: str, second: str, with_out: bool) -> None:
    _assert_all_ways_agree(
        add, (INPUTS[first](), INPUTS[second]()), np.empty((2, 3), np.float32) if with_out else None
    )


@pytest.mark.parametrize("layout", ["transposed", "every other", "backwards", "misaligned"])
def test_small_arrays_are_copied_on_the_short_way(add: lx.Kernel, layout: str) -> None:
    given = INPUTS[layout]()
    assert add.short is not None
    np.testing.assert_array_equal(add.short((given, array(1)), None), given + array(1))
    # Memory of the caller that is written may be that of what was copied.
    assert add.short((given, array(1)), np.empty((2, 3), np.float32)) is NotImplemented
    large = np.ones((2, SMALLEST // 8), np.float32).T
    kernel = lx.jit(np.negative).lower(large).compile()
    assert kernel.short is not None
    assert kernel.short((large,), None) is NotImplemented
    np.testing.assert_array_equal(kernel(large), -large)


@pytest.mark.parametrize(
    ("out", "error"),
    [
        (lambda: np.empty((3, 2), np.float32), ShapeError),
        (lambda: np.empty((2, 3), np.float64), DTypeError),
        (lambda: _frozen(np.empty((2, 3), np.float32)), LayoutError),
        (lambda: np.broadcast_to(np.float32(0), (2, 3)), LayoutError),
        (lambda: (np.empty((2, 3), np.float32), None), ArityError),
        (lambda: [np.empty((2, 3), np.float32)], LinalgExtError),
        (lambda: np.ma.masked_array(np.empty((2, 3), np.float32)), LinalgExtError),
    ],
)
def test_an_out_that_cannot_be_written_is_refused(add: lx.Kernel, out: Any, error: Any) -> None:
    with pytest.raises(error):
        add(array(), array(1), out=out())


@pytest.mark.parametrize(
    "out",
    [
        lambda: np.empty((2, 3), np.float32, order="F"),
        lambda: np.empty((4, 3), np.float32)[::2],
        lambda: room()[1:25].view(np.float32).reshape(2, 3),
        lambda: (np.empty((2, 3), np.float32),),
    ],
)
def test_an_out_that_is_laid_out_otherwise_is_written(add: lx.Kernel, out: Any) -> None:
    given = out()
    result = add(array(), array(1), out=given)
    target = given[0] if isinstance(given, tuple) else given
    assert result is target
    np.testing.assert_array_equal(target, array() + array(1))


@pytest.mark.parametrize("shift", range(-7, 8))
def test_an_out_that_meets_an_input_is_refused_at_each_distance(add: lx.Kernel, shift: int) -> None:
    memory = np.zeros(32, np.float32)
    one = memory[10:16].reshape(2, 3)
    out = memory[10 + shift : 16 + shift].reshape(2, 3)
    if abs(shift) < 6:
        with pytest.raises(AliasingError):
            add(one, array(), out=out)
    else:
        assert add(one, array(), out=out) is out


@pytest.mark.parametrize("shift", range(-7, 8))
def test_written_arguments_that_meet_are_refused_at_each_distance(shift: int) -> None:
    kernel = lx.compile(WRITES)
    memory = np.arange(32, dtype=np.float32)
    one, other = memory[10:16], memory[10 + shift : 16 + shift]
    if abs(shift) < 6:
        with pytest.raises(AliasingError):
            kernel(one, other)
    else:
        assert kernel(one, other) is None
        np.testing.assert_array_equal(other, np.arange(10, 16))


def test_a_read_only_array_is_not_written() -> None:
    kernel = lx.compile(WRITES)
    with pytest.raises(LayoutError):
        kernel(np.ones(6, np.float32), _frozen(np.zeros(6, np.float32)))
    source = _frozen(np.ones(6, np.float32))
    target = np.zeros(6, np.float32)
    kernel(source, target)
    assert (target == 1).all()


def test_several_results_scalars_among_them() -> None:
    kernel = lx.compile(TWO_RESULTS)
    given = np.arange(4, dtype=np.int32)
    whole, scalar = kernel(given)
    np.testing.assert_array_equal(whole, given)
    assert scalar == 1
    assert isinstance(scalar, np.int32)
    unsigned, _ = kernel(given.astype(np.uint32))
    np.testing.assert_array_equal(unsigned, given)


def test_a_failed_assertion_is_reported_and_the_next_call_is_well() -> None:
    kernel = lx.compile(ASSERTS)
    assert kernel.direct is not None
    with pytest.raises(ExecutionError, match="not positive") as caught:
        kernel(np.array([-1], np.int32))
    assert "test_direct_calls.py" in str(caught.value.where)
    assert kernel(np.array([5], np.int32))[0] == 5


def test_sizes_of_zero() -> None:
    kernel = lx.compile(ADD.replace("2x3", "0x3"))
    empty = np.empty((0, 3), np.float32)
    assert kernel(empty, empty).shape == (0, 3)
    assert kernel(empty, empty, out=np.empty((0, 3), np.float32)).shape == (0, 3)


def test_an_ops_second_call_is_known_and_right() -> None:
    first = lx.ops.add(array(), array(1))
    known = lx.ops.add.known_calls
    assert isinstance(known, KnownCalls)
    second = known((array(), array(1)), {})
    assert second is not NotImplemented
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("operands", "keywords"),
    [
        ((array(), array().astype(np.float64)), {}),
        ((array(), array()[:1]), {}),
        ((array(),), {}),
        ((array(), array(), array()), {}),
        ((array(), 1.0), {}),
        ((array(), array().tolist()), {}),
        ((array(), array().view(np.matrix)), {}),
        ((array(), array()), {"out": np.empty((2, 3))}),
        ((array(), array()), {"out": (np.empty((2, 3), np.float32),)}),
        ((array(), array()), {"out": 3}),
        ((array(), array()), {"dtype": np.float64}),
        ((array(), array()), {"init": array()}),
        ((array(), array()), {"no_such": 1}),
        ((array(), array()), {"no_such": [1]}),
        ((np.asfortranarray(array()), array()), {}),
    ],
)
def test_what_differs_from_a_known_call_is_looked_at(
    operands: tuple[Any, ...], keywords: dict[str, Any]
) -> None:
    """The answer is that of an op that knows no calls."""
    lx.ops.add(array(), array())
    lx.ops.add(array(), array(), out=np.empty((2, 3), np.float32))
    known = lx.ops.add.known_calls
    answers = []
    for memory in (known, None):
        lx.ops.add.known_calls = memory
        try:
            answers.append(_outcome(lambda: lx.ops.add(*operands, **keywords)))
        finally:
            lx.ops.add.known_calls = known
    assert repr(answers[0]) == repr(answers[1])


def test_an_element_wise_op_may_still_write_over_an_input() -> None:
    one, other = array(), array(1)
    expected = one + other
    for _ in range(2):
        copy = one.copy()
        assert lx.ops.add(copy, other, out=copy) is copy
        np.testing.assert_array_equal(copy, expected)
    longer = np.arange(9, dtype=np.float32)
    for _ in range(2):
        overlapping = longer.copy()
        lx.ops.add(overlapping[:6].reshape(2, 3), other, out=overlapping[2:8].reshape(2, 3))
        np.testing.assert_array_equal(
            overlapping[2:8].reshape(2, 3), longer[:6].reshape(2, 3) + other
        )


def test_an_attribute_of_another_type_is_not_the_known_one() -> None:
    image, filter_ = np.ones((1, 8, 8, 1), np.float32), np.ones((3, 3, 1, 1), np.float32)
    op = lx.ops.conv_2d_nhwc_hwcf
    for strides in [(2, 1), (1, 2), (1, 1)]:
        for _ in range(2):
            rows, columns = ((8 - 3) // stride + 1 for stride in strides)
            assert op(image, filter_, strides=strides).shape == (1, rows, columns, 1)
    with pytest.raises(LinalgExtError):
        op(image, filter_, strides=(2.0, 1.0))


def _frozen(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array.flags.writeable = False
    return array


def _assert_all_ways_agree(kernel: lx.Kernel, arguments: tuple[Any, ...], out: Any) -> None:
    short, kernel.short = kernel.short, None
    try:
        long = _outcome(lambda: kernel.__call__(*arguments, out=out))
    finally:
        kernel.short = short
    direct = kernel.direct
    assert direct is not None
    short = _outcome(lambda: kernel.__call__(*arguments, out=out))
    native = _outcome(lambda: kernel(*arguments, out=out))
    assert repr(short) == repr(native) == repr(long)
    answer = _outcome(lambda: direct(arguments, out))
    assert answer is NotImplemented or repr(answer) == repr(long)


def _outcome(call: Any) -> Any:
    try:
        return call()
    except LinalgExtError as error:
        return type(error), error.what, error.expected, error.hint


@pytest.mark.parametrize("number", [2.5, -3, np.float32(0.5), float("nan")])
def test_a_number_is_known_by_its_type(number: Any) -> None:
    lx.ops.mul(array(), type(number)(1))
    known = lx.ops.mul.known_calls
    assert isinstance(known, KnownCalls)
    result = known((array(), number), {})
    assert result is not NotImplemented
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, array() * number)


def test_an_integer_out_of_range_is_an_error_at_every_call() -> None:
    bytes_ = np.ones(3, np.int8)
    np.testing.assert_array_equal(lx.ops.add(bytes_, 5), bytes_ + np.int8(5))
    for _ in range(2):
        with pytest.raises(DTypeError, match="300"):
            lx.ops.add(bytes_, 300)


def test_scalars_go_the_short_way_with_their_checks() -> None:
    x, y = array(), array(1)
    for factor in (2.0, 3, np.float32(0.5)):
        np.testing.assert_array_equal(lx.ops.axpy(factor, x[0], y[0]), factor * x[0] + y[0])
    with pytest.raises(LinalgExtError):
        lx.ops.axpy("two", x[0], y[0])


def test_truth_values_of_odd_bytes_are_truth_values() -> None:
    odd = np.array([0, 1, 2, 255, 4, 0], np.uint8).view(np.bool_)
    plain = np.array([False, True, True, True, True, False])
    both = np.ones(6, np.bool_)
    for _ in range(2):
        np.testing.assert_array_equal(lx.ops.logical_and(plain, both), plain)
        np.testing.assert_array_equal(lx.ops.logical_and(odd, both), plain)
        np.testing.assert_array_equal(lx.ops.logical_not(odd), ~plain)
