"""The stages of a kernel, and its explanation: the plan of each op with the reason, as a table.

>>> print(lx.jit(lambda a, b: a @ b).explain(a, b))
kernel <lambda>(tensor<512x512xf32>, tensor<512x512xf32>) -> (tensor<512x512xf32>)
target   host: 32 vectors of 512 bits, ...
contraction @linalg_ext_contraction_0
  plan      packed contraction f32
  ...
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from linalg_ext.errors import ArgumentError
from linalg_ext.target import Target
from linalg_ext.target.text import bytes_text
from linalg_ext.utils import hooks

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(eq=False, repr=False)
class Stage:
    """The module at one stage of the lowering, shown on request only.

    Attributes:
        name: of the stage.
        seconds: the time since the stage before.
        bytecode: the module in MLIR's binary form; empty where its text was kept.
        allow_unregistered: True where it has ops of unknown dialects.
        kept_text: of a large module, instead of the bytecode, large constants elided.
        kept_count: the number of ops in that text.
        passes: the name and the processor time of each run of passes since the stage before.
    """

    name: str
    seconds: float
    bytecode: bytes = b""
    allow_unregistered: bool = False
    kept_text: str = ""
    kept_count: int = 0
    passes: tuple[tuple[str, float], ...] = ()

    @classmethod
    def of_data(cls, data: Mapping[str, Any], content: bytes) -> Stage:
        """Rebuild a stage from its `data`, and its bytecode or its text."""
        is_text = data["is_text"]
        return cls(
            data["name"],
            data["seconds"],
            b"" if is_text else content,
            data["allow_unregistered"],
            content.decode() if is_text else "",
            data["operations"],
            tuple((name, seconds) for name, seconds in data.get("passes", ())),
        )

    def data(self, operations: int) -> dict[str, Any]:
        """Return the stage as plain data, without its content, with the number of its ops."""
        return {
            "name": self.name,
            "seconds": self.seconds,
            "is_text": not self.bytecode,
            "allow_unregistered": self.allow_unregistered,
            "operations": operations,
            "passes": self.passes,
        }

    @cached_property
    def text(self) -> str:
        """Return the module as MLIR, large constants elided."""
        return str(self._answer("text_of")) if self.bytecode else self.kept_text

    @cached_property
    def operations(self) -> int:
        """The number of ops."""
        return int(self._answer("size_of")) if self.bytecode else self.kept_count

    def _answer(self, question: str) -> str | int:
        ask = getattr(hooks.facade("compiler"), question)
        answer: str | int = ask(self.bytecode, self.allow_unregistered)
        return answer


OWN_PASSES = "linalg-ext-"
"""The prefix of the names of passes of this library; all others are MLIR's."""

_BAR = 24
"""Characters of the longest bar."""

_COSTLIEST = 8
"""The number of passes that are listed."""


@dataclass(frozen=True, repr=False)
class CompileTimes:
    """The time that the steps of a compilation took; its `repr` has a bar for each.

    Attributes:
        phases: the name of each step, and its seconds; `code` is LLVM's work and the linking.
        passes: the name of each run of passes, and its processor time in seconds.
    """

    phases: tuple[tuple[str, float], ...]
    passes: tuple[tuple[str, float], ...]

    @classmethod
    def of_steps(cls, steps: Sequence[Stage]) -> CompileTimes:
        """Return the times of steps."""
        phases = tuple((step.name, step.seconds) for step in steps)
        return cls(phases, tuple(run for step in steps for run in step.passes))

    @classmethod
    def of_data(cls, data: Mapping[str, Any]) -> CompileTimes:
        """Rebuild times from their fields as plain data."""
        phases, passes = (tuple(map(tuple, data[name])) for name in ("phases", "passes"))
        return cls(phases, passes)

    @property
    def own(self) -> float:
        """Seconds in passes of this library."""
        return sum(seconds for name, seconds in self.passes if name.startswith(OWN_PASSES))

    @property
    def upstream(self) -> float:
        """Seconds in passes of MLIR."""
        return sum(seconds for _, seconds in self.passes) - self.own

    def sections(self) -> list[tuple[str, Sequence[tuple[str, float]]]]:
        """Return the parts of the picture: a title, and the seconds of each row."""
        total = sum(seconds for _, seconds in self.phases)
        sections: list[tuple[str, Sequence[tuple[str, float]]]] = [
            (f"compiled in {1e3 * total:.1f} ms", self.phases)
        ]
        if self.passes:
            sides = (("of this library", self.own), ("of MLIR", self.upstream))
            costly = sorted(self.passes, key=lambda run: -run[1])[:_COSTLIEST]
            sections += [("passes", sides), ("the costliest passes", tuple(costly))]
        return sections

    def __repr__(self) -> str:
        lines = []
        for title, rows in self.sections():
            longest = max((seconds for _, seconds in rows), default=0.0) or 1.0
            lines.append(title)
            for name, seconds in rows:
                bar = "#" * round(_BAR * seconds / longest)
                lines.append(f"  {_shortened(name):40}  {1e3 * seconds:8.1f} ms  {bar}".rstrip())
        return "\n".join(lines)

    __str__ = __repr__


