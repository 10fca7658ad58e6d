"""The rewrites that the way down to LLVM needs where upstream has a gap, one a file."""
