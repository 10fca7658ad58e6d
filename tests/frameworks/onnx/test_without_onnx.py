"""Where ONNX is missing, or the bindings are not torch-mlir's: what to install."""

from __future__ import annotations

import sys

import pytest

import linalg_ext as lx
from linalg_ext import bindings, errors


def test_without_onnx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(errors.MissingExtraError, match=r"pip install 'linalg-ext\[onnx\]'"):
        lx.from_onnx("model.onnx")


def test_with_bindings_that_have_no_importer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bindings, "_chosen", "mlir")
    with pytest.raises(errors.BindingsError, match="LINALG_EXT_BINDINGS=torch_mlir"):
        lx.from_onnx("model.onnx")
