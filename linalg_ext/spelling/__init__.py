"""The text front door: structured ops in the spellings that people use, read and printed.

`read` takes a text with ops as `linalg_ext.notations.spelled` knows them and gives back the op that
each of them means; `to_text` prints them so.
"""

from __future__ import annotations

from linalg_ext.spelling.older import translated
from linalg_ext.spelling.resolution import SPELLED, resolve
from linalg_ext.spelling.writing import to_text

__all__ = ["SPELLED", "resolve", "to_text", "translated"]
