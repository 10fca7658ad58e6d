"""Elements looked up, scattered and carried: what a definition indexes by more than positions."""

# ruff: noqa: E741
from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.bindings import ir
from linalg_ext.definition.checks import check
from linalg_ext.definition.scalar import Access, Carried, Lookup
from linalg_ext.definition.types import TypeVar
from linalg_ext.errors import (
    ArgumentError,
    DefinitionError,
    DTypeError,
    NotationError,
    RecognitionError,
    ShapeError,
)
from linalg_ext.opdsl import (
    I64,
    BinaryFn,
    BinaryFnAttrDef,
    D,
    IndexAttrDef,
    ReduceFn,
    S,
    ScalarDef,
    StructuredOp,
    T,
    TensorDef,
    TernaryFn,
    TypeFn,
    U,
    domain,
    index,
    size,
    structured_op,
)

Array = np.ndarray[Any, Any]


@structured_op
def rows(
    W=TensorDef(T, S.V, S.E),
    I=TensorDef(U, S.N),
    O=TensorDef(T, S.N, S.E, output=True),
):
    domain(D.n, D.e)
    O[D.n, D.e] = W[I[D.n], D.e]


@structured_op
def weighted_rows(
    W=TensorDef(T, S.V, S.E),
    I=TensorDef(U, S.N),
    X=TensorDef(T, S.N),
    O=TensorDef(T, S.E, output=True),
):
    O[D.e] += W[I[D.n], D.e] * X[D.n]


@structured_op
def row_sums(
    W=TensorDef(T, S.V, S.E),
    I=TensorDef(U, S.N),
    O=TensorDef(T, S.N, output=True),
):
    O[D.n] += W[I[D.n] - 1, D.e]


@structured_op
def band(W=TensorDef(T, S.N, S.N), O=TensorDef(T, S.N, 3, output=True)):
    O[D.n, D.k] = W[D.n, index(D.n) + index(D.k) - 1]


@structured_op
def interpolated(
    X=TensorDef(T, S.N),
    P=TensorDef(T, S.M),
    O=TensorDef(T, S.M, output=True),
):
    place = np.floor(P[D.m])
    after = X[TypeFn.cast_signed(I64, place) + 1]
    O[D.m] = X[place] + (after - X[place]) * (P[D.m] - place)


@structured_op
def nested(
    X=TensorDef(T, S.N),
    I=TensorDef(U, S.N),
    O=TensorDef(T, S.N, output=True),
):
    O[D.n] = X[I[I[D.n]]]


@structured_op
def sum_so_far(X=TensorDef(T, S.M, S.N), O=TensorDef(T, S.M, S.N, output=True)):
    O[D.m, D.n] = O[D.m, D.n - 1] + X[D.m, D.n]


@structured_op
def product_so_far(X=TensorDef(T, S.N), O=TensorDef(T, S.N, output=True)):
    O[D.n] = X[D.n] * O[D.n - 1]


@structured_op
def maximum_from_below(X=TensorDef(T, S.M, S.N), O=TensorDef(T, S.M, S.N, output=True)):
    O[D.m, D.n] = BinaryFn.max(O[D.m + 1, D.n], X[D.m, D.n])


@structured_op
def minimum_so_far(X=TensorDef(T, S.N), O=TensorDef(T, S.N, output=True)):
    O[D.n] = BinaryFn.min(O[D.n - 1], X[D.n])


@structured_op
def linear_recurrence(
    A=TensorDef(T, S.N),
    X=TensorDef(T, S.N),
    O=TensorDef(T, S.N, output=True),
):
    O[D.n] = O[D.n - 1] * A[D.n] + X[D.n]


@structured_op
def moving_average(X=TensorDef(T, S.N), a=ScalarDef(T), O=TensorDef(T, S.N, output=True)):
    mixed = O[D.n - 1] * (1 - a) + X[D.n] * a
    O[D.n] = TernaryFn.select(D.n < 1, X[D.n], mixed)


@structured_op
def doubled_each_step(X=TensorDef(T, S.N), O=TensorDef(T, S.N, output=True)):
    O[D.n] = O[D.n - 1] * 2 + TypeFn.cast_signed(T, size(S.N)) * X[S.N - 1 - D.n]


