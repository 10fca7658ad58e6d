"""Ops on views that cannot be: what their users read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

import linalg_ext as lx
from linalg_ext.bindings import ir
from linalg_ext.dialects import linalg_ext as ext
from linalg_ext.errors import ArgumentError, VerificationError

Values = list[ir.Value]


@contextmanager
def arguments(module: lx.Module) -> Iterator[Values]:
    block = module.ir.body.operations[0].regions[0].blocks[0]
    with module.ir.context, ir.Location.unknown(), ir.InsertionPoint(block.operations[0]):
        yield list(block.arguments)


MISTAKES: list[tuple[Callable[[Values], object], str]] = [
    (lambda v: ext.tile(v[0], [0], [4, 4]), "tile: 1 positions for a view of rank 2"),
    (lambda v: ext.tile(v[0], [0, 0], [4]), r"tile: sizes are \[4\]"),
    (lambda v: ext.tile(v[0], [0, 0], [4, 0]), r"tile: sizes are \[4, 0\]"),
    (lambda v: ext.tile(v[0], [0, -1], [4, 4]), "tile: index -1"),
    (lambda v: ext.tile(v[0], 3, [4, 4]), "tile: 3 is not a list"),  # type: ignore[arg-type]
    (lambda v: ext.tile(v[2], [0, 0], [4, 4]), "tile: operand is of type tensor<6x9xf32>"),
    (lambda v: ext.slice(v[0], [0]), "slice: .* with 0 ranges and 1 indices"),
    (lambda v: ext.slice(v[0], [0, v[3]]), "slice: an index is of type i32"),
    (lambda v: ext.slice(v[0], [6, 0]), "offset = 6 is out of bounds in dimension 0 of size 6"),
    (lambda v: ext.slice(v[0], [ext.range_(0, 7), 0]), "causes access out of bounds at 6"),
    (lambda v: ext.range_(0, 4, 0), "range: step is 0"),
    (lambda v: ext.intersection(v[0], v[1]), "intersection: the views may be of two buffers"),
    (lambda v: ext.difference(v[0], ext.slice(v[0], [0, ext.range_(0, 2)])), "rank 2"),
    (lambda v: ext.convex_union(v[0], v[2]), "convex_union: operand is of type tensor"),
]


@pytest.mark.parametrize(("build", "message"), MISTAKES, ids=[message for _, message in MISTAKES])
def test_a_mistake_leaves_nothing_behind(build: Callable[[Values], object], message: str) -> None:
    module = lx.parse(
        "func.func @f(%a: memref<6x9xf32>, %b: memref<6x9xf32>, %t: tensor<6x9xf32>, %n: i32) "
        "{ return }"
    )
    with arguments(module) as values, pytest.raises(ArgumentError, match=message):
        build(values)
    names = [
        op.operation.name for op in module.ir.body.operations[0].regions[0].blocks[0].operations
    ]
    assert not {"linalg_ext.tile", "linalg_ext.intersection", "linalg_ext.difference"} & set(names)


@pytest.mark.parametrize(
    ("op", "message"),
    [
        (
            '"linalg_ext.tile"(%a, %i, %i) : (memref<6x9xf32>, index, index) -> memref<?x?xf32>',
            "sizes is missing",
        ),
        (
            '"linalg_ext.tile"(%a, %i) {sizes = array<i64: 2, 2>} : (memref<6x9xf32>, index) -> '
            "memref<?x?xf32>",
            "1 positions for a view of rank 2",
        ),
        (
            '"linalg_ext.tile"(%a, %i, %i) {sizes = array<i64: 2, 2>} : (memref<6x9xf32>, index, '
            "index) -> memref<?x?xf64>",
            "the elements and the memory of the view",
        ),
        (
            '"linalg_ext.tile"(%a, %i, %i) {sizes = array<i64: 2, 2>} : (memref<6x9xf32>, index, '
            "index) -> memref<3x?xf32>",
            "a result of size 3 of a tile of size 2",
        ),
        (
            '"linalg_ext.intersection"(%a, %i) : (memref<6x9xf32>, index) -> memref<?x?xf32>',
            "operand 1 is of type index",
        ),
    ],
)
def test_texts_that_break_a_rule_are_refused_by_their_line(op: str, message: str) -> None:
    text = f"func.func @f(%a: memref<6x9xf32>, %i: index) {{\n%r = {op}\nreturn\n}}"
    with pytest.raises(VerificationError, match=message) as found:
        lx.parse(text)
    assert "-:2:" in str(found.value)
