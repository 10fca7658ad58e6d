"""The table of starts: a process finds what another one kept, and says whether it loads MLIR."""

from __future__ import annotations

from pathlib import Path

from benchmarks import starting


def test_what_is_kept_is_found_without_mlir(tmp_path: Path) -> None:
    call = starting.CALLS["lx.compile(text)(a)"]
    first, second = (
        starting.started(call, tmp_path / "kept", tmp_path / "bytecode") for _ in range(2)
    )
    assert (first.loads_mlir, second.loads_mlir) == (True, False)
    assert min(first.milliseconds, second.milliseconds) > 0
