"""A point of the way from a module to machine code."""

from __future__ import annotations

from functools import cached_property

from linalg_ext.utils import hooks


class Stage:
    """The module at one stage of the lowering, shown on request only.

    Attributes:
        name: of the stage.
        seconds: the time since the stage before.
        bytecode: the module in MLIR's binary form; empty where its text was kept.
        allow_unregistered: True where it has ops of unknown dialects.
        kept_text: of a large module, instead of the bytecode, large constants elided.
        kept_count: the number of ops in that text.
    """

    def __init__(
        self,
        name: str,
        seconds: float,
        bytecode: bytes = b"",
        allow_unregistered: bool = False,
        kept_text: str = "",
        kept_count: int = 0,
    ) -> None:
        self.name = name
        self.seconds = seconds
        self.bytecode = bytecode
        self.allow_unregistered = allow_unregistered
        self.kept_text = kept_text
        self.kept_count = kept_count

    @cached_property
    def text(self) -> str:
        """As MLIR, large constants elided."""
        return str(self._asked("text_of")) if self.bytecode else self.kept_text

    @cached_property
    def operations(self) -> int:
        """The number of ops."""
        return int(self._asked("size_of")) if self.bytecode else self.kept_count

    def _asked(self, question: str) -> str | int:
        ask = getattr(hooks.facade("compiler"), question)
        answer: str | int = ask(self.bytecode, self.allow_unregistered)
        return answer