@structured_op
def full_convolution(
    X=TensorDef(T, S.N),
    K=TensorDef(T, S.K),
    O=TensorDef(T, S.N + S.K - 1, output=True),
):
    O[D.i + D.j] += X[D.i] * K[D.j]


@structured_op
def spread(X=TensorDef(T, S.N), O=TensorDef(T, S.N * 2, output=True)):
    O[D.n * 2] = X[D.n]


@structured_op
def counted(I=TensorDef(U, S.N), X=TensorDef(T, S.N), O=TensorDef(T, S.M, output=True)):
    O[I[D.n]] += X[D.n]


@structured_op
def largest(
    I=TensorDef(U, S.N),
    X=TensorDef(T, S.N, S.E),
    O=TensorDef(T, S.M, S.E, output=True),
):
    O[I[D.n], D.e] = ReduceFn.max[D.n](X[D.n, D.e])


@structured_op
def put(I=TensorDef(U, S.N), X=TensorDef(T, S.N), O=TensorDef(T, S.M, output=True)):
    O[I[D.n]] = X[D.n]


@structured_op
def pairs(
    I=TensorDef(U, S.N),
    J=TensorDef(U, S.N),
    X=TensorDef(T, S.B, S.N),
    O=TensorDef(T, S.B, S.P, S.Q, output=True),
):
    O[D.b, I[D.n], J[D.n]] += X[D.b, D.n]


@structured_op
def element(W=TensorDef(T, S.N), I=TensorDef(U), O=TensorDef(T, output=True)):
    O[None] = W[I[None]]


@structured_op
def so_far(
    X=TensorDef(T, S.N),
    O=TensorDef(T, S.N, output=True),
    fn=BinaryFnAttrDef(default=BinaryFn.add),
):
    O[D.n] = fn(O[D.n - 1], X[D.n])


@structured_op
def combined(
    I=TensorDef(U, S.N),
    X=TensorDef(T, S.N),
    O=TensorDef(T, S.M, output=True),
    fn=BinaryFnAttrDef(default=BinaryFn.add),
):
    O[I[D.n]] = fn[D.n](X[D.n])


@structured_op
def strided(
    X=TensorDef(T, S.N), O=TensorDef(T, S.N * S.R, output=True), r=IndexAttrDef(S.R, default=[2])
):
    O[D.n * S.R] = X[D.n]


@structured_op
def centred(
    W=TensorDef(T, S.V, S.E),
    I=TensorDef(U, S.N),
    M=TensorDef(T, S.E, output=True),
    O=TensorDef(T, S.N, S.E, output=True),
    R=TensorDef(T, S.N, S.E, output=True),
):
    """Rows looked up, less the sum of all rows, and their sums so far."""
    M[D.e] += W[D.v, D.e]
    O[D.n, D.e] = W[I[D.n], D.e] - M[D.e]
    R[D.n, D.e] = R[D.n - 1, D.e] + O[D.n, D.e]


def _random(shape: tuple[int, ...], dtype: Any = np.float64) -> Array:
    numbers = np.random.default_rng(sum(shape) + 7).uniform(-4, 4, shape)
    return numbers.astype(dtype)


def _places(count: int, below: int, dtype: Any = np.int32) -> Array:
    """Indices, some of them out of range."""
    return np.random.default_rng(count).integers(-1, below + 1, count).astype(dtype)


def _recurred(step: Callable[[Any, int], Any], count: int, before: Any = 0.0) -> list[Any]:
    found = []
    for n in range(count):
        before = step(before, n)
        found.append(before)
    return found


SIZES = (0, 1, 7)


def _agree(op: StructuredOp, expected: Any, *operands: Any, init: Any = None) -> None:
    """The reference, the call on arrays and the traced call give one result."""
    init = {} if init is None else {"init": init}
    for result in (
        op.definition.reference(*operands, **init),
        op(*operands, **init),
        lx.jit(lambda *values: op(*values, **init))(*operands),
    ):
        for got, wanted in zip(
            result if isinstance(result, tuple) else (result,),
            expected if isinstance(expected, tuple) else (expected,),
            strict=True,
        ):
            np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("width", [0, 1, 3])
def test_rows_are_looked_up(count: int, width: int) -> None:
    table, places = _random((5, width)), _places(count, 5)
    weights = _random((count,))
    taken = table[np.clip(places, 0, 4)]
    _agree(rows, taken, table, places)
    _agree(weighted_rows, weights @ taken, table, places, weights)
    _agree(row_sums, table[np.clip(places - 1, 0, 4)].sum(1), table, places)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
