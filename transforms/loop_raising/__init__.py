"""Transformations of nests of `scf.for` over memory, one a file: distribute, perfect, raise."""
