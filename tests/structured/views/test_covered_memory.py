"""Which memory a view covers: by what a kernel writes through it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linalg_ext as lx
from linalg_ext.bindings import ir
from linalg_ext.dialects import linalg_ext as ext
from linalg_ext.errors import ArgumentError, ArgumentTypeError
from linalg_ext.structured import covered_memory
from linalg_ext.structured.sizes import sizes_of
from linalg_ext.symbolic.integers import Symbol, symbols_of
from view_modules import COLUMNS, OPEN, ROWS, STATIC, filled, writing, written


def function(body: str, arguments: str = f"%a: {STATIC}") -> lx.Module:
    return lx.parse(f"func.func @f({arguments}, %i: index, %j: index) {{\n{body}\nreturn\n}}")


def last_but(module: lx.Module, back: int = 1) -> ir.Value:
    ops = list(module.ir.body.operations[0].regions[0].blocks[0].operations)
    return ops[-1 - back].operation.results[0]


CHAINS = {
    "subview": """
      %v = memref.subview %a[1, 2] [3, 2] [2, 3] : STATIC to memref<3x2xf32, strided<[18, 3],
        offset: 11>>""",
    "subview that drops a dimension": """
      %v = memref.subview %a[2, 1] [1, 4] [1, 2] : STATIC to memref<4xf32, strided<[2], offset: 19>>
    """,
    "transpose": """
      %s = memref.subview %a[1, 0] [4, 9] [1, 1] : STATIC to memref<4x9xf32, strided<[9, 1],
        offset: 9>>
      %v = memref.transpose %s (i, j) -> (j, i) : memref<4x9xf32, strided<[9, 1], offset: 9>>
        to memref<9x4xf32, strided<[1, 9], offset: 9>>""",
    "expand_shape": """
      %e = memref.expand_shape %a [[0, 1], [2]] output_shape [2, 3, 9] : STATIC into
        memref<2x3x9xf32>
      %v = memref.subview %e[0, 1, 2] [2, 1, 3] [1, 1, 1] : memref<2x3x9xf32> to memref<2x1x3xf32,
        strided<[27, 9, 1], offset: 11>>""",
    "collapse_shape": """
      %c = memref.collapse_shape %a [[0, 1]] : STATIC into memref<54xf32>
      %v = memref.subview %c[7] [20] [2] : memref<54xf32> to memref<20xf32, strided<[2],
        offset: 7>>""",
    "subview of a size that is a constant": """
      %four = arith.constant 4 : index
      %v = memref.subview %a[1, 0] [1, %four] [1, 2] : STATIC to memref<?xf32, strided<[2],
        offset: 9>>""",
    "subview of which one of two units is dropped": """
      %v = memref.subview %a[1, 5] [1, 1] [1, 1] : STATIC to memref<1xf32, strided<[9], offset: 14>>
    """,
    "cast": """
      %c = memref.cast %a : STATIC to memref<?x9xf32>
      %v = memref.subview %c[1, 1] [2, 2] [1, 1] : memref<?x9xf32> to memref<2x2xf32,
        strided<[9, 1], offset: 10>>""",
}


@pytest.mark.parametrize("name", CHAINS)
def test_it_is_what_a_kernel_writes(name: str) -> None:
    body = CHAINS[name].replace("STATIC", STATIC)
    module = function(body)
    type_ = last_but(module).type
    fill = f"%one = arith.constant 1.0 : f32\nlinalg.fill ins(%one : f32) outs(%v : {type_})"
    covered = covered_memory(last_but(module))
    assert covered.is_known
    buffer = written(function(f"{body}\n{fill}"))
    elements = list(covered.elements())
    assert sorted(elements) == [4 * at for at in np.flatnonzero(buffer)]
    assert len(set(elements)) == len(elements)


numbers = st.integers(0, 3)


@settings(max_examples=15, deadline=None)
@given(numbers, numbers, st.integers(1, 3), st.integers(1, 4), st.sampled_from("tsiudh"))
def test_ops_of_ours_cover_what_a_kernel_writes(i: int, j: int, m: int, n: int, kind: str) -> None:
    def build(a: ir.Value, p: ir.Value, q: ir.Value) -> ir.Value | tuple[ir.Value, ...]:
        one, other = ext.tile(a, [p, q], [m, n]), ext.tile(a, [q, p], [n, m])
        match kind:
            case "t":
                return ext.tile(ext.tile(a, [p, 0], [4, 7]), [0, q], [m, n])
            case "s":
                return ext.slice(a, [ext.range_(p, ROWS, m), q])
            case "i":
                return ext.intersection(one, other)
            case "u":
                return ext.convex_union(one, other)
            case "d":
                return ext.difference(one, other)
        return ext.intersection(ext.slice(a, [ext.range_(0, ROWS, m), ext.range_(p, 9, n)]), one)

    module = writing(build, OPEN if i % 2 else STATIC)
    arguments = module.ir.body.operations[0].regions[0].blocks[0].arguments
    covered: set[int] = set()
    count = 0
    for view in filled(module):
        found = covered_memory(view)
        sizes = {
            symbol.key: size
            for symbol, size in zip(_open_sizes(found), (ROWS, COLUMNS), strict=False)
        }
        known = found.replaced({arguments[1]: i, arguments[2]: j, **sizes})
        covered |= set(known.elements())
        count += len(list(known.elements()))
    assert sorted(covered) == [4 * at for at in np.flatnonzero(written(module, i, j))]
    assert count == len(covered)  # boxes of a difference are disjoint


def test_views_of_one_buffer_overlap_or_not() -> None:
    module = function(
        """
      %u = memref.subview %a[0, 0] [6, 5] [1, 2] : STATIC to memref<6x5xf32, strided<[9, 2]>>
      %v = memref.subview %a[0, 1] [6, 4] [1, 2] : STATIC to memref<6x4xf32, strided<[9, 2],
        offset: 1>>
      %w = memref.subview %a[5, 3] [1, 3] [1, 1] : STATIC to memref<3xf32, strided<[1], offset: 48>>
      %x = memref.subview %a[%i, 0] [1, 9] [1, 1] : STATIC to memref<9xf32, strided<[1], offset: ?>>
    """.replace("STATIC", STATIC)
    )
    even, odd, row, somewhere = (covered_memory(last_but(module, at)) for at in (4, 3, 2, 1))
    assert even.overlaps(odd) is False
    assert even.overlaps(row) is True
    assert odd.overlaps(row) is True
    assert even.overlaps(somewhere) is None


def test_bytes_of_a_view_of_bytes() -> None:
    module = function(
        "%v = memref.view %b[%i][%j] : memref<800xi8> to memref<?x4xf64>", "%b: memref<800xi8>"
    )
    covered = covered_memory(last_but(module))
    arguments = module.ir.body.operations[0].regions[0].blocks[0].arguments
    known = covered.replaced({arguments[1]: 16, arguments[2]: 3})
    assert (known.offset, known.shape, known.strides) == (16, (3, 4), (32, 8))


@pytest.mark.parametrize(
    ("element", "size"),
    [
        *(("i1", 1), ("i8", 1), ("bf16", 2), ("f64", 8), ("index", 8), ("i24", 4)),
        *(("complex<f32>", 8), ("vector<4xf32>", 16), ("vector<3xf32>", 16)),
    ],
)
def test_the_size_of_elements(element: str, size: int) -> None:
    type_ = f"memref<8x4x{element}>"
    module = lx.parse(
        f"func.func @f(%a: {type_}) {{ %v = memref.transpose %a (i, j) -> (j, i) : {type_} to "
        f"memref<4x8x{element}, strided<[1, 4]>>\nreturn }}"
    )
    assert covered_memory(last_but(module)).strides == (size, 4 * size)


def test_sets_of_sets() -> None:
    def build(a: ir.Value, p: ir.Value, q: ir.Value) -> ir.Value:
        views = [ext.tile(a, [p, q], [4, 4]), ext.tile(a, [q, p], [5, 5])]
        for _ in range(3):
            views.append(ext.intersection(views[-1], views[-2]))
        return views[-1]

    module = writing(build)
    (view,) = filled(module)
    arguments = module.ir.body.operations[0].regions[0].blocks[0].arguments
    known = covered_memory(view).replaced({arguments[1]: 0, arguments[2]: 0})
    assert known.shape == (4, 4)


def test_what_it_says() -> None:
    module = function(CHAINS["subview"].replace("STATIC", STATIC))
    assert str(covered_memory(last_but(module))) == (
        "3x2 of 4 bytes, from byte 44, strides [72, 12]; Tile[1, 2][3, 2][2, 3] of memref<6x9xf32>"
    )


def test_mistakes() -> None:
    module = function("%v = tensor.empty() : tensor<4xf32>")
    with pytest.raises(ArgumentTypeError, match="tensor<4xf32> covers no memory"):
        covered_memory(last_but(module))
    open_ = function(
        f"%v = memref.subview %a[%i, 0] [1, 9] [1, 1] : {STATIC} to memref<9xf32, strided<[1], "
        "offset: ?>>"
    )
    with pytest.raises(ArgumentError, match="is not known, of a view of 9 of 4 bytes"):
        covered_memory(last_but(open_)).elements()


def _open_sizes(covered: lx.structured.CoveredMemory) -> list[Symbol]:
    """The symbols of the sizes of the buffer that its type leaves open, rows first."""
    if ir.MemRefType(covered.buffer.type).has_static_shape:
        return []
    found = sizes_of(covered.buffer)
    return [symbol for number in found for symbol in symbols_of(number)]