def test_indices_of_any_integers_look_up(dtype: Any) -> None:
    table = _random((200, 2), np.float32)
    places = np.array([0, 7, 127, 199]).astype(dtype)
    _agree(rows, table[np.clip(places.astype(np.int64), 0, 199)], table, places)


def test_a_look_up_takes_positions_and_look_ups() -> None:
    square = _random((4, 4))
    n, k = np.indices((4, 3))
    _agree(band, square[n, np.clip(n + k - 1, 0, 3)], square)
    values, places = _random((6,)), np.array([3, 0, 5, 5, 1, 2])
    _agree(nested, values[places[places]], values, places)
    points = np.array([0.0, 0.25, 1.5, 4.75])
    _agree(interpolated, np.interp(points, np.arange(6), values), values, points)


def test_an_empty_table_is_refused_and_no_look_up_is_not() -> None:
    with pytest.raises(ShapeError, match=r"looks up in W, which has size 0 along axis 0"):
        rows(np.zeros((0, 2)), np.zeros(3, np.int64))
    assert rows(np.zeros((0, 2)), np.zeros(0, np.int64)).shape == (0, 2)


@pytest.mark.parametrize("count", SIZES)
def test_recurrences(count: int) -> None:
    a, x = _random((count,)), _random((count,)) + 1
    matrix = _random((3, count))
    _agree(sum_so_far, matrix.cumsum(1), matrix)
    _agree(sum_so_far, matrix.T.cumsum(1), matrix.T.copy())
    _agree(maximum_from_below, np.maximum.accumulate(matrix[::-1])[::-1], matrix)
    _agree(product_so_far, np.cumprod(x), x)
    _agree(minimum_so_far, np.minimum.accumulate(x), x)
    _agree(linear_recurrence, _recurred(lambda h, n: h * a[n] + x[n], count), a, x)
    mixed = _recurred(lambda h, n: h * 0.75 + x[n] * 0.25 if n else x[n], count)
    _agree(moving_average, mixed, x, 0.25)
    twice = _recurred(lambda h, n: h * 2 + count * x[count - 1 - n], count)
    _agree(doubled_each_step, twice, x)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.float32])
def test_a_recurrence_starts_from_what_changes_nothing(dtype: Any) -> None:
    x = np.array([[3, 5, 2], [9, 1, 4]]).astype(dtype)
    _agree(maximum_from_below, np.maximum.accumulate(x[::-1])[::-1], x)
    _agree(minimum_so_far, np.minimum.accumulate(x[0]), x[0])
    assert maximum_from_below(x).dtype == dtype


@pytest.mark.parametrize("count", SIZES)
def test_scatters(count: int) -> None:
    places, x = _places(count, 5), _random((count,))
    inside = (places >= 0) & (places < 5)
    init = _random((5,))
    expected = init.copy()
    np.add.at(expected, places[inside], x[inside])
    _agree(counted, expected, places, x, init=init)
    expected = init.copy()
    for place, value in zip(places[inside], x[inside], strict=True):
        expected[place] = value
    _agree(put, expected, places, x, init=init)
    wide, start = _random((count, 2)), np.full((5, 2), -3.0)
    most = start.copy()
    np.maximum.at(most, places[inside], wide[inside])
    _agree(largest, most, places, wide, init=start)


def test_scatters_at_affine_places() -> None:
    for count in SIZES:
        x, k = _random((count,)), _random((3,))
        _agree(full_convolution, np.convolve(x, k) if count else np.zeros(2), x, k)
        expected = np.zeros(2 * count)
        expected[::2] = x
        _agree(spread, expected, x)


@structured_op
def autocorrelation(X=TensorDef(T, S.N), O=TensorDef(T, 2 * S.N - 1, output=True)):
    O[D.i + D.j] += X[D.i] * X[D.j]


@structured_op
def highest_sum(
    X=TensorDef(T, S.N),
    K=TensorDef(T, S.K),
    O=TensorDef(T, S.N + S.K - 1, output=True),
):
    O[D.i + D.j] = ReduceFn.max[D.i, D.j](X[D.i] + K[D.j])


