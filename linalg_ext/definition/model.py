"""`OpDefinition`: one immutable model of a tensor operation.

Every front end makes one and every back end reads one; neither knows the other. The model says, for
each point of an iteration space, the scalar expression that is assigned to each element of each
output, as in upstream's structured ops (`linalg.generic`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from functools import cached_property, lru_cache
from typing import Any

from linalg_ext.definition.functions import REDUCTIONS, Function
from linalg_ext.definition.scalar import (
    Access,
    Apply,
    Carried,
    Index,
    Lookup,
    ScalarExpr,
    ScalarOperand,
    Size,
)
from linalg_ext.definition.types import TypeVar
from linalg_ext.symbolic.affine import (
    AffineDim,
    AffineExpr,
    AffineMap,
    AffineSymbol,
    linear_terms,
)
from linalg_ext.utils import hooks


class OperandKind(Enum):
    """The kind of an operand of a definition; the value is upstream's name for it in YAML."""

    INPUT_TENSOR = "input_tensor"
    SCALAR = "scalar"
    OUTPUT_TENSOR = "output_tensor"
    INDEX_ATTR = "index_attr"
    UNARY_FN_ATTR = "unary_fn_attr"
    BINARY_FN_ATTR = "binary_fn_attr"
    TERNARY_FN_ATTR = "ternary_fn_attr"
    TYPE_FN_ATTR = "type_fn_attr"

    @property
    def is_input(self) -> bool:
        """A tensor or scalar that is read only."""
        return self in (OperandKind.INPUT_TENSOR, OperandKind.SCALAR)

    @property
    def is_tensor(self) -> bool:
        """Has a shape."""
        return self in (OperandKind.INPUT_TENSOR, OperandKind.OUTPUT_TENSOR)

    @property
    def is_function_attribute(self) -> bool:
        """Chooses a function at a call."""
        return self.value.endswith("_fn_attr")

    @property
    def is_attribute(self) -> bool:
        """Known when the op is built, not when it runs."""
        return self is OperandKind.INDEX_ATTR or self.is_function_attribute


@dataclass(frozen=True, slots=True)
class AttributeType:
    """The type that a notation states for an attribute: `2xi32`, `i64`, `f32[]`.

    Attributes:
        element: MLIR's spelling of the type of one value.
        sizes: the dimensions of an array of fixed size; empty for a single value and for a list.
        is_list: a list of any length.
        is_optional: the op may be without it; each value is then 1.
    """

    element: str
    sizes: tuple[int, ...] = ()
    is_list: bool = False
    is_optional: bool = False

    def __str__(self) -> str:
        sizes = "".join(f"{size}x" for size in self.sizes)
        return f"{sizes}{self.element}{'[]' if self.is_list else ''}"


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand of a definition.

    Attributes:
        name: unique in the definition.
        kind: the kind of operand.
        type_var: element type of a tensor, type of a scalar; None for attributes.
        shape: sizes of a tensor, over symbols; symbols that an index attribute binds.
        index_dims: for a tensor that is never read, the dimensions that its own stand for.
        default: the values of an index attribute, None where a call must give them; the function
            of a function attribute.
        attribute_type: the type of an index attribute, where the notation states it.
        minimum: the least value of an index attribute: a check of calls, which no notation holds.
    """

    name: str
    kind: OperandKind
    type_var: TypeVar | None = None
    shape: tuple[AffineExpr, ...] = ()
    index_dims: tuple[AffineExpr, ...] | None = None
    default: tuple[int, ...] | Function | None = None
    attribute_type: AttributeType | None = None
    minimum: int = field(default=1, compare=False)

    @property
    def rank(self) -> int:
        """Number of dimensions of a tensor; number of values of an index attribute."""
        return len(self.shape)


@dataclass(frozen=True, slots=True)
class Reduction:
    """The accumulation that an assignment performs.

    Attributes:
        function: combines the previous value with the new one. None for a fold: its value states
            the next value itself.
        dims: the dimensions that it runs over, in the order of the iteration space.
        attribute: the function attribute that chooses the function at a call, or None.
        initial: the start of a fold where a call gives none. It is a number, or the function whose
            neutral element it is; None where a call must give it. A reduction by a function starts
            from the neutral element of that function.
        is_scatter: whether it was declared by writing at computed places, and compares them with
            the positions of its output. It is then built as `linalg_ext.scatter`.
    """

    function: Function | None
    dims: tuple[str, ...]
    attribute: str | None = None
    initial: Function | float | None = None
    is_scatter: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Assignment:
    """`target = value` at every point of the iteration space.

    For a reduction, `value` reads `target` through the reduction's function; for a recurrence, it
    reads the element before by a `Carried`.
    """

    target: Access
    value: ScalarExpr
    reduction: Reduction | None = None

    @property
    def reads_target(self) -> bool:
        """Return whether the value before the op matters."""
        return any(
            isinstance(expr, Access) and expr.operand == self.target.operand
            for expr in self.value.walk()
        )

    @property
    def recurrence(self) -> tuple[str, bool] | None:
        """The dimension of a recurrence, and whether it runs backwards; None if it is none."""
        for expr in self.value.walk():
            if isinstance(expr, Carried):
                return carried_along(self.target, expr.indices)
        return None

    def __str__(self) -> str:
        return f"{self.target} = {self.value}"


def carried_along(target: Access, indices: tuple[AffineExpr, ...]) -> tuple[str, bool] | None:
    """Return the dimension along which indices are one step before those of a target.

    Returns:
        The dimension, and whether the recurrence runs backwards: `O[n + 1]` read for `O[n]`. None
        where anything else differs.
    """
    moved = [
        (index, linear_terms(read))
        for index, read in zip(target.indices, indices, strict=True)
        if index != read
    ]
    if len(moved) != 1:
        return None
    ((index, terms),) = moved
    if not isinstance(index, AffineDim) or terms is None or terms[0] != {index.name: 1}:
        return None
    return (index.name, terms[1] == 1) if terms[1] in (-1, 1) else None


@dataclass(frozen=True, slots=True)
class Interface:
    """An interface that an op says it implements, by its C++ name."""

    cpp_name: str


@dataclass(frozen=True, slots=True)
class OpMethod:
    """A method that an op says it defines, by upstream's name for it."""

    name: str


