"""The notations that need MLIR; the registry of `linalg_ext.notations` finds them."""
