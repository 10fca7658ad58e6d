"""Analyses of memory: the buffer that a value views, possible aliases, last writes."""
