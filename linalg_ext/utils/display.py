"""Classes that show more of themselves in notebooks and terminals than their text.

`linalg_ext.explain` draws it, and is loaded when it is displayed, not before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from .hooks import facade

if TYPE_CHECKING:
    from rich.console import RenderableType


class Shown:
    """A class of things that notebooks and `rich` show by the views of a kind.

    class Module(Shown, shown_as="module"): ...   # `module_html`, `module_rich` of the views
    """

    __slots__ = ()
    _kind = ""

    def __init_subclass__(cls, *, shown_as: str = "") -> None:
        super().__init_subclass__()
        if shown_as:
            cls._kind = shown_as

    def _repr_html_(self) -> str:
        """The object as HTML, for a notebook."""
        return str(getattr(facade("views"), f"{self._kind}_html")(self))

    def __rich__(self) -> RenderableType:
        return cast("RenderableType", getattr(facade("views"), f"{self._kind}_rich")(self))