@structured_op
def along_both_axes(X=TensorDef(T, S.N, S.K), O=TensorDef(T, S.N + S.K, S.N + S.K, output=True)):
    O[D.i + D.j, D.i + D.j + 1] += X[D.i, D.j]


@structured_op
def diagonals(X=TensorDef(T, S.N, S.K), O=TensorDef(T, S.N, S.N + S.K - 1, output=True)):
    O[D.n, D.n + D.k] += X[D.n, D.k]


@structured_op
def transposed_convolution(
    X=TensorDef(T, S.H, S.C),
    K=TensorDef(T, S.W, S.C, S.F),
    O=TensorDef(T, S.H * 3 + S.W * 2 - 4, S.F, output=True),
):
    O[D.h * 3 + D.w * 2, D.f] += X[D.h, D.c] * K[D.w, D.c, D.f]


@structured_op
def weighted_convolution(
    X=TensorDef(T, S.N + 2),
    I=TensorDef(I64, S.N),
    W=TensorDef(T, S.V),
    K=TensorDef(T, S.K),
    O=TensorDef(T, S.N + S.K - 1, output=True),
):
    O[D.i + D.j] += X[D.i + 2] * W[I[D.i]] * K[D.j]


@structured_op
def cut_convolution(X=TensorDef(T, S.N), K=TensorDef(T, S.K), O=TensorDef(T, S.L, output=True)):
    O[D.i + D.j] += X[D.i] * K[D.j]


@structured_op
def last_of_sums(X=TensorDef(T, S.N, S.K), O=TensorDef(T, S.N + S.K - 1, output=True)):
    O[D.i + D.j] = X[D.i, D.j]


def _by_definition(op: StructuredOp, *operands: Any, init: Any = None) -> None:
    start = {} if init is None else {"init": init}
    _agree(op, op.definition.reference(*operands, **start), *operands, init=init)


def test_scatters_by_windows() -> None:
    x, k, matrix = _random((9,)), _random((3,)), _random((4, 3))
    _by_definition(autocorrelation, x)
    _by_definition(highest_sum, x, k, init=np.full(11, -9.0))
    for many in (matrix, matrix.T.copy()):
        _by_definition(along_both_axes, many)
        _by_definition(diagonals, many)
        _by_definition(last_of_sums, many)
    _by_definition(transposed_convolution, _random((5, 4)), _random((3, 4, 6)))
    places = np.array([0, 3, 1, 1, 2, 0, 3])
    _by_definition(weighted_convolution, x, places, _random((4,)), k)
    _by_definition(weighted_convolution, x[:4], places[:2], _random((4,)), _random((7,)))
    for length in (7, 11, 13):
        _by_definition(cut_convolution, x, k, init=np.zeros(length))


def test_windows_that_lie_inside_are_slices() -> None:
    x, k = _random((9,)), _random((3,))
    inside = lx.jit(full_convolution).lower(x, k).as_text()
    assert "tensor.insert_slice" in inside
    assert "linalg_ext.scatter" not in inside
    outside = lx.jit(lambda *operands: cut_convolution(*operands, init=np.zeros(7)))
    assert "linalg_ext.scatter" in outside.lower(x, k).as_text()


@pytest.mark.parametrize(
    ("op", "shapes"),
    [
        (full_convolution, [((9,), (3,)), ((2,), (5,)), ((1,), (1,)), ((40,), (2,))]),
        (autocorrelation, [((9,),), ((1,),), ((3,),)]),
        (along_both_axes, [((4, 3),), ((3, 4),), ((1, 2),)]),
        (diagonals, [((4, 3),), ((2, 5),)]),
        (last_of_sums, [((4, 3),), ((3, 7),)]),
        (transposed_convolution, [((5, 4), (3, 4, 6)), ((2, 3), (4, 3, 2))]),
    ],
)
def test_windows_of_open_sizes_are_slices(op: StructuredOp, shapes: Any) -> None:
    compute = lx.jit(op, dynamic=True)
    for number, sizes in enumerate(shapes):
        operands = [_random(each) for each in sizes]
        expected = op.definition.reference(*operands)
        np.testing.assert_allclose(compute(*operands), expected, atol=1e-12)
        if not number and op is not last_of_sums and op is not along_both_axes:
            assert "tensor.insert_slice" in compute.lower(*operands).as_text()


