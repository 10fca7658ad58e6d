"""Through the one door to the bindings a type checker sees real types, not `Any`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from resources import REPOSITORY

# One worker makes the stubs for all of these tests.
pytestmark = pytest.mark.xdist_group("types")

PROGRAM = """
from linalg_ext.bindings import arith, cf, func, ir, linalg, passmanager, rewrite
import linalg_ext
from linalg_ext.bindings import no_such_dialect  # wrong: attr-defined

reveal_type(ir.Module.parse("module {}"))
reveal_type(ir.Context())
reveal_type(passmanager.PassManager.parse("builtin.module()"))
reveal_type(rewrite.RewritePatternSet())

def walk(op: ir.Operation, f: func.FuncOp, type: ir.Type) -> None:
    reveal_type(op.results[0])
    reveal_type(op.operands[0].owner)
    reveal_type(op.regions[0].blocks[0].operations[0])
    reveal_type(op.get_asm(enable_debug_info=True))
    # Defined twice by the bindings, generated and by hand: the second one counts.
    reveal_type(f.name)
    reveal_type(arith.ConstantOp(type, 3))
    cf.assert_(op.results[0], "of any type")

ir.Module.parse(3)  # wrong: call-overload
ir.NoSuchThing  # wrong: attr-defined
linalg_ext.no_such_name  # wrong: attr-defined
linalg.fill_builtin_region("matmul")  # wrong: arg-type
ir.Context(load_on_create_dialects=1)  # wrong: arg-type
"""

REVEALED = [
    "ir.Module",
    "ir.Context",
    "passmanager.PassManager",
    "rewrite.RewritePatternSet",
    "ir.OpResult[ir.Type]",
    "ir.OpView | ir.Block",
    "ir.OpView",
    "str",
    "ir.StringAttr",
    "torch_mlir.dialects.arith.ConstantOp",
]


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("typings")
    script = REPOSITORY / "tests" / "typing" / "make_stubs.py"
    subprocess.run([sys.executable, script, target], check=True)
    return target


@pytest.fixture(scope="module")
def checked(stubs: Path) -> list[str]:
    """What the type checker says about PROGRAM, under the project's own configuration."""
    program = stubs / "program.py"
    program.write_text(PROGRAM)
    configuration = (REPOSITORY / "pyproject.toml").read_text()
    (stubs / "pyproject.toml").write_text(
        configuration.replace("$MYPY_CONFIG_FILE_DIR/.typings", str(stubs))
    )
    mypy = (sys.executable, "-m", "mypy", "--config-file", stubs / "pyproject.toml")
    result = subprocess.run(
        [*mypy, "--cache-dir", stubs / "cache", "--no-pretty", program],
        cwd=stubs,
        env={**os.environ, "MYPYPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
    )
    assert not result.stderr, result.stderr
    return [line for line in result.stdout.splitlines() if line.startswith("program.py:")]


def test_the_types_are_those_of_the_bindings(checked: list[str]) -> None:
    types = [line.split('"')[1] for line in checked if "Revealed type is" in line]
    assert [name.replace("torch_mlir._mlir_libs._mlir.", "") for name in types] == REVEALED


def test_each_wrong_use_is_an_error_and_nothing_else_is(checked: list[str]) -> None:
    found = {
        (int(line.split(":")[1]), line.rsplit("[", 1)[1].rstrip("]"))
        for line in checked
        if ": error: " in line
    }
    expected = {
        (number, line.split("# wrong: ")[1])
        for number, line in enumerate(PROGRAM.splitlines(), start=1)
        if "# wrong: " in line
    }
    assert found == expected
