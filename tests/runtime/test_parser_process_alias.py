"""The guard where the bindings go by another name in this process."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
from linalg_ext import bindings
bindings.alias_as_mlir()
import mlir.ir
import os
os.environ["LINALG_EXT_BINDINGS"] = "mlir"
bindings._chosen = None
assert bindings.provider() == "mlir"
from linalg_ext.module import Module
Module.parse("func.func private @f()").run("cse")
"""


def test_the_worker_imports_the_real_package():
    pytest.importorskip("torch_mlir.ir")
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
