"""The op that is being defined: collects the statements of the body of an op's function."""

from __future__ import annotations

import functools
import linecache
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import CodeType
from typing import TypeVar as PyTypeVar

from linalg_ext.definition.checks import check, check_access
from linalg_ext.definition.functions import BINARY, TERNARY, TYPE, FunctionKind
from linalg_ext.definition.model import (
    Assignment,
    Interface,
    OpDefinition,
    Operand,
    OperandKind,
    OpMethod,
    Reduction,
    carried_along,
    dims_of,
    runs_with,
)
from linalg_ext.definition.renaming import rewrite_expression
from linalg_ext.definition.scalar import (
    Access,
    Accumulation,
    Apply,
    Carried,
    Const,
    Index,
    Lookup,
    ScalarExpr,
    Size,
    apply,
    as_operand,
    position,
    type_of,
)
from linalg_ext.definition.types import TV
from linalg_ext.errors import DefinitionError, SourceLocation, caller_location
from linalg_ext.symbolic.affine import AffineDim, AffineExpr, AffineKind

_T = PyTypeVar("_T")


class OpBuilder:
    """Collects operands, assignments and annotations; `finish` makes the checked definition.

    Args:
        code: the function that defines the op.
        upstream: accept an output with more or fewer indices than sizes, as upstream does.
    """

    def __init__(self, code: CodeType, *, upstream: bool = False) -> None:
        self.code = code
        self.is_open = True
        self._upstream = upstream
        self.operands: list[Operand] = []
        self.domain: list[str] = []
        self.implements: list[Interface] = []
        self.defines: list[OpMethod] = []
        self._scattered: list[str] = []
        self._assignments: list[Assignment] = []
        self._assigned_at: list[SourceLocation | None] = []
        self._declared_at: dict[str, SourceLocation | None] = {}

    @property
    def location(self) -> SourceLocation:
        """The line of `def`: looked for when an error needs it."""
        first = line = self.code.co_firstlineno
        while text := linecache.getline(self.code.co_filename, line):
            if text.lstrip().startswith(("def ", "async def ")):
                return SourceLocation(self.code.co_filename, line, self.code.co_name)
            line += 1
        return SourceLocation(self.code.co_filename, first, self.code.co_name)

    def declare(self, operand: Operand, location: SourceLocation | None) -> None:
        """Add an operand, declared at a line."""
        self.operands.append(operand)
        self._declared_at[operand.name] = location

    def check_access(self, operand: Operand, indices: Sequence[object]) -> None:
        """Raise where indices and sizes do not match; `finish` sees to an upstream op's outputs."""
        if not (self._upstream and operand.kind is OperandKind.OUTPUT_TENSOR):
            check_access(operand, indices, caller_location())

    def check_divisions(self, name: str, indices: tuple[AffineExpr, ...]) -> None:
        """Raise where an index is divided by `/`, which in upstream's OpDSL rounds up."""
        if self._upstream:
            return
        for index in indices:
            if any(part.kind is AffineKind.CEILDIV for part in index.parts()):
                raise DefinitionError(
                    f"`{name}[{', '.join(map(str, indices))}]` divides an index by `/`",
                    where=caller_location(),
                    hint="write `//`, which rounds down; (D.m + 1) // 2 rounds up",
                )

    def scatter(self, target: Access | Lookup, value: ScalarExpr | Accumulation | float) -> None:
        """Record `O[places] = value`, or `O[places] += value`, at places that are computed.

        It is a reduction at each element of the output, over the dimensions of the places, of the
        values written to that element. A write outside of the output is left out.
        """
        indices: list[AffineExpr] = []
        conditions: list[ScalarExpr] = []
        for axis, index in enumerate(target.indices):
            if isinstance(index, AffineDim) and index not in indices:
                indices.append(index)
                continue
            dim = AffineDim(f"{target.operand}_{axis}")
            self._scattered.append(dim.name)
            indices.append(dim)
            conditions.append(apply(BINARY["eq"], (as_place(index), as_place(dim))))
        is_at_place = functools.reduce(lambda x, y: apply(BINARY["and"], (x, y)), conditions)
        element = Access(target.operand, tuple(indices), target.type_var)
        if not isinstance(value, Accumulation):
            value = Accumulation(
                None, as_operand(value, target.type_var, f"{target} = ..."), None, None, 0
            )
        new = rewrite_expression(value.value, lambda part: element if part == target else part)
        dims = value.dims
        if dims is None:
            dims = _read_dims(apply(TERNARY["select"], (is_at_place, new, new)), element)
        function, neutral = value.function, _NEUTRAL.get(str(value.function))
        if function is not None and neutral is not None and value.attribute is None:
            added = apply(TERNARY["select"], (is_at_place, new, neutral))
            self.assign(element, Accumulation(function, added, dims, is_scatter=True))
            return
        start = value.initial
        if function is not None:
            new, start = Apply(function, (element, new), attribute=value.attribute), function
        update = apply(TERNARY["select"], (is_at_place, new, element))
        self.assign(element, Accumulation(None, update, dims, None, start, is_scatter=True))

    def assign(self, target: Access, value: ScalarExpr | Accumulation | float) -> None:
        """Record `target = value`, or `target += value`."""
        reduction = None
        if isinstance(value, Accumulation):
            dims = value.dims
            if dims is None:
                dims = _read_dims(value.value, target)
            function, attribute = value.function, value.attribute
            if function is None:
                reduction = Reduction(None, dims, None, value.initial, value.is_scatter)
                value = value.value
            else:
                reduction = Reduction(function, dims, attribute, None, value.is_scatter)
                value = Apply(function, (target, value.value), attribute=attribute)
        expr = as_operand(value, target.type_var, f"{target} = ...")
        expr = rewrite_expression(expr, lambda part: _carried(part, target))
        assignment = Assignment(target, expr, reduction)
        self._assigned_at.append(caller_location())
        self._assignments.append(assignment)

    def finish(self, name: str, cpp_class_name: str, doc: str) -> OpDefinition:
        """The definition; a DefinitionError at the line that is wrong."""
        self.is_open = False
        if not self._assignments:
            raise DefinitionError(
                f"{name} assigns nothing",
                where=self.location,
                hint="assign to an output, as in C[D.m, D.n] += A[D.m, D.k] * B[D.k, D.n]",
            )
        self._assignments = [
            _fold_as_reduction(assignment, self._assignments) for assignment in self._assignments
        ]
        definition = OpDefinition(
            name=name,
            cpp_class_name=cpp_class_name,
            doc=doc,
            operands=tuple(self.operands),
            dims=(*self._scattered, *self.domain),
            assignments=tuple(self._assignments),
            implements=tuple(self.implements),
            defines=tuple(self.defines),
        )
        if not self.domain:
            # Without domain(), the iteration space is in the order of the names, as upstream's.
            dims = sorted(definition.indexed_dims | definition.reduction_dims)
            definition = replace(definition, dims=tuple(dims))
        return check(definition, self._locate, strict=not self._upstream)

    def _locate(self, part: Assignment | Operand | None) -> SourceLocation | None:
        if isinstance(part, Operand):
            return self._declared_at[part.name]
        for assignment, location in zip(self._assignments, self._assigned_at, strict=True):
            if assignment is part:
                return location
        return self.location


