"""An op called on dask arrays: its kernel on each block, split as its definition allows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from linalg_ext.compiler.op_calls import dtype_of_keyword
from linalg_ext.compiler.op_dtypes import resolve_dtypes
from linalg_ext.definition.attributes import CallAttributes, resolve_attributes
from linalg_ext.definition.calls import Shape, per_output, resolve_shapes, split_inputs
from linalg_ext.definition.functions import Function, FunctionKind
from linalg_ext.definition.model import (
    Assignment,
    OpDefinition,
    Operand,
    OperandKind,
    are_independent,
    domain_of,
    why_unmapped,
)
from linalg_ext.definition.renaming import with_values
from linalg_ext.definition.scalar import Access, Apply, Const, Index, ScalarExpr, Size
from linalg_ext.definition.shapes import symbol_sizes
from linalg_ext.definition.specialization import at_rank
from linalg_ext.definition.types import PREDEFINED
from linalg_ext.errors import ArgumentError, ShapeError, located
from linalg_ext.executable.arguments import is_python_number
from linalg_ext.frameworks.dask.blocks import (
    BlockedOperand,
    BlockedResult,
    apply_to_blocks,
    known_array,
    refuse_out,
    threads_of_blocks,
)
from linalg_ext.notations.operand_keywords import mapped_shapes, take_operand_maps
from linalg_ext.opdsl.op import StructuredOp, op_of
from linalg_ext.runtime.dtypes import DType
from linalg_ext.symbolic.affine import AffineDim, AffineExpr, AffineSymbol


@located
def call_on_dask(op: StructuredOp, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Apply an op to dask arrays, and arrays beside them; nothing runs.

    Args:
        operands: its inputs; a number, or an array of rank 0, for a scalar.
        keywords: as on arrays, but for `out`; `threads` is that of the call on each block.

    Returns:
        A dask array, a tuple of them where the op has several outputs.

    Raises:
        ArgumentError: of the kind of the mistake.
    """
    call = _Call(op, operands, keywords)
    results = apply_to_blocks(
        call.on_blocks(), op.op_name, call.operands(), call.results(), call.whole
    )
    results = tuple(
        result if result.dtype == dtype else result.astype(dtype)
        for result, dtype in zip(results, call.result_dtypes, strict=True)
    )
    return results[0] if len(results) == 1 else results


def _on_blocks(
    op: StructuredOp,
    numbers: Sequence[tuple[int, Any]],
    inits: Sequence[str],
    *blocks: Any,
    **keywords: Any,
) -> Any:
    """Call an op on a block of each operand, then of each array that an output starts from."""
    inputs = list(blocks[: len(blocks) - len(inits)])
    for position, number in numbers:
        inputs.insert(position, number)
    if inits:
        by_output = dict(zip(inits, blocks[-len(inits) :], strict=True))
        keywords["init"] = tuple(by_output.get(o.name) for o in op.definition.outputs)
    return op(*inputs, **keywords)


