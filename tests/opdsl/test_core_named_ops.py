"""Every op of upstream's own library: the same YAML, valid IR, and the right numbers."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest

from core_ops import Problem, assert_same, build, core_ops, problem, run, upstream_yaml
from linalg_ext.errors import DTypeError
from linalg_ext.notations.yaml import to_yaml
from resources import upstream_tool

NAMES = list(core_ops())

FLOATS_ONLY = frozenset(
    ["exp", "log", "ceil", "floor", "reciprocal", "round", "sqrt", "rsqrt", "tanh", "erf", "powf"]
)
INTEGERS_ONLY = frozenset(
    ["div_unsigned", *(name for name in NAMES if name.endswith(("max_unsigned", "min_unsigned")))]
)
DTYPES = (np.float32, np.int32)
FORMS = [
    pytest.param({"emit_generic": generic, "memref": memref}, id=f"{form}-{kind}")
    for generic, form in ((False, "named"), (True, "generic"))
    for memref, kind in ((False, "tensor"), (True, "memref"))
]


def _has_meaning(name: str, dtype: type[np.generic]) -> bool:
    return name not in (FLOATS_ONLY if dtype is np.int32 else INTEGERS_ONLY)


def _problem(name: str, dtype: type[np.generic], *, wide: bool = False) -> Problem:
    """Operands of an op; `wide` gives strides of 2 and dilations of 3 to those that have them."""
    op = core_ops()[name]
    steps = {"strides": 2, "dilations": 3} if wide else {}
    known = {operand.name for operand in op.definition.attributes}
    if name == "select":
        return problem(op, dtype, dtypes={"U": np.bool_} | {"T1": dtype})
    return problem(op, dtype, attributes={k: v for k, v in steps.items() if k in known})


def _problems(dtype: type[np.generic], *, wide: bool = False) -> list[Problem]:
    return [_problem(name, dtype, wide=wide) for name in NAMES if _has_meaning(name, dtype)]


def test_the_library_is_whole() -> None:
    assert list(upstream_yaml()) == NAMES
    assert len(NAMES) > 70


@pytest.mark.parametrize("name", NAMES)
def test_yaml_is_upstreams_byte_for_byte(name: str) -> None:
    assert to_yaml(core_ops()[name]) == upstream_yaml()[name]


@pytest.mark.parametrize("flag", ["-o-ods-decl", "-o-impl"])
def test_upstreams_generator_reads_every_document(flag: str) -> None:
    tool = upstream_tool("mlir-linalg-ods-yaml-gen-22")
    done = subprocess.run(
        [tool, "-", f"{flag}=-"],
        input=to_yaml(*core_ops().values()),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for op in core_ops().values():
        assert op.definition.cpp_class_name in done.stdout


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_ir_verifies(dtype: type[np.generic], form: dict[str, bool]) -> None:
    module = build(_problems(dtype), **form)
    names = [op.operation.name for op in module.body.operations[0].regions[0].blocks[0].operations]
    generic = names.count("linalg.generic")
    # Two named ops on integers have a body that upstream cannot build, or builds differently.
    named = [f"linalg.{name}" for name in NAMES if f"linalg.{name}" in names]
    assert (
        generic == len(names) - 1
        if form["emit_generic"]
        else len(named) + generic == len(names) - 1
    )
    assert form["emit_generic"] or generic <= 5, [n for n in NAMES if f"linalg.{n}" not in names]


@pytest.mark.parametrize("name", sorted(FLOATS_ONLY | INTEGERS_ONLY))
def test_an_element_type_without_meaning(name: str) -> None:
    dtype = np.int32 if name in FLOATS_ONLY else np.float32
    with pytest.raises(DTypeError, match=f"{name}: .* has no meaning for"):
        build([_problem(name, dtype)])


@pytest.mark.parametrize("form", [FORMS[0], FORMS[3]])
@pytest.mark.parametrize("wide", [False, True], ids=["unit-steps", "strides-and-dilations"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_runs_as_the_oracle(dtype: type[np.generic], wide: bool, form: dict[str, bool]) -> None:
    cases = _problems(dtype, wide=wide)
    if wide:
        cases = [case for case in cases if case.attributes]
    for case, got in zip(cases, run(cases, **form), strict=True):
        assert_same(got, case.reference(), case.op.op_name)
