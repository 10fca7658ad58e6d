"""In which order the operands of an einsum are contracted, two at a time.

The search is opt_einsum's (Smith and Gray, "opt_einsum - A Python package for optimizing
contraction order for einsum-like expressions", JOSS 2018).
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from linalg_ext.errors import ArgumentError, PathError
from linalg_ext.notations.einsum.contraction import Contraction

Path = tuple[tuple[int, ...], ...]
"""For each step the positions of its operands; its result is appended to those that are left."""

STRATEGIES = (
    "auto",
    "auto-hq",
    "greedy",
    "optimal",
    "dp",
    "branch-all",
    "branch-2",
    "branch-1",
)
"""The names that `optimize=` accepts."""


def find_path(contraction: Contraction, optimize: Any) -> Path:
    """The path that `optimize=` asks for.

    Args:
        contraction: with one operand at least.
        optimize: True or `"auto"`; False, from left to right; the name of a strategy; a pair of a
            name and the number of elements that an intermediate may have; or a path as
            `numpy.einsum_path` gives it: `["einsum_path", (1, 2), (0, 1)]`.

    Raises:
        ArgumentError: it is none of these.
        PathError: the path does not contract all operands into one.
    """
    count = len(contraction.inputs)
    limit = None
    if isinstance(optimize, Sequence) and not isinstance(optimize, str):
        if optimize and optimize[0] == "einsum_path":
            return _checked(optimize[1:], count)
        if len(optimize) != 2 or not isinstance(optimize[0], str):
            _refuse(optimize)
        optimize, limit = optimize
        if isinstance(limit, bool) or not isinstance(limit, int | float) or limit < 0:
            raise ArgumentError(
                f"einsum: the memory limit of optimize= is {limit!r}",
                expected="a number of elements",
            )
    if not isinstance(optimize, str | bool):
        _refuse(optimize)
    strategy = "auto" if optimize is True else optimize
    if strategy is not False and strategy not in STRATEGIES:
        _refuse(optimize)
    if count <= 2:
        return (tuple(range(count)),)
    if strategy is False:
        return ((0, 1), *((0, left) for left in range(count - 2, 0, -1)))
    # Not at the top: it takes 30 ms, and einsums of one and two operands need it not.
    from opt_einsum.paths import get_path_fn

    search = get_path_fn(strategy)
    inputs = [frozenset(labels) for labels in contraction.inputs]
    found = search(
        inputs,
        frozenset(contraction.output),
        contraction.sizes,
        None if limit is None else int(limit),
    )
    return tuple(tuple(step) for step in found)


def _checked(steps: Sequence[Any], count: int) -> Path:
    path: list[tuple[int, ...]] = []
    left = count
    for step in steps:
        try:
            positions = tuple(operator.index(position) for position in step)
        except TypeError:
            raise PathError(
                f"einsum: {step!r} is no step of a path", expected="a tuple of positions"
            ) from None
        if (
            not positions
            or len({*positions}) < len(positions)
            or not all(0 <= position < left for position in positions)
        ):
            raise PathError(
                f"einsum: step {len(path)} of the path, {positions}, does not fit {left} operands",
                expected=f"different positions from 0 to {left - 1}",
            )
        path.append(positions)
        left += 1 - len(positions)
    if left != 1:
        raise PathError(
            f"einsum: the path leaves {left} of {count} operands",
            expected="one: the result",
            hint="add steps, or leave the order to optimize='auto'",
        )
    # Without a step there is one operand: its sums are yet to be computed.
    return tuple(path) or ((0,),)


def _refuse(optimize: object) -> None:
    raise ArgumentError(
        f"einsum: optimize={optimize!r}",
        expected="True, False, one of "
        + ", ".join(map(repr, STRATEGIES))
        + ", a pair of one of these and a memory limit, or ['einsum_path', (0, 1), ...]",
    )
