"""What is shared loop after loop: right for every number of threads, and the same at every call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.executable import code_variants
from linalg_ext.executable.kernel import Kernel
from linalg_ext.module import Module
from linalg_ext.transforms.parallel import _partition

Array = np.ndarray[Any, Any]
ops: Any = lx.ops
ZERO = np.float32(0)


@pytest.fixture
def worthwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every work is, and so is waiting for it."""
    monkeypatch.setattr(_partition, "wait", lambda: 0.0)
    monkeypatch.setattr(_partition, "WORTH_SHARING", 0)
    monkeypatch.setattr(_partition, "LEAST_SLICE", 1e-3)
    monkeypatch.setattr(code_variants, "LEAST_BYTES", 0)


def array(*shape: int) -> Array:
    values = np.random.default_rng(sum(shape)).integers(-4, 5, shape)
    return values.astype(np.float32)  # of which sums are exact, in any order


def slices(kernel: Kernel, threads: int) -> tuple[int, ...]:
    """How many slices each loop has that so many threads share."""
    shared = None if kernel.shared is None else kernel.shared.for_threads(threads)
    return () if shared is None else shared.slices


def padded(x: Any) -> Any:
    return np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))


def convolution(x: Array, k: Array) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(x, k.shape[:2], (1, 2))
    result: Array = np.einsum("nhwcab,abcf->nhwf", windows, k)
    return result


def block_of(convolve: Callable[..., Any]) -> Callable[..., Any]:
    def block(x: Any, k: Any, l: Any) -> Any:  # noqa: E741
        inner = np.maximum(convolve(padded(x), k), ZERO)
        return np.maximum(convolve(padded(inner), l) + x, ZERO)

    return block


def transposed(x: Array, k: Array) -> Array:
    n, h, w, _ = x.shape
    out = np.zeros((n, 2 * h + 2, 2 * w + 2, k.shape[3]), np.float32)
    for a in range(4):
        for b in range(4):
            out[:, a : a + 2 * h : 2, b : b + 2 * w : 2] += x @ k[a, b]
    return out


def layers(x: Any, w: Any, v: Any, b: Any) -> Any:
    return np.maximum(np.maximum(x @ w + b, ZERO) @ v, ZERO) @ w


CHAINS: dict[str, tuple[Any, Any, tuple[Array, ...]]] = {
    "convolutions one after the other": (
        block_of(ops.conv_2d_nhwc_hwcf),
        block_of(convolution),
        (array(1, 9, 7, 5), array(3, 3, 5, 5), array(3, 3, 5, 5)),
    ),
    "convolutions of several images": (
        block_of(ops.conv_2d_nhwc_hwcf),
        block_of(convolution),
        (array(3, 9, 7, 5), array(3, 3, 5, 5), array(3, 3, 5, 5)),
    ),
    "a transposed convolution": (
        lambda x, k: ops.transposed_conv_2d_nhwc_hwcf(x, k, strides=[2, 2]),
        transposed,
        (array(1, 9, 7, 5), array(4, 4, 5, 6)),
    ),
    "a sum with its own transpose": (
        lambda x: np.maximum(x, ZERO) + np.transpose(np.maximum(x, ZERO)) @ x,
        None,
        (array(21, 21),),
    ),
    "layers for one row": (layers, None, (array(1, 33), array(33, 29), array(29, 33), array(29))),
}


@pytest.mark.usefixtures("worthwhile")
@pytest.mark.parametrize("name", CHAINS)
def test_what_needs_all_that_came_before(name: str) -> None:
    function, expected, arguments = CHAINS[name]
    kernel = lx.jit(function).lower(*arguments).compile().kernel
    right = (expected or function)(*arguments)
    for threads in (1, 2, 3):
        if threads > 1:
            assert len(slices(kernel, threads)) > 1
        np.testing.assert_array_equal(kernel(*arguments, threads=threads), right)


OPEN: dict[str, tuple[Any, Callable[[int], tuple[Array, ...]]]] = {
    "element-wise": (lambda x: np.maximum(x, ZERO) * x, lambda n: (array(n, 5),)),
    "one axis": (lambda x: x + x, lambda n: (array(n),)),
    "matmul": (lambda x, y: x @ y, lambda n: (array(n, 20), array(20, n))),
    "layers": (layers, lambda n: (array(n, 33), array(33, 29), array(29, 33), array(29))),
    "a sum": (lambda x: np.sum(x, axis=1), lambda n: (array(n, 17),)),
    "a transpose": (lambda x: np.transpose(x) + ZERO, lambda n: (array(n, 6),)),
}


@pytest.mark.usefixtures("worthwhile")
@pytest.mark.parametrize("name", OPEN)
def test_sizes_that_only_the_run_tells(name: str) -> None:
    function, arguments = OPEN[name]
    kernel = lx.jit(function, dynamic=True).lower(*arguments(64)).compile().kernel
    for threads in (1, 2, 3):
        if threads > 1:
            assert slices(kernel, threads)
        for n in (0, 1, 2, 3, 7, 64, 101):
            given = arguments(n)
            np.testing.assert_array_equal(kernel(*given, threads=threads), function(*given))


