"""The steps as methods, for editors. The stub next to this file lists them all."""

from __future__ import annotations


class StepMethods:
    """The methods of a schedule, one for each step. They are looked up at the call."""