class IteratorType(Enum):
    """The iterator types of structured ops."""

    PARALLEL = "parallel"
    REDUCTION = "reduction"


@dataclass(frozen=True, repr=False)
class OpDefinition:
    """An operation: operands, an iteration space, and assignments over it, in order.

    Each assignment is finished before the next reads its output, but for folds over the same
    dimensions, which run together. Where one structured op can do that the definition is one.

    Attributes:
        name: the op's name without a dialect prefix.
        cpp_class_name: the C++ class that a generator would give it.
        doc: summary line and description; empty if absent.
        operands: inputs, then outputs, then attributes.
        dims: the iteration space, outermost dimension first.
        assignments: one for each output, in the order of the statements.
        implements: interfaces, for the generators.
        defines: methods, for the generators.
    """

    name: str
    cpp_class_name: str
    doc: str
    operands: tuple[Operand, ...]
    dims: tuple[str, ...]
    assignments: tuple[Assignment, ...]
    implements: tuple[Interface, ...] = ()
    defines: tuple[OpMethod, ...] = ()
    _by_name: dict[str, Operand] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_name", {operand.name: operand for operand in self.operands})

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> Any:
        # Cached values do not travel: hashes of texts differ between processes.
        return type(self), tuple(getattr(self, f.name) for f in fields(self) if f.init)

    @cached_property
    def _hash(self) -> int:
        # A definition is the key of many tables, and large: its hash is taken once.
        return hash((self.name, self.operands, self.dims, self.assignments))

    def operand(self, name: str) -> Operand:
        """The operand of that name."""
        return self._by_name[name]

    @cached_property
    def steps(self) -> tuple[OpDefinition, ...]:
        """The structured ops that this is, one after the other, see `steps`; mostly one."""
        if len(self.assignments) == 1 and not self.lookups:
            return (self,)
        return steps(self)

    @cached_property
    def inputs(self) -> tuple[Operand, ...]:
        """Tensors and scalars that are read, in order."""
        return tuple(operand for operand in self.operands if operand.kind.is_input)

    @cached_property
    def outputs(self) -> tuple[Operand, ...]:
        """Tensors that are written, in order."""
        return tuple(
            operand for operand in self.operands if operand.kind is OperandKind.OUTPUT_TENSOR
        )

    @cached_property
    def arguments(self) -> tuple[Operand, ...]:
        """Inputs, then outputs: the operands that a call gives values for."""
        return (*self.inputs, *self.outputs)

    @cached_property
    def attributes(self) -> tuple[Operand, ...]:
        """Index and function attributes, in order."""
        return tuple(operand for operand in self.operands if operand.kind.is_attribute)

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """Symbols of all shapes and index attributes, in order of appearance."""
        return tuple(
            dict.fromkeys(
                symbol
                for operand in self.operands
                for expr in operand.shape
                for symbol in expr.symbols
            )
        )

    @cached_property
    def reduction_dims(self) -> frozenset[str]:
        """Dimensions that some assignment reduces over."""
        return frozenset(
            dim
            for assignment in self.assignments
            if assignment.reduction is not None
            for dim in assignment.reduction.dims
        )

    @cached_property
    def recurrence_dims(self) -> frozenset[str]:
        """Dimensions along which some assignment is a recurrence."""
        return frozenset(a.recurrence[0] for a in self.assignments if a.recurrence is not None)

    @cached_property
    def iterator_types(self) -> tuple[IteratorType, ...]:
        """One for each dimension; that of a recurrence has an order, as a reduction has."""
        ordered = self.reduction_dims | self.recurrence_dims
        return tuple(
            IteratorType.REDUCTION if dim in ordered else IteratorType.PARALLEL for dim in self.dims
        )

    @cached_property
    def is_rank_polymorphic(self) -> bool:
        """Return whether the op is declared on rank-0 operands, and so applies to any rank.

        The absence of dimensions is not enough: `O[0] = A[0, 0]` has none, and its operands have
        ranks.
        """
        return not (self.dims or self.lookups) and not any(
            indices for accesses in self.accesses.values() for indices in accesses
        )

    @cached_property
    def type_vars(self) -> tuple[TypeVar, ...]:
        """Type variables of the operands, in order, each once."""
        return tuple(dict.fromkeys(o.type_var for o in self.operands if o.type_var is not None))

    @cached_property
    def all_type_vars(self) -> tuple[TypeVar, ...]:
        """Type variables of the operands, then those that only a cast names, each once."""
        casts = (e.type_var for e in self.expressions() if isinstance(e, Apply))
        return tuple(dict.fromkeys((*self.type_vars, *(t for t in casts if t is not None))))

    def expressions(self) -> Iterator[ScalarExpr]:
        """Every scalar expression of every assignment, the targets excepted."""
        for assignment in self.assignments:
            yield from assignment.value.walk()

    @cached_property
    def accesses(self) -> dict[str, tuple[tuple[AffineExpr, ...], ...]]:
        """For each tensor operand, the different index tuples it is accessed by.

        A tensor that is never accessed has its `index_dims` for the only one. One that is only
        looked up has none.
        """
        by_operand: dict[str, dict[tuple[AffineExpr, ...], None]] = {
            operand.name: {} for operand in self.operands if operand.kind.is_tensor
        }
        for operand in self.operands:
            if operand.index_dims is not None:
                by_operand[operand.name][operand.index_dims] = None
        for assignment in self.assignments:
            by_operand[assignment.target.operand][assignment.target.indices] = None
        for expr in self.expressions():
            if isinstance(expr, Access):
                by_operand[expr.operand][expr.indices] = None
        return {name: tuple(indices) for name, indices in by_operand.items()}

    @cached_property
    def lookups(self) -> tuple[Lookup, ...]:
        """The different reads at computed indices, in order."""
        return tuple(dict.fromkeys(e for e in self.expressions() if isinstance(e, Lookup)))

    @property
    def indexed_dims(self) -> frozenset[str]:
        """The dimensions that some index of some operand has: those whose sizes are known."""
        return frozenset(
            dim
            for accesses in self.accesses.values()
            for indices in accesses
            for index in indices
            for dim in index.dims
        ).union(*(lookup.dims for lookup in self.lookups))

    def indexing_map(self, indices: tuple[AffineExpr, ...]) -> AffineMap:
        """The map from the iteration space to an operand that is accessed by `indices`."""
        return AffineMap(self.dims, self.symbols, indices)

    def symbol_map(self, exprs: tuple[AffineExpr, ...]) -> AffineMap:
        """The map from the symbols to a shape, or to the values of an index attribute."""
        return AffineMap((), self.symbols, exprs)

    def assignment_to(self, output: str) -> Assignment:
        """The assignment that writes an output."""
        return next(a for a in self.assignments if a.target.operand == output)

    @property
    def scalar_reads(self) -> frozenset[str]:
        """Names of the scalar operands that some expression reads."""
        return frozenset(e.operand for e in self.expressions() if isinstance(e, ScalarOperand))

    @property
    def applied_attributes(self) -> frozenset[str]:
        """Names of the function attributes that some expression applies."""
        return frozenset(
            e.attribute for e in self.expressions() if isinstance(e, Apply) and e.attribute
        )

    def canonical(self) -> OpDefinition:
        """The canonical form: equal for definitions of the same operation, see `equivalence`."""
        form: OpDefinition = hooks.facade("definition").canonical(self)
        return form

    def equivalent(self, other: OpDefinition) -> bool:
        """Return whether another definition is the same operation.

        Names of dimensions, symbols, type variables and operands do not matter, nor do the order
        of the iteration space, documentation and interfaces. The order of the operands does.
        """
        return self.canonical() == other.canonical()

    def reference(self, *operands: Any, **keywords: Any) -> Any:
        """The oracle: the op on arrays by NumPy alone, slow and obviously right.

        Args:
            operands: the inputs, in order: arrays, or objects that `numpy.asarray` takes.
            keywords: as in a call of the op: `init=` and `dtype=`, inputs and attributes by name.
                There is no `out=`: the result is always new.

        Returns:
            The result; a tuple where the op has several outputs.

        Raises:
            ArgumentError: of the kind of the mistake.

        Example:
            >>> lx.ops.matmul.definition.reference(np.ones((2, 3)), np.ones((3, 1)))
            array([[3.],
                   [3.]])
        """
        return hooks.facade("definition").reference(self, operands, keywords)

    def formula(self) -> str:
        """The op in one line: `C[m, n] = Σ_{k} A[m, k] * B[k, n]`, casts left out."""
        return str(hooks.facade("definition").formula(self))

    def _repr_latex_(self) -> str:
        """The formula as a notebook shows it."""
        return f"${hooks.facade('definition').latex(self)}$"

    @property
    def header(self) -> str:
        """The operands in a line: `matmul(A: T1(M, K), B: T2(K, N)) -> C: U(M, N)`."""
        reads = [_describe_operand(o) for o in (*self.inputs, *self.attributes)]
        writes = [_describe_operand(o) for o in self.outputs]
        return f"{self.name}({', '.join(reads)}) -> {', '.join(writes)}"

    def __repr__(self) -> str:
        return self.header

    def __str__(self) -> str:
        space = ", ".join(
            f"{dim}: {kind.value}" for dim, kind in zip(self.dims, self.iterator_types, strict=True)
        )
        lines = [self.header, f"  over ({space})"]
        lines += [f"  {assignment}" for assignment in self.assignments]
        return "\n".join(lines)


