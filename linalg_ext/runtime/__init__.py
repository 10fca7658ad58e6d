"""NumPy and memrefs, element types, the execution engine."""
