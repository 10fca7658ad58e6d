"""The factors that filters become: made at a call, or there before."""

from __future__ import annotations

from linalg_ext.transforms.codegen._memory import Memory
from linalg_ext.transforms.codegen._writer import Writer
from linalg_ext.transforms.codegen.windows._window_reader import Operand

from ._plan import WinogradPlan
from ._transforms import POINTS, TAPS, transform_filter


def write_factors(w: Writer, plan: WinogradPlan, filters: Operand, factors: Memory) -> None:
    """The transform of all filters, in strips."""
    c = plan.convolution
    channels = c.size(c.channels)
    down, along = (filters.strides[tap] for tap in c.taps)
    plane = channels * plan.strip
    with w.loop(0, c.size(c.results)) as result, w.loop(0, channels) as channel:
        read = filters.moved(c.results, result).moved(c.channels, channel)
        taps = [
            [
                read.memory.load(w.add(read.base, w.mul(down, y), w.mul(along, x)))
                for x in range(TAPS)
            ]
            for y in range(TAPS)
        ]
        base = w.add(
            w.mul(w.div(result, plan.strip), POINTS * plane),
            w.mul(channel, plan.strip),
            w.rem(result, plan.strip),
        )
        for point, value in enumerate(transform_filter(w, "f32", taps)):
            factors.store(value, w.add(base, point * plane))


def prepared_factors(w: Writer, plan: WinogradPlan, name: str, type_: str) -> Memory:
    """The factors behind the filters of an argument.

    Args:
        w: where the code is written.
        plan: whose factors they are.
        name: of the argument.
        type_: of it.
    """
    count, first = plan.filter_elements, plan.filter_rows * plan.strip
    line = f"memref<{first + count}xf32>"
    part = f"memref<{count}xf32, strided<[1], offset: {first}>>"
    whole = w.op(f"memref.collapse_shape %{name} [[0, 1]] : {type_} into {line}")
    factors = w.op(f"memref.subview {whole}[{first}] [{count}] [1] : {line} to {part}")
    return Memory(w, factors, part, "f32", plan.tile.lanes)
