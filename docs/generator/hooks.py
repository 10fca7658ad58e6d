"""MkDocs' hooks during a build: they add pages, fill in the navigation and run examples."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page as SitePage

from docs.generator import (
    errors,
    habits,
    numpy_functions,
    ops,
    reference,
    tables,
    transformations,
    tutorials,
    way_down,
)
from docs.generator.page import Page

_pages_of_site: list[Page] = []


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Make the pages, and put them where the navigation names their folders."""
    _pages_of_site[:] = _pages()
    config.nav = _filled(config.nav)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages to the site."""
    for page in _pages_of_site:
        files.append(File.generated(config, page.path, content=page.content))
    return files


def on_page_markdown(markdown: str, page: SitePage, config: MkDocsConfig, files: Files) -> str:
    """Put under each mistake the message of the library."""
    name = PurePosixPath(page.file.src_uri)
    if name.name == "habits.md":
        return habits.with_messages(markdown)
    if name.name == "first_mistakes.md":
        return errors.with_each_message(markdown)
    if page.file.src_uri in {written_page.path for written_page in errors.written()}:
        return errors.with_messages(markdown, name.stem)
    return markdown


def _pages() -> Iterator[Page]:
    sources = (
        errors,
        numpy_functions,
        ops,
        reference,
        tables,
        transformations,
        tutorials,
        way_down,
    )
    for source in sources:
        yield from source.pages()


def _filled(nav: Any) -> Any:
    """The navigation with `folder/` replaced by the pages that were made for that folder."""
    if isinstance(nav, dict):
        return {title: _filled(entry) for title, entry in nav.items()}
    if isinstance(nav, list):
        return [filled_entry for entry in nav for filled_entry in _spread(entry)]
    return nav


def _spread(entry: Any) -> list[Any]:
    if isinstance(entry, str) and entry.endswith("/"):
        return sorted(
            page.path
            for page in [*_pages_of_site, *errors.written()]
            if page.path.startswith(entry)
            and page.path.endswith(".md")
            and not page.path.endswith("/index.md")
        )
    return [_filled(entry)]
