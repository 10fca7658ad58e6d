"""Analyses: the buffer that a value views, possible aliases, last writes; ranges of numbers."""
