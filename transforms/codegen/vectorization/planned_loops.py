"""The plan of loops over vectors, as rows of a table for `kernel.explain()`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linalg_ext.target.text import bytes_text
from linalg_ext.transforms.codegen.base.machine import this_machine


@dataclass(frozen=True)
class PlannedLoops:
    """Loops over vectors that do the work of one or several ops.

    Attributes:
        domain: the loops of the first nest: lengths, `?` where open, `+` after those that reduce.
        bodies: for each nest, the ops of its body.
        vector_bits: of the registers.
        lanes: elements of one.
        streams: whether results go past the caches.
        moved: bytes of inputs and results, each once, without buffers between the ops; None if
            sizes are dynamic.
    """

    domain: str
    bodies: tuple[str, ...]
    vector_bits: int
    lanes: int
    streams: bool
    moved: int | None

    @property
    def title(self) -> str:
        """Title of the table."""
        count = len(self.bodies)
        return f"loops over vectors, {count} {'ops' if count > 1 else 'op'} in one pass"

    def rows(self) -> Sequence[tuple[str, str]]:
        """Return the loops, their computations, the registers and the stores."""
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
