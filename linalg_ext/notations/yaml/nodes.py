"""The nodes of a YAML text, each with its place and its path, so that an error can name them.

Nothing is constructed from a tag: the text becomes mappings, sequences and strings, and no more.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import yaml

from linalg_ext.errors import NotationError

# The same language, ten times as fast, where PyYAML was built with libyaml.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass
class Source:
    """A text and the name of its file."""

    text: str
    filename: str | None = None
    seen: set[yaml.Node] = field(default_factory=set)

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.splitlines()

    def place(self, line: int, column: int, path: str = "") -> str:
        """A place for a message; line and column are counted from 0."""
        lines = self._lines
        where = f"{self.filename}, " if self.filename else ""
        where += f"line {line + 1}, column {column + 1}"
        where += f", in {path}" if path else ""
        shown = lines[line].strip() if line < len(lines) else ""
        return f"{where}:   {shown}" if shown else where

    def documents(self) -> Iterator[Field]:
        """The root of each document.

        Raises:
            NotationError: the text is no YAML.
        """
        try:
            for position, node in enumerate(yaml.compose_all(self.text, Loader=_Loader)):
                self.seen.clear()
                yield Field(node, "", self, position)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = self.place(mark.line, mark.column) if mark else self.filename
            told = ", ".join(part for part in (error.context, error.problem) if part)
            raise NotationError(f"the text is not YAML: {told}", where=place) from None
        except yaml.YAMLError as error:
            raise NotationError(
                "the text is not YAML: it has a character that YAML does not allow",
                where=self.filename,
                notes=[str(error).partition("\n")[0]],
            ) from None
        except RecursionError:
            raise NotationError(
                "the text is nested too deeply to be read", where=self.filename
            ) from None


@dataclass(frozen=True)
class Field:
    """A node: a value in the text.

    Attributes:
        node: PyYAML's node.
        path: how it is reached from the document, such as `structured_op.args[0].kind`.
        source: the text that it stands in.
        document: the number of the document, from 0.
    """

    node: yaml.Node
    path: str
    source: Source
    document: int = 0

    @property
    def place(self) -> str:
        """The position of the field in its file."""
        return self.place_at(0)

    def place_at(self, offset: int) -> str:
        """Return the position of a character of the field, as long as the field is on one line."""
        start, end = self.node.start_mark, self.node.end_mark
        shift = 0
        if isinstance(self.node, yaml.ScalarNode) and start.line == end.line:
            shift = offset + (self.node.style in ("'", '"'))
        return self.source.place(start.line, start.column + shift, self.path)

    def error(
        self, what: str, *, expected: str | None = None, hint: str | None = None
    ) -> NotationError:
        """An error at this place."""
        return NotationError(what, where=self.place, expected=expected, hint=hint)

    def mapping(
        self, tag: str, required: tuple[str, ...], optional: tuple[str, ...] = ()
    ) -> Mapping[str, Field]:
        """The fields of a mapping, which has the tag or none.

        Raises:
            NotationError: it is no mapping, has another tag, lacks a field, or has one too many.
        """
        fields = self._entries(tag, required + optional)
        for name in required:
            if name not in fields:
                raise self.error(
                    f"{self._name} has no field `{name}`",
                    expected=f"the fields {', '.join(required)}",
                )
        return fields

    def sequence(self, what: str) -> list[Field]:
        """The items of a sequence.

        Raises:
            NotationError: it is no sequence.
        """
        self._visit()
        if not isinstance(self.node, yaml.SequenceNode):
            raise self.error(f"{self._name} is {self._kind}", expected=f"a list of {what}")
        self._check_tag("seq", "")
        return [self._child(item, f"[{i}]") for i, item in enumerate(self.node.value)]

    def text(self, what: str) -> str:
        """A scalar as it is written, without quotes.

        Raises:
            NotationError: it is no scalar, or empty.
        """
        self._visit()
        if not isinstance(self.node, yaml.ScalarNode):
            raise self.error(f"{self._name} is {self._kind}", expected=what)
        if self.node.tag.startswith("!") or "python" in self.node.tag:
            raise self.error(f"{self._name} has the tag {self.node.tag}", expected=what)
        if not self.node.value:
            raise self.error(f"{self._name} is empty", expected=what)
        return str(self.node.value)

    def name(self, what: str) -> str:
        """A scalar that is an identifier.

        Raises:
            NotationError: it is not.
        """
        text = self.text(what)
        if not text.isidentifier() or not text.isascii():
            raise self.error(
                f"{self._name} is `{text}`, which is no name", expected=f"{what}: [A-Za-z_0-9]+"
            )
        return text

    def choice(self, what: str, choices: tuple[str, ...]) -> str:
        """A scalar that is one of a list.

        Raises:
            NotationError: it is not; names the nearest.
        """
        text = self.text(what)
        if text in choices:
            return text
        near = difflib.get_close_matches(text, choices, 1)
        raise self.error(
            f"{self._name} is `{text}`, which is no {what}",
            expected=f"one of {', '.join(choices)}" if choices else "none: there are none",
            hint=f"did you mean {near[0]}?" if near else None,
        )

    def integer(self, what: str) -> int:
        """A scalar that is a decimal integer.

        Raises:
            NotationError: it is not.
        """
        text = self.text(what)
        digits = text.removeprefix("-")
        if not (digits.isdigit() and digits.isascii() and len(digits) < 20):
            raise self.error(f"{self._name} is `{text}`, which is no integer", expected=what)
        return int(text)

    @property
    def is_null(self) -> bool:
        """Return whether it is `null`, `~` or nothing at all."""
        return self.node.tag == "tag:yaml.org,2002:null"

    @property
    def _name(self) -> str:
        return self.path or "the document"

    @property
    def _kind(self) -> str:
        if isinstance(self.node, yaml.MappingNode):
            return "a mapping"
        if isinstance(self.node, yaml.SequenceNode):
            return "a list"
        return f"`{self.node.value}`" if self.node.value else "empty"

    def _child(self, node: yaml.Node, step: str) -> Field:
        path = f"{self.path}{step}" if self.path else step.removeprefix(".")
        return Field(node, path, self.source, self.document)

    def _visit(self) -> None:
        """A node that is met twice was written once and referred to by an alias."""
        if self.node in self.source.seen:
            raise self.error(
                f"{self._name} is given by an alias",
                hint="write it out: upstream's generator knows no anchors and aliases",
            )
        self.source.seen.add(self.node)

    def _check_tag(self, plain: str, tag: str) -> None:
        if self.node.tag not in (f"tag:yaml.org,2002:{plain}", tag):
            wanted = f"the tag {tag}, or none" if tag else "no tag"
            raise self.error(f"{self._name} has the tag {self.node.tag}", expected=wanted)

    def _entries(self, tag: str, known: tuple[str, ...]) -> dict[str, Field]:
        self._visit()
        if not isinstance(self.node, yaml.MappingNode):
            raise self.error(
                f"{self._name} is {self._kind}",
                expected=f"a mapping with the fields {', '.join(known)}",
            )
        self._check_tag("map", tag)
        fields: dict[str, Field] = {}
        for key, value in self.node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else ""
            place = self._child(key, f".{name}" if name else "")
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                raise place.error(
                    f"{self._name} has no field `{name}`"
                    if name
                    else f"{self._name} has a field whose name is no text",
                    expected=f"one of {', '.join(known)}",
                    hint=f"did you mean {near[0]}?" if near else None,
                )
            if name in fields:
                raise place.error(f"field `{name}` is given twice")
            fields[name] = self._child(value, f".{name}")
        return fields
