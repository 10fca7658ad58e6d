"""The operands of one op in IR, matched with its definition."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.definition.attributes import CallAttributes
from linalg_ext.definition.model import IteratorType, OpDefinition, Operand, OperandKind
from linalg_ext.definition.operand_maps import add_readings
from linalg_ext.definition.scalar import Access
from linalg_ext.definition.shapes import check_shapes, infer_extents
from linalg_ext.definition.types import PREDEFINED, UNSIGNED
from linalg_ext.errors import ArityError, DTypeError, LinalgExtError, ShapeError, counted
from linalg_ext.runtime.dtypes import mlir_text
from linalg_ext.symbolic.affine import (
    AffineBinary,
    AffineConst,
    AffineDim,
    AffineExpr,
    AffineKind,
    AffineMap,
)


def producer(value: ir.Value) -> ir.Operation | None:
    """The op that a value is a result of; None for an argument of a block."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner.operation


def ops_where(
    root: ir.Operation, condition: Callable[[ir.Operation], bool], *, pre_order: bool = False
) -> list[ir.Operation]:
    """The ops that meet a condition, of `root` and those inside; `root` last by default."""
    ops: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if condition(op):
            ops.append(op.operation)
        return ir.WalkResult.ADVANCE

    root.walk(visit, ir.WalkOrder.PRE_ORDER if pre_order else ir.WalkOrder.POST_ORDER)
    return ops


def ops_inside(op: ir.Operation, *, pre_order: bool = False) -> list[ir.Operation]:
    """The ops in the regions of an op, as of `ops_where`."""
    return ops_where(op, lambda inner: inner != op, pre_order=pre_order)


def replace_operands(op: ir.Operation, new: Mapping[ir.Value, ir.Value]) -> None:
    """Replace operands of `op` and of all operations nested in it by new values."""

    def visit(inner: ir.Operation) -> ir.WalkResult:
        for number, value in enumerate(inner.operands):
            if value in new:
                inner.operands[number] = new[value]
        return ir.WalkResult.ADVANCE

    op.walk(visit)


def copied(op: ir.Operation, values: dict[ir.Value, ir.Value]) -> ir.Operation:
    """Copy an op to the insertion point.

    Args:
        values: the values that replace those of the op; its results are added.
    """
    clone = op.clone().operation
    replace_operands(clone, values)
    values.update(zip(op.results, clone.results, strict=True))
    return clone


def copied_on(op: ir.Operation, operands: Iterable[ir.Value]) -> ir.Operation:
    """Copy an op to the insertion point, on other operands; those not given stay."""
    clone = op.clone().operation
    for number, operand in enumerate(operands):
        clone.operands[number] = operand
    return clone


def copy_regions(op: ir.Operation, new: ir.Operation) -> None:
    """Fill the empty regions of a new op with copies of those of another op."""
    # Not with ip=False: it must have a place, or it is freed too late.
    copy = op.clone(ip=ir.InsertionPoint(new))
    for old, region in zip(copy.regions, new.regions, strict=True):
        for block in list(old.blocks):
            block.append_to(region)
    copy.erase()


@contextmanager
def erased_on_error(op: ir.Operation, label: str) -> Iterator[None]:
    """Erase an unfinished op where an error interrupts its construction.

    A caller may catch the error, and continue. The label precedes the message of the error.
    """
    try:
        yield
    except BaseException as error:
        op.erase()
        if isinstance(error, LinalgExtError):
            error.what = f"{label}: {error.what}"
        raise


def element_of(value: ir.Value) -> ir.Type:
    """The type of the elements of a tensor, vector or memref; of a scalar, its type."""
    type_ = value.type
    return ir.ShapedType(type_).element_type if isinstance(type_, ir.ShapedType) else type_


def grouped(values: Sequence[ir.Value], sizes: Sequence[int]) -> list[list[ir.Value]]:
    """Values one after another in groups of these sizes."""
    rest = iter(values)
    return [list(itertools.islice(rest, size)) for size in sizes]


def predefined_types(names: Iterable[str]) -> dict[str, ir.Type]:
    """Return the IR types of those type variables that have a fixed meaning."""
    predefined = filter(PREDEFINED.__contains__, names)
    return {name: ir.Type.parse(mlir_text(PREDEFINED[name])) for name in predefined}


