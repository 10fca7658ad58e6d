"""An op called on dask arrays: its kernel on each block, as its definition lets it come apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from linalg_ext.compiler.op_calls import dtype_of_keyword
from linalg_ext.compiler.op_dtypes import resolve_dtypes
from linalg_ext.definition.attributes import CallAttributes, resolve_attributes
from linalg_ext.definition.calls import Shape, per_output, resolve_shapes, split_inputs
from linalg_ext.definition.model import OpDefinition, Operand, OperandKind
from linalg_ext.definition.types import PREDEFINED
from linalg_ext.errors import ArgumentError, LinalgExtError, ShapeError, caller_location
from linalg_ext.executable.conversion import is_python_number
from linalg_ext.frameworks.dask.blocks import Wanted, in_blocks
from linalg_ext.frameworks.dask.chunks import Given
from linalg_ext.frameworks.dask.operands import known_array, threads_of_blocks
from linalg_ext.frameworks.dask.splitting import split, with_numbers
from linalg_ext.notations.operand_keywords import (
    inverses_named,
    take_operand_maps,
    with_operand_maps,
)
from linalg_ext.opdsl.op import StructuredOp, op_of
from linalg_ext.runtime.dtypes import DType


def call_on_dask(op: StructuredOp, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """A call of an op on dask arrays, and arrays beside them; nothing runs.

    Args:
        op: the op.
        operands: its inputs; a number, or an array of rank 0, for a scalar.
        keywords: as on arrays, but for `out`; `threads` is that of the call on each block.

    Returns:
        A dask array, a tuple of them where the op has several outputs.

    Raises:
        ArgumentError: of the kind that tells what is wrong.
    """
    try:
        return _call(op, operands, keywords)
    except LinalgExtError as error:
        error.where = error.where or caller_location()
        raise


def _call(op: StructuredOp, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    call = _Call(op, operands, keywords)
    results = in_blocks(call.on_block(), op.op_name, call.given(), call.wanted(), call.whole)
    results = tuple(
        result if result.dtype == dtype else result.astype(dtype)
        for result, dtype in zip(results, call.result_dtypes, strict=True)
    )
    return results[0] if len(results) == 1 else results


@dataclass(frozen=True)
class _OnBlock:
    """The op on a block of each operand."""

    op: StructuredOp
    numbers: tuple[tuple[int, Any], ...]
    inits: tuple[str, ...]
    keywords: tuple[tuple[str, Any], ...]
    threads: int

    def __call__(self, *blocks: Any) -> Any:
        inputs = list(blocks[: len(blocks) - len(self.inits)])
        for place, number in self.numbers:
            inputs.insert(place, number)
        keywords = dict(self.keywords)
        if self.inits:
            given = dict(zip(self.inits, blocks[-len(self.inits) :], strict=True))
            keywords["init"] = tuple(given.get(o.name) for o in self.op.definition.outputs)
        return self.op(*inputs, threads=self.threads, **keywords)


class _Call:
    """A call, checked as a whole: its operands, shapes and dtypes, and how it comes apart."""

    def __init__(
        self, op: StructuredOp, operands: tuple[Any, ...], keywords: Mapping[str, Any]
    ) -> None:
        natural, rest = op.definition, dict(keywords)
        name = natural.name
        if rest.pop("out", None) is not None:
            raise ArgumentError(
                f"{name}: out= where an operand is a dask array",
                hint="leave it out; dask.array.store(result, target) writes it to memory or a file",
            )
        self._op = op
        self._threads = threads_of_blocks(rest.pop("threads", None))
        init = per_output(natural, "init", rest.pop("init", None))
        dtype = dtype_of_keyword(natural, "dtype", rest.pop("dtype", None))
        self._compute_type = dtype_of_keyword(
            natural, "compute_type", rest.pop("compute_type", None)
        )
        self._on_blocks = dict(rest)
        said = take_operand_maps(natural, rest)
        given = split_inputs(natural, operands, rest)
        self._on_blocks = {
            key: value
            for key, value in self._on_blocks.items()
            if key not in {operand.name for operand in natural.inputs}
        }
        attributes = resolve_attributes(
            natural, rest, also=("init", "dtype", "compute_type", "threads")
        )
        self._inputs = {
            operand.name: _operand(name, operand, value)
            for operand, value in zip(natural.inputs, given, strict=True)
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
        every = {**given_shapes, **known_shapes}
        ranks = {key: len(shape) for key, shape in every.items()}
        self._definition = with_operand_maps(natural, said, ranks)
        with inverses_named(natural, said, every, attributes.symbols):
            self._shapes = resolve_shapes(self._definition, given_shapes, known_shapes, attributes)
        self._needs_init = not _follow(self._definition, given_shapes, attributes)
        self._apart = split(self._definition, self._shapes, attributes)
        self._inits = inits

    @property
    def result_dtypes(self) -> tuple[DType, ...]:
        """The dtypes of the results."""
        return tuple(self._dtypes[str(output.type_var)] for output in self._definition.outputs)

    @cached_property
    def whole(self) -> dict[str, str]:
        """The dimensions that a block must have all of, and why."""
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
        """The dtypes of the outputs that `dtype=` decides."""
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
        """Return whether each block starts from its part of `init`: nothing of it is in other
        blocks.
        """
        return self._apart.combine[output] is None or not self._is_in_parts

    def given(self) -> list[Given]:
        """The operands, and what each block starts from."""
        name, axes = self._definition.name, self._apart.axes
        found = [
            Given(value, axes.get(key, ()), f"{name}: {key}")
            for key, value in self._inputs.items()
            if not is_python_number(value)
        ]
        return found + [
            Given(value, axes[key], f"{name}: init of {key}")
            for key, value in self._inits.items()
            if self._starts_on_blocks(key)
        ]

    def wanted(self) -> list[Wanted]:
        """The results."""
        found = []
        for output in self._definition.outputs:
            dtype = self._dtype_of_blocks(self._dtypes[str(output.type_var)])
            init = None
            if output.name in self._inits and not self._starts_on_blocks(output.name):
                init = self._inits[output.name].astype(dtype)
            found.append(
                Wanted(
                    self._apart.axes[output.name],
                    self._shapes[output.name],
                    dtype,
                    self._apart.combine[output.name],
                    init,
                )
            )
        return found

    def on_block(self) -> _OnBlock:
        """The op as it is called on blocks."""
        op = self._op
        if self._apart.sizes:
            op = op_of(with_numbers(op.definition, self._apart.sizes))
        keywords = dict(self._on_blocks)
        if self._compute_type is not None:
            keywords["compute_type"] = self._compute_type
        if len(self._free_dtypes) == 1:
            keywords["dtype"] = self._dtype_of_blocks(*self._free_dtypes)
        numbers = tuple(
            (place, value)
            for place, value in enumerate(self._inputs.values())
            if is_python_number(value)
        )
        inits = tuple(key for key in self._inits if self._starts_on_blocks(key))
        return _OnBlock(op, numbers, inits, tuple(keywords.items()), self._threads)


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
    """An input: a Python number, or an array."""
    if is_python_number(value):
        return value
    array = known_array(value, f"{name}: {operand.name}")
    if operand.kind is OperandKind.SCALAR and array.shape:
        raise ShapeError(
            f"{name}: {operand.name} is a scalar, but an array of shape {array.shape} is given",
            expected="a number, or an array of rank 0",
        )
    return array
