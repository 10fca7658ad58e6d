"""The one error tree of the library.

Every error that a user can provoke is a `LinalgExtError` and reads as a small letter: the mistake,
its place, the expectation, the remedy.

    linalg_ext.errors.DefinitionError: `C[D.m] = A[D.m, D.n]` drops dimension n: ...
      kernels.py, line 12, in row_sum:   C[D.m] = A[D.m, D.n]
      write `C[D.m] += A[D.m, D.n]` for a sum over n, or give C the dimension n
      see docs: errors/DefinitionError

The last line names the page of the documentation with such a mistake and its hint.

Subclasses also derive from the built-in exception that a Python programmer would catch for the
same mistake (`ValueError`, `TypeError`, `ImportError`, ...).
"""

from __future__ import annotations

import linecache
import os
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, NoReturn, ParamSpec, TypedDict, TypeVar, Unpack


class SourceLocation(NamedTuple):
    """A line of a source file, at which an error points."""

    file: str
    line: int
    function: str = ""
    column: int | None = None

    @property
    def text(self) -> str:
        """The line itself, stripped; empty when the file cannot be read."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        text = f"{_short_path(self.file)}, line {self.line}"
        if self.column is not None:
            text += f", column {self.column}"
        if self.function and not self.function.startswith("<"):
            text += f", in {self.function}"
        return f"{text}:   {self.text}" if self.text else text


_SEE = "see docs: "


class LinalgExtError(Exception):
    """Base of all errors that this library raises.

    Attributes:
        what: the mistake, in one sentence: the first of `args`.
        where: the place: a line of Python, of IR, or an argument.
        expected: the right value, in words.
        hint: how to mend it.
        notes: further lines (upstream's diagnostics, for example).
    """

    def __init__(
        self,
        what: str,
        *,
        where: SourceLocation | str | None = None,
        expected: str | None = None,
        hint: str | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self.where = where
        self.expected = expected
        self.hint = hint
        self.notes = tuple(notes)
        super().__init__(what)

    @property
    def what(self) -> str:
        """The mistake, in one sentence."""
        return str(self.args[0]) if self.args else ""

    @what.setter
    def what(self, text: str) -> None:
        self.args = (text, *self.args[1:])

    def __str__(self) -> str:
        # Code that passes an error on may add to its `args`, as to those of any exception.
        parts = [self.what, *map(str, self.args[1:])]
        if self.where is not None:
            parts.append(str(self.where))
        if self.expected:
            parts.append(f"expected {self.expected}")
        if self.hint:
            parts.append(self.hint)
        parts.extend(self.notes)
        lines = "\n".join([parts[0], *(_indented(part) for part in parts[1:])]).splitlines()
        # An error may quote another one: the page is that of the outermost.
        own = [line for line in lines if not line.strip().startswith(_SEE)]
        return "\n".join([*own, f"  {_SEE}{self.page}"])

    @property
    def cure(self) -> str | None:
        """The hint, by its name in version 0.1; it goes with version 0.3."""
        warnings.warn("error.cure is now error.hint", DeprecationWarning, stacklevel=2)
        return self.hint

    @property
    def page(self) -> str:
        """The page of the documentation about errors of this kind, such as `errors/ShapeError`."""
        kind = next(base for base in type(self).__mro__ if base.__module__ == __name__)
        return f"errors/{kind.__name__}"

    def __reduce__(self) -> Any:
        # Errors of workers come back by pickling, those with more arguments than one as well.
        return _as_raised, (type(self), self.args, vars(self))


def _as_raised(
    kind: type[LinalgExtError], args: tuple[object, ...], state: dict[str, Any]
) -> LinalgExtError:
    error = kind.__new__(kind)
    error.args = args
    vars(error).update(state)
    return error


class BindingsError(LinalgExtError, ImportError):
    """No usable MLIR Python bindings, or not the ones that were asked for."""


class MissingExtraError(LinalgExtError, ImportError):
    """A package that is an extra of this library is not installed, or in a version that fits."""


class ModelError(LinalgExtError, ValueError):
    """A model of another framework holds something that cannot be compiled."""


class DefinitionError(LinalgExtError, ValueError):
    """An operation was declared wrongly."""


class UnknownFunctionError(DefinitionError, AttributeError):
    """A namespace of functions (`UnaryFn`, ...) has none of that name."""


class NotationError(LinalgExtError, ValueError):
    """A text in one of the notations (YAML, ...) cannot be read or written."""


class _Letter(TypedDict, total=False):
    """Parts of an error that its subclasses pass on, as of `LinalgExtError`."""

    where: SourceLocation | str | None
    expected: str | None
    hint: str | None


class IRError(LinalgExtError):
    """Something is wrong with a module; `diagnostics` carries upstream's messages whole."""

    def __init__(
        self, what: str, *, diagnostics: Sequence[str] = (), **letter: Unpack[_Letter]
    ) -> None:
        super().__init__(what, notes=diagnostics, **letter)
        self.diagnostics = tuple(diagnostics)


class ParseError(IRError, ValueError):
    """A text is not MLIR, or not MLIR that this build of it knows."""


class VerificationError(IRError, ValueError):
    """A module parses but breaks a rule of one of its ops."""


class RecognitionError(IRError, ValueError):
    """An op on IR that no definition can say.

    Attributes:
        reason: the reason, in words that are the same for every op that is refused for it.
    """

    def __init__(self, what: str, *, reason: str, **letter: Unpack[_Letter]) -> None:
        super().__init__(what, **letter)
        self.reason = reason


class PipelineError(IRError):
    """A pass failed, or a pipeline cannot be read.

    Attributes:
        pass_name: the pass that failed, with its options as it was given.
        module_file: the module as that pass got it.
        command: one line of shell that repeats the failure.
    """

    def __init__(
        self,
        what: str,
        *,
        pass_name: str | None = None,
        module_file: Path | None = None,
        command: str | None = None,
        diagnostics: Sequence[str] = (),
        **letter: Unpack[_Letter],
    ) -> None:
        if command is not None and letter.get("hint") is None:
            letter["hint"] = f"repeat it with: {command}"
        super().__init__(what, diagnostics=diagnostics, **letter)
        self.pass_name = pass_name
        self.module_file = module_file
        self.command = command


class LoweringError(IRError, ValueError):
    """A module holds something that cannot be taken down to machine code."""


class ScheduleError(IRError, ValueError):
    """A step of a schedule cannot be applied; the module is unchanged by it."""


class GroupingError(LinalgExtError, ValueError):
    """A move on groups of ops is not legal, or a module is not the one that a plan was made for."""


class RewriteError(LinalgExtError, ValueError):
    """A pattern or a pass written in Python misuses its rewriter or its module."""


class SignatureError(LinalgExtError, TypeError):
    """A module lacks the entry that was asked for, or arrays cannot be passed to it."""


class UntrustedError(LinalgExtError, PermissionError):
    """An untrusted module reaches beyond itself."""


class CacheError(LinalgExtError, OSError):
    """The folder of compiled code cannot be used, or not be trusted."""


class ExportError(LinalgExtError, OSError):
    """A folder with an exported kernel cannot be written, read or trusted."""


class TargetError(LinalgExtError, ValueError):
    """A description of a machine cannot be true, or code for it cannot be made or run here."""


class UnresolvedSymbolError(LinalgExtError, LookupError):
    """Compiled code refers to a function that no library provides."""


class LibraryError(LinalgExtError, ValueError):
    """A native library cannot be registered, or its function cannot compute an op."""


class ArgumentError(LinalgExtError, ValueError):
    """An argument of a call does not fit the function that is called."""


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument is not an object of the kind that is wanted."""


class PathError(ArgumentError, RuntimeError):
    """An order of contraction does not contract all operands into one."""


class ArityError(ArgumentError, TypeError):
    """Too many or too few arguments, or an unknown or missing keyword."""


class TraceError(ArgumentError, TypeError):
    """A function under `jit` has code that cannot be recorded."""


class UnrecordedAttributeError(TraceError, AttributeError):
    """A traced value has no attribute of that name, though an array may have."""


class UnpicklableError(ArgumentError, TypeError):
    """Something that lives in one process was to be pickled or copied."""


class ShapeError(ArgumentError):
    """The rank or a dimension of an array is wrong."""


class DTypeError(ArgumentError, TypeError):
    """The element type or byte order of an array is wrong."""


class SubsetError(ArgumentError):
    """A tile, point or filter is invalid, or leaves the tensor that it is a part of."""


class LayoutError(ArgumentError):
    """The strides, alignment or writability of an array are wrong."""


class AliasingError(ArgumentError):
    """Two arguments share memory where they must not."""


class ExecutionError(LinalgExtError, RuntimeError):
    """Compiled code ran and reported a failure, such as an assertion of the module."""


class CrashError(LinalgExtError, RuntimeError):
    """A helper process died at its work; the message has the signal."""


def refuse_pickling(what: str, hint: str) -> NoReturn:
    """Raise the error for an object that lives in this process alone.

    Raises:
        ArgumentError: a TypeError too, as Python raises for objects that cannot be pickled.
    """
    raise UnpicklableError(
        f"{what} cannot be pickled or copied: it lives in this process", hint=hint
    )


_PACKAGE = Path(__file__).resolve().parent
_OWN_CODE = (
    str(_PACKAGE) + os.sep,
    str(_PACKAGE / "transforms") + os.sep,
    str((_PACKAGE / "transforms").resolve()) + os.sep,
)


_CELL = re.compile(r"/ipykernel_\d+/[^/]+$|^<ipython-input-")
"""File names of the cells of notebooks, which say nothing to a reader."""


_P = ParamSpec("_P")
_R = TypeVar("_R")


def located(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Have the errors of a function name the user's line, where they name no place."""

    @wraps(function)
    def at_users_line(*arguments: _P.args, **named: _P.kwargs) -> _R:
        try:
            return function(*arguments, **named)
        except LinalgExtError as error:
            error.where = error.where or caller_location()
            raise

    return at_users_line


def caller_location() -> SourceLocation | None:
    """Return the innermost line on the stack outside this library: the user's own line."""
    frame = users_frame()
    if frame is None:
        return None
    return SourceLocation(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def kind_of(value: object) -> str:
    """Return the name of a value's type behind its article: "an int", "a list"."""
    name = type(value).__name__
    vowels = ("a", "e", "i", "o", "u", "nd")
    return f"{'an' if name.lower().startswith(vowels) else 'a'} {name}"


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning at the user's line."""
    where = caller_location() or SourceLocation("<unknown>", 1)
    warnings.warn_explicit(message, category, where.file, where.line)


def users_frame() -> FrameType | None:
    """Return the innermost frame outside this library; None if all frames are of it."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_own_file(
        frame.f_code.co_filename, str(frame.f_globals.get("__name__", ""))
    ):
        frame = frame.f_back
    return frame


@lru_cache(maxsize=4096)
def _is_own_file(file: str, module: str) -> bool:
    # Frames of NumPy stand between a user and a traced value, those of PyTorch between a user and
    # a compiled model, those of contextlib between a `with` and the function behind it.
    if module.startswith(("numpy.", "torch.")) or module == "contextlib":
        return True
    # Code that PyTorch generates has no module.
    if f"{os.sep}torch{os.sep}_functorch{os.sep}" in file:
        return True
    # The op library is written as a user would write it: its lines count as a user's.
    if f"{os.sep}opdsl_defs{os.sep}" in file:
        return False
    return file.startswith(_OWN_CODE)


def _short_path(file: str) -> str:
    if _CELL.search(file):
        return "a cell of the notebook"
    relative = os.path.relpath(file) if os.path.isabs(file) else file
    return file if relative.startswith("..") else relative


def counted(number: int, noun: str) -> str:
    """Return a count with its noun for a message: `1 index`, `2 indices`, `0 operands`."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {'indices' if noun == 'index' else noun + 's'}"


def _indented(text: str) -> str:
    return "\n".join("  " + line for line in text.splitlines())
