"""Libraries registered, closed, and refused; code that was compiled meanwhile."""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import (
    ArgumentError,
    LibraryError,
    LinalgExtError,
    UnresolvedSymbolError,
    UntrustedError,
)
from linalg_ext.executable.libraries import Library, gemm, in_force
from native_calls import is_native, native_caller
from native_library import ADD, PRODUCT, SOURCE, count, shared_library

A = np.arange(12, dtype=np.float32).reshape(3, 4)
B = np.ones((3, 4), np.float32)


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared_library(SOURCE, tmp_path_factory.mktemp("native"))


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    for library in in_force():
        library.close()


def test_ops_of_an_op_library_call_it(native: Path) -> None:
    before = count(native, "add")
    with lx.library("mine", native, {lx.ops.add: ADD}) as library:
        assert isinstance(library, Library)
        np.testing.assert_array_equal(lx.ops.add(A, B), A + B)
        np.testing.assert_array_equal(lx.jit(np.add)(A, B), A + B)
        assert count(native, "add") == before + 2
    # Kernels of before the library, and of after it, know nothing of it.
    np.testing.assert_array_equal(lx.ops.add(A, B), A + B)
    assert count(native, "add") == before + 2


def test_every_cache_of_kernels_tells_libraries_apart(native: Path) -> None:
    x, y = (np.arange(256, dtype=np.float32).reshape(16, 16) % 7 for _ in range(2))
    traced = lx.jit(lambda a, b: a @ b)

    def results() -> list[np.ndarray]:
        return [lx.ops.matmul(x, y), traced(x, y), lx.einsum("ij,jk->ik", x, y)]

    plain = results()
    before = count(native, "product")
    with lx.library("mine", native, {"linalg.matmul": PRODUCT}):
        for _ in range(2):
            for one, other in zip(plain, results(), strict=True):
                np.testing.assert_array_equal(one, other)
    called = count(native, "product") - before
    assert called >= 4
    results()
    assert count(native, "product") - before == called


def test_native_calls_are_of_the_libraries_in_force(native: Path) -> None:
    native_caller()
    traced = lx.jit(lambda a, b: a + b)

    for call in (lambda: lx.ops.add(A, B), lambda: traced(A, B)):
        for _ in range(3):
            call()
        assert is_native(call)
        before = count(native, "add")
        with lx.library("mine", native, {lx.ops.add: ADD}):
            for number in range(3):
                np.testing.assert_array_equal(call(), A + B)
                assert count(native, "add") == before + number + 1
            assert is_native(call)
            assert count(native, "add") == before + 4
        np.testing.assert_array_equal(call(), A + B)
        assert count(native, "add") == before + 4


def test_code_goes_on_calling_what_is_closed(native: Path) -> None:
    with lx.library("mine", native, {lx.ops.add: ADD}) as library:
        kernel = lx.jit(np.add).lower(A, B).compile()
    assert kernel.direct is not None
    assert kernel.direct.callee.open_ended  # so that the interpreter is free meanwhile
    assert library.is_closed
    del library
    gc.collect()
    before = count(native, "add")
    np.testing.assert_array_equal(kernel(A, B), A + B)
    assert count(native, "add") == before + 1


def test_the_latest_library_is_called(native: Path, tmp_path: Path) -> None:
    other = shared_library(SOURCE.replace("*at(a, i, j) +", "100 +"), tmp_path)
    with lx.library("mine", native, {lx.ops.add: ADD}):
        with lx.library("other", other, {lx.ops.add: ADD}):
            # Both have a function `add`, and so may the process.
            np.testing.assert_array_equal(lx.ops.add(A, B), 100 + B)
        np.testing.assert_array_equal(lx.ops.add(A, B), A + B)


def test_a_handle_is_as_good_as_a_file(native: Path) -> None:
    handle = ctypes.CDLL(str(native))
    with lx.library("mine", handle, {lx.ops.add: ADD}) as library:
        assert Path(library.file) == native.resolve()
        assert "add(memref<?x?xf32" in repr(library)
        assert "registered" in repr(library)
    assert "closed" in repr(library)


