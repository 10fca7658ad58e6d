"""The account of a run: what came of modules and of calls, and what must not have come of any."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from linalg_ext.errors import CrashError, LinalgExtError
from linalg_ext.module import Module

LLVM = re.compile(r"\bllvm\b")
LOOPS = re.compile(r"\b(?:(?:scf|affine|gml_st)\.(?:for|while|parallel|forall|loop)|cf)\b")
UNWRITTEN = re.compile(r"\b(?:empty|alloc\w*|poison|undef)\b")
"""What SECURITY.md names: ops that address memory, loops, and memory that a module never writes."""


def as_text(module: str | bytes) -> str:
    """A module to be searched for names, whatever form it has."""
    return module if isinstance(module, str) else module.decode("latin-1")


_ATTEMPTS = 20
"""Runs of the parser: on a blob that is cut short it dies now and then, by what lies behind."""


def parser_dies(module: str | bytes) -> bool:
    """Return whether MLIR's parser dies on a module, in the guard that is there for it."""
    for _ in range(_ATTEMPTS):
        try:
            Module.parse(module)
        except CrashError:
            return True
        except LinalgExtError:
            pass
    return False


@dataclass
class Account:
    """The outcomes of the modules and of the calls.

    Attributes:
        modules, calls: how many of each there were, by what came of them.
        failures: what ended its process, raised what is not an error of this library's, touched
            what is not its own, or gave what hangs on what memory held: how it is repeated, and
            what was seen.
        apart: what ended its process and may, as SECURITY.md says.
    """

    modules: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    apart: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"{self.modules.total()} modules", *_counts(self.modules)]
        lines += [f"{self.calls.total()} calls", *_counts(self.calls)]
        lines += [f"{len(self.apart)} apart", *(f"  {what}" for what in self.apart)]
        return "\n".join([*lines, f"{len(self.failures)} failures", *self.failures])

    def data(self) -> Mapping[str, Any]:
        """The account as plain data, the most frequent first."""
        return {
            "modules": dict(self.modules.most_common()),
            "calls": dict(self.calls.most_common()),
            "failures": self.failures,
            "apart": self.apart,
        }


def _counts(of: Counter[str]) -> list[str]:
    return [f"  {count:6} {what}" for what, count in of.most_common()]
