"""Arrays of other libraries: out=, results in the caller's library, and who keeps what alive."""

from __future__ import annotations

import array
import ctypes
import gc
import itertools
import mmap
import sys
import types
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import AliasingError, ArgumentError, DTypeError, LayoutError, LinalgExtError
from linalg_ext.executable import foreign_arrays
from linalg_ext.runtime.dlpack import from_dlpack

Array = np.ndarray[Any, Any]


class Memory(np.ndarray[Any, Any]):
    """Can be referred to weakly, and is all that a tensor holds."""


class Tensor:
    """An array of another library, in the way of PyTorch: the package has `from_dlpack`."""

    def __init__(self, data: Any, *, frozen: bool = False) -> None:
        self.memory = data.view(Memory)
        self.memory.flags.writeable = not frozen

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, **options: Any) -> Any:
        return self.memory.__dlpack__(**options)


class Standard(Tensor):
    """An array of another one, in the way of the array API standard: it knows its namespace."""

    def __array_namespace__(self) -> Any:
        return STANDARD


def library(name: str, kind: type[Tensor]) -> Any:
    module: Any = types.ModuleType(name)
    module.from_dlpack = lambda value: kind(from_dlpack(value, "a result"))
    return module


STANDARD = library("standard", Standard)


@pytest.fixture(autouse=True)
def _package(monkeypatch: pytest.MonkeyPatch) -> None:
    """`Tensor` is of a package of its own."""
    foreign_arrays._libraries.clear()
    monkeypatch.setattr(Tensor, "__module__", "tensors.core")
    monkeypatch.setitem(sys.modules, "tensors", library("tensors", Tensor))


def numbers(seed: int = 0) -> Array:
    return np.random.default_rng(seed).random((4, 4), np.float32)


@pytest.fixture(scope="module")
def kernel() -> Any:
    return lx.compile(
        """
        func.func @add(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4x4xf32> {
          %e = tensor.empty() : tensor<4x4xf32>
          %r = linalg.add ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>)
               outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
          return %r : tensor<4x4xf32>
        }
        """
    )


@pytest.fixture(params=["kernel", "op", "einsum", "jit", "by name"])
def call(request: pytest.FixtureRequest, kernel: Any) -> Callable[..., Any]:
    """Ways to call something of two arrays; each with what NumPy makes of them."""
    ways: dict[str, Callable[..., Any]] = {
        "kernel": kernel,
        "op": lx.ops.add,
        "einsum": lambda a, b, **k: lx.einsum("ij,jk->ik", a, b, **k),
        "jit": lx.jit(lambda a, b: a + b),
        "by name": lambda a, b, **k: lx.ops.add(rhs=b, lhs=a, **k),
    }
    return ways[request.param]


def plain(value: Any) -> Any:
    return value.memory if isinstance(value, Tensor) else value


@pytest.mark.parametrize("kind", [Tensor, Standard])
def test_results_are_of_the_callers_library(call: Callable[..., Any], kind: type[Tensor]) -> None:
    a, b = numbers(), numbers(1)
    found = call(kind(a), kind(b))
    assert type(found) is kind
    np.testing.assert_allclose(plain(found), call(a, b))
    assert plain(found).flags.writeable


def test_results_are_numpys_where_its_arrays_or_two_libraries_are_given(
    call: Callable[..., Any],
) -> None:
    a, b = numbers(), numbers(1)
    for one, other in ((Tensor(a), b), (a, Tensor(b)), (Tensor(a), Standard(b)), (a, b)):
        found = call(one, other)
        assert type(found) is np.ndarray
        np.testing.assert_allclose(found, call(a, b))


def test_numbers_and_attributes_are_of_no_library() -> None:
    assert type(lx.ops.mul(Tensor(numbers()), 2.0)) is Tensor
    assert type(lx.ops.mul(Tensor(numbers()), np.float32(2))) is Tensor
    image, filters = np.ones((1, 6, 6, 2), np.float32), np.ones((3, 3, 2, 4), np.float32)
    strides = np.array([2, 2])
    made = lx.ops.conv_2d_nhwc_hwcf(Tensor(image), Tensor(filters), strides=strides)
    assert type(made) is Tensor
    assert made.memory.shape == (1, 2, 2, 4)


def test_what_an_op_starts_from_is_an_argument_too() -> None:
    a, b, c = numbers(), numbers(1), numbers(2)
    made = lx.ops.matmul(Tensor(a), Tensor(b), init=Tensor(c))
    assert type(made) is Tensor
    np.testing.assert_allclose(made.memory, c + a @ b, rtol=1e-6)
    assert type(lx.ops.matmul(Tensor(a), Tensor(b), init=c)) is np.ndarray
    assert type(lx.ops.matmul(Tensor(a), Tensor(b), init=(Tensor(c),))) is Tensor


