"""The plan of a contraction, as rows of a table for `kernel.explain()`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linalg_ext.target import Target
from linalg_ext.target.analytic import cycles_per_second
from linalg_ext.target.text import bytes_text, count_text, seconds_text
from linalg_ext.transforms.codegen.base.payload import Elementwise

from .contraction_cost import estimate
from .contraction_plan import Plan
from .plan_selection import Candidate, candidates, problem_key

_ALTERNATIVES = 3
"""The number of alternative plans that are shown."""

Rows = list[tuple[str, str]]


@dataclass(frozen=True)
class PlannedContraction:
    """The plan of a contraction, and its alternatives.

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
        """The title of the table."""
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
            steps = self.epilogue.payload.summary
            rows.append(("epilogue", f"{steps}, on the tile in registers"))
        return [*rows, *self._model(plan)]

    def _model(self, plan: Plan) -> Rows:
        time = estimate(plan, self.target)
        if time is None:
            return [("model", "none: sizes are known at run time only")]
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
    """Describe the estimated time of an alternative plan, relative to that of the chosen plan."""
    percent = round(100 * abs(relative - 1))
    if percent == 0:
        return "about as fast, by the estimate"
    if relative > 1:
        return f"{percent}% slower, by the estimate"
    return f"{percent}% faster, by the estimate alone; `tune=True` measures it"