@dataclass(frozen=True)
class BoundOp:
    """A definition with the values that it is built on.

    Attributes:
        types: the IR type of each type variable.
        unsigned: type variables whose integers are unsigned.
        sizes: values of symbols that are sizes of no operand, but of one of a larger op that this
            is a step of.
    """

    definition: OpDefinition
    inputs: tuple[ir.Value, ...]
    outputs: tuple[ir.Value, ...]
    attributes: CallAttributes
    types: Mapping[str, ir.Type]
    unsigned: frozenset[str] = frozenset()
    sizes: Mapping[str, ir.Value] = field(default_factory=dict)

    @property
    def values(self) -> tuple[ir.Value, ...]:
        """The inputs, then the outputs."""
        return (*self.inputs, *self.outputs)

    @property
    def pairs(self) -> Iterator[tuple[Operand, ir.Value]]:
        """Each input and each output of the definition with its value."""
        return zip(self.definition.arguments, self.values, strict=True)

    @property
    def result_types(self) -> list[ir.Type]:
        """The types of the op's results: those of its tensor outputs."""
        return [v.type for v in self.outputs if isinstance(v.type, ir.RankedTensorType)]

    @property
    def rank(self) -> int:
        """The rank that a rank-polymorphic op is built at: that of its first output."""
        return ir.ShapedType(self.outputs[0].type).rank

    @property
    def dims(self) -> tuple[str, ...]:
        """The iteration space; a rank-polymorphic op gets one of its output's rank."""
        if self.definition.is_rank_polymorphic:
            return tuple(f"d{axis}" for axis in range(self.rank))
        return self.definition.dims

    @property
    def iterator_types(self) -> tuple[IteratorType, ...]:
        """One for each dimension of the iteration space."""
        if self.definition.is_rank_polymorphic:
            return (IteratorType.PARALLEL,) * self.rank
        return self.definition.iterator_types

    def slots(self) -> list[tuple[Operand, ir.Value, Access | None, AffineMap]]:
        """List the operands of a structured op, each with value, access and indexing map.

        The access of a scalar is None. A tensor that is read through several index tuples is listed
        once for each of them.
        """
        slots: list[tuple[Operand, ir.Value, Access | None, AffineMap]] = []
        for operand, value in self.pairs:
            if operand.kind is OperandKind.SCALAR or operand.type_var is None:
                slots.append((operand, value, None, self._map(())))
                continue
            for indices in self.definition.accesses[operand.name]:
                access = Access(operand.name, indices, operand.type_var)
                slots.append((operand, value, access, self._indexing_map(value, indices)))
        return slots

    def _indexing_map(self, value: ir.Value, indices: tuple[AffineExpr, ...]) -> AffineMap:
        if self.definition.is_rank_polymorphic:
            # Tensors of rank 0 are read at every point; the others are as the output.
            rank = ir.ShapedType(value.type).rank
            return self._map(tuple(AffineDim(dim) for dim in self.dims) if rank else ())
        return self._map(indices)

    def _map(self, indices: tuple[AffineExpr, ...]) -> AffineMap:
        if not any(index.symbols for index in indices):
            return AffineMap(self.dims, (), indices)
        full = AffineMap(self.dims, self.definition.symbols, indices)
        return full.substitute_symbols({**self._sizes(indices), **self.attributes.symbols})

    def _sizes(self, indices: tuple[AffineExpr, ...]) -> dict[str, int]:
        """The static sizes of shapes for the symbols that a map needs."""
        needed = {symbol for index in indices for symbol in index.symbols}
        sizes: dict[str, int] = {}
        for operand, value in self.pairs:
            if operand.kind is OperandKind.SCALAR:
                continue
            shape = ir.ShapedType(value.type)
            for axis, expr in enumerate(operand.shape):
                name = str(expr)
                if name in needed and name not in self.attributes.symbols:
                    if shape.is_dynamic_dim(axis):
                        raise ShapeError(
                            f"{self.definition.name} computes an index with the size {name} of "
                            f"{operand.name}, which is dynamic",
                            hint="give the operand a static shape",
                        )
                    sizes[name] = shape.get_dim_size(axis)
        unknown = sorted(needed - sizes.keys() - self.attributes.symbols.keys())
        if unknown:
            raise ShapeError(
                f"{self.definition.name} computes an index with {unknown[0]}, which is the size of "
                "no operand by itself",
                hint=f"give some operand a dimension of size S.{unknown[0]}, or bind it with "
                f"IndexAttrDef(S.{unknown[0]}, default=[1])",
            )
        # The others occur in no index; a map of MLIR is then without symbols.
        return {**dict.fromkeys(self.definition.symbols, 0), **sizes}