def test_a_library_that_takes_nothing_gets_numpys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tensor, "__module__", "nowhere")
    assert type(lx.ops.add(Standard(numbers()), Standard(numbers()))) is Standard
    assert type(lx.ops.add(Tensor(numbers()), Tensor(numbers()))) is np.ndarray


def test_results_without_axes_and_of_narrow_floats() -> None:
    a = numbers()
    total = lx.einsum("ij,ij->", Tensor(a), Tensor(a))
    assert total.memory.shape == ()
    np.testing.assert_allclose(total.memory, (a * a).sum(), rtol=1e-6)
    for dtype in (ml_dtypes.bfloat16, np.float16, np.bool_, np.complex64):
        expected = np.ones((2, 2), dtype)
        made = lx.einsum("ij->ji", Exporting(expected))
        assert made.memory.dtype == dtype
        np.testing.assert_array_equal(made.memory, expected)


class Exporting(Tensor):
    """Narrow floats, which NumPy does not hand over."""

    def __dlpack__(self, **options: Any) -> Any:
        from linalg_ext.runtime.dlpack import exported

        return exported(self.memory).__dlpack__(**options)


def test_a_view_is_a_view_in_every_library() -> None:
    a = numbers()
    turned = lx.einsum("ij->ji", Tensor(a))
    turned.memory[0, 1] = 7
    assert a[1, 0] == 7
    frozen = lx.einsum("ij->ji", Tensor(numbers(), frozen=True))
    np.testing.assert_array_equal(frozen.memory, numbers().T)


def test_containers_of_a_jitted_function() -> None:
    @lx.jit
    def layer(x: Any, params: Any) -> Any:
        return {"sum": x + params["w"], "both": (x * 2, [params["w"]])}

    a, b = numbers(), numbers(1)
    found = layer(Tensor(a), {"w": Tensor(b)})
    assert [type(found["sum"]), type(found["both"][0]), type(found["both"][1][0])] == [Tensor] * 3
    np.testing.assert_array_equal(found["sum"].memory, a + b)
    out = {"sum": Tensor(np.empty_like(a)), "both": (None, [np.empty_like(a)])}
    with pytest.raises(ArgumentError):
        layer(a, {"w": b}, out={"sum": out["sum"]})
    mixed = layer(a, {"w": Tensor(b)})
    assert type(mixed["sum"]) is np.ndarray


WRITABLE: dict[str, Callable[[Path], Any]] = {
    "a tensor": lambda _: Tensor(np.empty((4, 4), np.float32)),
    "columns of a tensor": lambda _: Tensor(np.empty((4, 8), np.float32)[:, ::2]),
    "a buffer": lambda _: memoryview(bytearray(64)).cast("f", (4, 4)),
    "ctypes": lambda _: ((ctypes.c_float * 4) * 4)(),
    "a mapped file": lambda path: np.memmap(path / "m", np.float32, "w+", shape=(4, 4)),
    "a mapping": lambda _: memoryview(mmap.mmap(-1, 64)).cast("f", (4, 4)),
    "an array of Python's": lambda _: (
        memoryview(array.array("f", [0] * 16)).cast("B").cast("f", (4, 4))
    ),
}


@pytest.mark.parametrize("kind", WRITABLE)
def test_results_go_anywhere(call: Callable[..., Any], kind: str, tmp_path: Path) -> None:
    a, b = numbers(), numbers(1)
    out = WRITABLE[kind](tmp_path)
    assert call(a, b, out=out) is out
    np.testing.assert_allclose(np.asarray(plain(out)), call(a, b))
    assert call(Tensor(a), Tensor(b), out=out) is out


WRONG: dict[str, tuple[Callable[[], Any], type[LinalgExtError], str]] = {
    "a frozen tensor": (
        lambda: Tensor(numbers(), frozen=True), LayoutError, "read-only: a tensors.core.Tensor"
    ),
    "bytes": (lambda: b"abcd", LayoutError, "read-only: a builtins.bytes"),
    "a list": (lambda: [[0.0] * 4] * 4, LinalgExtError, "list|4 arrays"),
    "a number": (lambda: 3.0, ArgumentError, "is a float"),
    "a text": (lambda: "out", ArgumentError, "is a str"),
    "another shape": (lambda: Tensor(np.empty((4, 5), np.float32)), LinalgExtError, "shape"),
    "a buffer of another rank": (lambda: bytearray(64), LinalgExtError, "rank|shape|dtype"),
    "overlapping elements": (
        lambda: Tensor(np.lib.stride_tricks.as_strided(np.zeros(4, np.float32), (4, 4), (0, 4))),
        LayoutError, "overlap",
    ),
    "many dimensions of text": (lambda: np.array([["a"] * 4] * 4), LinalgExtError, "dtype|<U1"),
}  # fmt: skip


