"""The engine, its symbols, and its object code."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from linalg_ext import errors
from linalg_ext.bindings import ir
from linalg_ext.runtime.engine import Engine, declared_functions
from linalg_ext.runtime.object_file import disassemble, undefined_symbols
from resources import skip_machine

CALLS = """
llvm.func @{name}(i32) -> i32
llvm.func @llvm.ctpop.i32(i32) -> i32
llvm.func @entry(%a: i32) -> i32 attributes {{llvm.emit_c_interface}} {{
  %0 = llvm.call @{name}(%a) : (i32) -> i32
  llvm.return %0 : i32
}}
llvm.func @_mlir_ciface_entry(%a: i32) -> i32 attributes {{llvm.emit_c_interface}} {{
  %0 = llvm.call @entry(%a) : (i32) -> i32
  llvm.return %0 : i32
}}
"""


def parsed(text: str) -> ir.Module:
    context = ir.Context()
    context.enable_multithreading(False)
    return ir.Module.parse(text, context)


def test_declarations_without_intrinsics() -> None:
    assert list(declared_functions(parsed(CALLS.format(name="abs")))) == ["abs"]


def test_a_symbol_of_the_process() -> None:
    engine = Engine(parsed(CALLS.format(name="abs")))
    value, result = ctypes.c_int32(-5), ctypes.c_int32()
    table = (ctypes.c_void_p * 2)(ctypes.addressof(value), ctypes.addressof(result))
    engine.function("entry")(ctypes.addressof(table))
    assert result.value == 5


def test_a_missing_symbol() -> None:
    with pytest.raises(errors.UnresolvedSymbolError, match=r"(?s)`no_such_function`.*libraries="):
        Engine(parsed(CALLS.format(name="no_such_function")))


def test_a_symbol_of_a_library() -> None:
    """NumPy's wheel brings a BLAS; nothing of it is visible to the process at large."""
    bundled = sorted(Path(np.__file__).parent.with_name("numpy.libs").glob("*openblas*"))
    if not bundled:
        skip_machine("a NumPy that brings its own OpenBLAS")
    name = "scipy_openblas_get_num_threads64_"
    module = CALLS.format(name=name)
    with pytest.raises(errors.UnresolvedSymbolError):
        Engine(parsed(module))
    engine = Engine(parsed(module), libraries=[bundled[0]])
    value, result = ctypes.c_int32(0), ctypes.c_int32()
    table = (ctypes.c_void_p * 2)(ctypes.addressof(value), ctypes.addressof(result))
    engine.function("entry")(ctypes.addressof(table))
    assert result.value == getattr(ctypes.CDLL(str(bundled[0])), name)()


def test_a_missing_library(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(errors.UnresolvedSymbolError, match=r"`libnone.so` cannot be loaded"):
        Engine(parsed(CALLS.format(name="abs")), libraries=["libnone.so"])
    assert capfd.readouterr().err == ""


def test_a_module_of_other_dialects(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(errors.IRError, match=r"(?s)cannot be translated.*func\.func"):
        Engine(parsed("func.func @f() { return }"))
    assert capfd.readouterr().err == ""


def test_object_code_is_shown_by_function() -> None:
    code = Engine(parsed(CALLS.format(name="isatty"))).object_code()
    text = disassemble(code, "entry")
    assert text.startswith("entry:\n")
    assert "; isatty" in text
    assert "_mlir_ciface_entry:" in disassemble(code)


def test_undefined_symbols() -> None:
    code = Engine(parsed(CALLS.format(name="isatty"))).object_code()
    assert undefined_symbols(code) == ["isatty"]


def test_object_code_without_that_function() -> None:
    code = Engine(parsed(CALLS.format(name="abs"))).object_code()
    with pytest.raises(errors.LinalgExtError, match=r"(?s)no function `other`.*entry"):
        disassemble(code, "other")


def test_what_is_no_object_code() -> None:
    with pytest.raises(errors.LinalgExtError, match="cannot be read"):
        disassemble(b"no object")
