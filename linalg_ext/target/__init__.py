"""Machines to generate code for: this one, one by name, or one by description.

print(lx.target.current())            # this machine, as a table
with lx.target.using("avx2"):
    kernel = lx.compile(module)       # runs on any CPU that has AVX2
print(lx.target.figures())            # its rates: measured by lx.target.calibrate()
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from linalg_ext.target.model import Cache, Target
from linalg_ext.target.selection import (
    current,
    host,
    leave_note,
    named,
    names,
    override,
    setting,
    using,
)
from linalg_ext.utils.hooks import lazy_names

if TYPE_CHECKING:
    from linalg_ext.target.features import DotProduct
    from linalg_ext.target.intrinsics import missing_for
    from linalg_ext.target.model import NoteValue
    from linalg_ext.target.performance import Figures, Level
    from linalg_ext.target.stored import (
        calibrate,
        data_layout,
        figures,
        figures_path,
        from_data,
        load,
        save,
        to_data,
        to_dlti,
    )

_HOMES = {
    "features": "DotProduct",
    "intrinsics": "missing_for",
    "model": "NoteValue",
    "performance": "Figures Level",
    "stored": "calibrate data_layout figures figures_path from_data load save to_data to_dlti",
}
"""The files of this room that a first call does without, and the public names in each."""

__all__ = [
    "Cache",
    "DotProduct",
    "Figures",
    "Level",
    "NoteValue",
    "Target",
    "calibrate",
    "current",
    "data_layout",
    "figures",
    "figures_path",
    "from_data",
    "host",
    "leave_note",
    "load",
    "missing_for",
    "named",
    "names",
    "override",
    "save",
    "setting",
    "to_data",
    "to_dlti",
    "using",
]

# Every process asks for its machine when it starts, and few for more.
if not TYPE_CHECKING:  # a type checker that saw it would take every name for one that exists
    __getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return list(__all__)
