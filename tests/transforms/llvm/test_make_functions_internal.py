"""Functions that no other code calls are internal; an entry keeps its name in the code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from examples import examples
from linalg_ext import cache
from linalg_ext.ir.diagnostics import Diagnostic, collected
from linalg_ext.module import Module
from linalg_ext.runtime import engine
from linalg_ext.transforms.llvm import make_functions_internal as file


def test_what_others_may_call_stays() -> None:
    text = examples(file)[0][0].replace("_mlir_ciface_entry", "another")
    text = text.replace('{sym_visibility = "private"}', "{}")
    text = text.replace("{linalg_ext.parameter}", "{llvm.noundef}")
    assert not file.make_functions_internal(Module.parse(text, trusted=True))


def test_the_translation_to_llvm_warns_of_no_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    """A warning has the text of the function: those of a model's parameters took seconds."""
    warnings: list[Diagnostic] = []

    @contextmanager
    def collecting(context: Any) -> Iterator[list[Diagnostic]]:
        with collected(context) as emitted:
            yield emitted
        warnings.extend(emitted)

    monkeypatch.setattr(engine, "collected", collecting)
    with cache.off():
        lx.compile(
            """
        func.func private @g(%b: tensor<4xf32> {linalg_ext.parameter}) -> tensor<4xf32>
            attributes {no_inline} {
          return %b : tensor<4xf32>
        }
        func.func @f(%a: tensor<4xf32> {linalg_ext.parameter}) -> tensor<4xf32> {
          %b = call @g(%a) : (tensor<4xf32>) -> tensor<4xf32>
          return %b : tensor<4xf32>
        }
        """
        )
    assert not warnings


def test_the_entry_is_in_the_code() -> None:
    kernel = lx.jit(lambda x: x + x).lower(np.ones(70, np.float32)).compile()
    assert kernel.asm().startswith("lx_entry_")