def bind(
    definition: OpDefinition,
    inputs: Sequence[ir.Value],
    outputs: Sequence[ir.Value],
    attributes: CallAttributes,
    unsigned: frozenset[str] = frozenset(),
) -> BoundOp:
    """Match values with the operands of a definition.

    Raises:
        ArityError: too many or too few values.
        DTypeError: two operands of one type variable differ in element type, or a value is neither
            tensor nor memref where one is needed.
        ShapeError: a rank is wrong.
    """
    _check_count(definition, "input", definition.inputs, inputs)
    _check_count(definition, "output", definition.outputs, outputs)
    types = bind_types(definition, definition.arguments, (*inputs, *outputs))
    unsigned |= {t.name for t in definition.all_type_vars if t.name in UNSIGNED}
    bound = BoundOp(definition, tuple(inputs), tuple(outputs), attributes, types, unsigned)
    _check_semantics(bound)
    shapes = {o.name: static_sizes(value) for o, value in bound.pairs if o.kind.is_tensor}
    try:
        if definition.is_rank_polymorphic:
            _check_ranks(bound, shapes)
        else:
            key = tuple((name, tuple(shape)) for name, shape in shapes.items())
            _check_shapes(definition, key, tuple(attributes.symbols.items()))
    except ShapeError as error:
        raise add_readings(error, definition, shapes, attributes.symbols) from None
    return bound


def bind_types(
    definition: OpDefinition, operands: Sequence[Operand], values: Sequence[ir.Value]
) -> dict[str, ir.Type]:
    """The IR type of each type variable of a definition that operands bind, or that is predefined.

    Raises:
        DTypeError, ShapeError: as `bind`.
    """
    types = predefined_types(map(str, definition.all_type_vars))
    owner: dict[str, str] = dict.fromkeys(types, "the name of the type")
    for operand, value in zip(operands, values, strict=True):
        element = _element_type(definition, operand, value)
        name = str(operand.type_var)
        if types.setdefault(name, element) != element:
            raise DTypeError(
                f"{definition.name}: {operand.name} is of {element}, but type variable {name} "
                f"is {types[name]} by {owner[name]}",
                hint=f"cast one of them, or give {operand.name} a type variable of its own",
            )
        owner.setdefault(name, operand.name)
    return types


def _check_semantics(bound: BoundOp) -> None:
    """An op works on tensors or on memrefs, not on both."""
    types = [value.type for value in bound.values]
    kinds = (ir.RankedTensorType, ir.MemRefType)
    if all(any(isinstance(type_, kind) for type_ in types) for kind in kinds):
        raise DTypeError(
            f"{bound.definition.name} got {', '.join(map(str, types))}",
            expected="tensors alone, or memrefs alone",
            hint="turn one into the other with bufferization.to_tensor or to_buffer",
        )


@lru_cache(maxsize=4096)
def _check_shapes(
    definition: OpDefinition,
    shapes: tuple[tuple[str, tuple[int | None, ...]], ...],
    symbols: tuple[tuple[str, int], ...],
) -> None:
    """Call `check_shapes`, once for each tuple of shapes that fits."""
    extents = infer_extents(definition, dict(shapes), dict(symbols))
    check_shapes(definition, dict(shapes), dict(symbols), extents)


def static_sizes(value: ir.Value) -> list[int | None]:
    """The sizes of a tensor or memref, None for a dynamic one."""
    return type_sizes(value.type)


def type_sizes(type_: ir.Type) -> list[int | None]:
    """The sizes of a shaped type, None for a dynamic one."""
    shape = ir.ShapedType(type_)
    return [
        None if shape.is_dynamic_dim(axis) else shape.get_dim_size(axis)
        for axis in range(shape.rank)
    ]


def differ(left: int | None, right: int | None) -> bool:
    """Return whether two sizes, None where they are dynamic, are known to differ."""
    return left is not None and right is not None and left != right


def shapes_differ(left: Sequence[int | None], right: Sequence[int | None]) -> bool:
    """Return whether two shapes differ in rank, or in a size that is known of both."""
    return len(left) != len(right) or any(map(differ, left, right))


