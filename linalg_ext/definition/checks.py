"""Checks that a definition is well-formed; every front end runs them when an op is declared."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import TypeVar

from linalg_ext.definition.model import (
    Assignment,
    OpDefinition,
    Operand,
    OperandKind,
    carried_along,
    domain_of,
    is_one_fold,
    read_dims,
    symbols_read,
)
from linalg_ext.definition.scalar import Access, Apply, Carried, Index, Lookup, Size
from linalg_ext.definition.types import PREDEFINED
from linalg_ext.errors import DefinitionError, SourceLocation, counted
from linalg_ext.symbolic.affine import AffineConst, AffineDim, AffineExpr

_T = TypeVar("_T")

Place = SourceLocation | str | None
"""The place of a mistake in a source, where it is known."""

Locate = Callable[[Assignment | Operand | None], Place]
"""A function that returns the source location of an assignment or operand; for None, of the op."""

RESERVED_ATTRIBUTES = frozenset(
    {
        "inputs",
        "outputs",
        "result_tensors",
        "region",
        "iterator_types",
        "indexing_maps",
        "getRegionBuilder",
        "getLibraryCallName",
    }
)
"""Names that generated op classes already use for methods."""


def check(
    definition: OpDefinition, locate: Locate = lambda part: None, *, strict: bool = True
) -> OpDefinition:
    """Return the definition, or raise for the first rule that it breaks.

    Args:
        locate: tells where a part of it was written.
        strict: whether two mistakes that upstream accepts are errors: an output with more or fewer
            indices than sizes (else a warning), and a function attribute that nothing applies (else
            nothing).

    Raises:
        DefinitionError: with the place that `locate` gives.
    """
    _check_operands(definition, locate)
    _check_dims(definition, locate(None))
    for assignment in definition.assignments:
        _check_assignment(definition, assignment, locate(assignment), strict)
    _check_outputs(definition, locate)
    _check_uses(definition, locate, strict)
    return definition


def _check_operands(definition: OpDefinition, locate: Locate) -> None:
    for name in _repeated(operand.name for operand in definition.operands):
        raise DefinitionError(f"operand {name} is declared twice", where=locate(None))
    stages = {True: "an input", False: "an output or attribute"}
    last_stage = 0
    for operand in definition.operands:
        where = locate(operand)
        stage = 1 if operand.kind is OperandKind.OUTPUT_TENSOR else 2
        if operand.kind.is_input:
            stage = 0
        if stage < last_stage:
            raise DefinitionError(
                f"operand {operand.name}, {stages[operand.kind.is_input]}, "
                "comes after an operand that must follow it",
                where=where,
                expected="inputs first, then outputs, then attributes",
            )
        last_stage = stage
        if operand.kind.is_attribute and operand.name in RESERVED_ATTRIBUTES:
            raise DefinitionError(
                f"attribute {operand.name} has the name of a method of structured ops",
                where=where,
                hint=f"rename it; taken are {', '.join(sorted(RESERVED_ATTRIBUTES))}",
            )
        for expr in operand.shape:
            if not expr.is_symbolic:
                raise DefinitionError(
                    f"the shape of {operand.name} uses dimension {', '.join(expr.dims)}",
                    where=where,
                    hint="shapes are over symbols (S.M); dimensions (D.m) belong in indices",
                )
    owner: dict[str, Operand] = {}
    for operand in definition.attributes:
        for symbol in (symbol for expr in operand.shape for symbol in expr.symbols):
            if symbol in owner:
                raise DefinitionError(
                    f"symbol {symbol} is bound twice, by {owner[symbol].name} and {operand.name}",
                    where=locate(operand),
                    hint="give each value of an index attribute a symbol of its own",
                )
            owner[symbol] = operand
    if not definition.outputs:
        raise DefinitionError(
            f"{definition.name} has no output",
            where=locate(None),
            hint="declare one with TensorDef(..., output=True)",
        )


def _check_dims(definition: OpDefinition, where: Place) -> None:
    for dim in _repeated(definition.dims):
        raise DefinitionError(f"domain() names dimension {dim} twice", where=where)
    used = definition.indexed_dims | definition.reduction_dims
    unknown = sorted(used - set(definition.dims))
    if unknown:
        raise DefinitionError(
            f"dimension {', '.join(unknown)} is used but is not in "
            f"domain({_dims(definition.dims)})",
            where=where,
            hint="add it to domain(), or drop the call: the order is then that of the names",
        )
    unsized = [dim for dim in definition.dims if dim in used - definition.indexed_dims]
    if unsized:
        raise DefinitionError(
            f"dimension {unsized[0]} is reduced, and nothing is indexed by it: no shape says how "
            "long it is",
            where=where,
            hint=f"read an operand at D.{unsized[0]}, or declare one with index_dims=[...] for it",
        )
    unused = [dim for dim in definition.dims if dim not in used]
    if unused:
        raise DefinitionError(
            f"dimension {', '.join(unused)} is in domain() but nothing is indexed by it",
            where=where,
            hint="remove it from domain(), or give a shape-only tensor index_dims=[...] with it",
        )


def _check_assignment(
    definition: OpDefinition, assignment: Assignment, where: Place, strict: bool
) -> None:
    target = assignment.target
    if definition.operand(target.operand).kind is not OperandKind.OUTPUT_TENSOR:
        raise DefinitionError(
            f"`{target}` is assigned, but {target.operand} is an input",
            where=where,
            hint=f"declare it with TensorDef(..., output=True), or assign to "
            f"{' or '.join(output.name for output in definition.outputs)}",
        )
    for expr in (target, *assignment.value.walk()):
        if isinstance(expr, Access):
            operand = definition.operand(expr.operand)
            if strict or operand.kind is not OperandKind.OUTPUT_TENSOR:
                check_access(operand, expr.indices, where)
            elif expr is target:
                _warn_of_rank(operand, target, where)
            _check_symbols(definition, expr, where)
        elif isinstance(expr, Size) and expr.symbol not in definition.symbols:
            raise DefinitionError(
                f"size({expr.symbol}): {expr.symbol} is neither a symbol of a shape "
                "nor an index attribute",
                where=where,
                expected=f"one of {', '.join(f'S.{name}' for name in definition.symbols)}",
            )
        elif isinstance(expr, Index) and expr.dim not in definition.dims:
            raise DefinitionError(
                f"index({expr.dim}): {expr.dim} is not a dimension of the iteration space",
                where=where,
                expected=f"one of {_dims(definition.dims)}",
            )
        elif isinstance(expr, Apply):
            _check_type_var(definition, expr, where)
        elif isinstance(expr, Lookup):
            _check_lookup(definition, assignment, expr, where)
        elif isinstance(expr, Carried):
            _check_recurrence(definition, assignment, expr, where)
    _check_target(definition.operand(target.operand), target, where)
    _check_coverage(definition, assignment, where)
    for expr in assignment.value.walk():
        if not isinstance(expr, Access) or expr.operand != target.operand:
            continue
        if expr.indices != target.indices:
            raise DefinitionError(
                f"output {target.operand} is written as `{target}` and read as `{expr}`",
                where=where,
                hint="an output is read with the indices that it is written with, or one step "
                "before along one dimension (O[D.n - 1]: a recurrence); a loop that carries more "
                "is lx.loop under lx.jit, or `scan` of linalg_ext.dialects.linalg_ext in IR",
            )


def _check_lookup(
    definition: OpDefinition, assignment: Assignment, lookup: Lookup, where: Place
) -> None:
    check_access(definition.operand(lookup.operand), lookup.indices, where)
    if lookup.operand == assignment.target.operand:
        raise DefinitionError(
            f"`{assignment}` looks its own output up",
            where=where,
            hint="look up an input, or the output of an earlier statement",
        )
    for index in lookup.indices:
        if isinstance(index, AffineExpr) and not isinstance(index, (AffineDim, AffineConst)):
            raise DefinitionError(
                f"`{lookup}` has the index `{index}` beside a computed one",
                where=where,
                expected="plain dimensions and numbers there, or index(D.x) within a computed one",
            )


def _check_recurrence(
    definition: OpDefinition, assignment: Assignment, carried: Carried, where: Place
) -> None:
    """Raise unless a recurrence reads one step before along one dimension, and reduces nothing."""
    if not all(isinstance(index, AffineDim) for index in assignment.target.indices):
        raise DefinitionError(
            f"`{assignment.target}` is written by a recurrence, and has an index that "
            "is not a plain dimension",
            where=where,
            hint="give the output an index D.x for each of its dimensions",
        )
    along = carried_along(assignment.target, carried.indices)
    if carried.operand != assignment.target.operand or along is None:
        raise DefinitionError(
            f"`{assignment.target}` reads `{carried}`, which is not an element one step before",
            where=where,
            expected="the indices of the target, one of them less or more by 1",
        )
    if (
        assignment.reduction is not None
        or assignment.reads_target
        or along != assignment.recurrence
    ):
        raise DefinitionError(
            f"`{assignment}` is more than a recurrence along one dimension",
            where=where,
            expected=f"`=`, and of {carried.operand} the element one step before alone",
            hint="write the reduction to an output of its own, and read that",
        )
    for other in definition.assignments:
        if (
            other is not assignment
            and any(
                isinstance(e, (Access, Lookup)) and e.operand == carried.operand
                for e in other.value.walk()
            )
            and definition.assignments.index(other) < definition.assignments.index(assignment)
        ):
            raise DefinitionError(
                f"`{other}` reads {carried.operand} before its recurrence",
                where=where,
                hint=f"put it behind `{assignment}`",
            )


def check_access(operand: Operand, indices: Sequence[object], where: Place) -> None:
    """Raise unless there is one index for each dimension of the operand."""
    if len(indices) == operand.rank:
        return
    shape = f"({', '.join(map(str, operand.shape))})"
    written = f"{operand.name}[{', '.join(map(str, indices)) or None}]"
    raise DefinitionError(
        f"`{written}` has {counted(len(indices), 'index')}, but {operand.name} is of rank "
        f"{operand.rank}: "
        f"{operand.type_var}{shape}",
        where=where,
        expected="one index for each dimension of the shape; [None] for rank 0",
    )


def _warn_of_rank(operand: Operand, target: Access, where: Place) -> None:
    try:
        check_access(operand, target.indices, where)
    except DefinitionError as error:
        message = f"{error.what}; its shape is taken from the indices"
        if isinstance(where, SourceLocation):
            warnings.warn_explicit(message, UserWarning, where.file, where.line)
        else:
            warnings.warn(message, stacklevel=2)


def _check_symbols(definition: OpDefinition, access: Access, where: Place) -> None:
    for expr in access.indices:
        for symbol in expr.symbols:
            if symbol not in definition.symbols:
                raise DefinitionError(
                    f"symbol {symbol} in `{access}` is never bound",
                    where=where,
                    expected=f"one of {', '.join(definition.symbols) or 'none: there are none'}",
                    hint="use it in a shape, or bind it with "
                    f"IndexAttrDef(S.{symbol}, default=[1])",
                )


def _check_type_var(definition: OpDefinition, expr: Apply, where: Place) -> None:
    if expr.type_var is None:
        return
    names = {type_var.name for type_var in definition.type_vars} | set(PREDEFINED)
    if expr.type_var.name not in names:
        raise DefinitionError(
            f"type variable {expr.type_var} in `{expr}` is not an operand's type",
            where=where,
            expected=f"one of {', '.join(sorted(names))}",
        )


def _check_target(output: Operand, target: Access, where: Place) -> None:
    # Index 0 writes all of an axis of size 1.
    whole = [
        index
        for index, size in zip_longest(target.indices, output.shape)
        if index == AffineConst(0) and size == AffineConst(1)
    ]
    plain = [index for index in target.indices if isinstance(index, AffineDim)]
    if len(plain) + len(whole) < len(target.indices):
        raise DefinitionError(
            f"`{target}` writes through an index that is not a plain dimension",
            where=where,
            hint="write C[D.m, D.n] and move the arithmetic to the indices that are read: "
            "every point of the iteration space must name one element of the output",
        )
    for index in _repeated(plain):
        raise DefinitionError(
            f"`{target}` uses dimension {index} twice: only a diagonal would be written",
            where=where,
            hint="use a dimension of its own for each dimension of the output",
        )


def _check_coverage(definition: OpDefinition, assignment: Assignment, where: Place) -> None:
    target = {index.name for index in assignment.target.indices if isinstance(index, AffineDim)}
    reduced = set(assignment.reduction.dims) if assignment.reduction else set()
    for dim in sorted(reduced & target):
        raise DefinitionError(
            f"dimension {dim} is reduced, but `{assignment.target}` is indexed by it",
            where=where,
            hint=f"remove D.{dim} from the dimensions to reduce, or from the indices of "
            f"{assignment.target.operand}",
        )
    read = read_dims(assignment)
    # A dimension that another statement ranges over is not lost here.
    other_assignments = [a for a in definition.assignments if a is not assignment]
    elsewhere = frozenset().union(*map(domain_of, other_assignments)) - read
    lost = [dim for dim in definition.dims if dim not in target | reduced | elsewhere]
    if not lost:
        return
    name = assignment.target.operand
    if lost[0] in read:
        raise DefinitionError(
            f"`{assignment}` drops dimension {lost[0]}: it is read but neither written nor reduced",
            where=where,
            hint=f"write `{name}[{_dims(map(str, assignment.target.indices))}] += ...` for a sum "
            f"over {lost[0]}, or give {name} the dimension {lost[0]}",
        )
    raise DefinitionError(
        f"`{assignment}` neither reads nor reduces dimension {lost[0]}, "
        "over which another part of the op iterates",
        where=where,
        hint=f"reduce over it, as in ReduceFn.add[D.{lost[0]}](...), or give {name} the dimension",
    )


def _check_outputs(definition: OpDefinition, locate: Locate) -> None:
    targets = [assignment.target.operand for assignment in definition.assignments]
    for name in _repeated(targets):
        second = [a for a in definition.assignments if a.target.operand == name][1]
        raise DefinitionError(
            f"output {name} is assigned twice",
            where=locate(second),
            hint="combine the two expressions into one assignment",
        )
    for writer in definition.assignments:
        for reader in definition.assignments:
            if is_one_fold(writer, reader):
                _check_running(writer, reader, locate(reader))
    missing = [output.name for output in definition.outputs if output.name not in targets]
    if missing:
        raise DefinitionError(
            f"output {', '.join(missing)} is never assigned",
            where=locate(definition.operand(missing[0])),
            hint=f"add `{missing[0]}[...] = ...` to {definition.name}",
        )


def _check_running(writer: Assignment, reader: Assignment, where: Place) -> None:
    """Raise if a fold reads its output at an element that it does not write."""
    target = writer.target
    for expr in reader.value.walk():
        if (
            isinstance(expr, Access)
            and expr.operand == target.operand
            and expr.indices != target.indices
        ):
            raise DefinitionError(
                f"output {target.operand} is accessed as {target} and {expr}",
                where=where,
                hint="a fold reads an output with the indices that it is written with",
            )


def _check_uses(definition: OpDefinition, locate: Locate, strict: bool) -> None:
    applied = definition.applied_attributes
    looked_up = {lookup.operand for lookup in definition.lookups}
    sizes = {symbol for o in definition.outputs for expr in o.shape for symbol in expr.symbols}
    used = symbols_read(definition) | sizes
    for operand in definition.operands:
        where = locate(operand)
        is_read = definition.accesses.get(operand.name) or operand.name in looked_up
        if operand.kind.is_tensor and not is_read:
            raise DefinitionError(
                f"input {operand.name} is never used",
                where=where,
                hint="remove it, or, where only its shape matters, say which dimensions are its "
                "own with TensorDef(..., index_dims=[D.x, ...])",
            )
        if operand.kind is OperandKind.SCALAR and operand.name not in definition.scalar_reads:
            raise DefinitionError(
                f"scalar {operand.name} is never used", where=where, hint="remove it"
            )
        if strict and operand.kind.is_function_attribute and operand.name not in applied:
            raise DefinitionError(
                f"function attribute {operand.name} is never applied",
                where=where,
                hint=f"apply it, as in {operand.name}(A[D.m]), or remove it",
            )
        unused = (
            []
            # A stated type says how many values there are, read or not.
            if operand.kind is not OperandKind.INDEX_ATTR or operand.attribute_type is not None
            else [symbol for expr in operand.shape for symbol in expr.symbols if symbol not in used]
        )
        if unused:
            raise DefinitionError(
                f"symbol {unused[0]} of {operand.name} occurs in no index, shape or size()",
                where=where,
                hint=f"use it, as in A[D.m * S.{unused[0]}], or remove it",
            )
        if operand.index_dims is not None:
            check_access(operand, operand.index_dims, where)


def _repeated(names: Iterable[_T]) -> list[_T]:
    return [name for name, count in Counter(names).items() if count > 1]


def _dims(names: Iterable[str]) -> str:
    return ", ".join(f"D.{name}" for name in names)
