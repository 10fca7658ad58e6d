"""What is added as one file is there: in the command line, the documentation, the stubs.

A copy of the library gets an op, a rewrite, a pass, a step of schedules and a notation, a file
each, and no other line.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from resources import REPOSITORY

ADDED = {
    "opdsl_defs/doubling.py": '''\
"""Doubling, a family of one op."""

from linalg_ext.opdsl import D, S, T, TensorDef, structured_op

__all__ = ["doubled"]


@structured_op
def doubled(A=TensorDef(T, S.M), B=TensorDef(T, S.M, output=True)):
    """The sum of a vector with itself."""
    B[D.m] = A[D.m] + A[D.m]
''',
    "transforms/rewrites/drop_absolute_value.py": '''\
"""Drop the absolute value of an exponential, which is positive.

before:
    %e = math.exp %x : f32
    %a = math.absf %e : f32
    %r = arith.addf %a, %x : f32
after:
    %e = math.exp %x : f32
    %r = arith.addf %e, %x : f32
"""

from linalg_ext.rewriting import rewrite
from linalg_ext.transforms.ir_utils.walking import producer


@rewrite("linalg-ext-drop-absolute-value", on=("math.absf",))
def drop_absolute_value(op, rewriter):
    """Replace |exp(x)| by exp(x)."""
    inner = producer(op.operands[0])
    if inner is None or inner.name != "math.exp":
        return False
    rewriter.replace_op(op.operation, [op.operands[0]])
    return True
''',
    "transforms/numerics/mark_functions.py": '''\
"""Mark functions.

before:
    func.func @f() {
      return
    }
after:
    func.func @f() attributes {marked} {
      return
    }
"""

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass


@module_pass("linalg-ext-mark-functions")
def mark_functions(module):
    """Give every function an attribute."""
    report = Report("linalg-ext-mark-functions")
    for op in module.regions[0].blocks[0].operations:
        op.attributes["marked"] = ir.UnitAttr.get(module.context)
        report.changed["func.func"] += 1
    return report
''',
    "transforms/schedules/halve.py": '''\
"""Mark ops as halved.

before:
    %r = linalg.exp ins(%a : tensor<8xf32>) outs(%c : tensor<8xf32>) -> tensor<8xf32>
after `match("exp").halve()`:
    %r = linalg.exp {halved} ins(%a : tensor<8xf32>) outs(%c : tensor<8xf32>) -> tensor<8xf32>
"""

from linalg_ext.bindings import ir

from .step import schedule_step


@schedule_step("linalg-ext-halve")
def halve(op: ir.Operation, *, times: int = 1) -> list[ir.Operation]:
    """Mark an op as halved."""
    op.attributes["halved"] = ir.UnitAttr.get(op.context)
    return [op]
''',
    "linalg_ext/notations/shouted.py": '''\
"""Formulas in capitals."""

from linalg_ext.notations.formula import formula
from linalg_ext.notations.registry import Notation, register

register(
    Notation("shouted", "a formula in capitals", write=lambda op: formula(op).upper())
)
''',
}
"""A file of each kind, by its path."""

PROGRAM = """
import io, json, contextlib
import linalg_ext as lx
from docs.generator import ops, stubs, tables, transformations
from linalg_ext.cli import main

def printed(*arguments):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main(list(arguments)) == 0
    return out.getvalue()

pages = [*ops.pages(), *transformations.pages()]
print(json.dumps({
    "root": lx.__file__,
    "passes": printed("opt", "--list"),
    "notations": printed("write", "--list"),
    "pages": {page.path: page.content for page in pages},
    "table": tables._notations(),
    "stubs": {path: make() for path, make in stubs.FILES.items()},
    "written": lx.write(lx.ops.doubled, "shouted"),
}))
"""


@pytest.fixture(scope="module")
def added(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A copy of the library with the files, and what it says of itself."""
    copy = tmp_path_factory.mktemp("library")
    for folder in ("linalg_ext", "opdsl_defs", "transforms", "docs"):
        shutil.copytree(
            REPOSITORY / folder,
            copy / folder,
            symlinks=True,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    shutil.copy(REPOSITORY / "pyproject.toml", copy)
    for path, text in ADDED.items():
        (copy / path).write_text(text)
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=copy, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout.splitlines()[-1])
    assert Path(told["root"]).is_relative_to(copy)
    return copy, told


def test_an_op_is_an_op(added: tuple[Path, dict[str, Any]]) -> None:
    _, told = added
    assert "## doubled" in told["pages"]["ops/doubling.md"]
    assert "[`doubled`](doubling.md#doubled)" in told["pages"]["ops/index.md"]
    assert "doubled: _doubled" in told["stubs"]["opdsl_defs/__init__.pyi"]
    assert told["written"] == "B[M] = A[M] + A[M]"


@pytest.mark.parametrize("name", ["drop_absolute_value", "mark_functions", "halve"])
def test_a_pass_is_a_pass(name: str, added: tuple[Path, dict[str, Any]]) -> None:
    _, told = added
    spelled = f"linalg-ext-{name.replace('_', '-')}"
    assert f"{spelled} " in told["passes"]
    assert f"[`{spelled}`]({name}.md)" in told["pages"]["transformations/index.md"]
    assert "**Before:**" in told["pages"][f"transformations/{name}.md"]
    assert f"import {name} as {name}" in told["stubs"]["transforms/__init__.pyi"]


def test_a_step_is_a_method(added: tuple[Path, dict[str, Any]]) -> None:
    _, told = added
    stub = told["stubs"]["transforms/schedules/_step_methods.pyi"]
    assert "def halve(self, times: int = 1) -> Self:" in stub
    assert '.match("matmul").halve(' in told["pages"]["transformations/halve.md"]


def test_a_notation_is_a_notation(added: tuple[Path, dict[str, Any]]) -> None:
    _, told = added
    assert "shouted  a formula in capitals (written)" in told["notations"]
    assert "`lx.write(op, 'shouted')`" in told["table"]


def test_their_examples_are_run(added: tuple[Path, dict[str, Any]]) -> None:
    copy, _ = added
    shutil.copytree(
        REPOSITORY / "tests" / "support", copy / "tests" / "support", dirs_exist_ok=True
    )
    test = Path("tests/transforms/test_documented_examples.py")
    (copy / test).parent.mkdir()
    shutil.copy(REPOSITORY / test, copy / test)
    names = " or ".join(["drop-absolute-value", "mark-functions", "halve"])
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", names, test],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": f"{copy}:{copy / 'tests' / 'support'}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
    assert "4 passed" in ran.stdout
