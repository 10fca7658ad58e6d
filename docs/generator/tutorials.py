"""The notebooks as pages, with the outputs that are stored in them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nbconvert import MarkdownExporter
from traitlets.config import Config

from docs.generator.page import REPOSITORY, Page

_LINK = re.compile(r"\]\((\w+)\.ipynb\)")
_OUTPUT = re.compile(r"(?:^    .*\n(?:\n+(?=    ))?)+", re.MULTILINE)


def pages() -> Iterator[Page]:
    """A page for each notebook, and its pictures."""
    exporter = MarkdownExporter(config=Config(ExtractOutputPreprocessor={"enabled": True}))
    for path in sorted((REPOSITORY / "notebooks").glob("*.ipynb")):
        naming = {"unique_key": path.stem, "output_files_dir": "pictures"}
        text, resources = exporter.from_filename(str(path), resources=naming)
        text = _LINK.sub(r"](\1.md)", text).replace("](../docs/", "](../")
        yield Page(f"tutorials/{path.stem}.md", text)
        for name, content in resources["outputs"].items():
            yield Page(f"tutorials/{name}", content)
