"""What upstream's `mlir-tblgen` says of the ODS that our YAML gives, and of our own ODS."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import linalg_ext as lx
import linalg_ext.opdsl_defs as library
from linalg_ext.errors import NotationError
from linalg_ext.notations.ods import to_ods
from linalg_ext.notations.yaml import to_yaml
from linalg_ext.opdsl import StructuredOp
from resources import upstream_tool
from tablegen import classes_of, upstream_base_classes
from tc_texts import ALL, BATCHMATMUL_2024, POOLING, STRIDED_CONVOLUTION

LIBRARY = [op for name in dir(library) if isinstance(op := getattr(library, name), StructuredOp)]


def _records(yaml: str, folder: Path) -> str:
    (folder / "ops.yaml").write_text(yaml)
    tool = upstream_tool("mlir-linalg-ods-yaml-gen-22")
    command = [str(tool), str(folder / "ops.yaml"), "-o-ods-decl=-", "-o-impl=/dev/null"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_tablegen_accepts_the_whole_library(tmp_path: Path) -> None:
    ops = []
    for op in LIBRARY:
        try:
            to_yaml(op)
        except NotationError:
            continue
        ops.append(op)
    assert len(ops) >= 170
    records = upstream_base_classes() + _records(to_yaml(*ops), tmp_path)
    found = classes_of(records, tmp_path)
    assert sorted(found) == sorted(op.definition.cpp_class_name for op in ops)


@pytest.mark.parametrize("text", [BATCHMATMUL_2024, STRIDED_CONVOLUTION, POOLING])
def test_tablegen_accepts_what_is_read_from_tc(text: str, tmp_path: Path) -> None:
    op = lx.tc(text)
    records = upstream_base_classes() + _records(to_yaml(op), tmp_path)
    assert classes_of(records, tmp_path) == [op.definition.cpp_class_name]


OLD_BASE_CLASSES = """
include "mlir/IR/OpBase.td"

def Old_Dialect : Dialect { let name = "linalg"; let cppNamespace = "::mlir::linalg"; }
class NInputs<int count> : NativeOpTrait<"NInputs<" # count # ">::Impl">;
class NOutputs<int count> : NativeOpTrait<"NOutputs<" # count # ">::Impl">;
def NamedStructuredOpTrait : NativeOpTrait<"NamedStructuredOpTrait">;
class LinalgNamedStructured_Op<string mnemonic, list<Trait> traits>
    : Op<Old_Dialect, mnemonic, !listconcat(traits, [AttrSizedOperandSegments])>;
"""
"""The classes that the records of 2024 name and today's files lack, as far as TableGen asks."""


def test_tablegen_accepts_our_ods(tmp_path: Path) -> None:
    """Syntax, types of attributes, builders: all but what the old base class meant to C++."""
    ops = [lx.tc(text) for text in ALL[1:]]
    for op in LIBRARY:
        try:
            to_ods(op)
        except NotationError:
            continue
        ops.append(op)
    assert len(ops) >= 150
    records = OLD_BASE_CLASSES + "".join(to_ods(op, "2024") for op in ops)
    found = classes_of(records, tmp_path)
    assert sorted(found) == sorted(op.definition.cpp_class_name for op in ops)


def test_tablegen_refuses_what_is_wrong(tmp_path: Path) -> None:
    records = OLD_BASE_CLASSES
    wrong = to_ods(lx.tc(STRIDED_CONVOLUTION)).replace("RankedI32ElementsAttr", "RankedI32")
    with pytest.raises(AssertionError, match="RankedI32"):
        classes_of(records + wrong, tmp_path)
