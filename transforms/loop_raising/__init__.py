"""Transformations of nests of `scf.for` over memory, one a file: apart, perfect, and back."""
