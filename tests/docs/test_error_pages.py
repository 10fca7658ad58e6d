"""Each class of error has a page, whose mistake raises it, and whose hint mends it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from docs.generator import errors
from docs.generator.page import REPOSITORY, Page
from linalg_ext import cache
from linalg_ext.errors import LinalgExtError
from resources import skip_absent


@pytest.fixture(autouse=True)
def cache_as_it_was() -> Iterator[None]:
    """Undo what a page says of the cache."""
    yield
    cache.configure()


def test_every_class_has_a_page() -> None:
    paths = {page.path for page in [*errors.written(), *errors.pages()]}
    expected = {f"errors/{kind.__name__}.md" for kind in errors.classes()}
    assert paths == {*expected, "errors/index.md"}


@pytest.mark.parametrize("page", errors.written(), ids=lambda page: page.path)
def test_the_mistake_of_a_page_raises_its_error(page: Page) -> None:
    assert isinstance(page.content, str)
    name = page.content.splitlines()[0].removeprefix("# ")
    assert page.path == f"errors/{name}.md"
    try:
        error = errors.raised(page.content)
    except ModuleNotFoundError as missing:
        skip_absent(f"the package {missing.name}")
    if isinstance(error, LinalgExtError):
        assert type(error).__name__ == name
    else:
        assert error
    assert f"linalg_ext.errors.{name}: {error}\n```" in errors.with_messages(page.content, name)


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("```python\n1 + 1\n```\n", "nothing is raised by"),
        ("```console\n$ python -c 'pass'\n```\n", "should fail"),
    ],
)
def test_a_page_whose_mistake_is_none_is_found(page: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        errors.raised(page)


def test_the_line_that_is_wrong_is_quoted() -> None:
    (page,) = (each for each in errors.written() if each.path == "errors/ShapeError.md")
    assert isinstance(page.content, str)
    assert "  example.py, line 5:   lx.ops.add(x, y)\n" in errors.with_messages(
        page.content, "ShapeError"
    )


def test_a_page_whose_package_is_absent_says_so() -> None:
    page = "# ModelError\n\n```console\n$ python -c 'import no_such_package'\n```\n"
    said = errors.with_messages(page, "ModelError")
    assert "shown where `no_such_package` is installed" in said


def test_a_cure_that_fails_is_found() -> None:
    mistake = "```python\nimport linalg_ext as lx\nlx.parse('?')\n```\n"
    with pytest.raises(ZeroDivisionError):
        errors.raised(mistake + "\n```python\n1 / 0\n```\n")


def test_the_first_mistakes_are_mistakes() -> None:
    """Ten of them, each with what is said of it today, and with its hint behind that."""
    text = (REPOSITORY / "docs" / "first_mistakes.md").read_text(encoding="utf-8")
    shown = errors.with_each_message(text)
    said = re.findall(r"^```text\n(?:linalg_ext\.errors\.)?(\w+): ", shown, re.M)
    assert said == [
        "ShapeError",
        "DTypeError",
        "AliasingError",
        "DefinitionError",
        "TraceError",
        "TraceError",
        "PipelineError",
        "SignatureError",
        "UntrustedError",
        "AttributeError",
    ]
    assert len(re.findall(r"^## ", text, re.M)) == len(said)


def test_a_first_mistake_that_is_none_is_found() -> None:
    with pytest.raises(ValueError, match="nothing is raised by"):
        errors.with_each_message("```python\n1 + 1\n```\n")
