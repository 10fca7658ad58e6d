"""Services of the compiler for the rooms below.

The facade `compiler`: each function is imported from its home when it is first asked for.
"""

from __future__ import annotations

from linalg_ext.utils.hooks import lazy_names

__getattr__ = lazy_names(
    __name__,
    {
        "calibration": "calibrate",
        "code_generation": "cut whole",
        "compilation": "compile_recipe",
        "group_measurement": "seconds_of",
        "module_compilation": "position_independent",
        "stages": "size_of text_of",
    },
    package="linalg_ext.compiler",
)
