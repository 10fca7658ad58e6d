"""Contractions of narrow elements on buffers as MLIR text, compiled and compared with NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from kernels import kernel
from memrefs import ELEMENTS, Array, memref

DTYPES = {"bf16": np.dtype(ml_dtypes.bfloat16), "f16": np.dtype(np.float16)} | {
    "f32": np.dtype(np.float32),
    "s8": np.dtype(np.int8),
    "u8": np.dtype(np.uint8),
    "s16": np.dtype(np.int16),
}


def random_array(kind: str, *shape: int, seed: int = 0) -> Array:
    """Integers of all sizes; floats that are small whole numbers, whose sums are exact."""
    random = np.random.default_rng([seed, *shape])
    dtype = DTYPES[kind]
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        # The extremes come often: they are where sums of products saturate, if they do.
        array = random.integers(limits.min, limits.max + 1, shape, dtype)
        extremes = random.integers(0, 4, shape)
        array[extremes == 0] = limits.min
        array[extremes == 1] = limits.max
        return array
    return random.integers(-4, 5, shape).astype(dtype)


def narrow_text(
    spec: str,
    types: Sequence[str],
    dtypes: Sequence[np.dtype[Any]],
    *,
    fill: bool = False,
    zero_points: tuple[bool, bool] = (False, False),
) -> str:
    """A function that adds an einsum of two operands, cast to the type of the result, to it.

    Args:
        spec: the subscripts.
        types: memref types of the operands and the result.
        dtypes: NumPy's dtypes of the three.
        fill: whether the result is filled with zeros first.
        zero_points: from which operands an integer is subtracted, given as another argument.
    """
    inputs, output = spec.split("->")
    terms = inputs.split(",")
    dims = "".join(dict.fromkeys(output + "".join(terms)))
    element = ELEMENTS[dtypes[2].name]
    maps = [f"affine_map<({', '.join(dims)}) -> ({', '.join(labels)})>" for labels in terms]
    kinds = ", ".join('"parallel"' if d in output else '"reduction"' for d in dims)
    points = [name for name, given in zip("pq", zero_points, strict=True) if given]
    maps += [f"affine_map<({', '.join(dims)}) -> ()>" for _ in points]
    maps.append(f"affine_map<({', '.join(dims)}) -> ({', '.join(output)})>")
    body = []
    names = []
    for name, point, dtype in zip("xy", "pq", dtypes[:2], strict=True):
        current = f"%{name}"
        if (cast := _cast(dtype, dtypes[2])) is not None:
            body.append(f"%{name}c = {cast} {current} : {ELEMENTS[dtype.name]} to {element}")
            current = f"%{name}c"
        if point in points:
            body.append(f"%{name}d = arith.subi {current}, %{point}i : {element}")
            current = f"%{name}d"
        names.append(current)
    suffix = "f" if dtypes[2].kind == "f" else "i"
    zero = "0.0" if suffix == "f" else "0"
    filled = (
        f"%z = arith.constant {zero} : {element}\n"
        f"linalg.fill ins(%z : {element}) outs(%c : {types[2]})"
    )
    given = "".join(f", %{point}: {element}" for point in points)
    scalars = "".join(f", %{point}i: {element}" for point in points)
    lines = "\n        ".join(body)
    return f"""
    func.func @f(%a: {types[0]}, %b: {types[1]}, %c: {types[2]}{given}) {{
      {filled if fill else ""}
      linalg.generic {{indexing_maps = [{", ".join(maps)}], iterator_types = [{kinds}]}}
        ins(%a, %b{"".join(f", %{point}" for point in points)} :
            {types[0]}, {types[1]}{"".join(f", {element}" for _ in points)})
        outs(%c : {types[2]}) {{
      ^bb0(%x: {ELEMENTS[dtypes[0].name]}, %y: {ELEMENTS[dtypes[1].name]}{scalars}, %o: {element}):
        {lines}
        %t = arith.mul{suffix} {names[0]}, {names[1]} : {element}
        %s = arith.add{suffix} %o, %t : {element}
        linalg.yield %s : {element}
      }}
      return
    }}"""


def _cast(source: np.dtype[Any], target: np.dtype[Any]) -> str | None:
    if source == target:
        return None
    if target.kind == "f":
        return "arith.extf" if source.kind in "fV" else "arith.sitofp"
    return "arith.extui" if source.kind == "u" else "arith.extsi"


def narrow_kernel(
    spec: str,
    operands: Sequence[Array],
    *,
    known: str = "all",
    fill: bool = False,
    zero_points: tuple[bool, bool] = (False, False),
) -> Any:
    """A kernel for arrays that lie in memory as these do."""
    types = [memref(array, known=known) for array in operands]
    dtypes = [array.dtype for array in operands]
    return kernel(narrow_text(spec, types, dtypes, fill=fill, zero_points=zero_points))


def expected(spec: str, a: Array, b: Array, c: Array, points: Sequence[int] = (0, 0)) -> Array:
    """What NumPy says: the operands cast to the result's type first, integers modulo 2^bits."""
    wide = np.int64 if c.dtype.kind == "i" else np.float64
    left, right = (x.astype(wide) - p for x, p in zip((a, b), points, strict=True))
    with np.errstate(over="ignore"):
        summed: Array = np.einsum(spec, left, right) + c.astype(wide)
    return summed.astype(c.dtype)