def test_small_calls_of_open_sizes_use_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """They would wait for code that they do not need to be compiled."""
    kernel = lx.jit(lambda x: x @ x, dynamic=True).lower(array(64, 64)).compile().kernel
    asked: list[int] = []
    made = code_variants.SharedWork.for_threads

    def for_threads(self: code_variants.SharedWork, threads: int) -> code_variants.Shared | None:
        asked.append(threads)
        return made(self, threads)

    monkeypatch.setattr(code_variants.SharedWork, "for_threads", for_threads)
    for size, expected in ((50, []), (512, [2])):
        x = array(size, size)
        np.testing.assert_array_equal(kernel(x, threads=2), x @ x)
        assert asked == expected


@pytest.mark.usefixtures("worthwhile")
def test_a_thousand_calls_give_the_same_bits() -> None:
    """Sums that a thread or an order changed would differ in their last bits."""
    values = np.random.default_rng(0).standard_normal
    x, w = values((37, 41)).astype(np.float32), values((41, 41)).astype(np.float32)
    kernel = lx.jit(lambda x, w: np.exp(x @ w).sum(axis=1) @ (x @ w), dynamic=True)
    compiled = kernel.lower(x, w).compile().kernel
    for threads in (2, 3):
        first = compiled(x, w, threads=threads)
        assert all((compiled(x, w, threads=threads) == first).all() for _ in range(1000))


PARALLEL = {
    "forall": """
      scf.forall (%i, %j) = (1, 0) to (%m, 6) step (2, 1) {
        %x = memref.load %a[%i, %j] : memref<?x6xf32>
        %y = arith.addf %x, %x : f32
        memref.store %y, %a[%i, %j] : memref<?x6xf32>
      }
    """,
    "parallel": """
      %one = arith.constant 1 : index
      %two = arith.constant 2 : index
      %zero = arith.constant 0 : index
      %six = arith.constant 6 : index
      scf.parallel (%i, %j) = (%one, %zero) to (%m, %six) step (%two, %one) {
        %x = memref.load %a[%i, %j] : memref<?x6xf32>
        %y = arith.addf %x, %x : f32
        memref.store %y, %a[%i, %j] : memref<?x6xf32>
        scf.reduce
      }
    """,
}


@pytest.mark.usefixtures("worthwhile")
@pytest.mark.parametrize("name", PARALLEL)
def test_loops_that_are_parallel_already(name: str) -> None:
    kernel = lx.compile(f"""
    func.func @f(%a: memref<?x6xf32>) {{
      %c0 = arith.constant 0 : index
      %m = memref.dim %a, %c0 : memref<?x6xf32>
      {PARALLEL[name]}
      return
    }}""")
    for threads in (1, 2, 3):
        for rows in (0, 1, 2, 5, 40):
            a = array(rows, 6)
            expected = a.copy()
            expected[1::2] *= 2
            kernel(a, threads=threads)
            np.testing.assert_array_equal(a, expected)
        assert threads == 1 or slices(kernel, threads)


@pytest.mark.usefixtures("worthwhile")
@pytest.mark.parametrize(
    "body",
    [
        "func.call @other() : () -> ()",
        "%v = memref.load %s[] : memref<f32>",
    ],
)
def test_a_parallel_loop_that_may_do_anything_is_left(body: str) -> None:
    module = Module.parse(
        f"""
        func.func private @other()
        func.func @f(%s: memref<f32>, %status: memref<1xi64>) attributes {{linalg_ext.status}} {{
          scf.forall (%i) in (100) {{ {body} }}
          return
        }}""",
        trusted=True,
    )
    assert bool(lx.transforms.share_work(module, threads=2)) == ("load" in body)


@pytest.mark.usefixtures("worthwhile")
def test_a_fill_stays_with_what_adds_to_it() -> None:
    """Else a product would read zeros that another loop wrote."""
    kernel = lx.jit(layers).lower(*CHAINS["layers for one row"][2]).compile()
    module = Module.parse(kernel.as_text("buffers"), trusted=True)
    lx.transforms.share_work(module, threads=2)
    loops = str(module).split("scf.forall")[1:]
    assert len(loops) == 3
    for loop in loops:
        assert loop.count("reduction") == loop.count("linalg.yield %cst") > 0


@pytest.mark.usefixtures("worthwhile")
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_sizes_that_only_some_types_tell(threads: int) -> None:
    """What is added is of an open size; that it is 7 the cast says."""
    kernel = lx.compile("""
    func.func @f(%a: tensor<?xf32>) -> (tensor<?xf32>, tensor<7xf32>) {
      %0 = arith.addf %a, %a : tensor<?xf32>
      %1 = tensor.cast %0 : tensor<?xf32> to tensor<7xf32>
      return %0, %1 : tensor<?xf32>, tensor<7xf32>
    }""")
    x = array(7)
    with lx.options(threads=threads):
        for result in kernel(x):
            np.testing.assert_array_equal(result, 2 * x)
