"""The notations of ops by name: texts read as ops, and ops written as texts.

A notation is one file of `linalg_ext/notations/`, or of `linalg_ext/compiler/notations/` where it
needs MLIR, which registers itself and is found by being there.
"""

from __future__ import annotations

import inspect
import os
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from linalg_ext.definition.model import OpDefinition
from linalg_ext.errors import ArgumentError, NotationError
from linalg_ext.opdsl.op import StructuredOp
from linalg_ext.utils.hooks import import_all

_PACKAGES = ("linalg_ext.notations", "linalg_ext.compiler.notations")
# The second is named, not imported: it lies above this room.


@dataclass(frozen=True)
class Notation:
    """A way to write ops down.

    Attributes:
        name: the name by which `read` and `write` know it.
        summary: one line about it.
        read: the definitions of a text; takes `filename=`, for errors, and options of its own. None
            where the notation is only written.
        write: the text of a definition; takes options of its own. None where it is only read.
        suffixes: the suffixes of its files, such as `.tc`.
        separator: stands between the texts of two ops.
    """

    name: str
    summary: str
    read: Callable[..., Sequence[OpDefinition]] | None = None
    write: Callable[..., str] | None = None
    suffixes: tuple[str, ...] = ()
    separator: str = "\n"

    @property
    def module(self) -> str:
        """The module that defines it."""
        function = self.read or self.write
        return "" if function is None else function.__module__

    def options(self, way: Literal["read", "write"]) -> dict[str, inspect.Parameter]:
        """Return the options of reading, or of writing, by their names."""
        function = self.read if way == "read" else self.write
        parameters = {} if function is None else inspect.signature(function).parameters
        # The first is the text, or the op.
        return {
            name: parameter for name, parameter in [*parameters.items()][1:] if name != "filename"
        }


_notations: dict[str, Notation] = {}


def register(notation: Notation) -> Notation:
    """Make a notation known by its name, and return it.

    Raises:
        ArgumentError: another module has a notation of that name.
    """
    old = _notations.get(notation.name)
    if old is not None and old.module != notation.module:
        raise ArgumentError(
            f"two notations are called {notation.name}",
            where=f"{old.module} and {notation.module}",
            hint="rename one of them",
        )
    _notations[notation.name] = notation
    return notation


def notations() -> Mapping[str, Notation]:
    """Return every notation by its name, in order of names."""
    for package in _PACKAGES:
        import_all(package)
    return dict(sorted(_notations.items()))


def notation(name: str) -> Notation:
    """Return the notation of a name.

    Raises:
        ArgumentError: there is none; lists those that there are.
    """
    if name not in _notations and isinstance(name, str) and name.isidentifier():
        # A file that is named after its notation spares the others: YAML alone takes 20 ms.
        for package in _PACKAGES:
            if find_spec(f"{package}.{name}") is not None:
                __import__(f"{package}.{name}")
    if name in _notations:
        return _notations[name]
    entries = notations()
    if name in entries:
        return entries[name]
    near = get_close_matches(str(name), entries, n=1)
    raise ArgumentError(
        f"{name!r} is not a notation",
        expected=f"one of {', '.join(entries)}",
        hint=f"did you mean {near[0]}?" if near else None,
    )


def notation_of_file(path: str | os.PathLike[str]) -> Notation | None:
    """Return the notation of a file by its suffix; None where no notation has that suffix."""
    suffix = Path(path).suffix
    return next((entry for entry in notations().values() if suffix in entry.suffixes), None)


def read(
    source: str | os.PathLike[str],
    notation: str | None = None,
    *,
    filename: str | None = None,
    **options: Any,
) -> Any:
    """Return the op that a text or a file defines.

    Args:
        source: a text, or the path of a file (a `Path`, not a `str`).
        notation: the name of the notation; of a file, that of its suffix by default.
        filename: the name of the text in errors; that of the file by default.
        options: of the notation, such as `kind="max+"` of `einsum`.

    Returns:
        The op, a `StructuredOp`. Several of them are a named tuple, in the order of the text.
        (`Any` to type checkers, because it depends on the text.)

    Raises:
        NotationError: the text is wrong; says the place, and the expectation.
        ArgumentError: there is no such notation, it is not read, or has no such option.
        OSError: the file cannot be read.

    Example:
        >>> lx.read("mk,kn->mn", "einsum")
        einsum_mk_kn_to_mn(A: T1(M, K), B: T2(K, N)) -> C: U(M, N)
    """
    ops = [
        StructuredOp(definition)
        for definition in definitions(source, notation, filename, **options)
    ]
    if len(ops) == 1:
        return ops[0]
    # A name that no attribute can have (a keyword of Python) is replaced by its position.
    names = namedtuple("Ops", [op.op_name for op in ops], rename=True)  # type: ignore[misc]
    return names(*ops)


