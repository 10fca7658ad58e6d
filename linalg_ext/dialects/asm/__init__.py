"""The text front door: structured ops in the spellings that people use, read and printed.

`translated` takes a text with ops as the notations `spelled` and `gml_st` know them, and makes one
of it that MLIR reads; `resolve` puts in the place of each spelled op the one that it means;
`to_text` prints them so.
"""

from __future__ import annotations

from linalg_ext.dialects.asm.resolution import SPELLED, resolve
from linalg_ext.dialects.asm.translation import translated
from linalg_ext.dialects.asm.writing import to_text

__all__ = ["SPELLED", "resolve", "to_text", "translated"]
