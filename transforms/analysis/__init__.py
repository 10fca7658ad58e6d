"""Analyses of memory: the buffer that a value views, what may alias, what was written last."""
