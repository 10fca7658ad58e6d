"""The plan of attention: its blocks, and the tiles of its two products.

After T. Dao and others, "FlashAttention", NeurIPS 2022, with M. Milakov and N. Gimelshein, "Online
normalizer calculation for softmax", 2018, for the keys that come in blocks:

    for batch
      for rows by `span`               the sums of a span stay in L2
        for keys by `key_block`        packs a block of keys: it stays in L2 with its values
          for rows by `row_block`      the scores of a block stay near
            scores = queries * keys
            their maximum and exponentials, row by row
            sums = sums * (growth of the maximum) + exponentials * values
        result = sums / totals

Of more keys than `LONG`, sums and totals of blocks are added with compensation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from linalg_ext.target.text import table
from linalg_ext.transforms.codegen.base.blocked_sums import LONG
from linalg_ext.transforms.codegen.base.machine import Machine
from linalg_ext.transforms.codegen.base.problem import (
    Argument,
    Dimension,
    Group,
    Operand,
    Problem,
    bits_of,
    product_of,
    size_text,
)
from linalg_ext.transforms.codegen.contractions.contraction_plan import (
    Packing,
    Plan,
    make_plan,
    round_up,
)

Strides = Mapping[str, int | None]
"""The elements from one step of each dimension to the next; None if dynamic."""

_ROW_BLOCK = 24
"""About the rows of a block of scores: with 512 keys they take 48 KiB."""

_PADDING = 16
"""Rows of scores a power of two apart would share the sets of the cache."""


@dataclass(frozen=True)
class Loops:
    """The loops of attention.

    Attributes:
        batch: the loops over dimensions of keys or values besides those below.
        rows: the loops over queries that share keys and values.
        keys: the loop over keys.
        depth: the loops over the elements of a query or a key.
        columns: the loops over the elements of a value.
        sizes: the sizes of all loops; None for a dynamic one.
    """

    batch: tuple[int, ...]
    rows: tuple[int, ...]
    keys: int
    depth: tuple[int, ...]
    columns: tuple[int, ...]
    sizes: Mapping[int, int | None]

    def count(self, loops: Sequence[int]) -> int | None:
        return product_of(self.sizes[loop] for loop in loops)

    @property
    def key_length(self) -> int:
        """The number of elements of a query or a key; dynamic sizes count as 1."""
        return math.prod(self.sizes[loop] or 1 for loop in self.depth)

    @property
    def value_length(self) -> int:
        """The number of elements of a value or a result row; dynamic sizes count as 1."""
        return math.prod(self.sizes[loop] or 1 for loop in self.columns)


@dataclass(frozen=True)
class AttentionPlan:
    """The plan of an attention op. Its `repr` is a table.

    Attributes:
        loops: the loops.
        scores: the product of queries and keys: its C is a block of scores.
        sums: the product of exponentials and values: its C is the sums.
        span: the rows whose sums are in memory at once.
        row_block: the rows of a block of scores.
        key_block: the keys of a block of scores.
    """

    loops: Loops
    scores: Plan
    sums: Plan
    span: int
    row_block: int
    key_block: int

    @property
    def is_one_block(self) -> bool:
        keys = self.loops.sizes[self.loops.keys]
        return keys is not None and self.key_block >= keys

    @property
    def is_long(self) -> bool | None:
        """True where blocks of keys are added with compensation; None if the number is dynamic."""
        keys = self.loops.sizes[self.loops.keys]
        return None if keys is None else keys > LONG

    @property
    def score_stride(self) -> int:
        return round_up(self.key_block, self.scores.tile.columns) + _PADDING

    @property
    def sum_stride(self) -> int:
        return round_up(self.loops.value_length, self.sums.tile.columns)

    def __repr__(self) -> str:
        loops, element = self.loops, self.scores.problem.element
        scratch = self.row_block * self.score_stride + self.span * self.sum_stride
        scratch += self.scores.scratch_b + self.sums.scratch_b
        size = scratch * self.scores.problem.element_bytes / 1024
        tiles = (
            f"{plan.tile.rows} x {plan.tile.vectors} vectors" for plan in (self.scores, self.sums)
        )
        packed = [
            f"{name} {plan.pack_b if operand == 'B' else plan.pack_a}"
            for name, plan, operand in (
                ("queries", self.scores, "A"),
                ("keys", self.scores, "B"),
                ("values", self.sums, "B"),
            )
        ]
        queries = size_text(loops.count(loops.rows))
        rows = [
            ("attention", element),
            ("batch", size_text(loops.count(loops.batch))),
            ("queries", f"{queries}, by {self.span} and {self.row_block}"),
            ("keys", f"{size_text(loops.sizes[loops.keys])}, by {self.key_block}"),
            ("elements", f"{loops.key_length} of a key, {loops.value_length} of a value"),
            ("tiles", f"{' and '.join(tiles)} of {self.scores.tile.lanes}"),
            ("packing", f"{', '.join(packed)}, {size:.0f} KiB"),
        ]  # fmt: skip
        return table(rows)


def plan_attention(
    loops: Loops, operands: Sequence[Argument], machine: Machine
) -> AttentionPlan | str:
    """Return the plan of attention on queries, keys, values and result, or why there is none."""
    query, key, value, result = (
        dict(zip(operand.dimensions, operand.strides, strict=True)) for operand in operands
    )
    element, bytes_ = operands[3].element, bits_of(operands[3].element) // 8
    is_widened = [operand.cast is not None for operand in operands]
    depth, columns = loops.key_length, loops.value_length
    if depth > _MOST_DEPTH:
        return "the keys are long"
    keys, rows = loops.sizes[loops.keys], loops.count(loops.rows)
    room = None if keys is None or rows is None else keys * rows * bytes_
    is_short = columns < machine.vector_bytes // bytes_
    if is_short and room is not None and room <= machine.l1_bytes // _FEW_SCORES:
        return "the values are shorter than a vector, and the scores few"
    fitting = machine.l2_bytes // 4 // bytes_ // (depth + columns)
    most = max(_LEAST_KEYS, min(_MOST_KEYS, fitting))

    def problems(stride: int) -> tuple[Problem, Problem]:
        scored, keys = _row_strides(loops, stride), {f"d{loops.keys}": 1}
        inputs: tuple[Operand, Operand] = ("A", "B")
        return (
            _problem(
                element,
                _group(loops, loops.rows, A=query, C=scored),
                _group(loops, [loops.keys], B=key, C=keys),
                _group(loops, loops.depth, A=query, B=key),
                [role for role, widened in zip(inputs, is_widened, strict=False) if widened],
            ),
            _problem(
                element,
                _group(loops, loops.rows, A=scored, C=result),
                _group(loops, loops.columns, B=value, C=result),
                _group(loops, [loops.keys], A=keys, B=value),
                ["B"] if is_widened[2] else [],
            ),
        )

    tiles = [make_plan(problem, machine) for problem in problems(_even(keys, most, 1))]
    if any(plan.is_inner for plan in tiles):
        return "the operands are thin"
    width = tiles[0].tile.columns
    key_block = _even(keys, most, width)
    height = math.lcm(*(plan.tile.rows for plan in tiles))
    if height > 2 * _ROW_BLOCK:
        height = tiles[0].tile.rows
    row_block = round_up(_ROW_BLOCK if rows is None else min(rows, _ROW_BLOCK), height)
    span = round_up(max(row_block, machine.l2_bytes // 8 // bytes_ // columns), row_block)
    stride = round_up(key_block, width) + _PADDING
    scores, sums = problems(stride)
    lanes = tiles[1].tile.lanes
    # Nothing else of these plans fits: blocks here are walked over in another order.
    scores_plan = Plan(
        scores,
        tiles[0].tile,
        row_block,
        column_block=round_up(key_block, width),
        depth_block=round_up(depth, lanes),
        pack_a="none" if _is_plain(scores, "A") and not is_widened[0] else tiles[0].pack_a,
        pack_b=tiles[0].pack_b,
        pieces_c=1,
    )
    in_place = _is_plain(sums, "B") and sums.columns.pieces("B", lanes) == 1 and not is_widened[2]
    # Rows far apart would share the sets of the cache.
    if in_place and 0 < (value.get(f"d{loops.keys}") or 0) <= 2 * columns:
        pack_values: Packing = "none"
    else:
        pack_values = "rows" if tiles[1].pack_b == "none" else tiles[1].pack_b
    sums_plan = Plan(
        sums,
        tiles[1].tile,
        row_block,
        column_block=round_up(columns, tiles[1].tile.columns),
        depth_block=round_up(key_block, lanes),
        pack_a="none",
        pack_b=pack_values,
        pieces_c=1,
    )
    if rows is not None:
        span = min(span, round_up(rows, row_block))
    return AttentionPlan(loops, scores_plan, sums_plan, span, row_block, key_block)


_FEW_SCORES = 4
"""Scores that take no more than this part of L1 stay there: short vectors do not pay."""

_MOST_DEPTH = 512
"""The longest key: a longer one would need blocks along the depth."""

_MOST_KEYS, _LEAST_KEYS = 512, 64


def _problem(
    element: str, rows: Group, columns: Group, depth: Group, converted: Sequence[Operand]
) -> Problem:
    return Problem(
        element, (), rows, columns, depth,
        swapped=False, overwrites=True, converted=frozenset(converted),
    )  # fmt: skip


def _is_plain(problem: Problem, operand: Operand) -> bool:
    """Return whether each group of dimensions of an operand is evenly spaced in memory."""
    groups = (problem.rows if operand == "A" else problem.columns, problem.depth)
    return all(len(group.segments(operand)) <= 1 for group in groups)


def _even(size: int | None, most: int, multiple: int) -> int:
    """Return a size of about equal blocks, none larger than `most` and a quarter of it."""
    if size is None:
        return round_up(most, multiple)
    count = -(-size // (most + most // 4))
    return round_up(-(-size // count), multiple)


def _row_strides(loops: Loops, stride: int) -> Strides:
    """Return the strides of a buffer whose rows are walked as one."""
    strides: dict[str, int | None] = {}
    step: int | None = stride
    for loop in reversed(loops.rows):
        strides[f"d{loop}"] = step
        step = product_of([step, loops.sizes[loop]])
    return strides


def _group(loops: Loops, members: Sequence[int], **operands: Strides) -> Group:
    return Group(
        tuple(
            Dimension(
                f"d{loop}",
                loops.sizes[loop],
                {role: strides.get(f"d{loop}", 0) for role, strides in operands.items()},  # type: ignore[misc]
            )
            for loop in members
        )
    )