class _Call:
    """A call, checked as a whole: its operands, shapes and dtypes, and its splitting."""

    def __init__(
        self, op: StructuredOp, operands: tuple[Any, ...], keywords: Mapping[str, Any]
    ) -> None:
        natural, rest = op.definition, dict(keywords)
        name = natural.name
        refuse_out(name, rest.pop("out", None))
        self._op = op
        self._threads = threads_of_blocks(rest.pop("threads", None))
        init = per_output(natural, "init", rest.pop("init", None))
        dtype = dtype_of_keyword(natural, "dtype", rest.pop("dtype", None))
        self._compute_type = dtype_of_keyword(
            natural, "compute_type", rest.pop("compute_type", None)
        )
        inputs = {operand.name for operand in natural.inputs}
        self._on_blocks = {key: value for key, value in rest.items() if key not in inputs}
        maps = take_operand_maps(natural, rest)
        values = split_inputs(natural, operands, rest)
        attributes = resolve_attributes(
            natural, rest, also=("init", "dtype", "compute_type", "threads")
        )
        self._inputs = {
            operand.name: _operand(name, operand, value)
            for operand, value in zip(natural.inputs, values, strict=True)
        }
        inits = {key: known_array(value, f"{name}: init of {key}") for key, value in init.items()}
        deciding = {key: getattr(value, "dtype", value) for key, value in self._inputs.items()}
        self._dtypes = resolve_dtypes(
            natural, deciding, {key: value.dtype for key, value in inits.items()}, dtype
        )
        given_shapes = {
            operand.name: getattr(self._inputs[operand.name], "shape", ())
            for operand in natural.inputs
            if operand.kind is OperandKind.INPUT_TENSOR
        }
        known_shapes = {key: value.shape for key, value in inits.items()}
        self._definition, self._shapes = mapped_shapes(
            natural, maps, given_shapes, known_shapes, attributes
        )
        self._needs_init = not _follow(self._definition, given_shapes, attributes)
        self._apart = split(self._definition, self._shapes, attributes)
        self._inits = inits

    @property
    def result_dtypes(self) -> tuple[DType, ...]:
        """Return the dtypes of the results."""
        return tuple(self._dtypes[str(output.type_var)] for output in self._definition.outputs)

    @cached_property
    def whole(self) -> dict[str, str]:
        """Return the dimensions that a block must have all of, and why."""
        why = ""
        if len(self._free_dtypes) > 1 and self._inits:
            why = "the outputs are of several dtypes, and start from init="
        if self._needs_init:
            why = "the size of an output is known from init= alone"
        kinds = {dtype.kind for dtype in (self._compute_type, *self._free_dtypes) if dtype}
        is_fixed = any(str(output.type_var) in PREDEFINED for output in self._definition.outputs)
        if self._compute_type is not None and (is_fixed or kinds & set("iub")):
            why = "the sums are cast to or from integers once, or to a type of their own"
        reduced = {dim: why for dim in self._definition.reduction_dims if why}
        return {**reduced, **self._apart.whole}

    @property
    def _free_dtypes(self) -> set[DType]:
        """Return the dtypes of the outputs that `dtype=` decides."""
        return {
            self._dtypes[str(output.type_var)]
            for output in self._definition.outputs
            if str(output.type_var) not in PREDEFINED
        }

    @property
    def _is_in_parts(self) -> bool:
        """Return whether blocks may give parts of sums."""
        return bool(self._definition.reduction_dims - self.whole.keys())

    def _dtype_of_blocks(self, dtype: DType) -> DType:
        """Return the dtype of the blocks of a result: partial sums keep the compute type."""
        return self._compute_type if self._compute_type and self._is_in_parts else dtype

    def _starts_on_blocks(self, output: str) -> bool:
        """Return whether each block starts from its part of `init`, which no other block has."""
        return self._apart.combine[output] is None or not self._is_in_parts

    def operands(self) -> list[BlockedOperand]:
        """Return the operands, and the arrays that blocks start from."""
        name, axes = self._definition.name, self._apart.axes
        operands = [
            BlockedOperand(value, axes.get(key, ()), f"{name}: {key}")
            for key, value in self._inputs.items()
            if not is_python_number(value)
        ]
        return operands + [
            BlockedOperand(value, axes[key], f"{name}: init of {key}")
            for key, value in self._inits.items()
            if self._starts_on_blocks(key)
        ]

    def results(self) -> list[BlockedResult]:
        """Return the results."""
        results = []
        for output in self._definition.outputs:
            dtype = self._dtype_of_blocks(self._dtypes[str(output.type_var)])
            init = None
            if output.name in self._inits and not self._starts_on_blocks(output.name):
                init = self._inits[output.name].astype(dtype)
            results.append(
                BlockedResult(
                    self._apart.axes[output.name],
                    self._shapes[output.name],
                    dtype,
                    self._apart.combine[output.name],
                    init,
                )
            )
        return results

    def on_blocks(self) -> Callable[..., Any]:
        """Return the op as it is called on blocks."""
        op = self._op
        if self._apart.sizes:
            op = op_of(with_numbers(op.definition, self._apart.sizes))
        keywords = {**self._on_blocks, "threads": self._threads}
        if self._compute_type is not None:
            keywords["compute_type"] = self._compute_type
        if len(self._free_dtypes) == 1:
            keywords["dtype"] = self._dtype_of_blocks(*self._free_dtypes)
        inputs = enumerate(self._inputs.values())
        numbers = [(position, value) for position, value in inputs if is_python_number(value)]
        inits = [key for key in self._inits if self._starts_on_blocks(key)]
        return partial(_on_blocks, op, numbers, inits, **keywords)


