"""What an editor completes and checks: ops, passes, steps, by stubs that are as the code is."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import linalg_ext as lx
from docs.generator.stubs import FILES
from resources import REPOSITORY

# With the other tests that run the type checker.
pytestmark = pytest.mark.xdist_group("types")

PROGRAM = """
import linalg_ext as lx

reveal_type(lx.ops.matmul(1, 2, threads=1))
reveal_type(lx.ops.matmul.definition.name)
reveal_type(lx.transforms.fold_transposes)
reveal_type(lx.transforms.tile)

@lx.jit
def layer(x: float, times: lx.Static[int] = 1) -> float:
    return x * times

@lx.jit(dynamic=True)
def open_sizes(x: float) -> str:
    return str(x)

class Model:
    @lx.jit
    def run(self, x: float) -> bytes:
        return b""

reveal_type(layer(1.0, times=2))
reveal_type(open_sizes(1.0))
reveal_type(Model().run(1.0))
reveal_type(layer(1.0, out=None, threads=2))
reveal_type(layer.lower(1.0))
layer("1")  # wrong: call-overload
layer(1.0, tims=2)  # wrong: call-overload
open_sizes()  # wrong: call-overload
Model().run("1")  # wrong: arg-type
lx.jit(lambda x: x, statik=1)  # wrong: call-overload

def build(module: lx.Module) -> None:
    reveal_type(lx.Schedule(module).match("matmul").tile([8, 8]).vectorize())
    reveal_type(lx.transforms.fold_transposes(module, results=False).changed)

    lx.Schedule(module).tile()  # wrong: call-arg
    lx.Schedule(module).tile(sizes="8")  # wrong: arg-type
    lx.Schedule(module).tlie([8])  # wrong: attr-defined
    lx.ops.matmul(1)  # wrong: call-arg
    lx.ops.matmul(1, 2, threads="2")  # wrong: arg-type
    lx.ops.matmull  # wrong: attr-defined
    lx.transforms.fold_transpose  # wrong: attr-defined
"""

REVEALED = [
    "Any",
    "str",
    "linalg_ext.rewriting.rewrite.Rewrite",
    "linalg_ext.transforms.schedules.step.Step",
    "float",
    "str",
    "bytes",
    "float",
    "linalg_ext.tracing.lowered.Lowered",
    "linalg_ext.transforms.schedules.schedule.Schedule",
    "collections.Counter[str]",
]


@pytest.mark.parametrize("path", FILES)
def test_a_stub_is_as_the_code_is(path: str) -> None:
    assert (REPOSITORY / path).read_text(encoding="utf-8") == FILES[path](), "make stubs"


def test_every_name_has_a_stub() -> None:
    tree = ast.parse((REPOSITORY / "opdsl_defs" / "__init__.pyi").read_text(encoding="utf-8"))
    classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    assert classes == {f"_{name}" for name in dir(lx.ops)}


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the type checker says about PROGRAM, in a user's project."""
    folder = tmp_path_factory.mktemp("user")
    program = folder / "program.py"
    program.write_text(PROGRAM)
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", folder / "cache", "--no-pretty", program],
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
    )
    assert not ran.stderr, ran.stderr
    return [
        line for line in ran.stdout.splitlines() if Path(line.split(":")[0]) == Path("program.py")
    ]


def test_types_are_known(checked: list[str]) -> None:
    assert [line.split('"')[1] for line in checked if "Revealed type is" in line] == REVEALED


def test_wrong_uses_are_found(checked: list[str]) -> None:
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
