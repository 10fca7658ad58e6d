"""One kernel for all sizes; sizes that do not agree are found before native code."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from letters import said
from linalg_ext.errors import ArgumentError, DTypeError, ExecutionError, ShapeError, TraceError
from linalg_ext.opdsl import D, S, T, TensorDef, structured_op
from linalg_ext.tracing.values import sizes
from linalg_ext.tracing.values.sizes import Size
from traced_functions import agree, random

N, M = lx.Dim("n"), lx.Dim("m")


def block(x: Any, w: Any, b: Any) -> Any:
    h = x @ w + b
    e = np.exp(h - h.max(-1, keepdims=True))
    p = e / e.sum(-1, keepdims=True)
    return (
        p,
        p.reshape(-1),
        p.mean(0),
        p.var(1),
        p.T,
        x[1:] - x[:-1],
        x[::-1, 1::2],
        np.concatenate([p, h], axis=1),
        np.cumsum(h, axis=1),
        h.argmax(1),
        p.shape[0] * np.arange(3),
        x / x.shape[1],
        np.einsum("ij,jk->ki", x, w),
        np.tril(x),
        lx.loop(x.shape[0], lambda i, s: s + x[i], x[0]),
        np.stack([x, x * 2]).sum((0, 1)),
        lx.ops.exp(h),
    )


def test_one_kernel_for_all_sizes() -> None:
    function = lx.jit(block, dynamic=True)
    for rows, inner, columns in ((4, 5, 3), (7, 2, 9), (3, 3, 3), (33, 65, 40)):
        arrays = random(rows, inner), random(inner, columns), random(columns)
        agree(function(*arrays), block(*arrays), 1e-4)
    assert repr(function) == "<jit block, 1 kernel>"


def test_sizes_of_one_stretch_and_so_are_traced_apart() -> None:
    function = lx.jit(lambda x, y: x * y, dynamic=True)
    for left, right in (((4, 3), (4, 3)), ((4, 1), (4, 3)), ((1,), (6,)), ((5, 1), (5, 7))):
        x, y = random(*left), random(*right)
        agree(function(x, y), x * y)
    assert "3 kernels" in repr(function)


def test_sizes_that_do_not_agree_are_named() -> None:
    function = lx.jit(block, dynamic=True)
    function(random(4, 5), random(5, 3), random(3))
    with pytest.raises(ShapeError) as caught:
        function(random(3, 4), random(5, 6), random(6))
    message = said(caught.value)
    assert "x.shape[1] is 4, w.shape[0] is 5" in message
    assert "test_open_sizes.py" in message


def test_sizes_that_do_not_agree_are_found_while_the_function_is_recorded() -> None:
    def shifted(x: Any, y: Any, none: Any) -> Any:
        z = x.copy()
        z[2:] = y
        return np.stack([z, none])

    with pytest.raises(ShapeError, match=r"concatenate.*x\.shape\[0\] is 33"):
        lx.jit(shifted, dynamic=True)(random(33), random(31), random(0))


def test_dimensions_of_a_signature() -> None:
    @lx.jit(signature=[lx.ShapeDtype((N, 4), "f32"), lx.ShapeDtype((4, N), np.float32)])
    def gram(x: Any, y: Any) -> Any:
        return x @ y

    for size in (3, 8, 1):
        x, y = random(size, 4), random(4, size)
        agree(gram(x, y), x @ y)
    for arrays, kind, message in (
        ((random(3, 4), random(4, 5)), ShapeError, "axis 1 of y is 5, but axis 0 of x is 3"),
        ((random(3, 5), random(4, 3)), ShapeError, r"ShapeDtype\(\(n, 4\), float32\)"),
        ((random(3, 4), random(4, 3, dtype=np.float64)), ShapeError, "y is float64"),
    ):
        with pytest.raises(kind, match=message):
            gram(*arrays)
    assert "1 kernel" in repr(gram)


def test_specs_in_lower() -> None:
    lowered = lx.jit(lambda x: x.reshape(-1, 2).sum(1)).lower(lx.ShapeDtype((N,), np.float64))
    assert "tensor<?xf64>" in lowered.as_text()
    kernel = lowered.compile()
    x = random(6, dtype=np.float64)
    agree(kernel(x), x.reshape(-1, 2).sum(1))
    with pytest.raises(ShapeError, match="n is 5"):
        kernel(random(5, dtype=np.float64))


def test_slices_of_open_axes_are_in_bounds() -> None:
    kernel = lx.jit(lambda x: (x[2:], x[:3], x[-2:])).lower(lx.ShapeDtype((N,), "f32")).compile()
    x = random(5)
    agree(kernel(x), (x[2:], x[:3], x[-2:]))
    with pytest.raises(ShapeError, match="3 or more"):
        kernel(random(2))


def _written(x: Any) -> Any:
    x = x.copy()
    x[5:9] += 1
    x[-100:4] = 0
    x[20:2:-3] *= 2
    return x


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[:9] * 2,
        lambda x: x[-9:],
        lambda x: x[3:5],
        lambda x: x[5:-5],
        lambda x: x[x.shape[0] - 5 :],
        lambda x: x[: x.shape[0] // 2 + 3 : 2],
        lambda x: x[5:0:-1],
        lambda x: x[-2::-2],
        lambda x: x[9:2:-3],
        lambda x: np.concatenate([x[:4], x[4:]]),
        lambda x: x[-3:7:2].sum(),
        _written,
    ],
)
def test_slices_of_open_axes_end_where_the_array_does(function: Any) -> None:
    compute = lx.jit(function, dynamic=True)
    named = lx.jit(function, signature=[lx.ShapeDtype((N,), "f32")])
    for size in (*range(13), 100, 7, 2):
        x = random(size)
        agree(compute(x), function(x))
        agree(named(x), function(x))
    assert len(named.kernels) <= len(compute.kernels) < 9


def test_a_kernel_for_sizes_at_which_a_slice_ends_says_so(tmp_path: Path) -> None:
    short = lx.jit(lambda x: x[:9], dynamic=True).lower(random(5)).compile()
    agree(short(random(8)), random(8))
    with pytest.raises(ShapeError, match=r"< 9\n.*call the jitted function"):
        short(random(10))
    shipped = lx.load(short.export(tmp_path / "short", library=False))
    agree(shipped(random(8)), random(8))
    with pytest.raises(ExecutionError, match="the kernel is for"):
        shipped(random(10))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("index", [slice(None, None, 0), slice(1.5), slice(None, None, "a")])
def test_slices_by_other_than_integers_are_refused(index: slice, dynamic: bool) -> None:
    with pytest.raises(ArgumentError, match="a slice "):
        lx.jit(lambda x: x[index], dynamic=dynamic)(random(4))


@pytest.mark.parametrize(
    "function",
    [
        lambda x, n: x * (1 / n),
        lambda x, n: x * (n / 2 - 0.5),
        lambda x, n: x * n**2 - n**-1,
        lambda x, n: x * 2.0**n,
        lambda x, n: x / n**0.5,
        lambda x, n: x * abs(n - 10) + divmod(n, 2)[1],
        lambda x, n: x * (n % 2.5) + n // 2.0,
        lambda x, n: x * (1j * n),
        lambda x, n: x.var(ddof=1.0) * n,
    ],
)
def test_numbers_made_of_open_sizes_are_those_of_python(function: Any) -> None:
    compute = lx.jit(lambda x: function(x, x.shape[0]), dynamic=True)
    for size in (3, 8):
        agree(compute(random(size)), function(random(size), size))
    assert len(compute.kernels) == 1


def _guarded(x: Any, y: Any) -> Any:
    if x.shape != y.shape:
        return x.sum() - y.sum()
    if not x.size or min(x.shape) < 3:
        return x.sum() * 2
    return (x * y).sum() if x.shape[0] % 2 == 0 else x[0] * max(x.shape[1], 5)


def test_comparisons_of_sizes_are_those_of_the_call(tmp_path: Path) -> None:
    compute = lx.jit(_guarded, dynamic=True)
    shapes = [(2, 2), (3, 4), (4, 3), (4, 4), (0, 4), (6, 7), (5, 9), (2, 5), (3, 4)]
    for left, right in [*((s, s) for s in shapes), ((3, 4), (4, 3)), ((5, 5), (4, 5))]:
        x, y = random(*left), random(*right)
        agree(compute(x, y), _guarded(x, y), 1e-4)
    assert len(compute.kernels) < 9
    odd = lx.jit(lambda x: x * (x.shape[0] % 2 == 1), dynamic=True).lower(random(3)).compile()
    with pytest.raises(ShapeError, match="comparison"):
        odd(random(4))
    shipped = lx.load(odd.export(tmp_path / "odd", library=False))
    agree(shipped(random(5)), random(5))
    with pytest.raises(ExecutionError, match="the kernel is for"):
        shipped(random(4))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.roll(x, 3),
        lambda x: np.roll(x, -3),
        lambda x: np.stack(np.array_split(x, [x.shape[0] // 2 * 2, 100])[2:]),
        lambda x: np.unwrap(x, period=3.0),
        lambda x: np.diff(x, 3),
        lambda x: np.squeeze(x[-1:0:-2]),
    ],
)
def test_functions_by_slices_at_sizes_where_these_end(function: Any) -> None:
    compute = lx.jit(function, dynamic=True)
    for size in (2, 3, 4, 7, 2, 101, 0, 1):
        agree(compute(random(size)), function(random(size)))


def test_an_axis_of_a_computed_size_is_squeezed_where_it_is_one() -> None:
    squeezed = lx.jit(lambda x: np.squeeze(x[::2], 0), dynamic=True)
    agree(squeezed(random(2, 3)), random(2, 3)[0])
    with pytest.raises(ShapeError, match="squeeze of axis 0"):
        squeezed(random(4, 3))


def test_a_slope_takes_more_values_than_the_order_of_its_edges() -> None:
    slope = lx.jit(lambda x: np.gradient(x, edge_order=2), dynamic=True)
    agree(slope(random(3)), np.gradient(random(3), edge_order=2))
    with pytest.raises(ShapeError, match="gradient"):
        slope(random(2))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x if x.shape[0] > 3 else -x, "whether n > 3"),
        (lambda x: x if x.shape[0] == 3 else -x, "whether n == 3"),
        (lambda x: [x[i] for i in range(x.shape[0])], "the number n"),
        (lambda x: x + np.random.RandomState(1).rand(*x.shape), "the number n"),
    ],
)
def test_what_depends_on_an_open_size_is_refused(function: Any, message: str) -> None:
    with pytest.raises(TraceError, match=message) as caught:
        lx.jit(function).lower(lx.ShapeDtype((N,), "f32"))
    assert "the size is open" in said(caught.value)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sum() / len(x),
        lambda x: np.stack([x[at] * at for at in range(x.shape[0])]),
        lambda x: np.stack([part * 2 for part in x]),
        lambda x: np.linspace(0, 1, x.shape[0]) * x,
        lambda x: np.pad(x, 2, mode="reflect"),
        lambda x: np.pad(x, 2, mode="mean"),
        lambda x: np.packbits(x > 0.5),
        lambda x: np.convolve(x, x),
        lambda x: np.trace(np.outer(x, x)),
    ],
)
def test_numbers_that_python_asks_for_are_those_of_the_call(function: Any) -> None:
    compute = lx.jit(function, dynamic=True)
    for size in (5, 8, 5, 12):
        agree(compute(random(size)), function(random(size)))


def test_sizes_of_results_that_no_open_size_gives() -> None:
    def function(x: Any) -> Any:
        padded = x.copy()
        np.fill_diagonal(padded, 0)
        return np.pad(padded, 1, mode="linear_ramp"), padded

    compute = lx.jit(function, dynamic=True)
    for shape in ((4, 4), (3, 7)):
        for own, wanted in zip(compute(random(*shape)), function(random(*shape)), strict=True):
            agree(own, wanted)


def test_the_twentieth_size_that_python_asks_for_is_told() -> None:
    mean = lx.jit(lambda x: x.sum() / len(x), dynamic=True)
    for size in range(2, 21):
        mean(random(size))
    with pytest.warns(UserWarning, match=r"20 times for open sizes.*len\(x\)"):
        mean(random(21))


def test_a_size_must_stand_alone_somewhere() -> None:
    with pytest.raises(ArgumentError, match=r"no argument has the size n alone"):
        lx.jit(lambda x: x).lower(lx.ShapeDtype((2 * N,), "f32"))
    kernel = lx.jit(lambda x, y: x + y[: x.shape[0]]).lower(
        lx.ShapeDtype((N,), "f32"), lx.ShapeDtype((2 * N,), "f32")
    )
    x, y = random(3), random(6)
    agree(kernel.compile()(x, y), x + y[:3])
    with pytest.raises(ShapeError, match="axis 0 of y is 5"):
        kernel.compile()(x, random(5))


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: lx.ShapeDtype((-1,), "f32"), ArgumentError),
        (lambda: lx.ShapeDtype(("n",), "f32"), ArgumentError),
        (lambda: lx.ShapeDtype((3,), "nothing"), DTypeError),
        (lambda: lx.ShapeDtype((3,), object), DTypeError),
        (lambda: lx.Dim(""), ArgumentError),
        (lambda: lx.jit(lambda x: x)(lx.ShapeDtype((3,), "f32")), ArgumentError),
    ],
)
def test_wrong_specs_are_refused(make: Any, kind: Any) -> None:
    with pytest.raises(kind):
        make()


def test_sizes_of_one_label_of_an_einsum_have_to_agree() -> None:
    product = lx.jit(lambda x, y: np.einsum("ij,jk->ik", x, y), dynamic=True)
    x, y = random(3, 4), random(4, 5)
    agree(product(x, y), x @ y)
    with pytest.raises(ShapeError, match="einsum ij,jk->ik"):
        product(x, random(3, 5))
    diagonal = lx.jit(lambda x: np.einsum("ii->i", x), dynamic=True)
    square = random(3, 3)
    agree(diagonal(square), np.diagonal(square))
    with pytest.raises(ShapeError, match="einsum ii->i"):
        diagonal(x)


def test_a_known_set_of_shapes_is_checked_no_more_and_others_are() -> None:
    function = lx.jit(lambda x, y: x + y, dynamic=True)
    for _ in range(2):
        agree(function(random(4), random(4)), random(4) * 2)
        with pytest.raises(ShapeError, match="is 4"):
            function(random(4), random(5))


def test_the_examples() -> None:
    failed, ran = doctest.testmod(sizes, extraglobs={"lx": lx})
    assert ran
    assert not failed


def test_sizes_have_one_normal_form() -> None:
    assert N + N == 2 * N
    assert (N + 1) * (N - 1) == N * N - 1
    assert (6 * N) // 3 == 2 * N
    assert (N * M) // M == N
    assert N - N == 0
    assert (N + 3) - N == 3
    assert N != N + 1
    assert isinstance(N // 2, Size)
    assert (N // 2).substitute({"n": 7}) == 3
    assert (N % 4).substitute({"n": 7}) == 3
    assert str(2 * N - 1) == "2*n - 1"


@pytest.mark.parametrize(
    ("function", "fitting", "others"),
    [
        (lx.ops.matmul, ((3, 4), (4, 5)), ((3, 4), (3, 4))),
        (lx.ops.add, ((4,), (4,)), ((4,), (3,))),
        (lx.ops.matvec, ((3, 4), (4,)), ((3, 4), (3,))),
        (
            lambda x, y: lx.ops.matmul(x, y, permutation_A=[1, 0]),
            ((4, 3), (4, 5)),
            ((4, 3), (3, 4)),
        ),
        (lambda x, y: lx.ops.matmul(x, x, init=y), ((3, 3), (3, 3)), ((3, 3), (2, 3))),
    ],
)
def test_open_sizes_of_ops_have_to_agree(function: Any, fitting: Any, others: Any) -> None:
    compute = lx.jit(lambda *operands: function(*operands), dynamic=True)
    x, y = (np.ones(shape) for shape in fitting)
    np.testing.assert_array_equal(compute(x, y), function(x, y))
    with pytest.raises(ShapeError):
        compute(*(np.ones(shape) for shape in others))


def test_a_window_of_an_op_has_to_lie_inside() -> None:
    compute = lx.jit(lambda x, k, start: lx.ops.conv_1d(x, k, init=start), dynamic=True)
    x, k = np.arange(6.0), np.ones(3)
    np.testing.assert_array_equal(compute(x, k, np.zeros(4)), np.convolve(x, k, "valid"))
    with pytest.raises(ShapeError):
        compute(x, k, np.zeros(5))


@structured_op
def full_convolution(
    X=TensorDef(T, S.N), K=TensorDef(T, S.K), R=TensorDef(T, S.N + S.K - 1, output=True)
):
    R[D.i + D.j] += X[D.i] * K[D.j]


@pytest.mark.parametrize(
    ("function", "shapes", "shape"),
    [
        (lx.ops.matmul, ((3, 4), (4, 5)), (3, 5)),
        (lx.ops.row_sum, ((3, 4),), (3,)),
        (lx.ops.conv_1d, ((6,), (3,)), (4,)),
        (lambda x, k: lx.ops.conv_1d_nwc_wcf(x, k, strides=[2]), ((1, 8, 2), (3, 2, 5)), (1, 3, 5)),
        (full_convolution, ((6,), (3,)), (8,)),
    ],
)
def test_open_results_of_ops_have_shapes_of_their_own(
    function: Any, shapes: Any, shape: tuple[int, ...]
) -> None:
    def sized(*operands: Any) -> Any:
        result = function(*operands)
        return result.sum() * np.stack([np.float64(1) * size for size in result.shape])

    operands = [np.ones(each) for each in shapes]
    expected = function(*operands).sum() * np.array(shape)
    np.testing.assert_array_equal(lx.jit(sized, dynamic=True)(*operands), expected)


def test_windows_beyond_an_open_axis_are_refused_as_on_arrays() -> None:
    @structured_op
    def windows(X=TensorDef(T, S.N), K=TensorDef(T, S.K), Y=TensorDef(T, S.M, output=True)):
        Y[D.i] += X[D.i + D.k] * K[D.k]

    function = lx.jit(lambda x, k: windows(x, k), dynamic=True)
    x, k = random(5), random(3)
    agree(function(x, k), windows(x, k))
    for call in (function, windows):
        with pytest.raises(ShapeError, match="2"):
            call(x[:2], k)


def test_a_given_start_of_an_op_says_an_open_size() -> None:
    @structured_op
    def rows(X=TensorDef(T, S.M), Y=TensorDef(T, S.M, S.N, output=True)):
        Y[D.m, D.n] += X[D.m]

    function = lx.jit(lambda x, start: rows(x, init=start), dynamic=True)
    for shape in ((2, 3), (4, 7)):
        x, start = random(shape[0]), random(*shape)
        agree(function(x, start), start + x[:, None])
    with pytest.raises(ShapeError, match=r"x.shape\[0\]"):
        function(random(3), random(2, 5))


def test_negative_divisors_are_as_those_of_integers() -> None:
    for divisor in (-3, -1):
        quotient, remainder = N // divisor, N % divisor
        for n in range(7):
            assert sizes.value_of(quotient, {"n": n}) == n // divisor
            assert sizes.value_of(remainder, {"n": n}) == n % divisor


def test_bounds_of_open_sizes_answer_comparisons() -> None:
    assert N >= 0
    assert N + 1 > 0
    assert N + M + 1 != 0
    assert 2 * N != 3
    with pytest.raises(TraceError, match="whether n > 0"):
        assert N > 0


def test_all_of_an_array_of_open_size_is_written_by_its_own_elements() -> None:
    def same(x: Any) -> Any:
        order = np.argsort(x, kind="stable")
        order[()] += 0
        order[:] = order[:] * 2
        return order

    jitted = lx.jit(same, dynamic=True)
    for count in (17, 2, 5):
        x = np.arange(count, dtype=np.int8)[::-1].copy()
        np.testing.assert_array_equal(jitted(x), same(x))
