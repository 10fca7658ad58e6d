"""Calls of stubs become calls of a library."""

from __future__ import annotations

from linalg_ext.transforms.bufferization.link_library_calls import link_library_calls
from rewrite_texts import parsed, sections

CALLED = "func.func private @f(memref<8xf32>, memref<8xf32>)\n"


def test_the_example() -> None:
    said = sections(link_library_calls)
    module = parsed(CALLED + said["before"])
    report = link_library_calls(module)
    assert report.changed == {"func.call": 1}
    assert str(module) == str(parsed(CALLED + said["after"]))


def test_calls_of_other_functions_stay() -> None:
    module = parsed(CALLED + sections(link_library_calls)["after"])
    before = str(module)
    assert not link_library_calls(module)
    assert str(module) == before
