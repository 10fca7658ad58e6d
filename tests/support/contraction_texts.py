"""Sums of products as text, in every spelling: by letters for the dimensions of the operands."""

from __future__ import annotations

from rewrite_texts import function

SIZES = {"b": 2, "m": 3, "n": 4, "k": 5, "l": 2}


def contraction_text(
    op: str,
    a: str,
    b: str,
    c: str,
    *,
    dims: str | None = None,
    types: tuple[str, str] = ("f32", "f32"),
    unsigned: bool = False,
    kind: str = "tensor",
    dynamic: bool = False,
    attributes: str = "test.kept = 1 : i32",
) -> str:
    """A module whose `main` sums the products of two operands into a third.

    Args:
        op: `generic`, or an op of linalg that takes maps: `contract`, `matmul`, ...
        a, b, c: a letter for each dimension of the operands and of the result.
        dims: the iteration space; in alphabetic order if not given.
        types: the element types of the operands and of the result.
        unsigned: whether integers are cast as unsigned.
        kind: `tensor` or `memref`.
        dynamic: whether the sizes are not known.
        attributes: discardable ones.
    """
    space = dims or "".join(sorted({*a, *b, *c}))
    narrow, wide = types
    left, right, out = (
        _type(kind, letters, element, dynamic)
        for letters, element in ((a, narrow), (b, narrow), (c, wide))
    )
    maps = ", ".join(
        f"affine_map<({', '.join(space)}) -> ({', '.join(letters)})>" for letters in (a, b, c)
    )
    result = out if kind == "tensor" else None
    arrow = f" -> {out}" if result else ""
    operands = f"ins(%a, %b : {left}, {right}) outs(%c : {out})"
    if op == "generic":
        kinds = ", ".join('"parallel"' if d in c else '"reduction"' for d in space)
        body = product_body(narrow, wide, unsigned=unsigned)
        said = (
            f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} {operands} "
            f"attrs = {{{attributes}}} {{\n{body}\n}}{arrow}"
        )
    else:
        cast = ", cast = #linalg.type_fn<cast_unsigned>" if unsigned else ""
        said = f"linalg.{op} indexing_maps = [{maps}] {{{attributes}{cast}}} {operands}{arrow}"
    left_side = "%r = " if result else ""
    return function(f"%a: {left}, %b: {right}, %c: {out}", left_side + said, result)


def product_body(narrow: str, wide: str, *, unsigned: bool = False) -> str:
    """The body of a generic that adds a product, cast to the type of the result first."""
    suffix = "f" if wide[0] in "fb" else "i"
    lines = [f"^bb0(%x: {narrow}, %y: {narrow}, %sum: {wide}):"]
    x, y = "%x", "%y"
    if narrow != wide:
        cast = "extf" if suffix == "f" else ("extui" if unsigned else "extsi")
        lines += [f"%{v}w = arith.{cast} %{v} : {narrow} to {wide}" for v in "xy"]
        x, y = "%xw", "%yw"
    lines += [
        f"%p = arith.mul{suffix} {x}, {y} : {wide}",
        f"%s = arith.add{suffix} %sum, %p : {wide}",
        f"linalg.yield %s : {wide}",
    ]
    return "\n".join(lines)


def _type(kind: str, letters: str, element: str, dynamic: bool) -> str:
    sizes = "".join(f"{'?' if dynamic else SIZES[letter]}x" for letter in letters)
    return f"{kind}<{sizes}{element}>"
