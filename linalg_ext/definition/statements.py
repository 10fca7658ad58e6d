"""The statements of a definition: in order, each finished before the next reads its output.

A structured op runs its assignments together, point by point, so that one which reads another's
output would read a running value. A definition whose statements depend on one another, or range
over different dimensions, is therefore a sequence of steps, each of which is a definition of one
structured op. A step reads the outputs of earlier steps as inputs.

Inside a fold, and nowhere else, outputs are read while they run: neighbouring folds over the same
dimensions are one step, whose outputs are as they were before each point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from linalg_ext.definition.affine import AffineDim, AffineExpr, AffineSymbol
from linalg_ext.definition.functions import Function
from linalg_ext.definition.model import Assignment, OpDefinition, Operand, OperandKind, Reduction
from linalg_ext.definition.scalar import Access, Index, ScalarOperand, Size


def steps(definition: OpDefinition, *, by_reductions: bool = True) -> tuple[OpDefinition, ...]:
    """The definitions of one structured op each that a definition is a sequence of.

    Args:
        definition: the op.
        by_reductions: part statements that reduce over different dimensions, too; one structured
            op can hold them, and few rewrites know such an op.

    Returns:
        The definition itself where it is one step.
    """
    groups: list[list[Assignment]] = []
    for assignment in definition.assignments:
        if groups and all(
            _share_an_op(other, assignment, by_reductions=by_reductions) for other in groups[-1]
        ):
            groups[-1].append(assignment)
        else:
            groups.append([assignment])
    if len(groups) == 1:
        return (definition,)
    return tuple(_step(definition, group) for group in groups)


def domain_of(assignment: Assignment) -> frozenset[str]:
    """The dimensions that a statement ranges over: those that it writes or reduces."""
    written = {dim for index in assignment.target.indices for dim in index.dims}
    return frozenset(written.union(assignment.reduction.dims if assignment.reduction else ()))


def read_dims(assignment: Assignment) -> frozenset[str]:
    """The dimensions that a statement's value reads an element by, or asks the position along."""
    return frozenset(
        dim
        for expr in assignment.value.walk()
        for dim in (
            [d for index in expr.indices for d in index.dims]
            if isinstance(expr, Access)
            else [expr.dim]
            if isinstance(expr, Index)
            else []
        )
    )


def is_one_fold(one: Assignment, other: Assignment) -> bool:
    """Return whether two statements are folds over the same points, which run together."""
    return (
        one.reduction is not None
        and other.reduction is not None
        and one.reduction.function is None
        and other.reduction.function is None
        and set(one.reduction.dims) == set(other.reduction.dims)
        and domain_of(one) == domain_of(other)
    )


def are_independent(one: Assignment, other: Assignment) -> bool:
    """Return whether neither of two statements reads the output of the other."""
    return other.target.operand not in _reads(one) and one.target.operand not in _reads(other)


def runs_with(fold: Assignment, others: Sequence[Assignment]) -> bool:
    """Return whether a statement is a fold that reads, or is read by, another of the same fold."""
    return any(
        is_one_fold(fold, other) and not are_independent(fold, other)
        for other in others
        if other.target.operand != fold.target.operand
    )


def run_together(assignments: Sequence[Assignment]) -> tuple[Assignment, ...] | None:
    """Statements that say in order what assignments say that run together, as in a structured op.

    Assignments that read one another's outputs, which are then as they were before each point,
    become folds.

    Args:
        assignments: all of them over the same dimensions.

    Returns:
        None where no statements say it: an output of every point reads a running reduction.
    """
    found = list(assignments)
    coupled = {
        position
        for position, one in enumerate(found)
        for other in found
        if one is not other and not are_independent(one, other)
    }
    for position in coupled:
        found[position] = as_fold(found[position])
    folds = [found[position] for position in sorted(coupled)]
    if not all(is_one_fold(folds[0], fold) for fold in folds):
        return None
    # Neighbours are one fold: those that read each other stand together.
    rest = [each for position, each in enumerate(found) if position not in coupled]
    return tuple([*folds, *rest] if folds else rest)


def as_fold(assignment: Assignment) -> Assignment:
    """The fold that does what a statement does at each point."""
    reduction = assignment.reduction or Reduction(None, ())
    if reduction.function is None:
        return replace(assignment, reduction=reduction)
    start: Function | float | None = reduction.function
    return replace(assignment, reduction=Reduction(None, reduction.dims, None, start))


