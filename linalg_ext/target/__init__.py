"""Machines to generate code for: what they have, by reading them, by name, or by description.

print(lx.target.current())            # this machine, as a table
with lx.target.using("avx2"):
    kernel = lx.compile(module)       # runs on any CPU that has AVX2
print(lx.target.figures())            # what it does in a second: measured by lx.target.calibrate()
"""

from linalg_ext.target.data import from_data, to_data
from linalg_ext.target.dlti import data_layout, to_dlti
from linalg_ext.target.features import DotProduct
from linalg_ext.target.intrinsics import missing_for
from linalg_ext.target.model import Cache, Target
from linalg_ext.target.notes import NoteValue
from linalg_ext.target.performance import Figures, Level
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
from linalg_ext.target.stored import calibrate, figures, figures_path, load, save

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
