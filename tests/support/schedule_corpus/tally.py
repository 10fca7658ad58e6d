"""What became of steps: how often each was taken, and why it was refused else."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from linalg_ext.errors import ScheduleError

_PARTICULARS = (
    (re.compile(r"\([^()]*\) -> \([^()]*\)|affine_map<.*?>(?!\))"), "<map>"),
    (re.compile(r"indexed by .*|, at .*"), "<index>"),
    (re.compile(r"\b(linalg|tensor|scf|vector|linalg_ext|gml_st)\.\w+(\.\w+)*"), "<op>"),
    (re.compile(r"\[[-\d, ]*\]"), "<list>"),
    (re.compile(r"(?<![\w#])-?\d+\b|#\d+"), "N"),
)


@dataclass
class Tally:
    """Counts of steps.

    Attributes:
        taken: by name.
        refused: by name and reason, without numbers, maps and names of ops.
    """

    taken: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    def take(self, name: str, count: int = 1) -> None:
        """Count a step that was taken."""
        self.taken[name] += count

    def refuse(self, name: str, error: ScheduleError) -> None:
        """Count a step that was refused."""
        reason = error.what.partition("\n")[0]
        for pattern, general in _PARTICULARS:
            reason = pattern.sub(general, reason)
        self.refused[f"{name}: {reason}"] += 1

    def add(self, other: Tally) -> None:
        """Add the counts of another."""
        self.taken.update(other.taken)
        self.refused.update(other.refused)

    def __str__(self) -> str:
        rows = [f"taken {self.taken.total()}: {dict(self.taken.most_common())}"]
        rows.append(f"refused {self.refused.total()}:")
        rows += [f"  {count:6} {reason}" for reason, count in self.refused.most_common()]
        return "\n".join(rows)