def definitions(
    source: str | os.PathLike[str],
    notation: str | None = None,
    filename: str | None = None,
    **options: Any,
) -> Sequence[OpDefinition]:
    """Return the definitions of a text or a file; arguments and errors as of `read`."""
    chosen = _chosen(source, notation)
    if chosen.read is None:
        readable = [name for name, entry in notations().items() if entry.read is not None]
        raise ArgumentError(
            f"the notation {chosen.name} is written only", expected=f"one of {', '.join(readable)}"
        )
    if isinstance(source, os.PathLike):
        filename = filename or os.fspath(source)
        source = _text_of(Path(source))
    if not isinstance(source, str):
        raise NotationError(
            f"{source!r} is not text",
            expected=f"a str in the notation {chosen.name}, or the Path of a file",
        )
    _check_options(chosen, "read", options)
    return chosen.read(source, filename=filename, **options)


def write(op: Any, notation: str, **options: Any) -> str:
    """Return the text of an op in a notation.

    Args:
        op: an op, its definition, or a sequence of them.
        notation: the name of the notation.
        options: of the notation, such as `types="f32"` of `tc`.

    Raises:
        NotationError: the notation cannot hold the op; names the part, with the reason.
        ArgumentError: there is no such notation, it is not written, or has no such option.

    Example:
        >>> lx.write(lx.ops.matmul, "einsum")
        'mk,kn->mn'
    """
    chosen = _notation_named(notation)
    if chosen.write is None:
        writable = [name for name, entry in notations().items() if entry.write is not None]
        raise ArgumentError(
            f"the notation {chosen.name} is read only", expected=f"one of {', '.join(writable)}"
        )
    _check_options(chosen, "write", options)
    ops = op if isinstance(op, list | tuple) else [op]
    texts = [chosen.write(definition_of(item), **options) for item in ops]
    return chosen.separator.join(texts)


_notation_named = notation  # `read` and `write` have a parameter of that name


def _chosen(source: object, name: str | None) -> Notation:
    if name is not None:
        return _notation_named(name)
    if not isinstance(source, os.PathLike):
        raise ArgumentError(
            "the notation of the text is not given",
            expected=f"one of {', '.join(notations())}",
            hint='name it: lx.read(text, "tc"); for a file, give a Path',
        )
    matching = notation_of_file(source)
    if matching is None:
        suffixes = sorted(suffix for entry in notations().values() for suffix in entry.suffixes)
        raise ArgumentError(
            f"the suffix of {os.fspath(source)} is that of no notation",
            expected=f"a file whose name ends in {', '.join(suffixes)}",
            hint='name the notation: lx.read(path, "tc")',
        )
    return matching


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise NotationError(
            f"{path} is not text: byte {error.start} is not UTF-8", expected="a file of text"
        ) from None


def _check_options(
    chosen: Notation, way: Literal["read", "write"], options: Mapping[str, Any]
) -> None:
    accepted = chosen.options(way)
    for name in options:
        if name not in accepted:
            raise ArgumentError(
                f"the notation {chosen.name} has no option {name!r}",
                expected=f"one of {', '.join(accepted)}" if accepted else "none",
            )


def definition_of(op: object) -> OpDefinition:
    """The definition of an op, or the definition itself.

    Raises:
        NotationError: the object is neither.
    """
    definition = getattr(op, "definition", op)
    if not isinstance(definition, OpDefinition):
        raise NotationError(
            f"{op!r} is not an op: it cannot be written down",
            expected="an op declared with @structured_op, or its definition",
        )
    return definition
