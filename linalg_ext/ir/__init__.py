"""MLIR contexts, diagnostics and bytecode."""
