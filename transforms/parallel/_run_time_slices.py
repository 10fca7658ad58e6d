"""The number of slices of a loop whose work is known only at run time.

The calculation is that of `_partition`, as IR in the entry.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from linalg_ext.bindings import arith, ir
from linalg_ext.target import current
from linalg_ext.transforms.ir_utils.arithmetic import as_number, dim, index, number

from . import _partition
from ._partition import Work
from ._work_steps import Step
from .slice_writer import extent_of


def slices_at_run_time(work: Work, threads: int) -> tuple[Any, Any]:
    """Return the number of slices, and the steps of each but the last, as indices."""
    took = functools.reduce(arith.addf, [_nanoseconds(step) for step in work.steps])
    count = count_at_run_time(took, threads, most_slices(work, threads))
    extent = extent_of(work)
    one = index(1)
    size = arith.maxui(arith.ceildivui(extent, count), one)
    if work.granule > 1:
        granule = index(work.granule)
        whole = arith.muli(arith.ceildivui(size, granule), granule)
        is_long = arith.cmpi(arith.CmpIPredicate.uge, size, index(_partition.UNEVEN * work.granule))
        size = arith.select(is_long, whole, size)
    return arith.ceildivui(extent, size), size


def most_slices(work: Work, threads: int) -> int:
    """Return the largest number of slices."""
    return threads if work.packs else threads * _partition.SLICES_EACH


def count_at_run_time(took: Any, threads: int, most: int) -> Any:
    """Return the number of slices for work of `took` nanoseconds, an f64; `most` is the limit."""
    slices = arith.divf(took, number(_partition.LEAST_SLICE))
    slices = arith.minimumf(slices, number(float(most)))
    whole = arith.fptosi(ir.IntegerType.get_signless(64), slices)
    count = arith.maxui(arith.index_cast(ir.IndexType.get(), whole), index(min(2, threads)))
    is_worth_it = arith.cmpf(arith.CmpFPredicate.OGE, took, number(_partition.WORTH_SHARING))
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
