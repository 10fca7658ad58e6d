"""Modules of a thousand structured ops, for how long each rewrite takes on them."""

from __future__ import annotations

from functools import cache

import linalg_ext as lx
from benchmarks.timing import Work

OPS = 1000
SECONDS = 0.5
"""Seconds that a rewrite may take on a thousand ops."""

_M, _V = "tensor<16x16xf32>", "tensor<16xf32>"
_PRODUCT = f"""
  %t{{i}} = linalg.transpose ins(%x{{i}} : {_M}) outs(%e : {_M}) permutation = [1, 0]
  %b{{i}} = linalg.broadcast ins(%v : {_V}) outs(%e : {_M}) dimensions = [1]
  %p{{i}} = linalg.matmul ins(%t{{i}}, %w : {_M}, {_M}) outs(%z : {_M}) -> {_M}
  %x{{j}} = linalg.add ins(%p{{i}}, %b{{i}} : {_M}, {_M}) outs(%e : {_M}) -> {_M}"""

PREPARED = {
    "unfold_maps": ("fold_into_maps",),
    "specialize": ("generalize",),
    "name_categories": ("categorize",),
    "raise_matmul_variants": ("categorize",),
    "specialize_matmul": ("categorize", "raise_matmul_variants"),
    "lower_contract": ("raise_to_contract",),
    "propagate_compute_type": ("infer_compute_type",),
    "materialize_compute_type": ("infer_compute_type",),
}
"""The rewrites that run before a rewrite, so that it has something to match."""

REWRITES = (
    "fold_transposes",
    "fold_broadcasts",
    "fold_unit_dims",
    "fold_into_maps",
    "unfold_maps",
    "generalize",
    "specialize",
    "categorize",
    "name_categories",
    "raise_matmul_variants",
    "specialize_matmul",
    "raise_to_contract",
    "lower_contract",
    "infer_compute_type",
    "propagate_compute_type",
    "materialize_compute_type",
)


@cache
def _text(element: str) -> str:
    body = "".join(_PRODUCT.format(i=i, j=i + 1) for i in range(OPS // 4))
    arguments = f"%x0: {_M}, %w: {_M}, %v: {_V}, %e: {_M}, %z: {_M}"
    text = f"func.func @chain({arguments}) -> {_M} {{{body}\n  return %x{OPS // 4} : {_M}\n}}"
    return text.replace("f32", element)


def chain(element: str) -> lx.Module:
    """The module of a thousand ops."""
    return lx.parse(_text(element), trusted=True)


@cache
def _prepared(name: str) -> lx.Module:
    element = "bf16" if "compute_type" in name else "f32"
    module = chain(element)
    for before in PREPARED.get(name, ()):
        getattr(lx.transforms, before)(module)
    return module


def rewriting(name: str) -> Work:
    """One rewrite of a thousand ops, with the clone and the verification that a user pays."""
    return lambda: getattr(lx.transforms, name)(_prepared(name).clone())
