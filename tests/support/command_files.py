"""The files that examples of the command line are about, by the names that they have there."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

_MODULE = "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n  return %x : tensor<4xf32>\n}\n"
_OPDSL = """from linalg_ext.opdsl import *

@structured_op
def copy_(A=TensorDef(T, S.M), O=TensorDef(T, S.M, output=True)):
    \"\"\"Copies.\"\"\"
    O[D.m] = A[D.m]
"""


def write_files(folder: Path) -> None:
    """FILE.mlir, FILE.py and FILE.tc; for the first x.npz, an argument, and steps.json."""
    (folder / "FILE.mlir").write_text(_MODULE)
    (folder / "FILE.py").write_text(_OPDSL)
    (folder / "FILE.tc").write_text("def copy_(A: f32(M)) -> (O: f32(M)) { O(m) = A(m); }\n")
    steps = [{"step": "run", "pipeline": "canonicalize"}]
    (folder / "steps.json").write_text(json.dumps({"linalg_ext.schedule": 1, "steps": steps}))
    np.savez(folder / "x.npz", in0=np.arange(4, dtype=np.float32))
