"""Scalar expressions and casts as ops, and `linalg.generic` with a body of them."""
