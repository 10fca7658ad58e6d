"""Machines to generate code for: what they have, by reading them, by name, or by description.

print(lx.target.current())            # this machine, as a table
with lx.target.using("avx2"):
    kernel = lx.compile(module)       # runs on any CPU that has AVX2
"""

from linalg_ext.target.data import from_data, to_data
from linalg_ext.target.dlti import data_layout, to_dlti
from linalg_ext.target.features import DotProduct
from linalg_ext.target.intrinsics import missing_for
from linalg_ext.target.model import Cache, Target
from linalg_ext.target.selection import current, host, named, names, override, setting, using

__all__ = [
    "Cache",
    "DotProduct",
    "Target",
    "current",
    "data_layout",
    "from_data",
    "host",
    "missing_for",
    "named",
    "names",
    "override",
    "setting",
    "to_data",
    "to_dlti",
    "using",
]
