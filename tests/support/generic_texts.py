"""Modules of one generic, by the indices of its operands and its body."""

from __future__ import annotations

import re

from rewrite_texts import function

_ELEMENT = re.compile(r"^(?:tensor|memref)<(?:(?:\d+|\?)x)*(.*)>$")


def generic(
    operands: dict[str, tuple[str, str]],
    body: str,
    *,
    dims: str,
    reduced: str = "",
    outputs: int = 1,
) -> str:
    """A module of one generic.

    Args:
        operands: for each operand its type and its indices, the outputs last.
        body: its body, the arguments of which have the names of the operands and an underscore.
        dims: its iteration space, a letter each.
        reduced: the letters of dimensions that it reduces over.
        outputs: how many operands are outputs.
    """
    names, types = list(operands), [kind for kind, _ in operands.values()]
    maps = ", ".join(
        f"affine_map<({', '.join(dims)}) -> ({indices})>" for _, indices in operands.values()
    )
    kinds = ", ".join('"reduction"' if dim in reduced else '"parallel"' for dim in dims)
    elements = [_ELEMENT.sub(r"\1", kind) for kind in types]
    arguments = ", ".join(f"%{n}_: {e}" for n, e in zip(names, elements, strict=True))
    split = len(names) - outputs

    def group(word: str, part: slice) -> str:
        values = ", ".join(f"%{name}" for name in names[part])
        return f"{word}({values} : {', '.join(types[part])})" if values else ""

    result = types[-1] if outputs == 1 and types[-1].startswith("tensor") else None
    arrow = f" -> {result}" if result else ""
    op = (
        f"{'%r = ' if result else ''}linalg.generic {{indexing_maps = [{maps}], "
        f"iterator_types = [{kinds}]}} {group('ins', slice(split))} "
        f"{group('outs', slice(split, None))} attrs = {{test.kept}} "
        f"{{\n^bb0({arguments}):\n{body}\n}}{arrow}"
    )
    signature = ", ".join(f"%{n}: {kind}" for n, kind in zip(names, types, strict=True))
    return function(signature, op, result)


def tensor(*sizes: int | str, element: str = "f32", kind: str = "tensor") -> str:
    """The text of a type."""
    return f"{kind}<{''.join(f'{size}x' for size in sizes)}{element}>"
