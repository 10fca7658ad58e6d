"""Complex numbers that are moved or added, as elements that vectors hold.

before:
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>],
                    iterator_types = ["reduction"]}
        ins(%a : memref<30000xcomplex<f32>>) outs(%c : memref<complex<f32>>) {
    ^bb0(%x: complex<f32>, %old: complex<f32>):
      %s = complex.add %old, %x : complex<f32>
      linalg.yield %s : complex<f32>
    }
after:
    linalg.generic {indexing_maps = [affine_map<(i, c) -> (i, c)>, affine_map<(i, c) -> (c)>],
                    iterator_types = ["reduction", "parallel"]}
        ins(%pairs : memref<30000x2xf32, strided<[2, 1]>>) outs(%c_pairs : memref<2xf32, ...>) {
    ^bb0(%x: f32, %old: f32):
      %s = arith.addf %old, %x : f32
      linalg.yield %s : f32
    }

Numbers of 64 bits that are only moved are integers of as many: a row that is looked up stays one.
Others are pairs of floats, with a loop over the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from linalg_ext.bindings import arith, ir, memref
from linalg_ext.transforms.ir_utils.complex_memory import pairs_of, part_of, with_elements
from linalg_ext.transforms.ir_utils.generics import (
    inside,
    maps_of,
    parallel_loops,
    with_other_loops,
)
from linalg_ext.transforms.ir_utils.walking import copied, ops_of

_BY_PARTS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {"complex.add": arith.addf, "complex.sub": arith.subf, "complex.neg": arith.negf}
)
"""Ops on complex numbers that do the same to each part."""

_MOVES = frozenset({"arith.select", "linalg.yield"})
_LOAD = "memref.load"


def in_vector_elements(op: Any) -> Any:
    """Return a generic on buffers of complex numbers as one of integers or floats in its place.

    The op itself where it has none, or where more is done to them.
    """
    buffers = [value for value in op.operands if _is_complex(_element_of(value))]
    if not buffers or any(_is_complex(value.type) for value in op.operands):
        return op
    body = op.regions[0].blocks[0]
    ops = list(ops_of(body))
    touching = [inner for inner in ops if _touches(inner)]
    if any(_is_from_outside(value, body) for inner in touching for value in inner.operands):
        return op
    if any(len(inner.regions) or _loads_own(inner, body) for inner in ops):
        return op
    names = {inner.name for inner in touching}
    if names <= {*_MOVES, _LOAD} and all(map(_is_word, buffers)):
        return _rebuilt(op, _Words())
    return _rebuilt(op, _Pairs()) if names <= {*_MOVES, *_BY_PARTS} else op


def _element_of(value: Any) -> Any:
    return value.type.element_type if isinstance(value.type, ir.MemRefType) else None


def _is_complex(type_: Any) -> bool:
    return isinstance(type_, ir.ComplexType)


def _is_word(buffer: Any) -> bool:
    return str(_element_of(buffer)) == "complex<f32>"


def _is_from_outside(value: Any, body: Any) -> bool:
    """Return whether a value is a complex number that a body takes from around it."""
    return _is_complex(value.type) and value.owner != body and inside(value, body) is None


def _loads_own(op: Any, body: Any) -> bool:
    """Return whether an op of a body loads from a buffer that the body makes."""
    return op.name == _LOAD and inside(op.operands[0], body) is not None


def _touches(op: Any) -> bool:
    return any(_is_complex(value.type) for value in (*op.operands, *op.results))


class _Words:
    """Complex numbers of 64 bits as integers."""

    new_loops = 0

    def element(self, type_: Any) -> Any:
        return ir.IntegerType.get_signless(64)

    def buffer(self, value: Any) -> Any:
        return with_elements(value, self.element(_element_of(value)))

    def load(self, op: Any, values: dict[Any, Any], before: Any) -> Any:
        """Build the load of an element of a buffer, whose view goes before the generic."""
        with ir.InsertionPoint(before):
            buffer = self.buffer(op.operands[0])
        return memref.load(buffer, [values.get(at, at) for at in list(op.operands)[1:]])


class _Pairs:
    """Complex numbers as pairs of floats."""

    new_loops = 1

    def element(self, type_: Any) -> Any:
        return part_of(type_)

    def buffer(self, value: Any) -> Any:
        return pairs_of(value)


def _rebuilt(op: Any, form: _Words | _Pairs) -> Any:
    """Build a generic on other elements in the place of another one."""
    rank, old = len(parallel_loops(op)), op.regions[0].blocks[0]
    new_loop = [ir.AffineExpr.get_dim(rank)] * form.new_loops
    operands, maps = [], []
    with op.location, ir.InsertionPoint(op):
        for value, map_ in zip(op.operands, maps_of(op), strict=True):
            is_other = _is_complex(_element_of(value))
            operands.append(form.buffer(value) if is_other else value)
            results = [*map_.results, *(new_loop if is_other else [])]
            maps.append(ir.AffineMap.get(rank + form.new_loops, 0, results))
        are_parallel = (*parallel_loops(op), *[True] * form.new_loops)
        new = with_other_loops(op, operands, maps, are_parallel)
        types = [
            form.element(value.type) if _is_complex(value.type) else value.type
            for value in old.arguments
        ]
        body = new.regions[0].blocks.append(*types)
        values: dict[Any, Any] = dict(zip(old.arguments, body.arguments, strict=True))
        with ir.InsertionPoint(body):
            for inner in ops_of(old):
                if inner.name == "linalg.yield" or not _touches(inner):
                    copied(inner, values)
                elif inner.name == _LOAD and isinstance(form, _Words):
                    values[inner.results[0]] = form.load(inner, values, new)
                else:
                    build = _BY_PARTS.get(inner.name, arith.select)
                    values[inner.results[0]] = build(*(values.get(v, v) for v in inner.operands))
    op.erase()
    return new
