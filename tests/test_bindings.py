"""The one door to MLIR: which provider is chosen, and what is said where there is none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BLOCK = """
import sys, importlib.abc
class Block(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Block())
"""
"""Makes packages look as if they were not installed."""

SERVE_AS_MLIR = """
import linalg_ext.bindings as door, sys
sys.meta_path.insert(0, door.AliasFinder({"mlir": "torch_mlir"}))
"""
"""Makes the torch-mlir wheel look like LLVM's own package, which no registry has."""


def _run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )


def _output(program: str, **environment: str) -> str:
    result = _run(program, **environment)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def _error(program: str, **environment: str) -> str:
    result = _run(program, **environment)
    assert result.returncode == 1, result.stdout
    return result.stderr


def test_nothing_is_loaded_before_the_first_attribute() -> None:
    program = "import sys, linalg_ext.bindings; print('torch_mlir' in sys.modules)"
    assert _output(program) == "False"


def test_the_wheel_that_is_installed_is_taken() -> None:
    program = "from linalg_ext import bindings as b; print(b.provider(), b.ir.__name__)"
    assert _output(program, LINALG_EXT_BINDINGS="") == "torch_mlir torch_mlir.ir"


def test_llvms_own_package_is_preferred() -> None:
    program = SERVE_AS_MLIR + "print(door.provider(), door.linalg.MatmulOp.OPERATION_NAME)"
    assert _output(program) == "mlir linalg.matmul"


def test_one_that_is_imported_already_wins() -> None:
    program = "import torch_mlir.ir\n" + SERVE_AS_MLIR + "print(door.provider())"
    assert _output(program) == "torch_mlir"


@pytest.mark.parametrize("root", ["mlir", "torch_mlir"])
def test_the_variable_forces_one(root: str) -> None:
    program = SERVE_AS_MLIR + "print(door.provider(), door.ir.Context() is not None)"
    assert _output(program, LINALG_EXT_BINDINGS=root) == f"{root} True"


def test_the_whole_library_runs_on_llvms_own_package() -> None:
    program = SERVE_AS_MLIR + (
        "import numpy as np, linalg_ext as lx\n"
        "a = np.ones((2, 3), np.float32)\n"
        "print(door.provider(), lx.ops.matmul(a, a.T).sum())"
    )
    assert _output(program) == "mlir 12.0"


def test_a_forced_provider_that_is_not_installed() -> None:
    error = _error("from linalg_ext.bindings import ir", LINALG_EXT_BINDINGS="mlir")
    assert "BindingsError: LINALG_EXT_BINDINGS=mlir, but no usable package `mlir`" in error
    assert "pip install torch-mlir" in error


def test_a_forced_provider_that_does_not_exist() -> None:
    error = _error("from linalg_ext.bindings import ir", LINALG_EXT_BINDINGS="llvm")
    assert "LINALG_EXT_BINDINGS=llvm names no provider" in error
    assert "mlir or torch_mlir" in error


def test_a_second_copy_of_mlir_is_refused() -> None:
    """Two copies in one process abort it."""
    program = "import torch_mlir.ir\nfrom linalg_ext.bindings import ir"
    error = _error(program, LINALG_EXT_BINDINGS="mlir")
    assert "torch_mlir is already imported" in error


def test_no_provider_at_all_names_the_command_to_install_one() -> None:
    program = BLOCK.format(names={"mlir", "torch_mlir"}) + "from linalg_ext.bindings import ir"
    error = _error(program)
    assert "BindingsError: MLIR's Python bindings are not installed" in error
    assert "pip install torch-mlir" in error


def test_the_empty_placeholder_is_recognised(tmp_path: Path) -> None:
    """PyPI has a package of the right name without any code."""
    (tmp_path / "mlir").mkdir()
    (tmp_path / "mlir" / "__init__.py").touch()
    metadata = tmp_path / "mlir_python_bindings-0.0.1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: mlir-python-bindings\nVersion: 0.0.1\n"
    )
    head = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
    blocked = BLOCK.format(names={"torch_mlir"})
    error = _error(head + blocked + "from linalg_ext.bindings import ir")
    assert (
        "mlir-python-bindings 0.0.1 is installed, but on PyPI that is an empty placeholder" in error
    )
    taken = "from linalg_ext import bindings as b; print(b.provider())"
    assert _output(head + taken) == "torch_mlir"


def test_code_written_for_mlir_runs_beside_ours() -> None:
    program = (
        "from linalg_ext import bindings\n"
        "bindings.alias_as_mlir()\n"
        "bindings.alias_as_mlir()  # twice is once\n"
        "import mlir.ir, torch_mlir.ir\n"
        "from mlir.dialects import arith\n"
        "from mlir.dialects.linalg.opdsl.lang import TensorDef\n"
        "assert mlir.ir is torch_mlir.ir is bindings.ir\n"
        "assert arith is bindings.arith and torch_mlir.ir.__spec__.name == 'torch_mlir.ir'\n"
        "print(TensorDef.__module__)"
    )
    assert _output(program) == "torch_mlir.dialects.linalg.opdsl.lang.comprehension"


def test_an_alias_comes_too_late_for_another_mlir() -> None:
    program = (
        "import sys, types\nfrom linalg_ext import bindings\n"
        "bindings.provider()\nsys.modules['mlir'] = types.ModuleType('mlir')\n"
        "bindings.alias_as_mlir()"
    )
    assert "`torch_mlir` cannot be served as `mlir`" in _error(program)


def test_an_unknown_name_is_an_attribute_error() -> None:
    from linalg_ext import bindings

    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        bindings.nothing  # type: ignore[attr-defined]  # noqa: B018
    assert {"ir", "linalg", "provider"} <= set(dir(bindings))


AT_ONCE = """
import sys, threading
from linalg_ext import bindings
sys.setswitchinterval(1e-6)
names = ["irdl", "ir", "linalg", "passmanager", "rewrite", "ext", "func", "execution_engine"]
start = threading.Barrier(len(names))
def first_use(name):
    start.wait()
    getattr(bindings, name)
threads = [threading.Thread(target=first_use, args=(name,)) for name in names]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(bindings.ir.Context().is_dialect_loaded("irdl"))
"""


def test_the_first_use_may_be_in_several_threads_at_once() -> None:
    assert {_output(AT_ONCE) for _ in range(5)} == {"True"}
