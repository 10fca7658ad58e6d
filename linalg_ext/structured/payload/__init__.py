"""Scalar expressions as ops, and casts: what the body of a structured op is made of."""