_NEUTRAL = {"add": 0, "mul": 1}
"""Neutral elements that are one number in all element types."""


def _carried(expr: ScalarExpr, target: Access) -> ScalarExpr:
    """Turn a read of the target one step before into a carried value of the recurrence."""
    if not isinstance(expr, Access) or expr.operand != target.operand:
        return expr
    if len(expr.indices) != len(target.indices) or not carried_along(target, expr.indices):
        return expr
    return Carried(expr.operand, expr.indices, expr.type_var)


def as_place(index: AffineExpr | ScalarExpr) -> ScalarExpr:
    """Return a computed index as an expression of int64.

    Where elements meet positions, both become int64 first; else the index is cast as a whole.
    """
    expr = position(index) if isinstance(index, AffineExpr) else index
    if any(isinstance(part, (Index, Size)) for part in expr.walk()):
        return _widened(expr)
    return expr if type_of(expr) == TV.I64 else Apply(TYPE["cast_signed"], (expr,), TV.I64)


def _widened(expr: ScalarExpr) -> ScalarExpr:
    if isinstance(expr, Apply) and not expr.function.is_predicate:
        if expr.function.kind is not FunctionKind.TYPE:
            is_choice = expr.function == TERNARY["select"]
            unchecked = expr.args[:1] if is_choice else ()
            return replace(expr, args=(*unchecked, *map(_widened, expr.args[len(unchecked) :])))
        if isinstance(expr.args[0], Const):
            expr = expr.args[0]  # a number beside an element
    return expr if type_of(expr) == TV.I64 else Apply(TYPE["cast_signed"], (expr,), TV.I64)


