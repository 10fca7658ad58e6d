"""One trace: the context it builds in, the sizes it knows, and its demands on them."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, cast

from linalg_ext.bindings import arith, cf, ir
from linalg_ext.errors import ShapeError, SourceLocation, caller_location, users_frame, warn
from linalg_ext.runtime.callbacks import Callback
from linalg_ext.runtime.dtypes import DType, by_dtype
from linalg_ext.structured.sizes import SizeOf
from linalg_ext.structured.sizes import value_of as built
from linalg_ext.symbolic.integers import Number, Symbol, substitute, symbols_of
from linalg_ext.tracing.values.sizes import (
    AnySize,
    Size,
    as_number,
    is_least,
    names_of,
    same,
    value_of,
)
from linalg_ext.utils.scopes import holding

_current: ContextVar[Trace | None] = ContextVar("linalg_ext_trace", default=None)
"""The trace that runs in this thread: values of another are of another context, or dead."""

_MANY = 2000
"""The operations of one line of which a warning tells: some take ten milliseconds to compile."""


_P = arith.CmpIPredicate
_RELATIONS: Mapping[str, tuple[Callable[[int, int], bool], arith.CmpIPredicate, str]] = {
    "==": (operator.eq, _P.eq, "!="),
    "!=": (operator.ne, _P.ne, "=="),
    "<": (operator.lt, _P.slt, ">="),
    "<=": (operator.le, _P.sle, ">"),
    ">": (operator.gt, _P.sgt, "<="),
    ">=": (operator.ge, _P.sge, "<"),
}
"""For each relation: of numbers, of values of type index, and the opposite one."""

_LARGE = 1 << 20
"""The size at which slices are recorded where the call at hand tells none."""


@dataclass(frozen=True)
class Demand:
    """A relation in which two sizes must be.

    Attributes:
        sign: of the relation: `==`, `>=`, ...
        operation: the operation that needs them to: `"add of shapes (m, 3) and (n, 3)"`.
        where: the line that does.
        is_choice: True where other calls are served by another kernel.
    """

    left: AnySize
    right: AnySize
    sign: str
    operation: str
    where: SourceLocation | None
    is_choice: bool = False

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """Return whether it holds for the sizes of a call."""
        relation, *_ = _RELATIONS[self.sign]
        return relation(value_of(self.left, sizes), value_of(self.right, sizes))

    def refusal(self, sizes: Mapping[str, int], notes: Sequence[str] = ()) -> ShapeError:
        """Return the error for a call of sizes for which it does not hold."""
        left, right = value_of(self.left, sizes), value_of(self.right, sizes)
        expected = {
            "==": "equal sizes; an open one is never stretched",
            ">=": f"{self.left} of {right} or more",
        }
        return ShapeError(
            f"{self.operation}: {self.left} is {left}, {self.right} is {right}",
            where=self.where,
            expected=expected.get(self.sign, f"{self.left} {self.sign} {right}"),
            hint="call the jitted function, which compiles a kernel for other sizes"
            if self.is_choice
            else None,
            notes=notes,
        )


class Trace:
    """The state of the trace of one function.

    Attributes:
        sizes: the sizes of the call at hand, which decide between recordings.
        demands: the conditions that the sizes of a call must satisfy.
        known: for each dimension that proved equal to another size, that size.
        places: for each symbolic dimension, an argument of the function with it, and the axis.
        callbacks: functions of Python that the traced function calls.
        regions: the numbers of the loops and branches under recording, outermost first.
        recorded: the calls that were recorded, by all that their recording depends on.
        lines: the number of operations that were recorded of each line, by file and line.
    """

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.sizes = sizes
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
        self._demand(left, "==", right, operation)
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
            self._demand(left, ">=", right, operation)
        return answer is not False

    def number(self, size: AnySize) -> Number:
        """Return a size in the sizes of the function's arguments."""
        number = as_number(self.resolved(size))
        names = {str(symbol.key) for symbol in symbols_of(number)}
        sizes = {name: Symbol(SizeOf(*self.places[name]), lower=0) for name in names}
        return substitute(number, sizes)

    def _demand(self, left: AnySize, sign: str, right: AnySize, operation: str) -> None:
        """Demand a relation of all calls, the one at hand among them.

        Raises:
            ShapeError: it does not hold for that one, which would be refused when it is recorded.
        """
        demand = Demand(left, right, sign, operation, caller_location())
        if names_of(left, right) <= self.sizes.keys() and not demand.holds(self.sizes):
            raise demand.refusal(self.sizes)
        self.demands.append(demand)

    def chooses_at_least(self, left: AnySize, right: AnySize, operation: str) -> bool:
        """Return whether a size is at least another in the call at hand, as `compares` does.

        Sizes that the call does not tell are large.
        """
        left, right = self.resolved(left), self.resolved(right)
        answer = is_least(left, right)
        if answer is not None:
            return answer
        # Accesses that are not clipped to the end of an array have checks of their own.
        demand = Demand(left, right, ">=", operation, caller_location(), is_choice=True)
        sizes = {**dict.fromkeys(names_of(left, right), _LARGE), **self.sizes}
        return self._chosen(demand, sizes, is_checked=not demand.holds(sizes))

    def compares(self, left: AnySize, sign: str, right: AnySize) -> bool | None:
        """Return whether a relation holds in the call at hand, and in all calls of the kernel.

        Calls in which it does not are served by another kernel. None where the call has no sizes.
        """
        left, right = self.resolved(left), self.resolved(right)
        if not names_of(left, right) <= self.sizes.keys():
            return None
        operation = f"the comparison {left} {sign} {right}"
        demand = Demand(left, right, sign, operation, caller_location(), is_choice=True)
        return self._chosen(demand, self.sizes, is_checked=True)

    def counts(self, size: Size) -> int | None:
        """Return the number that a size is in the call at hand, and in all calls of the kernel."""
        own = self.resolved(size)
        if isinstance(own, int):
            return own
        if not names_of(own) <= self.sizes.keys():
            return None
        number = value_of(own, self.sizes)
        self.compares(own, "==", number)
        return number

    def _chosen(self, demand: Demand, sizes: Mapping[str, int], *, is_checked: bool) -> bool:
        """Return whether a relation holds for sizes, and demand the answer.

        Args:
            is_checked: whether the code checks it as well, as that of an exported kernel has to.
        """
        holds = demand.holds(sizes)
        if not holds:
            demand = replace(demand, sign=_RELATIONS[demand.sign][2])
        self.demands.append(demand)
        if is_checked:
            predicate = _RELATIONS[demand.sign][1]
            with at_users_line():
                left, right = self.value(demand.left), self.value(demand.right)
                message = f"{demand.operation}: the kernel is for {demand.left} {demand.sign} "
                message += f"{demand.right}: {demand.where}"
                cf.AssertOp(arith.CmpIOp(predicate, left, right).result, message)
        return holds

    def value(self, size: AnySize) -> ir.Value:
        """Return a size as a value of type index, made at the insertion point."""
        return built(self.number(size))


def new_trace(sizes: Mapping[str, int]) -> AbstractContextManager[Trace]:
    """Return a trace: traced values made inside can be used inside, and nowhere else."""
    return holding(_current, Trace(sizes))


def untraced() -> AbstractContextManager[None]:
    """Run code of others as if nothing were traced in this thread."""
    return holding(_current, None)


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
        warn(
            f"{_MANY} operations of this line are recorded, as rounds of a loop in Python are: "
            "lx.loop(count, body, state) records one round for all"
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
