"""Texts with CHECK lines: what passes make of them, and that it computes the same.

    // RUN: linalg-ext-compose-subsets,cse
    // RUN-SCF: linalg-ext-lower-subset-loops
    // CHECK-LABEL: func.func @f
    // CHECK-SCF: tensor.extract_slice

Each `RUN` line is a pipeline; the lines `CHECK` are for it, `CHECK-SCF` for that of `RUN-SCF`.
They are read by the package filecheck, as LLVM's tool reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filecheck.matcher import Matcher
from filecheck.options import Options

import linalg_ext as lx
from linalg_ext.bindings import ir
from linalg_ext.module import Module

_RUN = re.compile(r"^// RUN(?:-(\w+))?: (.*)$", re.MULTILINE)

DYNAMIC_SIZE = 24
"""The size of arrays along dimensions that a type leaves open."""


def runs(file: Path) -> list[tuple[str, str]]:
    """The prefix of the check lines of each run, and its pipeline."""
    found = [
        (f"CHECK-{suffix}" if suffix else "CHECK", pipeline)
        for suffix, pipeline in _RUN.findall(file.read_text())
    ]
    assert found, f"{file.name} says nothing to run"
    return found


def cases(files: Iterable[Path]) -> list[Any]:
    """A parameter of tests, of a file, a prefix and a pipeline, for each run of each file."""
    return [
        pytest.param(file, prefix, pipeline, id=f"{file.stem}-{prefix}")
        for file in files
        for prefix, pipeline in runs(file)
    ]


def transformed(file: Path, pipeline: str) -> Module:
    """The module of a file after a pipeline."""
    module = lx.parse(file.read_text())
    module.run(pipeline)
    return module


def check_text(
    text: str, file: Path, prefix: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """That a text is what the check lines of a file say."""
    output = folder / "output.mlir"
    output.write_text(text)
    result = Matcher.from_opts(Options(str(file), str(output), [prefix])).run()
    assert result == 0, f"{capsys.readouterr().err}\n{text}"


def entries(module: Module) -> list[str]:
    """The functions of a module that take and give what arrays and numbers can stand for."""
    found = []
    for op in module.ir.body.operations:
        type_ = ir.FunctionType(ir.TypeAttr(op.operation.attributes["function_type"]).value)
        types = [*type_.inputs, *type_.results]
        if all(isinstance(each, _KINDS) for each in types) and op.operation.regions[0].blocks:
            found.append(_name(op))
    return found


_KINDS = (ir.RankedTensorType, ir.MemRefType, ir.IndexType, ir.F32Type, ir.IntegerType)


def _name(op: Any) -> str:
    return ir.StringAttr(op.operation.attributes["sym_name"]).value


def only(module: Module, entry: str) -> Module:
    """A copy of a module with one function alone."""
    alone = module.clone()
    for op in list(alone.ir.body.operations):
        if _name(op) != entry:
            op.operation.erase()
    return alone


def results(module: Module, entry: str, seed: int = 0) -> list[Any]:
    """What a function gives for arrays of small whole numbers and indices of 1, and these."""
    rng = np.random.default_rng(seed)
    (function,) = module.ir.body.operations
    block = function.operation.regions[0].blocks[0]
    arguments = [_argument(argument.type, rng) for argument in block.arguments]
    given = lx.compile(module, entry=entry)(*arguments)
    return [*arguments, *(given if isinstance(given, tuple) else (given,))]


def _argument(type_: ir.Type, rng: np.random.Generator) -> Any:
    if isinstance(type_, ir.RankedTensorType | ir.MemRefType):
        sizes = [DYNAMIC_SIZE if size < 0 else size for size in type_.shape]
        return rng.integers(-4, 5, sizes).astype(_DTYPES[str(type_.element_type)])
    if isinstance(type_, ir.F32Type):
        return np.float32(rng.integers(-4, 5))
    return True if str(type_) == "i1" else 1


_DTYPES: dict[str, Any] = {"f32": np.float32, "f64": np.float64, "i64": np.int64, "i1": np.bool_}


def check_numbers(file: Path) -> int:
    """That none of the pipelines of a file changes a result; how many results were compared."""
    module = lx.parse(file.read_text())
    after = [(pipeline, transformed(file, pipeline)) for _, pipeline in runs(file)]
    compared = 0
    for name in entries(module):
        before = only(module, name)
        others = [(pipeline, only(other, name)) for pipeline, other in after]
        # A function that a pipeline leaves as it is gives what it gave.
        changed = [(pipeline, other) for pipeline, other in others if str(other) != str(before)]
        expected = results(before, name) if changed else []
        for pipeline, other in changed:
            for one, two in zip(expected, results(other, name), strict=True):
                np.testing.assert_array_equal(one, two, err_msg=f"@{name} after {pipeline}")
                compared += 1
    return compared
