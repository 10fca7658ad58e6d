"""The base of every kernel generator: problem, memory, MLIR text writer, epilogue, registers."""
