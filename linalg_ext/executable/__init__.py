"""Calling compiled code on arrays: what a call needs, and nothing of MLIR."""
