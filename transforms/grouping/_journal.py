"""Tables that remember what was written to them, so that it can be taken back."""

from __future__ import annotations

from typing import Any

ABSENT = object()
"""What is put where a table is to have nothing."""


class Journal:
    """What was written to tables; as long as the writes that it can take back."""

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
