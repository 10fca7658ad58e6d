"""Reports of transformations on their work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from linalg_ext.executable.explanation import Decision
from linalg_ext.utils.hooks import Shown

if TYPE_CHECKING:
    from linalg_ext.module import Module


@dataclass(frozen=True)
class MatchFailure:
    """The reason why a pattern did not change an op. False in a condition.

    A pattern that returns `MatchFailure("the transpose has a second user")` instead of False has
    the reason shown in the report.
    """

    reason: str

    def __bool__(self) -> bool:
        return False


@dataclass
class Report(Shown, shown_as="report"):
    """The ops that one run of a transformation matched, changed and left.

    Attributes:
        pass_name: the transformation, by its name in pipelines.
        matched: for each op name, the number of ops to look at before the run.
        changed: for each op name, the number of rewrites (of ops made on the way, too).
        folded: for each op name, the number of ops that upstream's folding would have removed
            without a rewrite. Where folding only changes ops in place, the op that holds them all
            counts once. They are counted where a transformation is called on a module or stands in
            a pipeline of the user's.
        uncounted: True where the transformation changed the module but reported no change.
        left: the reasons why ops were left as they were, by op name.
        decisions: the choices that the run made, to be explained.
        module: the module after the run, where the transformation ran on one.
    """

    pass_name: str
    matched: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)
    folded: Counter[str] = field(default_factory=Counter)
    uncounted: bool = False
    left: dict[str, set[str]] = field(default_factory=dict)
    decisions: list[Decision] = field(default_factory=list)
    module: Module | None = None

    def __bool__(self) -> bool:
        """Return whether the transformation changed anything; folding is counted apart."""
        return self.changed.total() > 0 or self.uncounted

    def leave(self, op_name: str, reason: str) -> None:
        """Note why an op was left as it was."""
        self.left.setdefault(op_name, set()).add(reason)

    def record(self, op_name: str, reason: str | None) -> None:
        """Count an op as changed, or as left for a reason."""
        if reason is None:
            self.changed[op_name] += 1
        else:
            self.leave(op_name, reason)

    def merge(self, other: Report) -> None:
        """Add the counts of another run of the same transformation."""
        self.matched.update(other.matched)
        self.changed.update(other.changed)
        self.folded.update(other.folded)
        self.uncounted |= other.uncounted
        self.decisions += other.decisions
        for op_name, reasons in other.left.items():
            self.left.setdefault(op_name, set()).update(reasons)

    def __repr__(self) -> str:
        rows = dict(self.rows())
        if not rows:
            lines = [f"{self.pass_name}: nothing matched"]
        else:
            width = max(len(name) for name in rows)
            lines = [f"{self.pass_name}:"]
            lines += [f"  {name:{width}}  {text}" for name, text in rows.items()]
        if self.uncounted:
            lines.append("  the transformation changed the module, and reported no change")
        return "\n".join(lines)

    def rows(self) -> Iterator[tuple[str, str]]:
        """Yield for each op name the counts, and the reasons why ops were left."""
        for name in sorted({*self.matched, *self.changed, *self.folded, *self.left}):
            counts = f"{self.matched[name]:>5} matched  {self.changed[name]:>5} changed"
            if self.folded[name]:
                counts += f"  {self.folded[name]:>5} folded"
            reasons = sorted(self.left.get(name, ()))
            left = f"  left: {'; '.join(reasons)}" if reasons else ""
            yield name, f"{counts}{left}"
