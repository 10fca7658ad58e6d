"""Helpers that know neither MLIR nor tensors: locks, logs, progress bars, hooks, SVG drawings."""
