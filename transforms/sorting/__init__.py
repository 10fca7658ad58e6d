"""The lowering of sorts: by digits, by merges, by networks in vector lanes."""