def _follow(
    definition: OpDefinition, inputs: Mapping[str, Shape], attributes: CallAttributes
) -> bool:
    """Return whether the shapes of the outputs follow from those of the inputs."""
    try:
        resolve_shapes(definition, inputs, {}, attributes)
    except ShapeError:
        return False
    return True


def _operand(name: str, operand: Operand, value: Any) -> Any:
    """Return an input: a Python number, or an array."""
    if is_python_number(value):
        return value
    array = known_array(value, f"{name}: {operand.name}")
    if operand.kind is OperandKind.SCALAR and array.shape:
        raise ShapeError(
            f"{name}: {operand.name} is a scalar, but an array of shape {array.shape} is given",
            expected="a number, or an array of rank 0",
        )
    return array


@dataclass(frozen=True)
class Splitting:
    """The splitting of an op among blocks.

    Attributes:
        sizes: the symbols whose sizes would differ in blocks, with the numbers of the whole.
        axes: for each tensor operand a dimension for each axis. An axis that is not a plain
            dimension of the op has a dimension of its own.
        whole: the dimensions that a block must have all of, and why.
        combine: for each output the function that combines the results of blocks; None where it
            has no reduction.
    """

    sizes: Mapping[str, int]
    axes: Mapping[str, tuple[str, ...]]
    whole: Mapping[str, str]
    combine: Mapping[str, Function | None]


def split(
    definition: OpDefinition, shapes: Mapping[str, Shape], attributes: CallAttributes
) -> Splitting:
    """Return the splitting of an op for operands of these shapes.

    Args:
        definition: the op, as the call gives its operands (`with_operand_maps`).
        shapes: the shape of every tensor operand.
    """
    if (reason := why_unmapped(definition)) is not None:
        raise ArgumentError(
            f"{definition.name} does not come apart in blocks: {reason}",
            hint="compute the operands first, or call it on each block with map_blocks",
        )
    if definition.is_rank_polymorphic:
        # Each operand has all axes, or none.
        ranked = at_rank(definition, max(map(len, shapes.values())))
        axes = {name: ranked.dims[: len(shape)] for name, shape in shapes.items()}
        return Splitting({}, axes, {}, {output.name: None for output in definition.outputs})
    rules = _Rules(definition, attributes)
    known = symbol_sizes(definition, shapes, {})
    sizes = {symbol: known[AffineSymbol(symbol)] for symbol in sorted(rules.replaced)}
    return Splitting(sizes, rules.axes, rules.whole, rules.combine)


def with_numbers(definition: OpDefinition, sizes: Mapping[str, int]) -> OpDefinition:
    """Return a definition with numbers in the place of sizes that it computes with."""

    def number(expr: ScalarExpr) -> ScalarExpr:
        if isinstance(expr, Size) and expr.symbol in sizes:
            return Const(sizes[expr.symbol])
        return expr

    return with_values(definition, number) if sizes else definition


