"""Names of other libraries lead to what serves here, and what the answers name exists."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ArgumentError
from linalg_ext.executable.kernel import Kernel
from linalg_ext.tracing.jit_function import JitFunction
from linalg_ext.utils import other_libraries

TABLES = {
    "MODULE": other_libraries.MODULE,
    "FUNCTION": other_libraries.FUNCTION,
    "KEYWORDS": other_libraries.KEYWORDS,
    "REWRITER": other_libraries.REWRITER,
    "OF_A_MODULE": other_libraries.OF_A_MODULE,
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_answers_name_what_exists(table: Mapping[str, str]) -> None:
    text = " ".join(table.values())
    for name in re.findall(r"\blx\.(\w+)", text):
        assert hasattr(lx, name), name
    for name in re.findall(r"\bmodule\.(\w+)", text):
        assert hasattr(lx.Module, name), name


@pytest.mark.parametrize("name", other_libraries.MODULE)
def test_a_name_of_the_package_is_answered(name: str) -> None:
    assert not hasattr(lx, name)
    with pytest.raises(AttributeError, match=r"; here: \S"):
        getattr(lx, name)


@pytest.mark.parametrize("keyword", other_libraries.KEYWORDS)
def test_a_keyword_of_jit_is_answered(keyword: str) -> None:
    with pytest.raises(ArgumentError) as raised:
        lx.jit(np.sin, **{keyword: True})
    assert raised.value.hint == other_libraries.KEYWORDS[keyword]


def test_names_that_exist_are_in_no_table() -> None:
    for table, kind in (
        (other_libraries.FUNCTION, JitFunction),
        (other_libraries.OF_A_MODULE, lx.Module),
    ):
        assert not [name for name in table if hasattr(kind, name)]
    assert hasattr(Kernel, "asm")


def test_an_attribute_that_nobody_has_is_an_attribute_error() -> None:
    for owner, shown in (
        (lx.jit(np.sin), "a jitted function"),
        (lx.parse("module {}"), "a Module"),
    ):
        with pytest.raises(AttributeError) as raised:
            getattr(owner, "no_such")  # noqa: B009  # it is asked for at run time
        assert str(raised.value) == f"{shown} has no attribute 'no_such'"
