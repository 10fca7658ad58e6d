"""Every op that holds or reaches memory is in the table of checks, and no other one."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

import linalg_ext as lx
from linalg_ext import bindings
from linalg_ext.dialects.gml_st.definitions import GmlSt
from linalg_ext.dialects.linalg_ext.dialect import LinalgExt
from linalg_ext.errors import LoweringError
from linalg_ext.rewriting.registry import all_passes
from linalg_ext.transforms.checks import memory_rules


def ops_of(dialect: str) -> Iterator[str]:
    """The names of the ops that the bindings have classes for."""
    for value in vars(getattr(bindings, dialect)).values():
        name = getattr(value, "OPERATION_NAME", None) if inspect.isclass(value) else None
        if name is not None and name.startswith(f"{dialect}."):
            yield name


def known() -> set[str]:
    """All ops of the dialects of the table."""
    upstream = ("linalg", "tensor", "memref", "vector", "bufferization")
    dialects: tuple[Any, ...] = (LinalgExt, GmlSt)
    ours = [op.OPERATION_NAME for dialect in dialects for op in dialect.operations]
    return {name for dialect in upstream for name in ops_of(dialect)} | set(ours)


def test_every_op_is_in_the_table() -> None:
    assert len(known()) > 200
    assert known() - set(memory_rules.RULES) == set()


def test_the_table_has_no_others() -> None:
    listed = {name for name in memory_rules.RULES if memory_rules.is_held(name)}
    assert listed - known() == set()


def test_each_says_what_may_not_fit_and_what_holds_it() -> None:
    for name, rule in memory_rules.RULES.items():
        assert rule.misfit, name
        assert not rule.held_by or rule.held_by in all_passes(), name
        assert not rule.sizes or rule.held_by == memory_rules.SIZES, name
        assert not rule.accesses or rule.held_by == memory_rules.ACCESSES, name


def test_an_op_that_is_not_in_the_table_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
    func.func @f(%x: tensor<4xf32>, %o: tensor<4xf32>) -> tensor<4xf32> {
      %r = linalg.exp ins(%x : tensor<4xf32>) outs(%o : tensor<4xf32>) -> tensor<4xf32>
      return %r : tensor<4xf32>
    }"""
    others = {name: rule for name, rule in memory_rules.RULES.items() if name != "linalg.exp"}
    monkeypatch.setattr("linalg_ext.transforms.checks.check_sizes.RULES", others)
    with pytest.raises(LoweringError, match=r"linalg\.exp(.|\n)*:3:12(.|\n)*checked=False"):
        lx.compile(text)
    lx.compile(text, checked=False)
