"""Whether a call was answered by native code, or went through Python."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from linalg_ext.runtime.caller import Caller, caller


def native_caller() -> Caller:
    """The compiled caller, which calls that come again go through from now on."""
    caller.make()
    found = caller()
    assert found is not None, "this interpreter has no native calls"
    return found


def records_of(target: Any) -> list[Any]:
    """The records that native code has of an object."""
    found: list[Any] = target._native_records
    return found


def is_native(call: Callable[[], Any]) -> bool:
    """Whether `call` runs no Python of the library's."""
    seen: list[str] = []

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and "linalg_ext" in frame.f_code.co_filename.split("/"):
            seen.append(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(before)
    return not seen
