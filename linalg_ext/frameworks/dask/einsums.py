"""`lx.einsum` of dask arrays: a kernel for each pair of blocks that meet, and a tree of their sums.

Operands are contracted two at a time along the path that their shapes give. A label is cut as the
largest operand of the step is; along a label that is summed over, each block gives a part of the
sum. No operand is ever put together: a task has at most one block of each, and two parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from linalg_ext.compiler.einsum.api import einsum
from linalg_ext.compiler.einsum.emission import with_broadcasts
from linalg_ext.compiler.einsum.request import Dtypes, Request
from linalg_ext.errors import ArgumentError, located
from linalg_ext.frameworks.dask.blocks import (
    AnyArray,
    Array,
    BlockedOperand,
    BlockedResult,
    apply_to_blocks,
    known_array,
    refuse_out,
    threads_of_blocks,
)
from linalg_ext.notations.einsum import BROADCAST, Semiring
from linalg_ext.notations.einsum.plan import Step, contract_along, find_path, steps_along
from linalg_ext.notations.einsum.subscripts import LETTERS


@located
def einsum_on_dask(
    request: Request,
    operands: Sequence[Any],
    out: Any,
    threads: int | None,
    tune: Any,
    backend: str,
) -> AnyArray:
    """Return an einsum of dask arrays, and arrays beside them; nothing runs.

    Args:
        out: refused.
        threads: of the call on each block; 1 by default.
        tune: refused.
        backend: of the call on each block.

    Raises:
        ArgumentError: of the kind of the mistake.
    """
    refuse_out("einsum", out)
    if tune is not False:
        raise ArgumentError(
            "einsum: tune= where an operand is a dask array",
            hint="tune an einsum of arrays as large as a block: workers of this machine find it",
        )
    threads_of_call = threads_of_blocks(threads)
    arrays = [known_array(value, f"einsum: operand {n}") for n, value in enumerate(operands)]
    shapes = [array.shape for array in arrays]
    contraction = request.subscripts.bind(shapes)
    path = find_path(contraction, request.optimize)
    dtypes = request.dtypes_for(arrays)

    def apply(group: list[_Value], step: Step) -> _Value:
        return _Value(_contracted(request.kind, dtypes, group, step, threads_of_call, backend))

    values = [_Value(array, f"einsum: operand {n}") for n, array in enumerate(arrays)]
    labels = with_broadcasts(contraction.inputs, shapes)
    # A product that cannot be taken out of a sum is of all operands at once.
    steps: Sequence[Step] = (Step.of_all(labels, contraction.output),)
    if not request.kind.needs_non_negative:
        steps = steps_along(path, tuple(labels), contraction.output, reads_diagonals=True)
    result = contract_along(steps, values, apply).array
    return result if result.dtype == dtypes.result else result.astype(dtypes.result)


@dataclass(frozen=True)
class _Value:
    """An operand of the einsum, by its name; or the result of a step, without one."""

    array: AnyArray
    name: str = ""


def _contracted(
    kind: Semiring, dtypes: Dtypes, group: Sequence[_Value], step: Step, threads: int, backend: str
) -> AnyArray:
    # An axis of size 1 that is broadcast is a dimension of its own, along which nothing is cut.
    dims = [
        tuple(f"{n}:{axis}" if label == BROADCAST else label for axis, label in enumerate(own))
        for n, own in enumerate(step.inputs)
    ]
    letters = dict(zip(dict.fromkeys(dim for own in dims for dim in own), LETTERS, strict=False))
    terms = ["".join(letters[dim] for dim in own) for own in dims]
    text = f"{','.join(terms)}->{''.join(letters[label] for label in step.output)}"
    sizes = {
        dim: size
        for value, own in zip(group, dims, strict=True)
        for dim, size in zip(own, value.array.shape, strict=True)
    }
    is_operand = tuple(bool(value.name) for value in group)
    options = {"kind": kind, "threads": threads, "backend": backend}
    on_blocks = partial(_on_blocks, text, dtypes, is_operand, **options)
    inputs = [
        BlockedOperand(value.array, own, value.name or "einsum: an intermediate")
        for value, own in zip(group, dims, strict=True)
    ]
    shape = tuple(sizes[label] for label in step.output)
    result = BlockedResult(step.output, shape, dtypes.compute, kind.add)
    return apply_to_blocks(on_blocks, "einsum", inputs, [result], {})[0]


def _on_blocks(
    text: str, dtypes: Dtypes, operands: Sequence[bool], *blocks: Array, **options: Any
) -> Any:
    """Return an einsum of blocks, in the dtype that it is computed in.

    Args:
        dtypes: of the whole einsum.
        operands: for each block whether it is of an operand of the einsum, not of a step's result.
    """
    compute = dtypes.compute
    if all(operands) and {block.dtype for block in blocks} == {dtypes.operands}:
        if compute != dtypes.operands:
            # Narrow elements can be read as they are.
            options |= {"dtype": compute, "compute_type": compute, "casting": "unsafe"}
        return einsum(text, *blocks, **options)
    converted = [
        dtypes.converted(block) if is_operand else block
        for block, is_operand in zip(blocks, operands, strict=True)
    ]
    return einsum(text, *converted, **options)
