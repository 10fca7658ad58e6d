"""Calls of compiled code on arrays, without MLIR."""
