"""The op library, written in OpDSL, one family a file. Import as `linalg_ext.opdsl_defs`."""

if __name__ != "linalg_ext.opdsl_defs":
    raise ImportError(
        f"import linalg_ext.opdsl_defs, not {__name__}: a second copy defines every op twice"
    )
