"""Tables that remember what was written to them, so that it can be taken back."""

from __future__ import annotations

from typing import Any

ABSENT = object()
"""The mark of a missing entry: a table has no value for that key."""


class Journal:
    """The log of writes to tables; its length is the number of writes that it can undo."""

    def __init__(self) -> None:
        self._log: list[tuple[dict[Any, Any], Any, Any]] = []

    def put(self, table: dict[Any, Any], key: int, value: Any) -> None:
        """Write to a table."""
        self._log.append((table, key, table.get(key, ABSENT)))
        _set(table, key, value)

    def rewind(self, mark: int) -> None:
        """Take back all but the first `mark` writes."""
        while len(self._log) > mark:
            _set(*self._log.pop())

    def __len__(self) -> int:
        return len(self._log)


def _set(table: dict[Any, Any], key: int, value: Any) -> None:
    if value is ABSENT:
        table.pop(key, None)
    else:
        table[key] = value
