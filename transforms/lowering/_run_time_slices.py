"""How many slices a loop is cut into where only the run tells how much there is to do.

The same reckoning as `_slices` makes, in what the entry computes.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from linalg_ext.bindings import arith, ir
from linalg_ext.target import current

from . import _slices
from ._amounts import as_number, dim, number
from ._elementwise import index
from ._slice_writer import extent_of
from ._slices import Work
from ._steps import Step


def slices_at_run_time(work: Work, threads: int) -> tuple[Any, Any]:
    """How many slices there are, and how many steps each has but for the last, as indices."""
    took = functools.reduce(arith.addf, [_nanoseconds(step) for step in work.steps])
    count = count_at_run_time(took, threads, most_slices(work, threads))
    extent = extent_of(work)
    one = index(1)
    size = arith.maxui(arith.ceildivui(extent, count), one)
    if work.granule > 1:
        granule = index(work.granule)
        whole = arith.muli(arith.ceildivui(size, granule), granule)
        is_long = arith.cmpi(arith.CmpIPredicate.uge, size, index(_slices.UNEVEN * work.granule))
        size = arith.select(is_long, whole, size)
    return arith.ceildivui(extent, size), size


def most_slices(work: Work, threads: int) -> int:
    """How many slices there are at most."""
    return threads if work.packs else threads * _slices.SLICES_EACH


def count_at_run_time(took: Any, threads: int, most: int) -> Any:
    """How many slices to cut work into that takes so many nanoseconds, an f64: at most `most`."""
    slices = arith.divf(took, number(_slices.LEAST_SLICE))
    slices = arith.minimumf(slices, number(float(most)))
    whole = arith.fptosi(ir.IntegerType.get_signless(64), slices)
    count = arith.maxui(arith.index_cast(ir.IndexType.get(), whole), index(min(2, threads)))
    is_worth_it = arith.cmpf(arith.CmpFPredicate.OGE, took, number(_slices.WORTH_SHARING))
    return arith.select(is_worth_it, count, index(1))


def _nanoseconds(step: Step) -> Any:
    """About what a step takes one core, an f64: for each point as much as if sizes were usual."""
    took = step.nanoseconds(current()) / max(1, math.prod(step.extents))
    known = math.prod(size for size in step.sizes if size is not None)
    open_sizes = [
        as_number(dim(*measure))
        for size, measure in zip(step.sizes, step.measures, strict=True)
        if size is None
    ]
    return functools.reduce(arith.mulf, open_sizes, number(took * known))
