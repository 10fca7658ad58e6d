"""The tables of calls: each way is answered by what its table says."""

from __future__ import annotations

import pytest

from benchmarks import calls
from native_calls import is_native, native_caller

WAYS = {name: work for name, work in calls.ways().items() if not name.startswith("np.")}


@pytest.mark.parametrize("name", WAYS)
def test_a_way_of_calling_is_answered_by_native_code(name: str) -> None:
    native_caller()
    for _ in range(calls._WARM):
        WAYS[name]()
    assert is_native(WAYS[name])


def test_the_other_table_is_of_calls_through_python() -> None:
    native_caller()
    for name, work in calls.through_python().items():
        for _ in range(3):
            work()
        assert not is_native(work), name
