"""Compiled kernels on dask arrays: along axes that they leave open, each block is a call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from linalg_ext.compiler.entry import find_entry
from linalg_ext.errors import ArgumentError, ArityError, DTypeError, ShapeError, caller_location
from linalg_ext.executable.kernel import Kernel
from linalg_ext.executable.signature import ArrayType, Parameter
from linalg_ext.frameworks.dask.axes import FunctionAxes, axes_of
from linalg_ext.frameworks.dask.blocks import Wanted, in_blocks
from linalg_ext.frameworks.dask.chunks import Given
from linalg_ext.frameworks.dask.jitted_functions import refuse_out, with_common_axes
from linalg_ext.frameworks.dask.operands import known_array, threads_of_blocks
from linalg_ext.module import Module


def call_kernel_on_dask(
    kernel: Kernel, arguments: Sequence[Any], out: Any, threads: int | None
) -> Any:
    """A call of a kernel with dask arrays among its arguments; nothing runs.

    Args:
        kernel: made by `linalg_ext.compile`, of a function of tensors and numbers.
        arguments: in the order of its inputs.
        out: refused.
        threads: of the call on each block; 1 by default.

    Returns:
        A dask array, or a tuple of them.

    Raises:
        ArgumentError: of the kind that tells what is wrong.
    """
    name = kernel.signature.name
    refuse_out(name, out)
    parameters = kernel.signature.parameters
    if len(arguments) != len(parameters):
        raise ArityError(
            f"`{name}` takes {len(parameters)} arguments, got {len(arguments)}",
            where=caller_location(),
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
        _check(name, parameter, array)
        inputs.append(Given(array, dims, f"`{name}`: {parameter}"))
        for dim, size in zip(dims, array.shape, strict=True):
            if sizes.setdefault(dim, size) != size:
                raise ShapeError(
                    f"`{name}`: {parameter} has shape {array.shape}, and another argument has "
                    f"{sizes[dim]} where it has {size}",
                    where=caller_location(),
                )
    wanted = [
        Wanted(dims, _shape(kernel, number, dims, sizes), result.dtype)
        for number, (result, dims) in enumerate(
            zip(kernel.signature.results, axes.results, strict=True)
        )
    ]
    on_block = _OnBlock(kernel, tuple(constants), threads_of_blocks(threads))
    results = in_blocks(on_block, name, inputs, wanted, axes.whole)
    return results[0] if len(results) == 1 else results


@dataclass(frozen=True)
class _OnBlock:
    """The kernel on a block of each array; `constants` are its other arguments, by their places."""

    kernel: Kernel
    constants: tuple[tuple[int, Any], ...]
    threads: int

    def __call__(self, *blocks: Any) -> Any:
        arguments = list(blocks)
        for place, value in self.constants:
            arguments.insert(place, value)
        return self.kernel(*arguments, threads=self.threads)


def _open_axes(kernel: Kernel) -> FunctionAxes:
    """The axes of a kernel, those whole that it is compiled for one size of.

    Raises:
        ArgumentError: it writes to its arguments, or its module is gone.
    """
    name, recipe = kernel.signature.name, kernel.recipe
    arrays = [p for p in kernel.signature.parameters if isinstance(p.type, ArrayType)]
    kinds = {p.type.kind for p in arrays if isinstance(p.type, ArrayType)}
    if recipe is None or "memref" in kinds or not kernel.signature.results:
        raise ArgumentError(
            f"`{name}` cannot be applied to dask arrays: it is no function of tensors",
            where=caller_location(),
            expected="tensors in and out: memory that is written is no result",
            hint="call it in a function that is given to dask.array.map_blocks",
        )
    module = Module.parse(recipe.module, trusted=True)
    axes = with_common_axes(axes_of(find_entry(module.ir, recipe.entry).operation))
    fixed = {
        dim: f"`{name}` is compiled for its size"
        for parameter, dims in zip(kernel.signature.parameters, axes.arguments, strict=True)
        if isinstance(parameter.type, ArrayType)
        for dim, size in zip(dims, parameter.type.shape, strict=True)
        if size is not None
    }
    return replace(axes, whole={**fixed, **axes.whole})


def _check(name: str, parameter: Parameter, array: Any) -> None:
    kind = parameter.type
    if not isinstance(kind, ArrayType):
        return
    fits = len(array.shape) == len(kind.shape) and all(
        own in (None, size) for own, size in zip(kind.shape, array.shape, strict=True)
    )
    if not fits:
        raise ShapeError(
            f"`{name}`: {parameter} is given an array of shape {array.shape}",
            where=caller_location(),
            expected=str(kind),
        )
    if array.dtype not in kind.element.dtypes:
        raise DTypeError(
            f"`{name}`: {parameter} is given an array of {array.dtype}",
            where=caller_location(),
            expected=" or ".join(map(str, kind.element.dtypes)),
            hint=f"convert it: array.astype('{kind.element.dtype}')",
        )


def _shape(
    kernel: Kernel, number: int, dims: Sequence[str], sizes: dict[str, int]
) -> tuple[int, ...]:
    """The shape of a result, open sizes those of the arguments that have the dimension."""
    result = kernel.signature.results[number]
    shape = [
        sizes.get(dim) if own is None else own for dim, own in zip(dims, result.shape, strict=True)
    ]
    if None in shape:
        raise ShapeError(
            f"`{kernel.signature.name}`: the shape of {result} is known only when it has run",
            where=caller_location(),
            expected="sizes that are those of arguments",
            hint="use dask.array.map_blocks(kernel, ..., chunks=...), which takes your word for it",
        )
    return tuple(size for size in shape if size is not None)
