"""The time of a process to its first result, with an empty disk cache and with a full one.

    python -m benchmarks starting

Each start is a process of its own. Its time runs from `import linalg_ext`, with NumPy loaded, to
the first result, whatever had to be imported, found or compiled on the way. The folder of the
kernel cache is a new one, and so is that of Python's bytecode, which is filled before the first
measurement.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

PROGRAM = """
import sys
import time
import numpy as np
a = np.ones((64, 64), np.float32)
start = time.perf_counter()
import linalg_ext as lx
{call}
print(1e3 * (time.perf_counter() - start), "torch_mlir" in sys.modules or "mlir" in sys.modules)
"""

TEXT = (
    "func.func @f(%a: tensor<64x64xf32>) -> tensor<64x64xf32> {"
    " %r = arith.addf %a, %a : tensor<64x64xf32> return %r : tensor<64x64xf32> }"
)

CALLS = {
    "lx.compile(text)(a)": f"lx.compile({TEXT!r})(a)",
    "lx.ops.matmul(a, a)": "lx.ops.matmul(a, a)",
    'lx.einsum("ij,jk->ik", a, a)': 'lx.einsum("ij,jk->ik", a, a)',
    "lx.jit(f)(a)": "lx.jit(lambda x: np.tanh(x @ x))(a)",
}
"""The first call of a process, by its text in the table."""


@dataclass(frozen=True)
class Start:
    """One start of a process.

    Attributes:
        milliseconds: to the first result.
        loads_mlir: whether the bindings were needed.
    """

    milliseconds: float
    loads_mlir: bool


def started(call: str, kernels: Path, bytecode: Path) -> Start:
    """Start a process whose first call is `call`.

    Args:
        call: the statement.
        kept: the folder of kept kernels.
        bytecode: the folder of Python's bytecode.
    """
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    environment |= {"LINALG_EXT_CACHE_DIR": str(kernels), "PYTHONPYCACHEPREFIX": str(bytecode)}
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(call=call)],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    )
    milliseconds, loads_mlir = result.stdout.split()
    return Start(float(milliseconds), loads_mlir == "True")


def table(*, quick: bool = False) -> Table:
    """Starts with nothing kept and with everything, for each way to begin."""
    shown = Table("first call", "nothing kept", "kept", "loads MLIR then", box=None)
    rounds = 3 if quick else 7
    with tempfile.TemporaryDirectory() as folder:
        bytecode = Path(folder, "bytecode")
        for name, call in CALLS.items():
            started(call, Path(folder, "first"), bytecode)
            cold = [
                started(call, Path(folder, f"cold-{number}"), bytecode).milliseconds
                for number in range(2 if quick else 3)
            ]
            kernels = Path(folder, "kept")
            started(call, kernels, bytecode)
            warm = [started(call, kernels, bytecode) for _ in range(rounds)]
            shown.add_row(
                name,
                f"{statistics.median(cold):.0f} ms",
                f"{statistics.median(start.milliseconds for start in warm):.1f} ms",
                "yes" if any(start.loads_mlir for start in warm) else "no",
            )
    return shown