def class_name(name: str) -> str:
    """The C++ class of an op by its name: `BatchMatmulOp` of `batch_matmul`."""
    return f"{''.join(part.title() for part in name.split('_'))}Op"


def _describe_operand(operand: Operand) -> str:
    if operand.kind.is_tensor:
        return f"{operand.name}: {operand.type_var}({', '.join(map(str, operand.shape))})"
    if operand.kind is OperandKind.SCALAR:
        return f"{operand.name}: {operand.type_var}"
    if isinstance(operand.default, tuple):
        return f"{operand.name}={list(operand.default)}"
    if operand.default is None:
        return operand.name
    return f"{operand.name}={operand.default}"


# The statements of a definition: in order, each finished before the next reads its output.
#
# A structured op runs its assignments together, point by point, so that one which reads another's
# output would read a running value. A definition whose statements depend on one another, or range
# over different dimensions, is therefore a sequence of steps, each of which is a definition of one
# structured op. A step reads the outputs of earlier steps as inputs.
#
# Inside a fold, and nowhere else, outputs are read while they run: neighbouring folds over the same
# dimensions are one step, whose outputs are as they were before each point.


def steps(definition: OpDefinition, *, by_reductions: bool = True) -> tuple[OpDefinition, ...]:
    """The definitions of one structured op each that a definition is a sequence of.

    Args:
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
    parts: list[Assignment | Operand] = [*definition.assignments, *definition.inputs]
    if len(groups) == 1 and not _dims_without_map(definition, definition.dims, parts):
        return (definition,)
    return tuple(_step(definition, group) for group in groups)


def domain_of(assignment: Assignment) -> frozenset[str]:
    """The dimensions that a statement ranges over: those that it writes or reduces."""
    written = {dim for index in assignment.target.indices for dim in index.dims}
    return frozenset(written.union(assignment.reduction.dims if assignment.reduction else ()))


def read_dims(assignment: Assignment) -> frozenset[str]:
    """The dimensions that a statement's value reads an element by, or asks the position along."""
    return frozenset(dim for expr in assignment.value.walk() for dim in dims_of(expr))


