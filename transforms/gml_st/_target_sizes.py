"""Tile sizes for the target: parts that the second cache holds with what they are made of."""

from __future__ import annotations

import math

from linalg_ext.bindings import ir
from linalg_ext.errors import LinalgExtError
from linalg_ext.gml_st.rules import PARALLEL, Rule, Unserved
from linalg_ext.symbolic.index_sets import Tile
from linalg_ext.target import Target
from linalg_ext.transforms.analysis.buffers import element_bytes

_OPEN = 1024
"""The assumed value of a size that is known only at run time."""

_ROW = 64
"""Bytes that neighbours in memory are not cut below: a line of a cache."""


def chosen_sizes(rule: Rule, target: Target) -> tuple[int, ...]:
    """Sizes for an op: halved, the dimension that saves most first, until a part fits.

    Half of the second cache, for the operands and results of a part together: what is fused later
    needs room too. Reductions are cut last, since each cut of one reads the result again. A
    dimension that fits whole is not cut; where all of the op fits nothing is.

    Raises:
        Unserved: the rule cannot say what a part needs.
    """
    domain = rule.domain
    sizes = [size if isinstance(size, int) else _OPEN for size in domain.sizes]
    budget = _second_cache(target) // 2
    whole = list(sizes)
    while _footprint(rule, sizes) > budget:
        shorter = [
            (domain.iterators[dim] != PARALLEL, _footprint(rule, _halved(sizes, dim)), dim)
            for dim in range(domain.rank)
            if dim not in domain.whole and sizes[dim] > _shortest(rule, dim)
        ]
        if not shorter:
            break
        _, _, dim = min(shorter)
        sizes = _halved(sizes, dim)
    return tuple(
        0 if size == all_ and isinstance(domain.sizes[dim], int) else size
        for dim, (size, all_) in enumerate(zip(sizes, whole, strict=True))
    )


def _halved(sizes: list[int], dim: int) -> list[int]:
    """One size at the next power of two below."""
    power = 1 << max(0, (sizes[dim] - 1).bit_length() - 1)
    return [power if at == dim else size for at, size in enumerate(sizes)]


def _shortest(rule: Rule, dim: int) -> int:
    """Return the smallest size of a part along a dimension.

    The last dimension of the domain keeps a cache line of the result.
    """
    result = ir.ShapedType(rule.op.results[0].type)
    bytes_ = element_bytes(result.element_type)
    return max(1, _ROW // bytes_) if dim == rule.domain.rank - 1 else 1


def _footprint(rule: Rule, sizes: list[int]) -> int:
    """Bytes of all that a part at the origin reads and writes."""
    part = Tile((0,) * len(sizes), sizes)
    operands = list(rule.op.operands)
    parts = [
        (each, operands[at].type)
        for at, each in enumerate(rule.operand_parts(part))
        if each is not None and at not in rule.destinations
    ]
    parts += [
        (rule.part_of_result(part, number), result.type)
        for number, result in enumerate(rule.op.results)
    ]
    return sum(
        math.prod(size if isinstance(size, int) else _OPEN for size in tile.sizes)
        * element_bytes(ir.ShapedType(type_).element_type)
        for tile, type_ in parts
    )


def _second_cache(target: Target) -> int:
    for level in (2, 1):
        try:
            return target.cache(level).size
        except LinalgExtError:
            continue
    raise Unserved(f"the target {target.name} has no cache to choose sizes for")
