"""The option `--type`, which several commands have."""

from __future__ import annotations

from linalg_ext.errors import ArgumentError


def parse_types(given: list[str] | None) -> dict[str, str] | str | None:
    """Element types by type variable, from `U=f32` each; or one for all of them, from `f32`.

    Raises:
        ArgumentError: one for all is given beside others.
    """
    if not given:
        return None
    if len(given) == 1 and "=" not in given[0]:
        return given[0]
    types = {}
    for each in given:
        name, separator, element = each.partition("=")
        if not separator:
            raise ArgumentError(
                f"--type {each} stands beside others", expected="--type NAME=TYPE for each of them"
            )
        types[name] = element
    return types
