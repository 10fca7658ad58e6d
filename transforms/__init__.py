"""Transformations of MLIR modules, one a file. Import as `linalg_ext.transforms`."""

if __name__ != "linalg_ext.transforms":
    raise ImportError(
        f"import linalg_ext.transforms, not {__name__}: a second copy registers every pass twice"
    )