def test_threads_register_and_call_at_once(native: Path) -> None:
    barrier = threading.Barrier(3)

    def work(number: int) -> bool:
        barrier.wait()
        for _ in range(2):
            with lx.library(f"mine{number}", native, {lx.ops.add: ADD}):
                kernel = lx.jit(lambda a, b: a + b).lower(A, B).compile()
            if not np.array_equal(kernel(A, B), A + B):
                return False
        return True

    before = count(native, "add")
    with ThreadPoolExecutor(3) as pool:
        assert all(pool.map(work, range(3)))
    assert count(native, "add") == before + 6
    assert in_force() == ()


IN_A_PROCESS = """
import ctypes, sys
import numpy as np
import linalg_ext as lx

path, function = sys.argv[1:]
calls = ctypes.c_int.in_dll(ctypes.CDLL(path), "add_calls")
a = np.arange(12, dtype=np.float32).reshape(3, 4)
counts = []
for table in ({lx.ops.add: function}, {"another": function}):
    with lx.library("mine", path, table):
        assert (lx.ops.add(a, a) == 2 * a).all()
    counts.append(calls.value)
print(*counts, "torch_mlir" in sys.modules or "mlir" in sys.modules)
"""


def test_kept_kernels_are_of_the_libraries_in_force(native: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "LINALG_EXT_CACHE_DIR": str(tmp_path)}
    said = [
        subprocess.run(
            [sys.executable, "-c", IN_A_PROCESS, native, ADD],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()
        for _ in range(2)
    ]
    # The second process finds the code, and has no need of MLIR.
    assert said == [["1", "1", "True"], ["1", "1", "False"]]


def test_a_declared_function_is_bound_and_trusted(native: Path) -> None:
    text = """
    func.func private @thrice(f32) -> f32
    func.func @f(%x: f32) -> f32 {
      %0 = call @thrice(%x) : (f32) -> f32
      return %0 : f32
    }
    """
    with lx.library("mine", native, {"thrice": "thrice(f32) -> f32"}):
        assert lx.compile(text)(np.float32(2)) == 6
        with pytest.raises(LibraryError, match="the module declares `thrice` otherwise"):
            lx.compile(text.replace("f32", "f64"))
        with pytest.raises(UntrustedError, match="`add`"):  # which is not registered
            lx.compile("func.func private @add(f32) -> f32\nfunc.func @f() { return }", "f")
    with pytest.raises(UntrustedError, match="`thrice`"):
        lx.compile(text)


def test_a_declaration_may_know_more_than_the_function(native: Path) -> None:
    fixed, open_ = "memref<3x4xf32>", "memref<?x?xf32, strided<[?, ?], offset: ?>>"
    text = f"""
    func.func private @add({fixed}, {open_}, {fixed})
    func.func @f(%a: {fixed}, %b: {open_}, %c: {fixed}) {{
      call @add(%a, %b, %c) : ({fixed}, {open_}, {fixed}) -> ()
      linalg.add ins(%c, %b : {fixed}, {open_}) outs(%a : {fixed})
      return
    }}"""
    with lx.library("mine", native, {lx.ops.add: ADD}):
        kernel = lx.compile(text, "f")
    a, c, before = A.copy(), np.zeros_like(A), count(native, "add")
    kernel(a, B, c)
    np.testing.assert_array_equal(c, A + B)
    np.testing.assert_array_equal(a, A + B + B)
    assert count(native, "add") == before + 2


def registrations(native: Path) -> dict[str, tuple[object, ...]]:
    return {
        "no such file": ("m", "/no/such.so", {"a": ADD}),
        "no library": ("m", Path(__file__), {"a": ADD}),
        "no path": ("m", 3, {"a": ADD}),
        "no function": ("m", native, {"a": "none_such(f32)"}),
        "no prototype": ("m", native, {"a": "add"}),
        "no name": ("m-1", native, {"a": ADD}),
        "no ops": ("m", native, {}),
        "no table": ("m", native, [ADD]),
        "no text": ("m", native, {"a": 3}),
        "none of several": ("m", native, {"a": []}),
        "no op": ("m", native, {np.add: ADD}),
        "no such op": ("m", native, {"linalg.matmull": PRODUCT}),
        "other operands": ("m", native, {lx.ops.matmul: "product(memref<?xf32>)"}),
        "two meanings": ("m", native, {"a": ADD, "b": "add(memref<?xf32>)"}),
        "no product": ("m", native, {"linalg.add": gemm("product", "f32")}),
    }


MESSAGES = {
    "no such file": "`/no/such.so` cannot be loaded",
    "no library": "cannot be loaded",
    "no path": "3 is not a library",
    "no function": "`m` has no function `none_such`",
    "no prototype": "'add' does not state the operands of a function",
    "no name": "'m-1' cannot name a library",
    "no ops": "{} names no functions",
    "no table": "names no functions",
    "no text": "3 is not a function for `a`",
    "none of several": "the list of functions for `a` is empty",
    "no op": "<ufunc 'add'> is not an op",
    "no such op": "did you mean 'linalg.matmul'?",
    "other operands": "takes 1 operand, and `matmul` has 3",
    "two meanings": "`add` has two prototypes",
    "no product": "`product` multiplies matrices, and `linalg.add` may be anything",
}


@pytest.mark.parametrize("mistake", MESSAGES)
def test_a_registration_that_is_refused(mistake: str, native: Path) -> None:
    with pytest.raises(LinalgExtError) as found:
        lx.library(*registrations(native)[mistake])  # type: ignore[arg-type]
    assert isinstance(found.value, LibraryError | UnresolvedSymbolError)
    assert MESSAGES[mistake] in str(found.value)
    assert in_force() == ()


def test_a_name_is_one_library(native: Path) -> None:
    library = lx.library("mine", native, {lx.ops.add: ADD})
    with pytest.raises(LibraryError, match="a library `mine` is registered already"):
        lx.library("mine", native, {lx.ops.add: ADD})
    library.close()
    library.close()
    with pytest.raises(LibraryError, match=r"(?s)`mine` is closed.*register it again"), library:
        pass
    lx.library("mine", native, {lx.ops.add: ADD}).close()


def test_it_stays_in_its_process(native: Path) -> None:
    library = lx.library("mine", native, {lx.ops.add: ADD})
    with pytest.raises(TypeError, match="register it in each process"):
        pickle.dumps(library)


def test_a_fingerprint_tells_files_and_functions_apart(native: Path, tmp_path: Path) -> None:
    other = shared_library(SOURCE + "int more;", tmp_path)
    tables = [(native, ADD), (native, ADD), (other, ADD), (native, ADD.replace("?x?x", "?x4x"))]
    found = []
    for file, function in tables:
        with lx.library("mine", file, {"a": function}) as library:
            found.append(library.fingerprint)
    assert found[0] == found[1]
    assert len({*found}) == 3


NAMED = """func.func @f(%a: tensor<3x4xf32>, %b: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %e = tensor.empty() : tensor<3x4xf32>
  %r = linalg.add ins(%a, %b : tensor<3x4xf32>, tensor<3x4xf32>)
         outs(%e : tensor<3x4xf32>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}"""
ASKING = NAMED.replace(
    "  return", "  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>,\n"
    "    affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],\n"
    '    iterator_types = ["parallel", "parallel"], library_call = "add"}\n'
    "    ins(%r, %b : tensor<3x4xf32>, tensor<3x4xf32>) outs(%e : tensor<3x4xf32>) {\n"
    "  ^bb0(%x: f32, %y: f32, %o: f32):\n    %z = arith.addf %x, %y : f32\n"
    "    linalg.yield %z : f32\n  } -> tensor<3x4xf32>\n  return",
).replace("return %r", "return %s")  # fmt: skip


@pytest.mark.parametrize(("text", "calls"), [(NAMED, 1), (ASKING, 1)])
def test_a_name_means_the_op_of_that_name_where_none_asks_for_it(
    text: str, calls: int, native: Path
) -> None:
    before = count(native, "add")
    with lx.library("mine", native, {"add": ADD}):
        kernel = lx.compile(text)
        result = kernel(A, B)
    assert count(native, "add") == before + calls
    np.testing.assert_array_equal(result, A + B if text is NAMED else A + B + B)


def test_a_compilation_takes_a_registered_library(native: Path) -> None:
    before = count(native, "add")
    with lx.library("mine", native, {lx.ops.add: ADD}) as library:
        np.testing.assert_array_equal(lx.compile(NAMED, libraries=[library])(A, B), A + B)
        assert count(native, "add") == before + 1
    with pytest.raises(LibraryError, match="`mine` is closed"):
        lx.compile(NAMED, libraries=[library])
    with pytest.raises(ArgumentError, match="libraries has 3"):
        lx.compile(NAMED, libraries=[3])  # type: ignore[list-item]
