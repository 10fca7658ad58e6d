"""What parts of the loops touch, and who touches parts of the data, beside counting it out."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import pytest

import linalg_ext as lx
from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentTypeError, SubsetError
from linalg_ext.structured import StructuredInterface, interface
from linalg_ext.symbolic.affine import AffineDim, AffineExpr, AffineMap
from linalg_ext.symbolic.index_sets import Point, Tile, indices, replaced
from linalg_ext.symbolic.integers import Symbol
from op_instances import named_ops, ops_in, written_ops

Index = tuple[int, ...]


MOST = 500
"""Iterations to count out."""


def named() -> Iterator[StructuredInterface]:
    """One op of each kind of maps, but for those of very many loops."""
    seen = set()
    for op in named_ops(memref=False)[1].values():
        x = interface(op)
        said = (x.indexing_maps, x.static_loop_ranges)
        if said not in seen and prod(size or 0 for size in x.static_loop_ranges) <= MOST:
            seen.add(said)
            yield x


def element(map: AffineMap, point: Index) -> Index:
    values: dict[AffineExpr, int] = {
        AffineDim(name): i for name, i in zip(map.dims, point, strict=True)
    }
    return tuple(index.evaluate(values) for index in map.results)


def some_iterations(x: StructuredInterface) -> Tile:
    """All but the first of each second loop, all but the last of the others."""
    sizes = [size or 0 for size in x.static_loop_ranges]
    return Tile([dim % 2 for dim in range(len(sizes))], [size - 1 for size in sizes])


def test_a_footprint_is_what_counting_finds() -> None:
    inexact = 0
    for x in named():
        part = some_iterations(x)
        points = list(indices(part))
        found = x.footprint(part)
        assert found.iterations == part
        for position, (operand, map) in enumerate(
            zip(found.operands, x.indexing_maps, strict=True)
        ):
            touched = {element(map, point) for point in points}
            held = set(indices(operand.tile))
            assert touched <= held, found
            assert (touched == held) >= operand.is_exact, found
            # It is the smallest: each face of it is touched.
            for dim in range(operand.tile.rank):
                reached = {index[dim] for index in touched}
                assert (min(reached), max(reached)) == (
                    operand.tile.offset(dim),
                    operand.tile.last(dim),
                )
            inexact += not operand.is_exact
            assert operand.shape == x.shape(position)
            assert operand.is_written == x.is_init(position)
    assert inexact < 30  # windows with steps that jump over elements, and sums of such


def test_the_whole_space_touches_all_of_what_it_writes() -> None:
    for x in named():
        for operand in x.footprint().operands:
            if operand.is_written:
                assert operand.is_exact
                assert operand.tile.sizes == operand.shape


def test_who_touches_data_is_what_counting_finds() -> None:
    for x in named():
        points = list(indices(x.iteration_space))
        for position, map in enumerate(x.indexing_maps):
            shape = x.shape(position)
            data = Tile(
                [min(1, (n or 1) - 1) for n in shape], [max((n or 1) - 2, 1) for n in shape]
            )
            found = x.iterations_touching(position, data)
            listed = [point for tile in found.tiles for point in indices(tile)]
            wanted = set(indices(data))
            expected = {point for point in points if element(map, point) in wanted}
            assert found.is_exact
            assert len(listed) == len(expected)
            assert set(listed) == expected, (x, position)


MATMUL = """
func.func @f(%a: tensor<64x128xf32>, %b: tensor<128x?xf32>, %c: tensor<64x?xf32>) {
  %r = linalg.matmul ins(%a, %b : tensor<64x128xf32>, tensor<128x?xf32>)
    outs(%c : tensor<64x?xf32>) -> tensor<64x?xf32>
  return
}"""
SHOWN = """\
linalg.matmul
  iterations  [i:i + 8, 0:16, 0:128]  of 64xn1x128
  input 0     [i:i + 8, 0:128]        of 64x128, reads
  input 1     [0:128, 0:16]           of 128xn1, reads
  init 0      [i:i + 8, 0:16]         of 64xn1, reads and writes"""


@pytest.fixture
def matmul() -> Iterator[StructuredInterface]:
    module = lx.parse(MATMUL)
    (op,) = [op for op in ops_in(module.ir) if op.name == "linalg.matmul"]
    yield interface(op)
    assert module.ir.operation.verify()  # an op does not keep its module alive


def test_a_footprint_of_numbers_that_are_not_known(matmul: StructuredInterface) -> None:
    i = Symbol("i", lower=0, upper=56, step=8)
    found = matmul.footprint(Tile((i, 0, 0), (8, 16, 128)))
    assert repr(found) == SHOWN
    assert all(operand.is_exact for operand in found.operands)
    rows = matmul.iterations_touching(0, Tile((i, 0), (8, 128)))
    assert rows.is_exact
    (tile,) = rows.tiles
    known = replaced(tile, {"i": 16, "n1": 5})
    assert known == Tile((16, 0, 0), (8, 5, 128))


def test_what_the_payload_reaches_from_outside_is_told() -> None:
    """Property 3's histogram: its parallel loops add to a buffer that no map has."""
    (op,) = [op for op in ops_in(written_ops().ir) if "memref.atomic_rmw" in _body(op)]
    found = interface(op).footprint()
    (captured,) = found.captured
    assert captured.value == op.block.arguments[1]
    assert (captured.is_read, captured.is_written) == (True, True)
    assert "captured    memref<8x4xf32>" in repr(found)
    assert not any(x.footprint().captured for x in named())


def _body(op: ir.Operation) -> list[str]:
    if op.name != "linalg.generic":
        return []
    return [inner.operation.name for inner in op.regions[0].blocks[0].operations]


def test_parts_that_are_none_are_refused(matmul: StructuredInterface) -> None:
    with pytest.raises(SubsetError, match=r"offset = 60 size = 8 .* out of bounds"):
        matmul.footprint(Tile((60, 0, 0), (8, 16, 128)))
    with pytest.raises(SubsetError, match=r"rank 2 of a superset of rank 3"):
        matmul.footprint(Tile((0, 0), (8, 16)))
    with pytest.raises(SubsetError, match=r"index = 64 to be between 0 and 63"):
        matmul.iterations_touching(0, Point((64, 0)))
    with pytest.raises(ArgumentTypeError, match=r"(?s)\(0, 8\) is not a part .*Tile or Point"):
        matmul.footprint((0, 8))  # type: ignore[arg-type]
