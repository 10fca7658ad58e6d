"""docs/schedules.md: its examples give what stands below them."""

from __future__ import annotations

import contextlib
import io
import re

from resources import REPOSITORY

PAGE = (REPOSITORY / "docs/schedules.md").read_text(encoding="utf-8")


def test_each_example_gives_what_the_page_says() -> None:
    names: dict[str, object] = {"__name__": "schedules"}
    for program, _, expected in re.findall(
        r"```python\n(.*?)```\n(\n```text\n(.*?)```)?", PAGE, re.DOTALL
    ):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(program, "schedules.md", "exec"), names)
        assert printed.getvalue() == expected