def test_scatters_into_an_output_of_another_open_size_leave_out_places_beyond() -> None:
    compute = lx.jit(lambda x, k, out: cut_convolution(x, k, init=out), dynamic=True)
    x, k = _random((9,)), _random((3,))
    for length in (7, 11, 13):
        expected = cut_convolution(x, k, init=np.zeros(length))
        np.testing.assert_allclose(compute(x, k, np.zeros(length)), expected)


@structured_op
def longer(X=TensorDef(T, S.N, S.M), O=TensorDef(T, 3 * S.N, S.M + 1, output=True)):
    O[3 * D.i + 1, D.j] += X[D.i, D.j]


def test_an_output_longer_than_the_dimension_along_it_is_refused_at_open_sizes_too() -> None:
    for dynamic in (False, True):
        with pytest.raises(ShapeError):
            lx.jit(longer, dynamic=dynamic)(_random((4, 5)))


@structured_op
def row_sums_by_label(
    I=TensorDef(U, S.N),
    X=TensorDef(T, S.N, S.K, S.E),
    O=TensorDef(T, S.M, S.K, output=True),
):
    O[I[D.n], D.k] += X[D.n, D.k, D.e]


@structured_op
def least_by_label(I=TensorDef(U, S.N), X=TensorDef(T, S.N, S.E), O=TensorDef(T, S.M, output=True)):
    O[I[D.n]] = ReduceFn.min[D.n, D.e](X[D.n, D.e])


def test_values_of_one_place_are_reduced_before_they_are_scattered() -> None:
    labels, x = np.array([0, 2, 2, 5]), _random((4, 3, 5))
    _by_definition(row_sums_by_label, labels, x, init=_random((4, 3)))
    _by_definition(least_by_label, labels, x[0, :, :4].T.copy(), init=_random((4,)))
    bytes_ = np.arange(12, dtype=np.uint8).reshape(4, 3) * 20
    _by_definition(least_by_label, labels, bytes_, init=np.full(4, 250, np.uint8))
    text = lx.jit(least_by_label).lower(labels, bytes_, init=np.zeros(4, np.uint8)).as_text()
    assert "tensor<4xi8>" in text.split("linalg_ext.scatter")[1]


def test_a_scatter_behind_another_axis_and_at_two_places() -> None:
    i, j = np.array([0, 2, 2, 9]), np.array([1, 0, 0, 1])
    x = _random((2, 4))
    expected = np.zeros((2, 3, 2))
    for n in range(3):
        expected[:, i[n], j[n]] += x[:, n]
    _agree(pairs, expected, i, j, x, init=np.zeros((2, 3, 2)))


def test_functions_and_strides_that_a_call_chooses() -> None:
    x, places = np.arange(1.0, 5), np.array([0, 0, 1, 1])
    np.testing.assert_array_equal(so_far(x), np.cumsum(x))
    for compute in (so_far, so_far.definition.reference):
        np.testing.assert_array_equal(compute(x, fn="mul"), np.cumprod(x))
        np.testing.assert_array_equal(compute(-x, fn="max_signed"), np.maximum.accumulate(-x))
    for compute in (combined, combined.definition.reference):
        np.testing.assert_array_equal(compute(places, x, init=np.zeros(2)), [3, 7])
        np.testing.assert_array_equal(compute(places, x, init=np.ones(2), fn="mul"), [2, 12])
    for compute in (strided, strided.definition.reference):
        expected = np.zeros(12)
        expected[::3] = x
        np.testing.assert_array_equal(compute(x, r=[3]), expected)


def test_an_element_is_looked_up() -> None:
    x = np.arange(5.0)
    _agree(element, 3.0, x, np.array(3))
    assert not element.definition.is_rank_polymorphic
    with pytest.raises(ShapeError, match=r"operand I is of rank 1"):
        element(x, np.array([1, 2]))


def test_statements_of_all_kinds_in_one_op() -> None:
    table, places = _random((5, 3)), np.array([4, 0, 0, 2])
    total = table.sum(0)
    taken = table[places] - total
    _agree(centred, (total, taken, taken.cumsum(0)), table, places)


