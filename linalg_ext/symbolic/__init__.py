"""Pure reasoning about sizes and index sets, without MLIR: numbers, subsets, footprints."""
