"""Where PyTorch is missing, old, or the bindings are not torch-mlir's: what to install."""

from __future__ import annotations

import sys

import pytest

import linalg_ext as lx
from linalg_ext import bindings, errors
from linalg_ext.frameworks import requirements


def test_without_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(errors.MissingExtraError, match=r"pip install 'linalg-ext\[torch\]'"):
        lx.from_torch(object(), ())


def test_with_bindings_that_have_no_importer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirements, "torch", lambda: sys)
    monkeypatch.setattr(bindings, "_chosen", "mlir")
    with pytest.raises(errors.BindingsError, match="LINALG_EXT_BINDINGS=torch_mlir"):
        requirements.torch_importer()


def test_with_a_pytorch_that_the_importer_cannot_read(monkeypatch: pytest.MonkeyPatch) -> None:
    class Old:
        __version__ = "1.13"

    monkeypatch.setattr(requirements, "torch", Old)
    monkeypatch.setitem(sys.modules, "torch_mlir.extras.fx_importer", None)
    with pytest.raises(errors.MissingExtraError, match=r"PyTorch 1.13.*\n  expected PyTorch 2"):
        requirements.torch_importer()