def test_they_become_ops_of_the_dialect() -> None:
    recurrence = lx.write(linear_recurrence, "mlir", types="f32")
    assert '"linalg_ext.scan"' in recurrence
    assert "linalg.generic" not in recurrence
    scatter = lx.write(counted, "mlir", types={"T": "f32", "U": "i32"}, generic=False)
    assert '"linalg_ext.scatter"' in scatter
    assert "tensor.extract" in lx.write(rows, "mlir", types={"T": "f32", "U": "i32"})


@pytest.mark.parametrize("op", [rows, weighted_rows, row_sums, sum_so_far, maximum_from_below])
def test_ir_is_read_back(op: StructuredOp) -> None:
    text = lx.write(
        op, "mlir", types={str(t): "f64" if t == T else "i32" for t in op.definition.type_vars}
    )
    read = lx.read(text, "mlir")
    back = read[-1] if isinstance(read, tuple) else read  # behind the fill of a recurrence's start
    table, places, weights = _random((5, 3)), _places(4, 5), _random((4,))
    if op in (sum_so_far, maximum_from_below):
        np.testing.assert_allclose(back(table), op(table))
        return
    given = [weights] if op is weighted_rows else []
    tail = [np.zeros(3)] if len(back.definition.inputs) > 2 + len(given) else []
    np.testing.assert_allclose(back(places, *given, *tail, table), op(table, places, *given))


def test_a_scan_that_begins_otherwise_is_refused() -> None:
    text = lx.write(linear_recurrence, "mlir", types="f32")
    with pytest.raises(RecognitionError, match=r"begins with values of its own"):
        lx.read(text.replace("0.000000e+00", "1.000000e+00"), "mlir")


def test_formulas() -> None:
    assert rows.definition.formula() == "O[n, e] = W[I[n], e]"
    assert linear_recurrence.definition.formula() == "O[n] = O[n - 1] * A[n] + X[n]"
    assert row_sums.definition.formula() == "O[n] = Σ_{e} W[I[n] - 1, e]"


def test_notations_refuse_what_they_cannot_hold() -> None:
    for notation in ("yaml", "tc", "ods", "cpp"):
        with pytest.raises(NotationError, match=r"`W\[I\[n\], e\]` reads at an index that is comp"):
            lx.write(rows, notation)
        with pytest.raises(
            NotationError, match=r"is a recurrence: it reads its own value of one ste"
        ):
            lx.write(linear_recurrence, notation)


def test_they_are_data() -> None:
    for op in (rows, linear_recurrence, counted):
        definition = op.definition
        assert pickle.loads(pickle.dumps(definition)) == definition
        assert definition.canonical() == definition.canonical()
    (lookup,) = rows.definition.lookups
    assert isinstance(lookup, Lookup)
    assert linear_recurrence.definition.recurrence_dims == {"n"}
    carried = [e for e in linear_recurrence.definition.expressions() if isinstance(e, Carried)]
    assert len(carried) == 1
    assert not rows.definition.equivalent(row_sums.definition)


def test_open_sizes() -> None:
    table, places, x = _random((5, 3)), np.array([4, 0, 0, 2]), _random((4,))
    text = lx.write(rows, "mlir", types={"T": "f64", "U": "i64"})
    run = lx.compile(text)
    np.testing.assert_array_equal(run(table, places, np.zeros((4, 3))), table[places])
    run = lx.compile(lx.write(linear_recurrence, "mlir", types="f64"))
    expected = _recurred(lambda h, n: h * x[n] + x[n], 4)
    np.testing.assert_allclose(run(x, x, np.zeros(4)), expected)
    run = lx.compile(lx.write(counted, "mlir", types={"T": "f64", "U": "i64"}, generic=False))
    np.testing.assert_allclose(run(places, x, np.zeros(5)), np.bincount(places, x, 5))


def test_maps_are_not_of_what_is_looked_up() -> None:
    table, places = _random((5, 3)), np.array([4, 0])
    with pytest.raises(ArgumentError, match=r"W is looked up at computed indices"):
        rows(table.T.copy(), places, permutation_W=[1, 0])
    with pytest.raises(ArgumentError, match=r"O is the output of a recurrence"):
        sum_so_far(table, permutation_O=[1, 0])


