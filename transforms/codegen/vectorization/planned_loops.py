"""The plan of loops over vectors, as rows of a table for `kernel.explain()`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.target.text import bytes_text
from linalg_ext.transforms.codegen.base.machine import this_machine

from .loop_nests import Nest, widest_bits


@dataclass(frozen=True)
class PlannedLoops:
    """Loops over vectors that do the work of one or several ops.

    Attributes:
        domain: the loops of the first nest: lengths, `?` where open, `+` after those that reduce.
        bodies: for each nest, the ops of its body.
        vector_bits: of the registers.
        lanes: elements of one.
        streams: whether results go past the caches.
        moved: bytes of inputs and results, each once, without what is between the ops; None where
            sizes are open.
    """

    domain: str
    bodies: tuple[str, ...]
    vector_bits: int
    lanes: int
    streams: bool
    moved: int | None

    @property
    def title(self) -> str:
        """The title of the table."""
        count = len(self.bodies)
        return f"loops over vectors, {count} {'ops' if count > 1 else 'op'} in one pass"

    def rows(self) -> Sequence[tuple[str, str]]:
        """The loops, what they compute, the registers and the stores."""
        moved = "open sizes" if self.moved is None else bytes_text(self.moved)
        last = bytes_text(this_machine().l3_bytes)
        stores = f"past the caches: the result is larger than {last}" if self.streams else "cached"
        return [
            ("loops", self.domain),
            *(("computes", body) for body in self.bodies),
            ("vectors", f"{self.lanes} elements in {self.vector_bits} bits"),
            ("stores", stores),
            ("memory", moved),
        ]


def summary_of(nests: Sequence[Nest], vector_bits: int) -> PlannedLoops:
    """Summarize nests before they become loops; `streams` is set later."""
    nest = max(nests, key=lambda one: one.rank)
    sizes = [nest.static_extent(dim) for dim in range(nest.rank)]
    domain = " x ".join(
        f"{'?' if size is None else size}{'' if parallel else '+'}"
        for size, parallel in zip(sizes, nest.is_parallel, strict=True)
    )
    inner = sizes[-1] if sizes else 1
    lanes = max(1, vector_bits // widest_bits(nests))
    if inner is not None:
        lanes = min(lanes, 1 << max(0, inner - 1).bit_length())
    memory = {
        access.buffer.value: access.memref.type
        for one in nests
        for access in one.accesses
        if access.buffer.kind != "allocation"
    }
    known = all(type_.has_static_shape for type_ in memory.values())
    return PlannedLoops(
        domain=domain or "one element",
        bodies=tuple(_body(one) for one in nests),
        vector_bits=vector_bits,
        lanes=lanes,
        streams=False,
        moved=sum(map(_bytes, memory.values())) if known else None,
    )


def _body(nest: Nest) -> str:
    names = [op.operation.name for op in nest.body.operations]
    short = [name.partition(".")[2] for name in names if not name.startswith("linalg.")]
    return " ".join(short) or "copy"


def _bytes(type_: Any) -> int:
    element = type_.element_type
    width = element.width if isinstance(element, ir.IntegerType | ir.FloatType) else 64
    return int(math.prod(type_.shape) * width // 8)
