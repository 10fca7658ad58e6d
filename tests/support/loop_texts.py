"""Modules of structured ops on buffers, for what makes loops of them."""

from __future__ import annotations

from collections.abc import Sequence


def generic(
    maps: Sequence[str],
    iterators: Sequence[str],
    operands: Sequence[tuple[str, str]],
    body: str,
    *,
    outputs: int = 1,
) -> str:
    """A `linalg.generic` on buffers, whose body yields %r (and %r1, ...).

    Args:
        maps: the results of each map over (i, j, k), as `i, k`.
        operands: the name and the type of each, inputs first; its element is %in0, %in1, ..., and
            those of outputs are %out0, %out1, ...
    """
    dims = "(i, j, k)" if len(iterators) == 3 else "(i, j)" if len(iterators) == 2 else "(i)"
    shown = ", ".join(f"affine_map<{dims} -> ({results})>" for results in maps)
    kinds = ", ".join(f'"{each}"' for each in iterators)
    inputs = operands[: len(operands) - outputs]
    outs = operands[len(operands) - outputs :]
    elements = [type_.removeprefix("memref<").rpartition("x")[2] for _, type_ in operands]
    elements = [element.partition(",")[0].rstrip(">") for element in elements]
    names = [f"in{at}" for at in range(len(inputs))] + [f"out{at}" for at in range(outputs)]
    block = ", ".join(f"%{name}: {type_}" for name, type_ in zip(names, elements, strict=True))
    results = ["%r", *(f"%r{at}" for at in range(1, outputs))]
    ins = ""
    if inputs:
        types = ", ".join(type_ for _, type_ in inputs)
        ins = f"ins({', '.join(name for name, _ in inputs)} : {types})"
    out_types = ", ".join(type_ for _, type_ in outs)
    return f"""
    linalg.generic {{indexing_maps = [{shown}], iterator_types = [{kinds}]}}
      {ins} outs({", ".join(name for name, _ in outs)} : {out_types}) {{
    ^bb0({block}):
      {body}
      linalg.yield {", ".join(results)} : {", ".join(elements[len(inputs) :])}
    }}"""


def function(arguments: Sequence[tuple[str, str]], *statements: str) -> str:
    """A function of buffers."""
    taken = ", ".join(f"{name}: {type_}" for name, type_ in arguments)
    return f"func.func @f({taken}) {{\n{''.join(statements)}\n  return\n}}"
