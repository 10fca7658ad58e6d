"""Metadata Ops, and Views: each op that the documents list, built, composed, folded, lowered, read.

`docs/six_properties.md` has the table of names; its rows name the tests here.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.bindings import ir
from linalg_ext.dialects import linalg_ext as ext
from linalg_ext.errors import ArgumentError, ExecutionError, LoweringError
from linalg_ext.structured import covered_memory
from view_modules import COLUMNS, OPEN, ROWS, STATIC, STRIDED, Build, filled, writing, written

TYPES = [STATIC, OPEN, STRIDED]


def expected(where: Any) -> np.ndarray[Any, Any]:
    """What a buffer holds of which a part, by NumPy's index, is filled."""
    buffer = np.zeros((ROWS, COLUMNS), np.float32)
    buffer[where] = 1
    return buffer


Case = tuple[int, int, object]
"""Two indices, and NumPy's index of what is filled then."""


def check(build: Build, *cases: Case) -> None:
    for type_ in TYPES:
        kernel = lx.compile(writing(build, type_), "f")
        # Other strides than those of a dense array, where the type allows them.
        for (i, j, where), order in itertools.product(cases, "CF" if type_ == STRIDED else "C"):
            buffer = np.zeros((ROWS, COLUMNS), np.float32, order="F" if order == "F" else "C")
            kernel(buffer, i, j)
            np.testing.assert_array_equal(buffer, expected(where), err_msg=f"{type_} {i} {j}")


def text_after(passes: str, text: str) -> str:
    module = lx.parse(text)
    module.run(passes)
    return str(module)


def test_range_and_slice() -> None:
    def build(a: ir.Value, p: ir.Value, q: ir.Value) -> ir.Value:
        return ext.slice(a, [p, ext.range_(1, q, 3)])

    places = [(0, 0), (1, 4), (5, 8), (3, 9), (0, 1)]
    check(build, *((i, j, (i, np.s_[1:j:3])) for i, j in places))


def test_a_slice_that_leaves_its_view_is_an_error_of_the_run() -> None:
    kernel = lx.compile(writing(lambda a, p, q: ext.slice(a, [p, ext.range_(1, q, 3)])))
    with pytest.raises(ExecutionError, match="out-of-bounds"):
        kernel(np.zeros((ROWS, COLUMNS), np.float32), 2, 20)


def test_tile() -> None:
    places = [(0, 0), (1, 1), (1, 2), (2, 0), (9, 9)]
    check(
        lambda a, p, q: ext.tile(a, [p, q], [4, 4]),
        *((i, j, np.s_[4 * i : 4 * i + 4, 4 * j : 4 * j + 4]) for i, j in places),
    )


def test_a_tile_of_a_tile_and_of_a_slice() -> None:
    check(
        lambda a, p, q: ext.tile(ext.tile(a, [p, 0], [4, 7]), [0, q], [3, 3]),
        (1, 2, np.s_[4:6, 6:7]),
    )
    check(
        lambda a, p, q: ext.tile(ext.slice(a, [ext.range_(p, 6, 2), q]), [0], [2]),
        (1, 3, np.s_[1:5:2, 3]),
    )


def two(a: ir.Value, p: ir.Value, q: ir.Value) -> tuple[ir.Value, ir.Value]:
    return ext.tile(a, [p, q], [4, 4]), ext.tile(a, [q, p], [3, 5])


SPOTS = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 2), (0, 7)]