def _check_ranks(bound: BoundOp, shapes: Mapping[str, Sequence[int | None]]) -> None:
    """An element-wise op takes tensors of its output's shape, or of rank 0."""
    definition, output = bound.definition, bound.definition.outputs[0]
    for operand, value in bound.pairs:
        shape = shapes.get(operand.name, ())
        if operand.kind.is_input and not shape:
            continue
        if shapes_differ(shape, shapes[output.name]):
            raise ShapeError(
                f"{definition.name}: {operand.name} is of type {value.type}, but "
                f"{output.name} is of type {bound.outputs[0].type}",
                expected="operands of one shape, or inputs of rank 0: nothing is broadcast "
                "unless said",
            )


def _check_count(
    definition: OpDefinition, kind: str, operands: Sequence[Operand], values: Sequence[ir.Value]
) -> None:
    if len(operands) != len(values):
        names = ", ".join(operand.name for operand in operands)
        raise ArityError(
            f"{definition.name} got {counted(len(values), kind)}",
            expected=f"{len(operands)}: {names}",
        )


def _element_type(definition: OpDefinition, operand: Operand, value: ir.Value) -> ir.Type:
    kind = value.type
    if operand.kind is OperandKind.SCALAR:
        if isinstance(kind, ir.ShapedType):
            raise DTypeError(
                f"{definition.name}: scalar {operand.name} is of type {kind}",
                expected="a value of an element type, such as f32, or a Python number",
                hint="take its element with tensor.extract or memref.load",
            )
        return kind
    if not isinstance(kind, (ir.RankedTensorType, ir.MemRefType)):
        raise DTypeError(
            f"{definition.name}: {operand.name} is of type {kind}",
            expected="a ranked tensor or memref",
        )
    shape = ir.ShapedType(kind)
    if definition.is_rank_polymorphic:
        return shape.element_type
    accesses = definition.accesses[operand.name]
    rank = len(accesses[0]) if accesses else operand.rank
    if shape.rank != rank:
        raise ShapeError(
            f"{definition.name}: {operand.name} is of rank {shape.rank}: {kind}",
            expected=f"rank {rank}: {operand.name}({', '.join(map(str, operand.shape))})",
        )
    return shape.element_type


def to_ir_map(map: AffineMap) -> ir.AffineMap:
    """An affine map of MLIR; the map must be without symbols."""
    positions = {AffineDim(name): position for position, name in enumerate(map.dims)}

    def convert(expr: AffineExpr) -> ir.AffineExpr:
        if isinstance(expr, AffineConst):
            return ir.AffineConstantExpr.get(expr.value)
        if isinstance(expr, AffineDim):
            return ir.AffineDimExpr.get(positions[expr])
        if isinstance(expr, AffineBinary):
            built: ir.AffineExpr = _builders()[expr.kind].get(convert(expr.lhs), convert(expr.rhs))
            return built
        raise ShapeError(f"the size that symbol {expr} stands for is not known")

    return ir.AffineMap.get(len(map.dims), 0, [convert(result) for result in map.results])


@cache
def _builders() -> Mapping[AffineKind, Any]:
    """Upstream's expression classes, looked up when first needed: bindings load lazily."""
    return {
        AffineKind.ADD: ir.AffineAddExpr,
        AffineKind.MUL: ir.AffineMulExpr,
        AffineKind.MOD: ir.AffineModExpr,
        AffineKind.FLOORDIV: ir.AffineFloorDivExpr,
        AffineKind.CEILDIV: ir.AffineCeilDivExpr,
    }


def as_values(op: str, values: Sequence[Any]) -> list[ir.Value]:
    """Values, or ops of one result, that are given for the operands of an op."""
    return [single_value(f"{op}: operand {i}", value) for i, value in enumerate(values)]


def single_value(subject: str, value: Any) -> ir.Value:
    """A value, or the one result of an op; `subject` names the operand in errors."""
    if isinstance(value, ir.Value):
        return value
    if isinstance(value, (ir.OpView, ir.Operation)):
        results = value.operation.results
        if len(results) == 1:
            return results[0]
        raise ArityError(
            f"{subject} is given as {value.operation.name}, which has {len(results)} results",
            hint="give one of its results",
        )
    raise DTypeError(
        f"{subject} is {value!r}",
        expected="an MLIR value, as the other operands are",
    )
