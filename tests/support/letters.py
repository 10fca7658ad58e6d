"""What an error says, without the line of source that it quotes.

A test whose call stands on the line of its own expectation would find that expectation quoted in
the error, whatever the error says.
"""

from __future__ import annotations

from linalg_ext.errors import LinalgExtError, SourceLocation


def said(error: LinalgExtError) -> str:
    """The error's text; of its place, the file and the line's number alone."""
    text = str(error)
    if isinstance(error.where, SourceLocation) and error.where.text:
        return text.replace(f":   {error.where.text}", "")
    return text