def masks(i: int, j: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    one, other = np.zeros((2, ROWS, COLUMNS), bool)
    one[4 * i : 4 * i + 4, 4 * j : 4 * j + 4] = True
    other[3 * j : 3 * j + 3, 5 * i : 5 * i + 5] = True
    return one, other


def test_intersection() -> None:
    cases = ((i, j, np.logical_and(*masks(i, j))) for i, j in SPOTS)
    check(lambda a, p, q: ext.intersection(*two(a, p, q)), *cases)


def test_convex_union() -> None:
    cases = ((i, j, around(np.argwhere(np.logical_or(*masks(i, j))))) for i, j in SPOTS)
    check(lambda a, p, q: ext.convex_union(*two(a, p, q)), *cases)


def around(held: np.ndarray[Any, Any]) -> Any:
    """The smallest box with some indices in it."""
    return tuple(map(slice, held.min(0), held.max(0) + 1)) if len(held) else np.s_[:0]


def test_difference_is_a_list() -> None:
    module = writing(lambda a, p, q: ext.difference(*two(a, p, q)))
    assert len(filled(module)) == 4
    kernel = lx.compile(module, "f")
    for i, j in SPOTS:
        one, other = masks(i, j)
        buffer = np.zeros((ROWS, COLUMNS), np.float32)
        kernel(buffer, i, j)
        np.testing.assert_array_equal(buffer > 0, one & ~other)


def test_sets_of_strided_views() -> None:
    def build(a: ir.Value, p: ir.Value, q: ir.Value) -> ir.Value:
        every_second = ext.slice(a, [ext.range_(0, ROWS), ext.range_(0, COLUMNS, 2)])
        return ext.intersection(
            every_second, ext.slice(a, [ext.range_(p, ROWS), ext.range_(1, COLUMNS, 3)])
        )

    check(build, (2, 0, np.s_[2:, 4::6]))


def test_views_of_a_transposed_view_are_combined_there() -> None:
    module = lx.parse(f"""
    func.func @f(%a: {STATIC}, %i: index, %j: index) {{
      %t = memref.transpose %a (r, c) -> (c, r) : {STATIC} to memref<9x6xf32, strided<[1, 9]>>
      %u = "linalg_ext.tile"(%t, %i, %j) {{sizes = array<i64: 4, 3>}}
        : (memref<9x6xf32, strided<[1, 9]>>, index, index)
        -> memref<?x?xf32, strided<[?, ?], offset: ?>>
      %v = "linalg_ext.tile"(%t, %j, %i) {{sizes = array<i64: 5, 2>}}
        : (memref<9x6xf32, strided<[1, 9]>>, index, index)
        -> memref<?x?xf32, strided<[?, ?], offset: ?>>
      %w = "linalg_ext.intersection"(%u, %v)
        : (memref<?x?xf32, strided<[?, ?], offset: ?>>,
           memref<?x?xf32, strided<[?, ?], offset: ?>>)
        -> memref<?x?xf32, strided<[?, ?], offset: ?>>
      %one = arith.constant 1.0 : f32
      linalg.fill ins(%one : f32) outs(%w : memref<?x?xf32, strided<[?, ?], offset: ?>>)
      return
    }}""")
    buffer = written(module, 1, 0)
    np.testing.assert_array_equal(buffer, expected(np.s_[2:3, 4:5]))


def test_view_subview_transpose_and_reshape_are_upstreams() -> None:
    """They compose and fold by upstream's passes."""
    text = f"""
    func.func @f(%a: {STATIC}, %b: memref<216xi8>, %i: index) -> (
        memref<1x2xf32, strided<[18, 3], offset: ?>>, {STATIC}, memref<54xf32>, {STATIC}) {{
      %c0 = arith.constant 0 : index
      %s = memref.subview %a[1, 2] [4, 6] [1, 1]
        : {STATIC} to memref<4x6xf32, strided<[9, 1], offset: 11>>
      %u = memref.subview %s[%i, 1] [1, 2] [2, 3] : memref<4x6xf32, strided<[9, 1], offset: 11>>
        to memref<1x2xf32, strided<[18, 3], offset: ?>>
      %t = memref.transpose %a (r, c) -> (c, r) : {STATIC} to memref<9x6xf32, strided<[1, 9]>>
      %v = memref.transpose %t (r, c) -> (c, r) : memref<9x6xf32, strided<[1, 9]>> to {STATIC}
      %e = memref.expand_shape %a [[0], [1, 2]] output_shape [6, 3, 3] : {STATIC}
        into memref<6x3x3xf32>
      %w = memref.collapse_shape %e [[0, 1, 2]] : memref<6x3x3xf32> into memref<54xf32>
      %x = memref.view %b[%c0][] : memref<216xi8> to {STATIC}
      return %u, %v, %w, %x
        : memref<1x2xf32, strided<[18, 3], offset: ?>>, {STATIC}, memref<54xf32>, {STATIC}
    }}"""
    after = text_after("canonicalize,fold-memref-alias-ops,canonicalize", text)
    assert after.count("memref.subview %arg0[") == 1
    assert "memref.transpose" not in after
    assert "expand_shape" not in after
    module = lx.parse(text)
    block = module.ir.body.operations[0].regions[0].blocks[0]
    results = list(block.operations)[-1].operation.operands
    i = block.arguments[2]
    covered = [covered_memory(each).replaced({i: 1}) for each in results]
    every = list(range(0, 216, 4))
    assert list(covered[0].elements()) == [4 * (2 * 9 + 3), 4 * (2 * 9 + 6)]
    assert [list(each.elements()) for each in covered[1:]] == [every] * 3
    assert covered[3].buffer == block.arguments[1]


def test_ours_fold() -> None:
    def build(a: ir.Value, p: ir.Value, q: ir.Value) -> list[ir.Value]:
        left = ext.slice(a, [ext.range_(0, ROWS), ext.range_(0, 4)])
        return [
            ext.tile(a, [0, 0], [ROWS, COLUMNS]),
            ext.intersection(a, left),
            ext.convex_union(left, a),
            ext.slice(left, [ext.range_(0, ROWS), ext.range_(0, 4)]),
        ]

    module = writing(build)
    before = written(module)
    assert lx.transforms.fold_views(module).changed.total() == 4
    module.run("canonicalize")
    views = [
        str(view.owner.name) if isinstance(view, ir.OpResult) else "" for view in filled(module)
    ]
    assert views == ["", "linalg_ext.slice", "", "linalg_ext.slice"]
    np.testing.assert_array_equal(written(module), before)


def test_what_is_known_lowers_to_one_subview_of_numbers() -> None:
    def build(a: ir.Value, p: ir.Value, q: ir.Value) -> ir.Value:
        return ext.intersection(ext.tile(a, [1, 1], [3, 4]), ext.tile(a, [0, 1], [5, 5]))

    module = writing(build)
    module.run("linalg-ext-lower-views,canonicalize")
    (view,) = filled(module)
    assert "memref.subview %arg0[3, 5] [2, 3] [1, 1]" in str(module)
    assert str(covered_memory(view).tile) == "Tile[3, 5][2, 3][1, 1]"


def test_views_of_two_buffers_are_refused() -> None:
    body = """
      %r = "linalg_ext.intersection"(%a, %b) : (memref<4xf32>, memref<4xf32>)
        -> memref<?xf32, strided<[?], offset: ?>>"""
    module = lx.parse(f"func.func @f(%a: memref<4xf32>, %b: memref<4xf32>) {{ {body}\nreturn }}")
    before = str(module)
    with pytest.raises(
        LoweringError, match=r"the views of linalg_ext\.intersection may be of two buf"
    ):
        lx.transforms.lower_views(module)
    assert str(module) == before
    block = module.ir.body.operations[0].regions[0].blocks[0]
    with (
        module.ir.context,
        ir.Location.unknown(),
        ir.InsertionPoint(block.operations[0]),
        pytest.raises(ArgumentError, match="convex_union: the views may be of two buffers"),
    ):
        ext.convex_union(*block.arguments)
