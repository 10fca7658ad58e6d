"""The steps as methods, for editors: the stub beside this file has them all."""

from __future__ import annotations


class StepMethods:
    """What a schedule has a method for each step by; they are found when they are called."""
