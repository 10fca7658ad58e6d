"""Options of the compilation of graphs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from linalg_ext.errors import ArgumentError
from linalg_ext.settings import Options as Settings


@dataclass(frozen=True)
class Options:
    """Options of the compilation of graphs.

    Attributes:
        allow_fallback: True where ops that cannot be compiled are left to PyTorch.
        checked, opt_level: as in `lx.compile`.
        threads: the number of threads of each call; None for `lx.threads.current()`.
        packed: True where kernels take the parameters of products in strips; `"unwatched"` where
            the strips are rebuilt only after changes that PyTorch counts.

    Raises:
        ArgumentError: an option has another value.
    """

    allow_fallback: bool = False
    checked: bool | None = None
    opt_level: int | None = None
    threads: int | None = None
    packed: bool | Literal["unwatched"] = True

    def __post_init__(self) -> None:
        """Before a model is traced, which may take long."""
        for name, known in _KNOWN.items():
            if not any(repr(getattr(self, name)) == repr(each) for each in known):
                raise ArgumentError(
                    f"{name} is {getattr(self, name)!r}",
                    expected=", ".join(map(repr, known)),
                )

    @property
    def is_checked(self) -> bool:
        """Return whether the code checks what only the run can tell."""
        return Settings.current().checked if self.checked is None else self.checked


_KNOWN: Mapping[str, tuple[object, ...]] = {
    "allow_fallback": (True, False),
    "checked": (True, False, None),
    "opt_level": (0, 1, 2, 3, None),
    "packed": (True, False, "unwatched"),
}
"""The values of options that have few."""