def _shortened(name: str) -> str:
    return name if len(name) <= 40 else f"{name[:37]}..."


class Staged:
    """A kernel with the stages and the times of its compilation.

    Attributes:
        compile_times: a picture of `times`: a bar for each step and for the costliest passes.
    """

    compile_times: CompileTimes

    @property
    def stages(self) -> Mapping[str, str]:
        """The module at each stage of the lowering, as text, by the name of the stage."""
        raise NotImplementedError

    @property
    def times(self) -> Mapping[str, float]:
        """Seconds that each step of the compilation took, and their sum as `total`."""
        times = dict(self.compile_times.phases)
        return MappingProxyType({**times, "total": sum(times.values())})

    def as_text(self, stage: str = "llvm") -> str:
        """Return the module as text, at one stage of the lowering.

        Raises:
            ArgumentError: there is no such stage; the message lists those there are.
        """
        stages = self.stages
        if stage not in stages:
            raise ArgumentError(
                f"{stage!r} is not a stage of the kernel", expected="one of " + ", ".join(stages)
            )
        return stages[stage]


Row = tuple[str, str]


class Decision(Protocol):
    """The decision of a transformation about an op, with an explanation.

    It keeps no reference to the module.
    """

    @property
    def title(self) -> str:
        """The subject, in a few words."""
        ...

    def rows(self) -> Sequence[Row]:
        """Return the explanation: names, each with a text."""
        ...


class ExplainedDecision(NamedTuple):
    """The explanation of a decision as data: its title and its rows."""

    title: str
    explanation: tuple[Row, ...]

    def rows(self) -> Sequence[Row]:
        """The explanation."""
        return self.explanation


def decisions_data(decisions: Sequence[Decision]) -> list[Any]:
    """Return decisions as plain data."""
    return [[decision.title, decision.rows()] for decision in decisions]


def decisions_of(data: Sequence[Any]) -> tuple[ExplainedDecision, ...]:
    """Return the decisions that `decisions_data` turned into plain data."""
    return tuple(
        ExplainedDecision(title, tuple((name, text) for name, text in rows)) for title, rows in data
    )


@dataclass(frozen=True, repr=False)
class Explanation:
    """The decisions behind a kernel: a table in a terminal or a notebook, text in a file.

    Attributes:
        signature: of the kernel.
        target: the machine that its code is for.
        decisions: each with a `title` and `rows()`.
        left: for each pass, the ops that it did not change, and why.
        threads: the sharing of its work.
        tuning: the findings of measurement, where that was requested.
    """

    signature: str
    target: Target
    decisions: tuple[Decision, ...]
    left: tuple[Row, ...]
    threads: str
    tuning: tuple[Row, ...] = ()

    def sections(self) -> list[tuple[str, Sequence[Row]]]:
        """Return the parts of the table: a title, and names with their descriptions."""
        target = self.target
        caches = ", ".join(f"L{c.level} {bytes_text(c.size)}" for c in target.caches)
        head = [
            (
                "target",
                f"{target.name}: {target.vector_registers} vectors of {target.vector_bits} bits, "
                f"{target.fma_units} multiply-adds a cycle, {caches}",
            ),
            ("threads", self.threads),
        ]
        sections: list[tuple[str, Sequence[Row]]] = [(f"kernel {self.signature}", head)]
        sections += [(decision.title, decision.rows()) for decision in self.decisions]
        if self.left:
            sections.append(("left to loops over scalars, or to other passes", self.left))
        if self.tuning:
            sections.append(("tuning", self.tuning))
        return sections

    def __repr__(self) -> str:
        lines = []
        for title, rows in self.sections():
            lines.append(title)
            width = max((len(name) for name, _ in rows), default=0)
            lines += [f"  {name:{width}}  {text}".rstrip() for name, text in rows]
        return "\n".join(lines)

    __str__ = __repr__

    def __rich__(self) -> RenderableType:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        parts: list[RenderableType] = []
        for title, rows in self.sections():
            table = Table.grid(padding=(0, 2))
            table.add_column(no_wrap=True, style="cyan")
            table.add_column(overflow="fold")
            for name, text in rows:
                table.add_row(f"  {name}", Text(text))
            parts += [Text(title, style="bold"), table]
        return Group(*parts)

    def _repr_html_(self) -> str:
        from rich.console import Console

        console = Console(record=True, file=io.StringIO(), width=120)
        console.print(self)
        return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")
