"""Functions that no other code calls are internal; an entry keeps its name in the code."""

from __future__ import annotations

import numpy as np

import linalg_ext as lx
from examples import examples
from linalg_ext.module import Module
from linalg_ext.transforms.llvm import make_functions_internal as file


def test_what_others_may_call_stays() -> None:
    text = examples(file)[0][0].replace("_mlir_ciface_entry", "another")
    text = text.replace('{sym_visibility = "private"}', "{}")
    assert not file.make_functions_internal(Module.parse(text, trusted=True))


def test_the_entry_is_in_the_code() -> None:
    kernel = lx.jit(lambda x: x + x).lower(np.ones(70, np.float32)).compile()
    assert kernel.asm().startswith("lx_entry_")
