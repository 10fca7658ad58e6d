"""Contractions on buffers as MLIR text, compiled and compared with NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kernels import kernel
from memrefs import Array, element_of, integers, memref


def contraction_text(
    spec: str, types: Sequence[str], element: str, *, fill: bool = False, name: str = "f"
) -> str:
    """A function that does an einsum of two operands on buffers, its result added to the third.

    Args:
        spec: the subscripts.
        types: of the operands and of the result.
        element: their element type.
        fill: whether the result is filled with zeros first.
        name: of the function.
    """
    inputs, output = spec.split("->")
    a, b = inputs.split(",")
    dims = "".join(dict.fromkeys(output + a + b))
    maps = ", ".join(
        f"affine_map<({', '.join(dims)}) -> ({', '.join(labels)})>" for labels in (a, b, output)
    )
    kinds = ", ".join('"parallel"' if d in output else '"reduction"' for d in dims)
    filled = (
        f"%z = arith.constant 0.0 : {element}\n"
        f"linalg.fill ins(%z : {element}) outs(%c : {types[2]})"
    )
    return f"""
    func.func @{name}(%a: {types[0]}, %b: {types[1]}, %c: {types[2]}) {{
      {filled if fill else ""}
      linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
        ins(%a, %b : {types[0]}, {types[1]}) outs(%c : {types[2]}) {{
      ^bb0(%x: {element}, %y: {element}, %o: {element}):
        %p = arith.mulf %x, %y : {element}
        %s = arith.addf %o, %p : {element}
        linalg.yield %s : {element}
      }}
      return
    }}"""


def contraction_kernel(
    spec: str, operands: Sequence[Array], *, fill: bool = False, known: str = "all"
) -> Any:
    """A kernel for arrays that lie in memory as these do."""
    types = [memref(array, known=known) for array in operands]
    return kernel(contraction_text(spec, types, element_of(operands[0]), fill=fill))


def check(
    spec: str,
    sizes: Mapping[str, int],
    *,
    orders: Sequence[str] | None = None,
    dtype: str = "f4",
    fill: bool = False,
    known: str = "all",
) -> Any:
    """Compile an einsum on buffers and compare it with NumPy, exactly.

    Args:
        spec: the subscripts.
        sizes: of each label.
        orders: for each operand the order of its labels in memory; as in `spec` by default.
        dtype: of the elements.
        fill: whether the result is overwritten.
        known: what of the layout the types tell.

    Returns:
        The kernel.
    """
    inputs, output = spec.split("->")
    terms = [*inputs.split(","), output]
    arrays = []
    for number, (labels, order) in enumerate(zip(terms, orders or terms, strict=True)):
        array = integers(*(sizes[label] for label in order), dtype=dtype, seed=number)
        arrays.append(array.transpose([order.index(label) for label in labels]))
    compiled = contraction_kernel(spec, arrays, fill=fill, known=known)
    assert "linalg_ext.plan" in compiled.as_text("loops")
    a, b, c = arrays
    expected = np.einsum(spec, a, b, optimize=True) + (0 if fill else c)
    compiled(a, b, c)
    np.testing.assert_array_equal(c, expected)
    return compiled