def _fold_as_reduction(fold: Assignment, rest: Sequence[Assignment]) -> Assignment:
    """Turn a lone fold that combines its target with a new value into a plain reduction."""
    target, value, reduction = fold.target, fold.value, fold.reduction
    if (
        reduction is not None
        and reduction.function is None
        and isinstance(value, Apply)
        and value.function == reduction.initial
        and value.args[0] == target
        and target not in value.args[1].walk()
        and not runs_with(fold, rest)
    ):
        return replace(fold, reduction=Reduction(value.function, reduction.dims))
    return fold


def _read_dims(value: ScalarExpr, target: Access) -> tuple[str, ...]:
    """Dimensions that a value reads and its target lacks, in the order of the reads."""
    read = dict.fromkeys(dim for expr in value.walk() for dim in dims_of(expr))
    return tuple(dim for dim in read if dim not in dims_of(target))


_current = threading.local()


def refuse_nesting(code: CodeType) -> None:
    """Raise inside the definition of an op, but for ops of a file that it imports."""
    outer = getattr(_current, "builder", None)
    if outer is not None and outer.code.co_filename == code.co_filename:
        raise DefinitionError(
            "an op is defined inside the definition of another",
            where=caller_location(),
            hint="define them one after the other",
        )


@contextmanager
def building(builder: OpBuilder) -> Iterator[OpBuilder]:
    """Make a builder the one that `domain`, `implements` and `defines` speak to."""
    outer = getattr(_current, "builder", None)
    _current.builder = builder
    try:
        yield builder
    finally:
        _current.builder = outer


def _builder(user: str) -> OpBuilder:
    builder = getattr(_current, "builder", None)
    if not isinstance(builder, OpBuilder):
        raise DefinitionError(
            f"{user}() is called outside the definition of an op",
            where=caller_location(),
            hint="call it in the body of a function under @structured_op",
        )
    return builder


def domain(*dims: AffineDim) -> None:
    """Fix the order of the iteration space, outermost dimension first."""
    builder = _builder("domain")
    for dim in _all_of(dims, AffineDim, "domain", "dimensions, as in domain(D.m, D.n)"):
        builder.domain.append(dim.name)


def implements(*interfaces: Interface) -> None:
    """Say which interfaces the op implements, for the generators."""
    builder = _builder("implements")
    builder.implements.extend(
        _all_of(interfaces, Interface, "implements", "interfaces, as in ContractionOpInterface")
    )


def defines(*methods: OpMethod) -> None:
    """Say which methods the op defines, for the generators."""
    builder = _builder("defines")
    builder.defines.extend(_all_of(methods, OpMethod, "defines", "methods, as in Canonicalizer"))


def _all_of(values: Sequence[_T], kind: type[_T], user: str, expected: str) -> Sequence[_T]:
    for value in values:
        if not isinstance(value, kind):
            raise DefinitionError(f"{user}({value!r})", where=caller_location(), expected=expected)
    return values


ContractionOpInterface = Interface("LinalgContractionOpInterface")
ConvolutionOpInterface = Interface("LinalgConvolutionOpInterface")
FillOpInterface = Interface("LinalgFillOpInterface")
Canonicalizer = OpMethod("hasCanonicalizer")
