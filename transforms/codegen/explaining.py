"""What a transformation chose, as rows of a table: for `kernel.explain()`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.target import Target
from linalg_ext.target.clock import cycles_per_second
from linalg_ext.target.text import bytes_text

from .base.machine import this_machine
from .base.scalar_steps import Elementwise
from .contractions.contraction_cost import estimate
from .contractions.contraction_plan import Plan
from .contractions.plan_selection import Candidate, candidates, problem_key
from .vectorization.loop_nests import Nest, widest_bits

_ALTERNATIVES = 3
"""How many of the plans that were not taken are shown."""

Rows = list[tuple[str, str]]


@dataclass(frozen=True)
class PlannedContraction:
    """The plan of a contraction, beside those that it did not get.

    Attributes:
        function: the symbol of its nest.
        model: the plan that the model gives.
        plan: the one that was taken.
        epilogue: what is done on the tile in registers.
        target: the machine.
    """

    function: str
    model: Plan
    plan: Plan
    epilogue: Elementwise | None
    target: Target

    @property
    def key(self) -> str:
        """The problem, by which a choice for it is known."""
        return problem_key(self.model.problem)

    def candidates(self, most: int = 12) -> list[Candidate]:
        """The model's plan and others, by rising estimate."""
        return candidates(self.model, self.target, most=most)

    @property
    def title(self) -> str:
        """What it is about."""
        return f"contraction @{self.function}"

    def rows(self) -> Sequence[tuple[str, str]]:
        """The plan, the work, the model's time, and the nearest of the other plans."""
        plan = self.plan
        rows: Rows = []
        for line in repr(plan).splitlines():
            name, _, text = line.partition("  ")
            rows.append((name.strip(), text.strip()))
        rows[0] = ("plan", " ".join(filter(None, rows[0])))
        if self.epilogue is not None:
            steps = " ".join(step.name.partition(".")[2] for step in self.epilogue.steps.steps)
            rows.append(("epilogue", f"{steps}, on the tile in registers"))
        return [*rows, *self._model(plan)]

    def _model(self, plan: Plan) -> Rows:
        time = estimate(plan, self.target)
        if time is None:
            return [("model", "none: sizes are known to the run alone")]
        share = time.peak / time.seconds if time.seconds else 0.0
        clock = cycles_per_second() / 1e9
        rows = [
            (
                "work",
                f"{count_text(time.flops)} flops on {bytes_text(time.moved)}, "
                f"{time.flops / max(1, time.moved):.3g} flops a byte",
            ),
            (
                "model",
                f"{seconds_text(time.seconds)} on one thread at {clock:.3g} GHz, "
                f"{100 * share:.0f}% of the peak: "
                f"products {seconds_text(time.products)}, packing {seconds_text(time.packing)}, "
                f"result {seconds_text(time.result)}",
            ),
        ]
        others = [one for one in self.candidates() if one.plan != plan][:_ALTERNATIVES]
        for one in others:
            relative = one.estimate.seconds / time.seconds if time.seconds else 1.0
            rows.append(("not", f"{one.variation}: {_compared(relative)}"))
        return rows


def _compared(relative: float) -> str:
    """What the estimate says of a plan that was not taken, by its time beside the one that was."""
    percent = round(100 * abs(relative - 1))
    if percent == 0:
        return "about as fast, by the estimate"
    if relative > 1:
        return f"{percent}% slower, by the estimate"
    return f"{percent}% faster, by the estimate alone; `tune=True` measures it"


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
        """What it is about."""
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
    """What is to be said of nests, before they become loops; whether they stream comes later."""
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
        access.root.value: access.memref.type
        for one in nests
        for access in one.accesses
        if access.root.kind != "allocation"
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


def count_text(count: float) -> str:
    """A number of operations for people: `2.15 G`."""
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.3g} "


def seconds_text(seconds: float) -> str:
    """A time for people: `9.6 ms`."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
