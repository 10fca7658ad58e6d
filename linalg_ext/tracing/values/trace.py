"""One trace: the context it builds in, the sizes it knows, and its demands on them."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, cast

from linalg_ext.bindings import ir
from linalg_ext.errors import SourceLocation, caller_location, users_frame
from linalg_ext.runtime.callbacks import Callback
from linalg_ext.runtime.dtypes import DType, by_dtype
from linalg_ext.structured.sizes import SizeOf, value_of
from linalg_ext.symbolic.integers import Number, Symbol, substitute, symbols_of
from linalg_ext.tracing.values.sizes import AnySize, Size, as_number, is_least, same

_current: ContextVar[Trace | None] = ContextVar("linalg_ext_trace", default=None)
"""The trace that runs in this thread: values of another are of another context, or dead."""

_MANY = 1000
"""The operations of one line of which a warning tells: some take ten milliseconds to compile."""


@dataclass(frozen=True)
class Demand:
    """Two sizes that must be equal, or of which one must be the larger.

    Attributes:
        left, right: the sizes.
        sign: `==` or `>=`.
        operation: the operation that needs them to: `"add of shapes (m, 3) and (n, 3)"`.
        where: the line that does.
    """

    left: AnySize
    right: AnySize
    sign: str
    operation: str
    where: SourceLocation | None


class Trace:
    """The state of the trace of one function.

    Attributes:
        demands: the conditions that the sizes of a call must satisfy.
        known: for each dimension that proved equal to another size, that size.
        places: for each symbolic dimension, an argument of the function with it, and the axis.
        callbacks: functions of Python that the traced function calls.
        regions: the numbers of the loops and branches under recording, outermost first.
        recorded: the calls that were recorded, by all that their recording depends on.
        lines: the number of operations that were recorded of each line, by file and line.
    """

    def __init__(self) -> None:
        self.demands: list[Demand] = []
        self.known: dict[str, AnySize] = {}
        self.places: dict[str, tuple[ir.Value, int]] = {}
        self.callbacks: list[Callback] = []
        self.regions: list[int] = [0]
        self.recorded: dict[Hashable, Any] = {}
        self.lines: Counter[tuple[str, int]] = Counter()
        self._count = 0
        self._elements: dict[DType, ir.Type] = {}
        self._iterators: dict[str, ir.Attribute] = {}

    def element(self, dtype: DType) -> ir.Type:
        """Return the element type for a dtype."""
        element = self._elements.get(dtype)
        if element is None:
            element = self._elements[dtype] = ir.Type.parse(by_dtype(dtype).mlir)
        return element

    def iterator(self, kind: str) -> ir.Attribute:
        """Return the attribute for `parallel` or `reduction`."""
        if kind not in self._iterators:
            self._iterators[kind] = ir.Attribute.parse(f"#linalg.iterator_type<{kind}>")
        return self._iterators[kind]

    @contextmanager
    def region(self) -> Iterator[None]:
        """Record the body of a loop or of a branch: its values are of use inside of it alone."""
        self._count += 1
        self.regions.append(self._count)
        try:
            yield
        finally:
            self.regions.pop()

    def resolved(self, size: AnySize) -> AnySize:
        """Return a size in the dimensions that are left."""
        while isinstance(size, Size) and not self.known.keys().isdisjoint(size.names):
            size = size.substitute(self.known)
        return size

    def agree(self, left: AnySize, right: AnySize, operation: str) -> bool:
        """Return whether two sizes may be equal; a demand on the call where that alone tells."""
        left, right = self.resolved(left), self.resolved(right)
        answer = same(left, right)
        if answer is not None:
            return answer
        self.demands.append(Demand(left, right, "==", operation, caller_location()))
        for size, other in ((left, right), (right, left)):
            name = size.name if isinstance(size, Size) else None
            if name is not None and not (isinstance(other, Size) and name in other.names):
                self.known[name] = other
                break
        return True

    def at_least(self, left: AnySize, right: AnySize, operation: str) -> bool:
        """Return whether a size can be at least another; a demand on the call where it decides."""
        left, right = self.resolved(left), self.resolved(right)
        answer = is_least(left, right)
        if answer is None:
            self.demands.append(Demand(left, right, ">=", operation, caller_location()))
        return answer is not False

    def number(self, size: AnySize) -> Number:
        """Return a size in the sizes of the function's arguments."""
        number = as_number(self.resolved(size))
        names = {str(symbol.key) for symbol in symbols_of(number)}
        sizes = {name: Symbol(SizeOf(*self.places[name]), lower=0) for name in names}
        return substitute(number, sizes)

    def value(self, size: AnySize) -> ir.Value:
        """Return a size as a value of type index, made at the insertion point."""
        return value_of(self.number(size))


@contextmanager
def new_trace() -> Iterator[Trace]:
    """Return a trace: traced values made inside can be used inside, and nowhere else."""
    trace = Trace()
    token = _current.set(trace)
    try:
        yield trace
    finally:
        _current.reset(token)


@contextmanager
def untraced() -> Iterator[None]:
    """Run code of others as if nothing were traced in this thread."""
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)


running: Callable[[], Trace | None] = _current.get
"""Return the trace that runs in this thread, if one does."""


def at_users_line() -> AbstractContextManager[Any]:
    """Build ops with the user's line for their location, in the block under `with`."""
    location: Any = users_location()
    return nullcontext() if location is None else location


def users_location() -> ir.Location | None:
    """Return the user's line, inside a `with` block of a context; None outside of a trace."""
    frame, trace = users_frame(), running()
    if frame is None or trace is None:
        return None
    line = frame.f_code.co_filename, frame.f_lineno
    trace.lines[line] += 1
    if trace.lines[line] == _MANY:
        warnings.warn_explicit(
            f"{_MANY} operations of this line are recorded, as rounds of a loop in Python are: "
            "each is compiled by itself; lx.loop(count, body, state) records one round for all",
            UserWarning,
            *line,
        )
    return ir.Location.file(*line, 0)


def static_sizes(shape: Sequence[AnySize]) -> list[int]:
    """Return a shape as MLIR types have it: open sizes by the bindings' mark."""
    trace = running()
    sizes = [trace.resolved(size) if trace else size for size in shape]
    if not any(isinstance(size, Size) for size in sizes):
        return cast("list[int]", sizes)
    open_size: Any = ir.ShapedType.get_dynamic_size()
    return [open_size if isinstance(size, Size) else size for size in sizes]
