"""Machines that code is planned for in tests, whatever the one at hand has."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from linalg_ext.transforms.codegen.base.machine import Machine

AVX512 = Machine(vector_bytes=64, vector_registers=32)
AVX2 = Machine(vector_bytes=32, vector_registers=16)
BASELINE = Machine(vector_bytes=16, vector_registers=16)
WITHOUT_FMA = Machine(vector_bytes=16, vector_registers=16, has_fma=False)


def registers(file: ModuleType, *widths: int, autouse: bool = True) -> Any:
    """A fixture: a file of passes finds registers of each width, 16 of them, on this machine."""

    @pytest.fixture(autouse=autouse, params=widths)
    def bits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
        machine = Machine(vector_bytes=request.param // 8, vector_registers=16)
        monkeypatch.setattr(file, "this_machine", lambda: machine)

    return bits