def dims_of(expr: ScalarExpr) -> tuple[str, ...]:
    """The dimensions that an expression itself is indexed by, its operands left aside."""
    match expr:
        case Access(indices=indices) | Carried(indices=indices):
            return tuple(dim for index in indices for dim in index.dims)
        case Lookup():
            return expr.dims
        case Index(dim=dim):
            return (dim,)
        case _:
            return ()


def is_one_fold(first: Assignment, second: Assignment) -> bool:
    """Return whether two statements are folds over the same points, which run together."""
    return (
        first.reduction is not None
        and second.reduction is not None
        and first.reduction.function is None
        and second.reduction.function is None
        and set(first.reduction.dims) == set(second.reduction.dims)
        and domain_of(first) == domain_of(second)
    )


def are_independent(first: Assignment, second: Assignment) -> bool:
    """Return whether neither of two statements reads the output of the other."""
    return second.target.operand not in _reads(first) and first.target.operand not in _reads(second)


def runs_with(fold: Assignment, assignments: Sequence[Assignment]) -> bool:
    """Return whether a statement is a fold that reads, or is read by, another of the same fold."""
    return any(
        is_one_fold(fold, other) and not are_independent(fold, other)
        for other in assignments
        if other.target.operand != fold.target.operand
    )


def run_together(assignments: Sequence[Assignment]) -> tuple[Assignment, ...] | None:
    """Statements in order with the meaning of assignments that run together, as in a structured op.

    Assignments that read one another's outputs, which are then as they were before each point,
    become folds.

    Args:
        assignments: all of them over the same dimensions.

    Returns:
        None where no statements say it: an output of every point reads a running reduction.
    """
    statements = list(assignments)
    coupled = {
        position
        for position, first in enumerate(statements)
        for second in statements
        if first is not second and not are_independent(first, second)
    }
    for position in coupled:
        statements[position] = as_fold(statements[position])
    folds = [statements[position] for position in sorted(coupled)]
    if not all(is_one_fold(folds[0], fold) for fold in folds):
        return None
    # Adjacent assignments run as one fold, so the coupled ones come first.
    rest = [statement for position, statement in enumerate(statements) if position not in coupled]
    return tuple([*folds, *rest] if folds else rest)


