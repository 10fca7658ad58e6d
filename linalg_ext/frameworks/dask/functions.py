"""Jitted functions and compiled kernels on dask arrays: a call on each block.

A jitted function is traced once for the whole arrays, which shows the axes that can be split. A
number that it computes from a size would differ for a block: so it is traced at each size of the
blocks, too, and an axis whose size makes a difference is not split. A kernel is split along its
open axes.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from linalg_ext.bindings import ir
from linalg_ext.compiler.entry import find_entry
from linalg_ext.errors import ArgumentError, ArityError, DTypeError, ShapeError, counted, located
from linalg_ext.executable.kernel import Kernel
from linalg_ext.executable.signature import ArrayType, Parameter
from linalg_ext.frameworks.dask.axes import FunctionAxes, axes_of, same_but_for_sizes
from linalg_ext.frameworks.dask.blocks import (
    BlockedOperand,
    BlockedResult,
    apply_to_blocks,
    known_array,
    refuse_out,
    threads_of_blocks,
)
from linalg_ext.module import Module
from linalg_ext.tracing.jit_function import JitFunction
from linalg_ext.tracing.lowered import Lowered
from linalg_ext.tracing.values.containers import Structure, flatten, unflatten
from linalg_ext.tracing.values.specs import ShapeDtype
from linalg_ext.transforms.ir_utils.walking import function_type
from linalg_ext.utils.hooks import is_dask


@located
def jitted_on_dask(
    function: JitFunction[..., Any],
    arguments: Sequence[Any],
    named: Mapping[str, Any],
    out: Any,
    threads: int | None,
) -> Any:
    """Apply a jitted function to arguments with dask arrays among them; nothing runs.

    Args:
        arguments, named: as they were given.
        out: refused.
        threads: of the call on each block; 1 by default.

    Returns:
        The function's result, its arrays those of dask.

    Raises:
        ArgumentError: of the kind of the mistake.
    """
    name = function.__name__
    refuse_out(name, out, "an argument")
    call = _Call(function, arguments, named)
    learned = _traced_axes(function, call)
    axes = learned.axes
    inputs = [
        BlockedOperand(array, dims, f"{name}: argument {number}")
        for number, (array, dims) in enumerate(zip(call.arrays, axes.arguments, strict=True))
    ]
    on_blocks = partial(
        _on_blocks,
        function,
        call.structure,
        call.positions,
        call.constants,
        threads_of_blocks(threads),
    )
    results = apply_to_blocks(on_blocks, name, inputs, learned.blocked_results, axes.whole)
    return unflatten(learned.results, results)


def with_common_axes(axes: FunctionAxes) -> FunctionAxes:
    """Return the axes; those that a result lacks are whole, or blocks of it would be repeated."""
    dims = {dim for own in (*axes.arguments, *axes.results) for dim in own}
    lone = {dim for dim in dims if not all(dim in own for own in axes.results)}
    return replace(
        axes, whole={**dict.fromkeys(lone, "a result lacks the dimension"), **axes.whole}
    )


def _on_blocks(
    function: JitFunction[..., Any],
    structure: Structure,
    positions: Sequence[int],
    constants: Sequence[Any],
    threads: int,
    *blocks: Any,
) -> Any:
    """Call a function on a block of each array.

    Args:
        structure: of its positional and its named arguments.
        positions: the indices of the leaves that are arrays.
        constants: the other leaves.
    """
    remaining = iter(constants)
    by_position = dict(zip(positions, blocks, strict=True))
    leaves = [
        by_position[position] if position in by_position else next(remaining)
        for position in range(structure.leaves)
    ]
    arguments, named = unflatten(structure, leaves)
    results, _ = flatten(function(*arguments, threads=threads, **named))
    return results[0] if len(results) == 1 else tuple(results)


@dataclass(frozen=True)
class _TracedAxes:
    """Facts about a function that its traces show.

    Attributes:
        axes: the axes of the arrays among its arguments, and of its results.
        results: the structure that contains the results.
    """

    axes: FunctionAxes
    blocked_results: tuple[BlockedResult, ...]
    results: Structure


_traces: WeakKeyDictionary[JitFunction[..., Any], dict[Hashable, _TracedAxes]] = WeakKeyDictionary()


def _traced_axes(function: JitFunction[..., Any], call: _Call) -> _TracedAxes:
    """Return the facts about a call, from the memo of traces where it has a like call."""
    known = _traces.setdefault(function, {})
    try:
        learned = known.get(call.key)
    except TypeError:  # an argument without a hash: a trace refuses it by its name
        return call.traced()
    if learned is None:
        learned = known[call.key] = call.traced()
    return learned


class _Call:
    """A call: its arguments, and the traces of the function at the shapes of their arrays.

    Attributes:
        arrays: those of its arguments.
        structure, positions, constants: as of `_on_blocks`.
    """

    def __init__(
        self, function: JitFunction[..., Any], arguments: Sequence[Any], named: Mapping[str, Any]
    ) -> None:
        # No size is open, as the traces show whether sizes make a difference.
        options = {name: function.options[name] for name in ("static_argnames", "static_argnums")}
        self._function = JitFunction(function.__wrapped__, **options)
        call_arguments = [list(arguments), dict(named)]
        self._leaves, self.structure = flatten(call_arguments, constants=True)
        self.positions = tuple(position for position, x in enumerate(self._leaves) if _is_array(x))
        self.constants = tuple(leaf for leaf in self._leaves if not _is_array(leaf))
        self.arrays = [
            known_array(self._leaves[position], f"{function.__name__}: argument {number}")
            for number, position in enumerate(self.positions)
        ]

    @property
    def key(self) -> Hashable:
        """Return all that a trace depends on."""
        cut = tuple((a.shape, a.dtype, getattr(a, "chunks", None)) for a in self.arrays)
        constants = tuple((type(constant), constant) for constant in self.constants)
        return self.structure, self.positions, constants, cut

    def traced(self) -> _TracedAxes:
        """Trace the function at the shapes of the arrays and of their blocks."""
        self._whole, axes = self._at([array.shape for array in self.arrays])
        axes = self._split(with_common_axes(axes))
        types = [ir.ShapedType(type_) for type_ in function_type(_entry(self._whole)).results]
        blocked_results = tuple(
            BlockedResult(dims, tuple(type_.shape), dtype)
            for dims, type_, dtype in zip(axes.results, types, self._whole.dtypes, strict=True)
        )
        return _TracedAxes(axes, blocked_results, self._whole.results)

    def _split(self, axes: FunctionAxes) -> FunctionAxes:
        """Return the axes; those whose size makes a difference to the function are whole."""
        cut = self._cut(axes)
        if self._is_uniform(axes, cut):
            return axes
        # This is rare, so each dimension is tried by itself.
        why = "at another size of it the function does something else"
        uniform = {dim: sizes for dim, sizes in cut.items() if self._is_uniform(axes, {dim: sizes})}
        if not self._is_uniform(axes, uniform):
            uniform = {}
        refused = dict.fromkeys(cut.keys() - uniform.keys(), why)
        return replace(axes, whole={**refused, **axes.whole})

    def _at(self, shapes: Sequence[tuple[int, ...]]) -> tuple[Lowered, FunctionAxes]:
        """Trace the function at some shapes of the arrays; return its axes, too."""
        specs = [ShapeDtype(s, a.dtype) for s, a in zip(shapes, self.arrays, strict=True)]
        leaves = list(self._leaves)
        for position, spec in zip(self.positions, specs, strict=True):
            leaves[position] = spec
        arguments, named = unflatten(self.structure, leaves)
        traced = self._function.lower(*arguments, **named)
        axes = axes_of(_entry(traced))
        # Numbers are arguments of the traced function too.
        order = [id(array) for array in traced.call.arrays]
        own = tuple(axes.arguments[order.index(id(spec))] for spec in specs)
        return traced, replace(axes, arguments=own)

    def _cut(self, axes: FunctionAxes) -> dict[str, tuple[int, ...]]:
        """Return for each dimension that would be split the sizes of its blocks."""
        chunks: dict[str, tuple[int, ...]] = {}
        for array, dims in zip(self.arrays, axes.arguments, strict=True):
            for dim, sizes in zip(dims, getattr(array, "chunks", ()), strict=False):
                if dim not in axes.whole and len(sizes) > 1:
                    chunks[dim] = (*chunks.get(dim, ()), *sizes)
        return chunks

    def _is_uniform(self, axes: FunctionAxes, cut: Mapping[str, tuple[int, ...]]) -> bool:
        """Return whether the function is the same for blocks of all these sizes.

        Each size is one more trace; the workers' kernel for it costs many times as much.
        """
        largest = {dim: max(sizes) for dim, sizes in cut.items()}
        trials = [{**largest, dim: size} for dim, sizes in cut.items() for size in set(sizes)]
        distinct = {tuple(trial.items()) for trial in trials}
        return all(self._does_the_same(axes, dict(trial)) for trial in sorted(distinct))

    def _does_the_same(self, axes: FunctionAxes, sizes: Mapping[str, int]) -> bool:
        shapes = [
            tuple(sizes.get(dim, size) for dim, size in zip(dims, array.shape, strict=True))
            for array, dims in zip(self.arrays, axes.arguments, strict=True)
        ]
        try:
            traced, axes_ = self._at(shapes)
        except Exception:  # the user's own check of a size, for example
            return False
        # An axis of size 1 may be read as a broadcast one, which its indexing map alone shows.
        has_ones = 1 in sizes.values()
        same_axes = has_ones or with_common_axes(axes_) == axes
        both = _entry(self._whole), _entry(traced)
        return same_axes and same_but_for_sizes(*both, ignore_maps=has_ones)


def _is_array(leaf: Any) -> bool:
    return is_dask(leaf) or hasattr(leaf, "__array__") or hasattr(leaf, "__dlpack__")


def _entry(traced: Lowered) -> Any:
    return find_entry(traced.module.ir, traced.name)


@located
def kernel_on_dask(kernel: Kernel, arguments: Sequence[Any], out: Any, threads: int | None) -> Any:
    """Apply a kernel to arguments with dask arrays among them; nothing runs.

    Args:
        kernel: made by `linalg_ext.compile`, of a function of tensors and numbers.
        arguments: in the order of its inputs.
        out: refused.
        threads: of the call on each block; 1 by default.

    Returns:
        A dask array, or a tuple of them.

    Raises:
        ArgumentError: of the kind of the mistake.
    """
    name = kernel.signature.name
    refuse_out(name, out, "an argument")
    parameters = kernel.signature.parameters
    if len(arguments) != len(parameters):
        raise ArityError(
            f"`{name}` takes {counted(len(parameters), 'argument')}, got {len(arguments)}",
            expected=str(kernel.signature),
        )
    axes = _open_axes(kernel)
    inputs, constants = [], []
    sizes: dict[str, int] = {}
    for parameter, value, dims in zip(parameters, arguments, axes.arguments, strict=True):
        if not isinstance(parameter.type, ArrayType):
            constants.append((parameter.position, value))
            continue
        array = known_array(value, f"`{name}`: {parameter}")
        _check(name, parameter, parameter.type, array)
        inputs.append(BlockedOperand(array, dims, f"`{name}`: {parameter}"))
        for dim, size in zip(dims, array.shape, strict=True):
            if sizes.setdefault(dim, size) != size:
                raise ShapeError(
                    f"`{name}`: {parameter} has shape {array.shape}, and another argument has "
                    f"{sizes[dim]} where it has {size}"
                )
    blocked_results = [
        BlockedResult(dims, _shape(kernel, number, dims, sizes), result.dtype)
        for number, (result, dims) in enumerate(
            zip(kernel.signature.results, axes.results, strict=True)
        )
    ]
    on_blocks = partial(_kernel_on_blocks, kernel, constants, threads_of_blocks(threads))
    results = apply_to_blocks(on_blocks, name, inputs, blocked_results, axes.whole)
    return results[0] if len(results) == 1 else results


def _kernel_on_blocks(
    kernel: Kernel, constants: Sequence[tuple[int, Any]], threads: int, *blocks: Any
) -> Any:
    """Call a kernel on a block of each array; `constants` are its other arguments, by positions."""
    arguments = list(blocks)
    for position, value in constants:
        arguments.insert(position, value)
    return kernel(*arguments, threads=threads)


def _open_axes(kernel: Kernel) -> FunctionAxes:
    """Return the axes of a kernel; those of a size that is compiled into it are whole.

    Raises:
        ArgumentError: it writes to its arguments, or its module is gone.
    """
    name, recipe = kernel.signature.name, kernel.recipe
    types = [parameter.type for parameter in kernel.signature.parameters]
    kinds = {type_.kind for type_ in types if isinstance(type_, ArrayType)}
    if recipe is None or "memref" in kinds or not kernel.signature.results:
        raise ArgumentError(
            f"`{name}` cannot be applied to dask arrays: it is not a function of tensors",
            expected="tensors in and out: memory that is written is not a result",
            hint="call it in a function that is given to dask.array.map_blocks",
        )
    module = Module.parse(recipe.module, trusted=True)
    axes = with_common_axes(axes_of(find_entry(module.ir, recipe.entry)))
    fixed = {
        dim: f"`{name}` is compiled for its size"
        for parameter, dims in zip(kernel.signature.parameters, axes.arguments, strict=True)
        if isinstance(parameter.type, ArrayType)
        for dim, size in zip(dims, parameter.type.shape, strict=True)
        if size is not None
    }
    return replace(axes, whole={**fixed, **axes.whole})


def _check(name: str, parameter: Parameter, kind: ArrayType, array: Any) -> None:
    fits = len(array.shape) == len(kind.shape) and all(
        own in (None, size) for own, size in zip(kind.shape, array.shape, strict=True)
    )
    if not fits:
        raise ShapeError(
            f"`{name}`: {parameter} is given an array of shape {array.shape}", expected=str(kind)
        )
    if array.dtype not in kind.element.dtypes:
        raise DTypeError(
            f"`{name}`: {parameter} is given an array of {array.dtype}",
            expected=" or ".join(map(str, kind.element.dtypes)),
            hint=f"convert it: array.astype('{kind.element.dtype}')",
        )


def _shape(
    kernel: Kernel, number: int, dims: Sequence[str], sizes: dict[str, int]
) -> tuple[int, ...]:
    """Return the shape of a result, open sizes those of the arguments that have the dimension."""
    result = kernel.signature.results[number]
    shape = [
        sizes.get(dim) if own is None else own for dim, own in zip(dims, result.shape, strict=True)
    ]
    if None in shape:
        raise ShapeError(
            f"`{kernel.signature.name}`: the shape of {result} is known only when it has run",
            expected="sizes that are those of arguments",
            hint="use dask.array.map_blocks(kernel, ..., chunks=...), which takes your word for it",
        )
    return tuple(size for size in shape if size is not None)
