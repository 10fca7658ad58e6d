"""What the code generator asks of a machine."""

from __future__ import annotations

from dataclasses import dataclass

from linalg_ext.target import Target, current


@dataclass(frozen=True)
class Machine:
    """The registers and caches of one core.

    Attributes:
        vector_bytes: the width of a vector register.
        vector_registers: how many there are.
        l1_bytes: the first level of the data cache.
        l2_bytes: the second level.
        l3_bytes: the last level, which the cores may share.
        has_fma: whether it multiplies and adds in one instruction; else that would be a call.
    """

    vector_bytes: int
    vector_registers: int
    l1_bytes: int = 32 << 10
    l2_bytes: int = 1 << 20
    l3_bytes: int = 16 << 20
    has_fma: bool = True

    @classmethod
    def of(cls, target: Target) -> Machine:
        """One core of a target."""
        l1, l2, l3 = (target.cache(level).size for level in (1, 2, 3))
        return cls(
            target.vector_bits // 8, target.vector_registers, l1, l2, l3, has_fma=target.has_fma
        )


def this_machine() -> Machine:
    """One core of the machine that code is made for now."""
    return Machine.of(current())