def as_fold(assignment: Assignment) -> Assignment:
    """The fold that combines an element as a statement does at each point."""
    reduction = assignment.reduction or Reduction(None, ())
    if reduction.function is None:
        return replace(assignment, reduction=reduction)
    start: Function | float | None = reduction.function
    return replace(assignment, reduction=Reduction(None, reduction.dims, None, start))


@lru_cache(maxsize=4096)
def reads_before(definition: OpDefinition, output: str) -> bool:
    """Return whether an output is read before it is written."""
    for step in definition.steps:
        if any(isinstance(e, Access) and e.operand == output for e in step.expressions()):
            return True
        if any(assignment.target.operand == output for assignment in step.assignments):
            return False
    return False


@lru_cache(maxsize=4096)
def why_several(definition: OpDefinition) -> str | None:
    """Why one structured op cannot hold the statements of a definition; None where one can."""
    parts = steps(definition, by_reductions=False)
    if len(parts) == 1:
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
    return f"the statements are {len(parts)} ops, one after the other"


def why_unmapped(definition: OpDefinition) -> str | None:
    """The reason why indexing maps cannot describe a definition's reads; None where they do."""
    for assignment in definition.assignments:
        if assignment.recurrence is not None:
            return f"`{assignment}` is a recurrence: it reads its own value of one step before"
    for lookup in definition.lookups:
        return f"`{lookup}` reads at an index that is computed"
    return None