class _Rules:
    """The rules, each of which may find dimensions that must be whole."""

    def __init__(self, definition: OpDefinition, attributes: CallAttributes) -> None:
        self.definition = definition
        self.whole: dict[str, str] = {}
        self.axes = {
            name: tuple(self._axis(name, axis, indices) for axis, indices in enumerate(columns))
            for name, accesses in definition.accesses.items()
            for columns in [list(zip(*accesses, strict=True))]
        }
        self._by_symbol = self._dims_of_symbols()
        self._bound = attributes.symbols.keys()
        self._check_symbols()
        self.replaced = self._check_values()
        self.combine = {
            assignment.target.operand: self._combination(assignment, attributes)
            for assignment in definition.assignments
        }

    def _keep_whole(self, dims: Iterable[str], why: str) -> None:
        for dim in dims:
            self.whole.setdefault(dim, why)

    def _axis(self, name: str, axis: int, indices: tuple[AffineExpr, ...]) -> str:
        """Return the dimension that an axis is indexed by, in every access of the operand."""
        first = indices[0]
        if isinstance(first, AffineDim) and all(index == first for index in indices):
            return first.name
        shown = " and ".join(f"`{index}`" for index in dict.fromkeys(indices))
        own = f"{name}, axis {axis}"
        self._keep_whole((own,), f"the op indexes it by {shown}")
        for index in indices:
            self._keep_whole(index.dims, f"the op indexes {name} by {shown}")
        return own

    def _dims_of_symbols(self) -> dict[str, set[str]]:
        dims_of_symbols: dict[str, set[str]] = {}
        for name, axes in self.axes.items():
            for expr, dim in zip(self.definition.operand(name).shape, axes, strict=False):
                for symbol in expr.symbols:
                    dims_of_symbols.setdefault(symbol, set()).add(dim)
        return dims_of_symbols

    def _check_symbols(self) -> None:
        """Keep whole the dimensions whose sizes indices or declared sizes are computed from."""
        for symbol, dims in self._by_symbol.items():
            if len(dims) > 1:
                self._keep_whole(dims, "the op declares it to be as long as another one")
            if symbol in self._bound:
                self._keep_whole(dims, f"the attribute {symbol} says how long it is")
        for name, axes in self.axes.items():
            declared = self.definition.operand(name).shape
            for expr, dim in zip(declared, axes, strict=False):
                if not isinstance(expr, AffineSymbol):
                    self._keep_whole((dim,), f"the op declares it to be {expr} long")
                    self._keep_symbols(expr.symbols, f"the op declares a size as {expr}")
            for indices in self.definition.accesses[name]:
                for index in indices:
                    self._keep_symbols(index.symbols, f"the op indexes {name} by `{index}`")

    def _keep_symbols(self, symbols: tuple[str, ...], why: str) -> None:
        for symbol in symbols:
            self._keep_whole(self._by_symbol.get(symbol, set()), why)

    def _check_values(self) -> frozenset[str]:
        """Keep whole the dimensions that the op counts along; return symbols to make numbers."""
        expressions = list(self.definition.expressions())
        indices = [expr for expr in expressions if isinstance(expr, Index)]
        for index in indices:
            self._keep_whole((index.dim,), f"the op computes with the position along {index.dim}")
        sizes = [expr for expr in expressions if isinstance(expr, Size)]
        cast = [
            expr.args[0]
            for expr in expressions
            if isinstance(expr, Apply) and expr.function.kind is FunctionKind.TYPE
        ]
        replaced = set()
        for size in sizes:
            dims = self._by_symbol.get(size.symbol)
            if not dims or size.symbol in self._bound:
                continue  # an attribute's, which blocks have too
            if sum(size == other for other in cast) == sum(size == other for other in sizes):
                replaced.add(size.symbol)
            else:
                self._keep_whole(dims, f"the op computes with {size}")
        return frozenset(replaced)

    def _combination(self, assignment: Assignment, attributes: CallAttributes) -> Function | None:
        reduction = assignment.reduction
        name = assignment.target.operand
        left = [dim for dim in self.definition.dims if dim not in domain_of(assignment)]
        self._keep_whole(left, f"{name} is not computed along it")
        if reduction is None:
            return None
        chosen = reduction.attribute
        function = attributes.functions[chosen] if chosen else reduction.function
        other_outputs = {a.target.operand for a in self.definition.assignments}
        other_outputs.discard(assignment.target.operand)
        reads = {e.operand for e in assignment.value.walk() if isinstance(e, Access)}
        if function is None:
            self._keep_whole(
                reduction.dims, "the op folds over it, which no function of pairs says"
            )
        elif other_outputs & reads:
            self._keep_whole(reduction.dims, f"{name} depends on other outputs")
        elif any(
            not are_independent(assignment, other)
            for other in self.definition.assignments
            if other is not assignment
        ):
            self._keep_whole(reduction.dims, f"other outputs depend on {name}")
        return function
