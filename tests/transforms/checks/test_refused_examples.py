"""What passes that change nothing show as refused is refused."""

from __future__ import annotations

from importlib import import_module

import pytest

from examples import refused
from linalg_ext import target
from linalg_ext.errors import LinalgExtError, LoweringError, TargetError, UntrustedError
from linalg_ext.module import Module


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("refuse_recursion", LoweringError),
        ("refuse_unsupported", LoweringError),
        ("refuse_untrusted", UntrustedError),
        ("require_instructions", TargetError),
        ("require_lowered", LoweringError),
    ],
)
def test_what_is_shown_is_refused(name: str, error: type[LinalgExtError]) -> None:
    file = import_module(f"linalg_ext.transforms.checks.{name}")
    module = Module.parse(refused(file), trusted=True, legalize=False)
    before = str(module)
    with target.using("avx2"), pytest.raises(error):
        getattr(file, name)(module)
    assert str(module) == before
