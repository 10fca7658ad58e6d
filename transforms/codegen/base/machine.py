"""The properties of a machine that the code generator needs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from linalg_ext.target import Target, current

from .dot_products import Dot, dots_of


@dataclass(frozen=True)
class Machine:
    """The registers and caches of one core.

    Attributes:
        vector_bytes: the width of a vector register.
        vector_registers: how many there are.
        l1_bytes: the first level of the cache.
        l1_ways: lines of it that share a place: those a multiple of `l1_bytes / l1_ways` apart.
        l2_bytes: the second level.
        l3_bytes: the last level, which the cores may share.
        has_fma: True where it multiplies and adds in one instruction; else that would be a call.
        dots: its instructions for products of narrow elements, those that do most first.
        fma_units: how many multiply-adds it begins in a cycle.
        fma_latency: cycles until the result of one can be used.
    """

    vector_bytes: int
    vector_registers: int
    l1_bytes: int = 32 << 10
    l1_ways: int = 8
    l2_bytes: int = 1 << 20
    l3_bytes: int = 16 << 20
    has_fma: bool = True
    dots: tuple[Dot, ...] = ()
    fma_units: int = 2
    fma_latency: int = 4

    @classmethod
    def of(cls, target: Target) -> Machine:
        """One core of a target."""
        l1, l2, l3 = (target.cache(level).size for level in (1, 2, 3))
        vector_bytes, registers = target.vector_bits // 8, target.vector_registers
        return cls(
            vector_bytes=vector_bytes,
            vector_registers=registers,
            l1_bytes=l1,
            l1_ways=target.cache(1).associativity,
            l2_bytes=l2,
            l3_bytes=l3,
            has_fma=target.has_fma,
            dots=dots_of(target),
            fma_units=target.fma_units,
            fma_latency=target.fma_latency,
        )

    def beside(self, cores: int) -> Machine:
        """Return one of `cores` cores that work at once, with its part of the last cache."""
        return replace(self, l3_bytes=self.l3_bytes // cores)


def this_machine() -> Machine:
    """One core of the machine that code is made for now."""
    return Machine.of(current())
