"""What tests of the rooms of all frameworks ask for."""

from __future__ import annotations

from typing import Any

import pytest

from linalg_ext.compiler import module_compilation


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was compiled."""
    found: list[Any] = []
    compile_copy = module_compilation.compile_copy

    def told(*given: Any, **options: Any) -> Any:
        found.append(given)
        return compile_copy(*given, **options)

    monkeypatch.setattr(module_compilation, "compile_copy", told)
    return found
