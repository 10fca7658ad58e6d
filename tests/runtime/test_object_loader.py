"""Object code that is loaded without an engine: the same numbers, and bad files refused."""

from __future__ import annotations

import ctypes
import random
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from linalg_ext.bindings import ir
from linalg_ext.errors import LinalgExtError, UnresolvedSymbolError
from linalg_ext.runtime.engine import Engine
from linalg_ext.runtime.machine_code import LoadedCode
from linalg_ext.runtime.object_file import ObjectFile
from linalg_ext.target import host
from resources import skip_machine

if host().architecture != "x86_64":
    skip_machine("an x86-64 processor")

TEXT = """
llvm.func @hypot(f64, f64) -> f64
llvm.mlir.global internal constant @table(dense<[1.5, 2.5, 3.5]> : tensor<3xf64>)
  : !llvm.array<3 x f64>
llvm.mlir.global internal @count(0 : i64) : i64
llvm.func @_mlir_ciface_f(%in: !llvm.ptr, %out: !llvm.ptr) {
  %a = llvm.load %in : !llvm.ptr -> f64
  %t = llvm.mlir.addressof @table : !llvm.ptr
  %p = llvm.getelementptr %t[2] : (!llvm.ptr) -> !llvm.ptr, f64
  %b = llvm.load %p : !llvm.ptr -> f64
  %h = llvm.call @hypot(%a, %b) : (f64, f64) -> f64
  %c = llvm.mlir.addressof @count : !llvm.ptr
  %n = llvm.load %c : !llvm.ptr -> i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %m = llvm.add %n, %one : i64
  llvm.store %m, %c : i64, !llvm.ptr
  %x = llvm.sitofp %m : i64 to f64
  %r = llvm.fadd %h, %x : f64
  llvm.store %r, %out : f64, !llvm.ptr
  llvm.return
}
"""


@pytest.fixture(scope="module")
def code() -> bytes:
    with ir.Context():
        engine = Engine(ir.Module.parse(TEXT), opt_level=0)
        engine.function("f")
        return engine.object_code()


def _call(loaded: LoadedCode, value: float) -> float:
    given, result = ctypes.c_double(value), ctypes.c_double()
    pointers = [ctypes.c_void_p(ctypes.addressof(cell)) for cell in (given, result)]
    table = (ctypes.c_void_p * 2)(*(ctypes.addressof(pointer) for pointer in pointers))
    loaded.function("f")(ctypes.addressof(table))
    return result.value


def test_code_constants_variables_and_calls(code: bytes) -> None:
    loaded = LoadedCode(code, opt_level=0)
    assert _call(loaded, 2.0) == np.hypot(2.0, 3.5) + 1
    assert _call(loaded, 5.0) == np.hypot(5.0, 3.5) + 2
    # Another copy has variables of its own.
    assert _call(LoadedCode(code, opt_level=0), 5.0) == np.hypot(5.0, 3.5) + 1


def test_code_can_no_longer_be_written(code: bytes) -> None:
    loaded = LoadedCode(code, opt_level=0)
    start = ctypes.cast(loaded.function("f"), ctypes.c_void_p).value  # type: ignore[arg-type]
    assert start is not None
    for line in Path("/proc/self/maps").read_text().splitlines():
        first, last = (int(end, 16) for end in line.split()[0].split("-"))
        if first <= start < last:
            assert line.split()[1].startswith("r-x")
            return
    pytest.fail("the code is nowhere")


def test_what_is_read_of_an_object(code: bytes) -> None:
    read = ObjectFile(code)
    assert "hypot" in read.undefined
    assert "_mlir_ciface_f" in read.defined
    assert any(section.is_code for section in read.sections)
    assert any(section.is_written for section in read.sections)


def test_missing_functions_are_named(code: bytes) -> None:
    absent = code.replace(b"hypot\0", b"hyp0t\0")
    assert absent != code
    with pytest.raises(UnresolvedSymbolError, match="hyp0t"):
        LoadedCode(absent, opt_level=0)
    with pytest.raises(UnresolvedSymbolError, match="no function `g`"):
        LoadedCode(code, opt_level=0).function("g")


@pytest.mark.parametrize(
    "content",
    [b"", b"\x7fELF", b"\xcf\xfa\xed\xfe" + bytes(100), b"\x7fELF\x01\x01\x01" + bytes(100)],
)
def test_what_is_no_object_is_refused(content: bytes) -> None:
    with pytest.raises(LinalgExtError, match="the object code"):
        ObjectFile(content)


def test_damage_is_an_error_and_no_crash(code: bytes) -> None:
    random.seed(0)
    for _ in range(2000):
        content = bytearray(code)
        for _ in range(random.randint(1, 8)):
            content[random.randrange(len(content))] = random.randrange(256)
        if random.random() < 0.2:
            del content[random.randrange(len(content)) :]
        with suppress(LinalgExtError):
            ObjectFile(bytes(content))
