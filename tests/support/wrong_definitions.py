"""Definitions that are wrong on purpose, and what is said of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

from linalg_ext.errors import DefinitionError, SourceLocation

Wrong = Callable[[], object]


class WrongDefinitions(dict[str, tuple[Wrong, tuple[str, ...]]]):
    """Functions that declare ops wrongly, by their names, and words of their errors."""

    def says(self, *words: str) -> Callable[[Wrong], Wrong]:
        """Add a function; the line that its error is to name is marked by `# here`."""

        def register(function: Wrong) -> Wrong:
            self[function.__name__] = function, words
            return function

        return register

    def check(self, name: str) -> None:
        """Assert that the error of a function is as it should be, and at its line."""
        function, words = self[name]
        with pytest.raises(DefinitionError) as raised:
            function()
        error = raised.value
        for word in words:
            assert word in str(error), str(error)
        assert isinstance(error.where, SourceLocation), str(error)
        place = inspect.getsourcefile(function), _marked_line(function)
        assert (error.where.file, error.where.line) == place, str(error)


def _marked_line(function: Wrong) -> int:
    lines, first = inspect.getsourcelines(function)
    (marked,) = [first + i for i, line in enumerate(lines) if "# here" in line]
    return marked
