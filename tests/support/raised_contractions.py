"""Texts of contractions, and what they are raised to."""

from __future__ import annotations

import linalg_ext as lx
from linalg_ext.module import Module
from rewrite_texts import assert_same_results, function, parsed

CONTRACT = '"linalg_ext.contract"'


def op(
    name: str, inputs: list[str], output: str, attributes: str = "", *, between: str = ""
) -> str:
    """A module with one op on the function's arguments."""
    letters = [f"%{letter}" for letter in "abcdefgh"[: len(inputs)]]
    arguments = [f"{n}: {t}" for n, t in zip(letters, inputs, strict=True)]
    body = (
        f"%r = {name} {attributes} {between} ins({', '.join(letters)} : {', '.join(inputs)}) "
        f"outs(%o : {output}) -> {output}"
    )
    return function(", ".join([*arguments, f"%o: {output}"]), body, output)


def raised(text: str, **options: bool) -> Module:
    """The module raised, after it was seen to compute the same as before."""
    module = parsed(text)
    assert lx.transforms.raise_to_contract(module, **options)
    assert_same_results(parsed(text), module)
    return module


def generic(inputs: list[str], output: str, body: str, *, types: str = "f32") -> str:
    """A generic over (d0, d1, d2), 4 x 2 x 3; `inputs` and `output` are what maps give."""
    sizes = {"d0": 4, "d1": 2, "d2": 3, "d2 + 1": 4, "d2 * 2": 5}

    def tensor(map_: str) -> str:
        shape = "".join(f"{sizes[index]}x" for index in map_.split(", ") if index)
        return f"tensor<{shape}{types}>"

    maps = ", ".join(f"affine_map<(d0, d1, d2) -> ({each})>" for each in (*inputs, output))
    names = [f"%{letter}" for letter in "abcdefgh"[: len(inputs)]]
    given = [tensor(each) for each in inputs]
    arguments = ", ".join(f"{n}: {t}" for n, t in zip(names, given, strict=True))
    block = ", ".join(f"{n.replace('%', '%x')}: {types}" for n in names)
    return function(
        f"{arguments}, %o: {tensor(output)}",
        f"""%r = linalg.generic {{indexing_maps = [{maps}],
              iterator_types = ["parallel", "parallel", "reduction"]}}
              ins({", ".join(names)} : {", ".join(given)}) outs(%o : {tensor(output)}) {{
            ^bb0({block}, %xo: {types}):
              {body}
              linalg.yield %y : {types} }} -> {tensor(output)}""",
        tensor(output),
    )


ADDED = "%p = arith.mulf %xa, %xb : f32\n %y = arith.addf %xo, %p : f32"