def reads_before(definition: OpDefinition, output: str) -> bool:
    """Return whether an output is read before it is written."""
    for step in definition.steps:
        if any(isinstance(e, Access) and e.operand == output for e in step.expressions()):
            return True
        if any(each.target.operand == output for each in step.assignments):
            return False
    return False


def why_several(definition: OpDefinition) -> str | None:
    """Why one structured op cannot hold the statements of a definition; None where one can."""
    found = steps(definition, by_reductions=False)
    if len(found) == 1:
        return None
    for position, later in enumerate(definition.assignments):
        for earlier in definition.assignments[:position]:
            if is_one_fold(earlier, later):
                continue
            if earlier.target.operand in _reads(later):
                return f"`{later}` reads {earlier.target.operand} when `{earlier}` is finished"
            if later.target.operand in _reads(earlier):
                return f"`{earlier}` reads {later.target.operand} before `{later}`"
            if domain_of(earlier) != domain_of(later):
                return f"`{earlier}` and `{later}` range over different dimensions"
    return f"its statements are {len(found)} ops, one after the other"


def _share_an_op(one: Assignment, other: Assignment, *, by_reductions: bool) -> bool:
    if domain_of(one) != domain_of(other):
        return False
    if by_reductions and _reduced(one) != _reduced(other):
        return False
    return are_independent(one, other) or is_one_fold(one, other)


def _reduced(assignment: Assignment) -> set[str]:
    return set(assignment.reduction.dims) if assignment.reduction else set()


def _reads(assignment: Assignment) -> set[str]:
    return {expr.operand for expr in assignment.value.walk() if isinstance(expr, Access)}


def _step(definition: OpDefinition, group: Sequence[Assignment]) -> OpDefinition:
    """The definition of some statements: their operands, and what they read of the others'."""
    domain = frozenset().union(*map(domain_of, group))
    expressions = [expr for assignment in group for expr in assignment.value.walk()]
    read = {e.operand for e in expressions if isinstance(e, (Access, ScalarOperand))}
    written = {assignment.target.operand for assignment in group}
    inputs = [o for o in definition.inputs if o.name in read or _says_size(o, domain)]
    inputs += [
        replace(output, kind=OperandKind.INPUT_TENSOR)
        for output in definition.outputs
        if output.name in read - written
    ]
    outputs = [output for output in definition.outputs if output.name in written]
    ranged = domain & _indexed([*definition.assignments, *definition.inputs])
    ranged -= _indexed([*group, *inputs])
    inputs += [
        Operand(
            range_of(dim),
            OperandKind.INPUT_TENSOR,
            outputs[0].type_var,
            (AffineSymbol(range_of(dim)),),
            (AffineDim(dim),),
        )
        for dim in definition.dims
        if dim in ranged
    ]
    return replace(
        definition,
        cpp_class_name="",  # no op of upstream is meant
        operands=(*inputs, *outputs, *definition.attributes),
        dims=tuple(dim for dim in definition.dims if dim in domain),
        assignments=tuple(group),
        implements=(),
        defines=(),
    )


def range_of(dim: str) -> str:
    """The name of an input of a step that says how long a dimension is, and nothing else."""
    return f"range of {dim}"


def _indexed(parts: Sequence[Assignment | Operand]) -> frozenset[str]:
    """The dimensions that index something by themselves, which says how long they are."""
    indices: list[AffineExpr] = []
    for part in parts:
        if isinstance(part, Operand):
            indices += part.index_dims or ()
        else:
            accesses = (part.target, *part.value.walk())
            indices += [i for e in accesses if isinstance(e, Access) for i in e.indices]
    return frozenset(index.name for index in indices if isinstance(index, AffineDim))


def _says_size(operand: Operand, domain: frozenset[str]) -> bool:
    """Return whether an operand is there for its shape alone, which is that of these dimensions."""
    dims = [dim for index in operand.index_dims or () for dim in index.dims]
    return bool(dims) and domain.issuperset(dims)


def symbols_read(definition: OpDefinition) -> frozenset[str]:
    """The symbols that indices or values of a definition compute with."""
    indices = {
        symbol
        for accesses in definition.accesses.values()
        for access in accesses
        for index in access
        for symbol in index.symbols
    }
    return frozenset(indices | {e.symbol for e in definition.expressions() if isinstance(e, Size)})
