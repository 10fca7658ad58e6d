"""Notes that passes leave in a description of a machine."""

from __future__ import annotations

from typing import Any

import pytest

from linalg_ext import target
from linalg_ext.errors import TargetError

HOST = target.host()


@pytest.mark.parametrize("value", [True, 3, 2.5, "text", (8, 64), ()])
def test_a_note_says_what_was_said(value: Any) -> None:
    noted = HOST.with_note("fusion.kept", value)
    assert noted.note("fusion.kept", type(value)) == value
    assert target.from_data(target.to_data(noted)) == noted
    assert noted.with_note("fusion.kept", None) == HOST


def test_there_may_be_no_such_note() -> None:
    assert HOST.note("fusion.kept", int) is None


def test_a_note_is_read_as_what_it_is() -> None:
    noted = HOST.with_note("fusion.kept", True)
    with pytest.raises(TargetError, match="of type bool"):
        noted.note("fusion.kept", int)
    with pytest.raises(TargetError, match="a note cannot be of type"):
        noted.note("fusion.kept", list)  # type: ignore[type-var]


@pytest.mark.parametrize("name", ["", "kept", "fusion.", "a b.c", "1.2", 3])
def test_a_name_says_who_and_what(name: Any) -> None:
    with pytest.raises(TargetError, match="cannot name a note"):
        HOST.with_note(name, 1)


@pytest.mark.parametrize("value", [[1], (1, "x"), {"a": 1}, object(), b"x"])
def test_a_note_is_of_few_types(value: Any) -> None:
    with pytest.raises(TargetError, match="says"):
        HOST.with_note("fusion.kept", value)


def test_later_passes_find_it_until_the_block_ends() -> None:
    with target.using("avx2"):
        target.leave_note("fusion.kept", 3)
        assert target.current().note("fusion.kept", int) == 3
        with target.using(target.current()):
            target.leave_note("fusion.kept", 4)
        assert target.current().note("fusion.kept", int) == 3
    assert target.current().note("fusion.kept", int) is None


def test_a_note_on_this_machine_goes_with_its_block() -> None:
    with target.using("host"):
        target.leave_note("fusion.kept", 3)
        target.leave_note("fusion.kept", None)
        assert target.override() is None
        target.leave_note("fusion.kept", 3)
        assert target.current().name == "host"
    assert target.override() is None


def test_outside_all_blocks_it_would_never_go() -> None:
    with pytest.raises(TargetError, match="outside all `using` blocks"):
        target.leave_note("fusion.kept", 3)