def _share_an_op(first: Assignment, second: Assignment, *, by_reductions: bool) -> bool:
    if domain_of(first) != domain_of(second) or first.recurrence or second.recurrence:
        return False
    if by_reductions and _reduced(first) != _reduced(second):
        return False
    return are_independent(first, second) or is_one_fold(first, second)


def _reduced(assignment: Assignment) -> set[str]:
    return set(assignment.reduction.dims) if assignment.reduction else set()


def _reads(assignment: Assignment) -> set[str]:
    return {e.operand for e in assignment.value.walk() if isinstance(e, (Access, Lookup))}


def _step(definition: OpDefinition, group: Sequence[Assignment]) -> OpDefinition:
    """The definition of some statements: their operands, and the other outputs that they read."""
    domain = frozenset().union(*map(domain_of, group))
    expressions = [expr for assignment in group for expr in assignment.value.walk()]
    read = {e.operand for e in expressions if isinstance(e, (Access, Lookup, ScalarOperand))}
    written = {assignment.target.operand for assignment in group}
    inputs = [o for o in definition.inputs if o.name in read or _says_size(o, domain)]
    inputs += [
        replace(output, kind=OperandKind.INPUT_TENSOR)
        for output in definition.outputs
        if output.name in read - written
    ]
    outputs = [output for output in definition.outputs if output.name in written]
    inputs += [
        Operand(
            range_of(dim),
            OperandKind.INPUT_TENSOR,
            outputs[0].type_var,
            (AffineSymbol(range_of(dim)),),
            (AffineDim(dim),),
        )
        for dim in _dims_without_map(definition, domain, [*group, *inputs])
    ]
    dims = [dim for dim in definition.dims if dim in domain]
    return part_of(definition, (*inputs, *outputs), dims, group)


def part_of(
    definition: OpDefinition,
    operands: Iterable[Operand],
    dims: Iterable[str],
    assignments: Iterable[Assignment],
) -> OpDefinition:
    """A definition of a part of the work of another, with its attributes."""
    return replace(
        definition,
        cpp_class_name="",  # no op of upstream is meant
        operands=(*operands, *definition.attributes),
        dims=tuple(dims),
        assignments=tuple(assignments),
        implements=(),
        defines=(),
    )


def _dims_without_map(
    definition: OpDefinition, domain: Iterable[str], parts: Sequence[Assignment | Operand]
) -> list[str]:
    """The dimensions of a domain whose sizes are known, and that no map of some parts says."""
    sized_dims = _indexed([*definition.assignments, *definition.inputs])
    sized_dims = sized_dims.union(*(lookup.dims for lookup in definition.lookups)) - _indexed(parts)
    return [dim for dim in definition.dims if dim in domain and dim in sized_dims]


def range_of(dim: str) -> str:
    """The name of an input of a step that says how long a dimension is, and nothing else."""
    return f"range of {dim}"


def _indexed(parts: Sequence[Assignment | Operand]) -> frozenset[str]:
    """The dimensions that are an index of their own, which determines their sizes."""
    indices: list[AffineExpr] = []
    for part in parts:
        if isinstance(part, Operand):
            indices += part.index_dims or ()
        else:
            accesses = (part.target, *part.value.walk())
            indices += [i for e in accesses if isinstance(e, Access) for i in e.indices]
    return frozenset(index.name for index in indices if isinstance(index, AffineDim))


def _says_size(operand: Operand, domain: frozenset[str]) -> bool:
    """Return whether an operand only gives the sizes of these dimensions by its shape."""
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


def accumulation(target: Access, value: ScalarExpr, dims: tuple[str, ...]) -> Reduction | None:
    """Return the reduction that `target = value` performs over dimensions, or None.

    An assignment accumulates where the value reads the target once, and only under applications of
    one function that may reduce: `C + x`, `x + C`, `(C + x) + y`.

    Args:
        dims: the dimensions of the iteration space that the target lacks.
    """
    if not isinstance(value, Apply) or value.function not in REDUCTIONS:
        return None
    if sum(expr == target for expr in value.walk()) != 1:
        return None
    expr: ScalarExpr = value
    while expr != target:
        if not isinstance(expr, Apply):
            return None
        if (expr.function, expr.attribute) != (value.function, value.attribute):
            return None
        expr = next(arg for arg in expr.args if any(part == target for part in arg.walk()))
    return Reduction(value.function, dims, value.attribute)
