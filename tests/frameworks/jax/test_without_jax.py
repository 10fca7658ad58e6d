"""Where JAX is missing, or the bindings are not torch-mlir's: what to install."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

import linalg_ext as lx
from linalg_ext import bindings, errors
from linalg_ext.frameworks import requirements


def test_without_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(errors.MissingExtraError, match=r"pip install 'linalg-ext\[jax\]'"):
        lx.from_jax(abs, 1.0)


def test_with_bindings_that_know_no_stablehlo(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(name: str) -> Any:
        return SimpleNamespace(register_stablehlo_passes=lambda: None)

    monkeypatch.setattr(requirements, "importlib", SimpleNamespace(import_module=found))
    monkeypatch.setattr(requirements, "_loaded", {})
    monkeypatch.setattr(bindings, "_chosen", "mlir")
    with pytest.raises(errors.BindingsError, match="LINALG_EXT_BINDINGS=torch_mlir"):
        requirements.jax()