def test_there_is_no_compute_type_and_no_generic_recurrence() -> None:
    x = _random((4,), np.float32)
    with pytest.raises(ArgumentError, match=r"has no compute type: `W\[I\[n\], e\]` reads at an"):
        rows(_random((5, 3), np.float32), np.array([1]), compute_type="f64")
    with pytest.raises(ArgumentError, match=r"has no compute type: .* is a recurrence"):
        linear_recurrence(x, x, compute_type="f64")
    expected = np.bincount([1, 1], [0.5, 0.25], 3)
    found = counted(
        np.array([1, 1]),
        np.array([0.5, 0.25], np.float16),
        init=np.zeros(3, np.float16),
        compute_type="f32",
    )
    np.testing.assert_allclose(found, expected)


def test_on_memrefs() -> None:
    module = lx.parse(
        "func.func @f(%w: memref<5x3xf64>, %i: memref<4xi64>, %o: memref<4x3xf64>) { return }"
    )
    block = module.ir.body.operations[0].regions[0].blocks[0]
    with module.ir.context, ir.Location.unknown(), ir.InsertionPoint.at_block_begin(block):
        table, places, out = block.arguments
        rows(table, places, outs=[out])
        with pytest.raises(DTypeError, match=r"sum_so_far is a recurrence, and is called on me"):
            sum_so_far(table, outs=[table])
    given, at, result = _random((5, 3)), np.array([4, 0, 9, -1]), np.zeros((4, 3))
    lx.compile(module)(given, at, result)
    np.testing.assert_array_equal(result, given[np.clip(at, 0, 4)])


def _declared(body: Callable[[Any, Any, Any], None]) -> None:
    @structured_op
    def wrong(
        X=TensorDef(T, S.N),
        I=TensorDef(U, S.N),
        O=TensorDef(T, S.N, output=True),
    ):
        body(X, I, O)


def _two_steps(X: Any, I: Any, O: Any) -> None:
    O[D.n] = O[D.n - 2] + X[D.n]


def _both_ways(X: Any, I: Any, O: Any) -> None:
    O[D.n] = O[D.n - 1] + O[D.n + 1] + X[D.n]


def _and_itself(X: Any, I: Any, O: Any) -> None:
    O[D.n] += O[D.n - 1] * X[D.n]


def _own_output(X: Any, I: Any, O: Any) -> None:
    O[D.n] = O[I[D.n]] + X[D.n]


def _affine_beside(X: Any, I: Any, O: Any) -> None:
    O[D.n] = X[I[D.n] + D.n]


def _assigned_input(X: Any, I: Any, O: Any) -> None:
    X[I[D.n]] = O[D.n]


def _too_many_indices(X: Any, I: Any, O: Any) -> None:
    O[D.n] = X[I[D.n], D.n]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            _two_steps,
            r"one step before along one dimension(.|\n)*lx\.loop under lx\.jit, or `scan`",
        ),
        (_both_ways, r"is more than a recurrence along one dimension"),
        (_and_itself, r"is more than a recurrence along one dimension"),
        (_own_output, r"looks its own output up(.|\n)*the output of an earlier statement"),
        (_affine_beside, r"wrap it in index\(D\.x\)"),
        (_assigned_input, r"is assigned, but X is an input"),
        (_too_many_indices, r"has 2 indices, but X is of rank 1"),
    ],
)
def test_what_cannot_be_declared_says_how(body: Any, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        _declared(body)


def test_a_size_that_does_not_follow_is_asked_for() -> None:
    with pytest.raises(ShapeError, match=r"size of output O along O_0 does not follow(.|\n)*out="):
        counted(np.array([0, 1]), np.ones(2))


def test_other_front_ends_write_plain_dimensions() -> None:
    definition = sum_so_far.definition
    (assignment,) = definition.assignments
    target = replace(assignment.target, indices=(D.m, D.n + 1))
    wrong = replace(definition, assignments=(replace(assignment, target=target),))
    with pytest.raises(DefinitionError, match=r"an index that is not a plain dimension"):
        check(wrong)
    plain = replace(assignment, target=target, value=Access("X", (D.m, D.n), TypeVar("T")))
    with pytest.raises(DefinitionError, match=r"writes through an index that is not a plain dim"):
        check(replace(definition, assignments=(plain,)))


def test_a_comparison_of_positions_by_hand_stays_a_reduction() -> None:
    text = lx.write(lx.ops.segment_sum, "mlir", types={"T": "f32", "T1": "i32"}, generic=False)
    assert "linalg_ext.scatter" not in text
