"""Plans: which tile, which blocks, what is packed, and that scratch memory is bounded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from linalg_ext.transforms.codegen.base.machine import Machine
from linalg_ext.transforms.codegen.base.problem import Dimension, Operand, Problem, classify
from linalg_ext.transforms.codegen.contractions.contraction_plan import Plan, make_plan
from machines import AVX2, AVX512, BASELINE


def problem(spec: str, sizes: Mapping[str, int | None], *, element: str = "f32") -> Problem:
    """A contraction of operands that lie in memory in the order of their labels."""
    inputs, output = spec.split("->")
    a, b = inputs.split(",")
    terms: dict[Operand, str] = {"A": a, "B": b, "C": output}
    strides: dict[str, dict[Operand, int | None]] = {label: {} for label in "".join(terms.values())}
    for operand, labels in terms.items():
        step: int | None = 1
        for label in reversed(labels):
            strides[label][operand] = step
            size = sizes[label]
            step = None if step is None or size is None else step * size
    dimensions = [Dimension(label, sizes[label], strides[label]) for label in strides]
    found = classify(element, dimensions, overwrites=True)
    assert isinstance(found, Problem), found
    return found


def plan(spec: str, machine: Machine = AVX512, **sizes: int | None) -> Plan:
    return make_plan(problem(spec, sizes), machine)


MATMUL = "mk,kn->mn"


def test_the_operand_with_the_contiguous_columns_comes_in_vectors() -> None:
    assert not problem(MATMUL, {"m": 64, "n": 64, "k": 64}).swapped
    assert problem("mk,kn->nm", {"m": 64, "n": 64, "k": 64}).swapped


def test_groups() -> None:
    found = problem("bimkj,bjkn->bmin", dict.fromkeys("bimkjn", 4))
    assert [d.name for d in found.batch] == ["b"]
    assert {d.name for d in found.rows.dimensions} == {"i", "m"}
    assert [d.name for d in found.columns.dimensions] == ["n"]
    assert {d.name for d in found.depth.dimensions} == {"j", "k"}


def test_evenly_spaced_dimensions_are_one_segment() -> None:
    found = problem("mij,nij->mn", {"m": 4, "n": 4, "i": 3, "j": 5})
    (segment,) = found.depth.segments("A")
    assert (segment.size, segment.stride) == (15, 1)
    apart = problem("imj,nij->mn", {"m": 4, "n": 4, "i": 3, "j": 5})
    assert [segment.size for segment in apart.depth.segments("A")] == [3, 5]


@pytest.mark.parametrize(("run", "pieces"), [(16, 1), (32, 1), (24, 2), (15, 2), (8, 3), (100, 2)])
def test_pieces_of_a_vector(run: int, pieces: int) -> None:
    found = problem("mk,kpq->mpq", {"m": 4, "k": 4, "p": 3, "q": run})
    # In C the columns are one segment; take them apart by another dimension between.
    assert found.columns.pieces("C", 16) == 1
    apart = problem("mk,kpq->pmq", {"m": 4, "k": 4, "p": 3, "q": run})
    assert apart.columns.pieces("C", 16) == pieces


def test_one_operand_alone_has_a_dimension() -> None:
    dimensions = [Dimension("m", 4, {"A": 1})]
    assert "one operand alone" in str(classify("f32", dimensions, overwrites=False))


@pytest.mark.parametrize("machine", [AVX512, AVX2, BASELINE])
@pytest.mark.parametrize(
    "sizes",
    [
        {"m": 10_000, "n": 10_000, "k": 10_000},
        {"m": 10_000, "n": 10_000, "k": 3},
        {"m": 33, "n": 1_000_000, "k": 7},
        {"m": 1_000_000, "n": 40, "k": 5},
        {"m": 50, "n": 50, "k": 1_000_000},
        {"m": None, "n": None, "k": None},
    ],
)
@pytest.mark.parametrize("spec", ["mk,kn->mn", "km,nk->mn"])
def test_scratch_memory_is_bounded(
    spec: str, sizes: dict[str, int | None], machine: Machine
) -> None:
    for element in ("f32", "f64"):
        made = make_plan(problem(spec, sizes, element=element), machine)
        size = made.problem.element_bytes
        assert made.scratch_a * size <= 2 * machine.l2_bytes
        assert made.scratch_b * size <= machine.l3_bytes // 4


@pytest.mark.parametrize("machine", [AVX512, AVX2, BASELINE])
@pytest.mark.parametrize("size", [1, 5, 16, 100, 1000, None])
def test_a_tile_fits_the_registers(machine: Machine, size: int | None) -> None:
    tile = plan(MATMUL, machine, m=size, n=size, k=size).tile
    assert tile.rows * tile.vectors + tile.vectors + 1 < machine.vector_registers
    assert tile.lanes * 4 == machine.vector_bytes


def test_small_operands_are_read_where_they_lie() -> None:
    made = plan(MATMUL, m=64, n=64, k=64)
    assert (made.pack_a, made.pack_b) == ("none", "none")
    assert made.scratch_a == made.scratch_b == 0


def test_strips_that_l1_does_not_hold_are_packed_where_many_tiles_read_them() -> None:
    assert plan(MATMUL, m=128, n=128, k=128).pack_b == "rows"
    assert plan(MATMUL, m=16, n=128, k=128).pack_b == "none"
    roomy = replace(AVX512, l1_bytes=48 << 10, l1_ways=12)
    assert plan(MATMUL, roomy, m=144, n=144, k=144).pack_b == "none"
    assert plan(MATMUL, roomy, m=256, n=256, k=256).pack_b == "rows"


@pytest.mark.parametrize(("columns", "packing"), [(64, "none"), (512, "rows"), (528, "none")])
def test_strips_whose_rows_share_their_places_in_l1_are_packed(columns: int, packing: str) -> None:
    roomy = replace(AVX512, l1_bytes=48 << 10, l1_ways=12)
    assert plan(MATMUL, roomy, m=128, n=columns, k=64).pack_b == packing


@pytest.mark.parametrize(
    ("spec", "a", "b"),
    [
        ("mk,kn->mn", "rows", "rows"),
        ("km,kn->mn", "columns", "rows"),
        ("mk,nk->mn", "rows", "transpose"),
        ("mpk,kpn->mn", "rows", "rows"),
    ],
)
def test_how_large_operands_are_packed(spec: str, a: str, b: str) -> None:
    made = plan(spec, m=2000, n=2000, k=500, p=4)
    assert (made.pack_a, made.pack_b) == (a, b)


def test_c_is_written_once_where_the_depth_allows_it() -> None:
    assert plan(MATMUL, m=1000, n=1000, k=1000).depth_block >= 1000


@pytest.mark.parametrize("depth", [1500, 2000, 5000])
def test_a_block_has_rows_enough_for_what_is_read_of_b(depth: int) -> None:
    """Of fewer rows B would be read from L3 so often that caches of little bandwidth lag behind."""
    deep = plan(MATMUL, m=1000, n=1000, k=depth)
    assert deep.depth_block < depth
    assert deep.row_block >= 120
    assert deep.fetches_c


def test_one_block_of_rows_meets_strips_of_b_one_by_one() -> None:
    one = plan(MATMUL, m=60, n=5000, k=300)
    assert one.by_strips
    assert one.fetches_b
    assert one.scratch_b == one.strip_b
    assert not plan(MATMUL, m=6000, n=5000, k=300).by_strips


def test_rows_lie_as_c_does_where_c_is_the_larger() -> None:
    sizes = {"a": 24, "b": 12, "c": 12, "d": 24, "e": 12, "f": 12}
    flat = problem("bged,cafg->fedcba", sizes | {"g": 24})
    assert "".join(d.name for d in flat.rows.dimensions) == "edb"
    deep = problem("bged,cafg->fedcba", sizes | {"g": 24_000})
    assert deep.rows.dimensions[-1].name == "d"


def test_the_depth_lies_as_the_much_larger_operand_has_it() -> None:
    found = problem("ceda,dbe->cba", {"a": 72, "b": 68, "c": 68, "d": 68, "e": 72})
    assert "".join(d.name for d in found.depth.dimensions) == "ed"
    found = problem("ceda,dbe->cba", {"a": 72, "b": 680, "c": 68, "d": 68, "e": 72})
    assert "".join(d.name for d in found.depth.dimensions) == "de"


def test_little_depth_has_small_tiles() -> None:
    flat, deep = (plan(MATMUL, m=3456, n=3456, k=k).tile for k in (24, 2400))
    assert flat.rows * flat.vectors < deep.rows * deep.vectors


def test_rows_that_are_read_side_by_side_are_few() -> None:
    assert plan(MATMUL, m=4096, n=8, k=4096).tile.rows <= 10
    assert plan(MATMUL, m=4096, n=4096, k=4096).tile.rows * 4 >= 24


def test_panels_are_bounded() -> None:
    sizes = {"a": 64, "b": 68, "c": 24, "d": 64, "e": 64}
    made = make_plan(problem("aebd,ce->dcba", sizes), AVX512)
    assert made.panel is not None
    assert made.scratch_c * 4 <= AVX512.l2_bytes // 2 + 4 * made.panel.rows * 128
    large = problem("aebd,ce->dcba", sizes | {"d": 100_000})
    assert make_plan(large, AVX512).panel is None


def test_few_rows_read_b_where_it_lies() -> None:
    assert plan(MATMUL, m=16, n=4096, k=4096).pack_b == "none"
    assert plan(MATMUL, m=1, n=4096, k=4096).pack_b == "none"


def test_tiles_without_padding_where_there_are_some() -> None:
    for size in (16, 48, 64, 96, 128):
        tile = plan(MATMUL, m=size, n=size, k=64).tile
        assert size % tile.columns == 0


def test_the_plan_is_a_table() -> None:
    text = repr(plan(MATMUL, m=1000, n=1000, k=1000))
    for line in ("packed contraction  f32", "rows                m:1000", "packing"):
        assert line in text
    assert "depth               k:?" in repr(plan(MATMUL, m=10, n=10, k=None))