@pytest.mark.parametrize("kind", WRONG)
def test_out_that_cannot_take_the_result(call: Callable[..., Any], kind: str) -> None:
    make, error, message = WRONG[kind]
    with pytest.raises(error, match=message):
        call(numbers(), numbers(), out=make())


def test_out_meets_an_input_in_another_guise(kernel: Any) -> None:
    memory = np.zeros((5, 4), np.float32)
    with pytest.raises(AliasingError):
        kernel(Tensor(memory[:4]), numbers(), out=Tensor(memory[1:]))
    with pytest.raises(AliasingError):
        lx.ops.matmul(memory[:4], numbers(), out=Tensor(memory[1:]))
    one = Tensor(numbers())
    assert lx.ops.add(one, one, out=one) is one  # element by element, as NumPy
    np.testing.assert_array_equal(one.memory, 2 * numbers())


def test_a_kernel_in_a_process_apart_takes_them() -> None:
    kernel = lx.compile(
        "func.func @f(%a: tensor<4x4xf32>) -> tensor<4x4xf32> { return %a : tensor<4x4xf32> }",
        isolated=True,
    )
    a, out = numbers(), Tensor(np.empty((4, 4), np.float32))
    found = kernel(Tensor(a))
    assert type(found) is Tensor
    np.testing.assert_array_equal(found.memory, a)
    assert kernel(a, out=out) is out
    np.testing.assert_array_equal(out.memory, a)
    with pytest.raises(LayoutError, match="read-only"):
        kernel(a, out=Tensor(numbers(), frozen=True))
    kernel.close()


def test_a_result_that_the_library_lacks_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(value: Any) -> Any:
        raise TypeError("no such elements")

    monkeypatch.setattr(sys.modules["tensors"], "from_dlpack", refuse)
    with pytest.raises(ArgumentError, match=r"(?s)tensors does not take.*no such elements"):
        lx.ops.add(Tensor(numbers()), Tensor(numbers()))


def test_buffers_come_in_where_they_have_the_right_elements(kernel: Any) -> None:
    a = numbers()
    view = memoryview(a.data)
    np.testing.assert_array_equal(kernel(view, a), a + a)
    with pytest.raises(DTypeError):
        kernel(a.astype(np.float64).data, a)
    fill = lx.compile(
        "func.func @f(%m: memref<3xf32>, %x: f32) {"
        " linalg.fill ins(%x : f32) outs(%m : memref<3xf32>) return }"
    )
    target = array.array("f", [0, 0, 0])
    fill(target, 2.5)
    assert list(target) == [2.5] * 3
    with pytest.raises(LayoutError, match="read-only"):
        fill(memoryview(target).toreadonly(), 1.0)


def test_references_go_in_every_order(call: Callable[..., Any]) -> None:
    """Each thing is right as long as it is held, and is gone with the last reference."""
    for order in itertools.permutations(range(4)):
        inputs = [Tensor(numbers()), Tensor(numbers(1))]
        out = Tensor(np.empty((4, 4), np.float32))
        call(*inputs, out=out)
        made = call(*inputs)
        turned = lx.einsum("ij->ji", made)
        expected = [np.stack([numbers(), numbers(1)]), *[made.memory.copy()] * 2]
        expected.append(made.memory.T.copy())
        ends = [weakref.ref(each.memory) for each in (*inputs, out, made, turned)]
        held: list[Any] = [inputs, out, made, turned]
        del inputs, out, made, turned
        for number in order:
            held[number] = None
            for thing, wanted in zip(held, expected, strict=True):
                if thing is not None:
                    found = [plain(x) for x in thing] if isinstance(thing, list) else plain(thing)
                    np.testing.assert_array_equal(found, wanted)
        del thing, found
        assert [end() for end in ends] == [None] * 5


def test_hundreds_of_calls_leave_nothing_behind(call: Callable[..., Any]) -> None:
    """A lost tensor a call would be hundreds of objects."""
    a, b, out = Tensor(numbers()), Tensor(numbers(1)), Tensor(numbers(2))

    def work(times: int) -> int:
        for _ in range(times):
            call(a, b)
            call(a, b, out=out)
        gc.collect()
        return sys.getallocatedblocks()

    work(100)  # einsum compiles in the meantime
    before, references = work(10), [sys.getrefcount(each) for each in (a, b, out, Tensor)]
    assert work(300) - before < 200
    assert [sys.getrefcount(each) for each in (a, b, out, Tensor)] == references
