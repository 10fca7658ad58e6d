"""One trace: the context it builds in, the sizes it knows, and its demands on them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, cast

from linalg_ext.bindings import arith, cf, ir, tensor
from linalg_ext.errors import ShapeError, SourceLocation, caller_location, users_frame
from linalg_ext.runtime.callbacks import Callback
from linalg_ext.runtime.dtypes import DType, by_dtype
from linalg_ext.structured.constants import integer_constant
from linalg_ext.tracing.values.sizes import AnySize, Quotient, Size, same, value_of

_current: ContextVar[Trace | None] = ContextVar("linalg_ext_trace", default=None)
"""The trace that runs in this thread: values of another are of another context, or dead."""


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
        left, right: the sizes.
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
    """

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.sizes = sizes
        self.demands: list[Demand] = []
        self.known: dict[str, AnySize] = {}
        self.places: dict[str, tuple[ir.Value, int]] = {}
        self.callbacks: list[Callback] = []
        self.regions: list[int] = [0]
        self.recorded: dict[Hashable, Any] = {}
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
        difference = self.resolved(left) - self.resolved(right)
        if not isinstance(difference, Size):
            return difference >= 0
        # A size is not negative, and so is not a sum of sizes.
        if any(factor < 0 for _, factor in difference.terms):
            self._demand(left, ">=", right, operation)
        return True

    def _demand(self, left: AnySize, sign: str, right: AnySize, operation: str) -> None:
        """Demand a relation of all calls, the one at hand among them.

        Raises:
            ShapeError: it does not hold for that one, which would be refused when it is recorded.
        """
        demand = Demand(left, right, sign, operation, caller_location())
        difference = left - right
        names = difference.names if isinstance(difference, Size) else frozenset()
        if names <= self.sizes.keys() and not demand.holds(self.sizes):
            raise demand.refusal(self.sizes)
        self.demands.append(demand)

    def chooses_at_least(self, left: AnySize, right: AnySize, operation: str) -> bool:
        """Return whether a size is at least another in the call at hand, as `compares` does.

        Sizes that the call does not tell are large.
        """
        left, right = self.resolved(left), self.resolved(right)
        difference = left - right
        if not isinstance(difference, Size):
            return difference >= 0
        if all(factor > 0 for _, factor in difference.terms):
            return True
        # Accesses that are not clipped to the end of an array have checks of their own.
        demand = Demand(left, right, ">=", operation, caller_location(), is_choice=True)
        sizes = {**dict.fromkeys(difference.names, _LARGE), **self.sizes}
        return self._chosen(demand, sizes, is_checked=not demand.holds(sizes))

    def compares(self, left: AnySize, sign: str, right: AnySize) -> bool | None:
        """Return whether a relation holds in the call at hand, and in all calls of the kernel.

        Calls in which it does not are served by another kernel. None where the call has no sizes.
        """
        left, right = self.resolved(left), self.resolved(right)
        difference = left - right
        names = difference.names if isinstance(difference, Size) else frozenset()
        if not names <= self.sizes.keys():
            return None
        operation = f"the comparison {left} {sign} {right}"
        demand = Demand(left, right, sign, operation, caller_location(), is_choice=True)
        return self._chosen(demand, self.sizes, is_checked=True)

    def _chosen(self, demand: Demand, sizes: Mapping[str, int], *, is_checked: bool) -> bool:
        """Return whether a relation holds for sizes, and demand the answer.

        Args:
            demand: the relation.
            sizes: of the call at hand.
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
        size = self.resolved(size)
        index = ir.IndexType.get()
        if not isinstance(size, Size):
            return integer_constant(index, size)
        total: ir.Value | None = None
        for atoms, factor in size.terms:
            product = None if factor == 1 and atoms else integer_constant(index, factor)
            for atom in atoms:
                value = self._atom(atom)
                product = value if product is None else arith.MulIOp(product, value).result
            if product is not None:
                total = product if total is None else arith.AddIOp(total, product).result
        if total is None:
            return integer_constant(index, 0)
        return total

    def _atom(self, atom: str | Quotient) -> ir.Value:
        if isinstance(atom, str):
            argument, axis = self.places[atom]
            return tensor.DimOp(argument, integer_constant(ir.IndexType.get(), axis)).result
        left, right = self.value(atom.left), self.value(atom.right)
        # Sizes are not negative: rounding down and towards zero are one.
        op = arith.DivUIOp if atom.sign == "//" else arith.RemUIOp
        result: ir.Value = op(left, right).result
        return result


@contextmanager
def new_trace(sizes: Mapping[str, int]) -> Iterator[Trace]:
    """Return a trace: traced values made inside can be used inside, and nowhere else."""
    trace = Trace(sizes)
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
    frame = users_frame()
    if frame is None or running() is None:
        return None
    return ir.Location.file(frame.f_code.co_filename, frame.f_lineno, 0)


def static_sizes(shape: Sequence[AnySize]) -> list[int]:
    """Return a shape as MLIR types have it: open sizes by the bindings' mark."""
    trace = running()
    sizes = [trace.resolved(size) if trace else size for size in shape]
    if not any(isinstance(size, Size) for size in sizes):
        return cast("list[int]", sizes)
    open_size: Any = ir.ShapedType.get_dynamic_size()
    return [open_size if isinstance(size, Size) else size for size in sizes]
