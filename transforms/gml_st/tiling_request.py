"""A user's request for tiling: the ops, and how they are cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError
from linalg_ext.gml_st.rules import Unserved, rule_of
from linalg_ext.transforms.ir_utils.walking import select

from .chosen_ops import is_meant, label_of
from .op_tiling import Cut

FORMS = ("parallel", "for", "loop")

_VIEWS = frozenset(
    ("tensor.cast", "tensor.collapse_shape", "tensor.expand_shape", "tensor.extract_slice")
)
"""Ops that show the elements of another in another way: it is that which is tiled."""


@dataclass(frozen=True)
class Request:
    """A checked request.

    Attributes:
        tile_sizes: for each loop nest, outermost first, the sizes of its parts; empty: they are
            chosen for the target.
        op: the name or the label of the ops that are tiled; empty: those that give the results.
        form, points, accumulate, distribution: as of `Cut`.
    """

    tile_sizes: tuple[tuple[int, ...], ...]
    op: str
    form: str
    points: bool
    accumulate: bool
    distribution: tuple[str, ...]

    @classmethod
    def of(
        cls,
        tile_sizes: Sequence[int] | Sequence[Sequence[int]] | None,
        op: str,
        form: str,
        points: bool,
        accumulate: bool,
        distribution: Sequence[str],
    ) -> Request:
        """Check what a user gave.

        Raises:
            ArgumentError: a size is no number or negative, there is no such form, or the options
                contradict each other.
        """
        if form not in FORMS:
            raise ArgumentError(f"form={form!r}", expected="one of " + ", ".join(FORMS))
        if not isinstance(op, str):
            raise ArgumentError(f"op={op!r}", expected="the name of an op, or its label")
        sizes = _nest(tile_sizes)
        if points and sizes and any(size > 1 for size in sizes[-1]):
            raise ArgumentError(
                f"points=True with tile_sizes={list(sizes[-1])}",
                expected="sizes of 1, or 0 where nothing is cut",
            )
        return cls(sizes, op, form, bool(points), bool(accumulate), tuple(distribution))

    def cut(self, sizes: Sequence[int], *, is_last: bool) -> Cut:
        """Return the tiling of an op at one level of the nest.

        Points and parallel sums are for the last level.
        """
        return Cut(
            tuple(sizes),
            self.form,
            self.points and is_last,
            self.accumulate and is_last,
            self.distribution,
        )


def _nest(given: object) -> tuple[tuple[int, ...], ...]:
    """Tile sizes as a list for each level, whatever they were given as."""
    if given is None:
        return ()
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ArgumentError(
            f"tile_sizes={given!r}", expected="a list of integers, or one for each nest of loops"
        )
    items = list(given)
    if not items:
        return ()
    if any(isinstance(each, Iterable) for each in items):
        return tuple(_sizes(each) for each in items)
    return (_sizes(items),)


def _sizes(given: object) -> tuple[int, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ArgumentError(
            f"tile_sizes hold {given!r} beside lists", expected="a list for each nest of loops"
        )
    sizes: list[int] = []
    for at, size in enumerate(given):
        if not hasattr(size, "__index__") or isinstance(size, bool):
            raise ArgumentError(f"tile size {at} is {size!r}", expected="an integer")
        if int(size) < 0:
            raise ArgumentError(
                f"tile size {at} is {int(size)}",
                expected="a positive size, or 0 for a dimension that is not cut",
            )
        sizes.append(int(size))
    return tuple(sizes)


def meant_ops(root: ir.Operation, request: Request) -> list[ir.Operation]:
    """The ops that a request means, in the order of the program.

    Raises:
        ArgumentError: it names one, and there is none of that name or label.
    """
    if not request.op:
        return select(root, _gives_a_result)
    found = select(root, lambda op: is_meant(op, (request.op,)))
    if found:
        return found
    names = sorted({op.name for op in select(root, _is_tileable)})
    labels = sorted({label_of(op) for op in select(root, lambda op: bool(label_of(op)))})
    listed = ", ".join((*names, *labels)) or "none that can be tiled"
    near = get_close_matches(request.op, (*names, *labels), n=1)
    raise ArgumentError(
        f"{request.op!r} is the name or label of no op here",
        expected=f"one of {listed}",
        hint=f"did you mean {near[0]}?" if near else None,
    )


def _is_tileable(op: ir.Operation) -> bool:
    """Return whether a rule serves an op, which computes something of tensors."""
    if op.name in _VIEWS or op.name.startswith(("arith.", "gml_st.")):
        return False
    try:
        rule = rule_of(op)
        parts = rule.operand_parts(rule.domain.all)
    except Unserved:
        return False
    return any(part is not None for at, part in enumerate(parts) if at not in rule.destinations)


def _gives_a_result(op: ir.Operation) -> bool:
    """Return whether an op computes what no other op computes with: it is shown, or handed back."""
    return _is_tileable(op) and not any(
        _is_computed_with(use.owner.operation) for result in op.results for use in result.uses
    )


def _is_computed_with(user: ir.Operation) -> bool:
    if user.name in _VIEWS:
        return any(
            _is_computed_with(use.owner.operation) for result in user.results for use in result.uses
        )
    if user.name == "tensor.dim":
        return False
    return len(user.results) > 0
