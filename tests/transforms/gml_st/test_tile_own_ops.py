"""Ops of the dialect linalg_ext and upstream's kin of them, cut and fused, give NumPy's numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from destination_ops import text_of
from linalg_ext.bindings import arith, ir, linalg, tensor
from linalg_ext.dialects.linalg_ext import (
    concatenate,
    dynamic_broadcast_in_dim,
    gather,
    reverse,
    scatter,
    sort,
)
from linalg_ext.errors import ExecutionError
from linalg_ext.structured.destination_ops import VIEWS
from linalg_ext.transforms.ir_utils.walking import select
from tiled_modules import Array, outcome

RNG = np.random.default_rng(5)
OURS = frozenset(VIEWS)

ROWS = np.array([[1], [4], [1], [-1], [3], [0], [2]])
"""Some twice, some out of range."""


def floats(*shape: int) -> Array:
    return RNG.integers(-9, 9, shape).astype(np.float32)


def types_of(arrays: Sequence[Array], *, is_open: bool) -> list[str]:
    """The types of arrays; with open sizes all are dynamic but how many indices a row holds."""
    found = []
    for array in arrays:
        is_index = array.dtype == np.int64
        sizes = ["?" if is_open else str(size) for size in array.shape]
        if is_index:
            sizes[-1] = str(array.shape[-1])
        found.append(f"tensor<{'x'.join(sizes)}x{'i64' if is_index else 'f32'}>")
    return found


def less(a: ir.Value, b: ir.Value) -> Any:
    return arith.cmpf(arith.CmpFPredicate.OLT, a, b)


def halved(new: ir.Value, old: ir.Value) -> Any:
    """Tells the new one from the old one, and one order from another."""
    return arith.subf(new, arith.mulf(old, arith.constant(ir.F32Type.get(), 0.5)))


def scattered(updates: Array, init: Array, combine: Callable[[Array, Array], Array]) -> Array:
    """Windows of as many columns as an update has, and of one row or more."""
    result = init.copy()
    stacked = updates if updates.ndim == 3 else updates[:, None]
    height, width = stacked.shape[1:]
    for (row,), new in zip(ROWS, stacked, strict=True):
        if 0 <= row <= len(init) - height and width <= init.shape[1]:
            window = np.s_[row : row + height, :width]
            result[window] = combine(new, result[window])
    return result


@dataclass(frozen=True)
class Case:
    """An op on arrays, what NumPy gives, the sizes of parts, and whether elements can be asked."""

    body: Callable[..., Any]
    arrays: list[Array]
    expected: Array
    sizes: list[int]
    has_elements: bool = True


def _cases() -> dict[str, Case]:
    a, b, none, wide = floats(5, 3), floats(5, 4), floats(5, 0), floats(5, 7)
    table, taken = floats(5, 6), np.clip(ROWS[:, 0], 0, 4)
    updates, tall, init = floats(7, 6), floats(7, 2, 4), floats(5, 6)
    too_wide = floats(7, 2, 9)
    first = np.clip(ROWS[:, 0], 0, 3)
    windows = np.stack([table[row : row + 2, :5] for row in first])

    def broadcast(x: Any, y: Any) -> Any:
        return dynamic_broadcast_in_dim(x, y, broadcast_dimensions=[0, 2])

    def placed(x: Array) -> Array:
        return np.broadcast_to(x[:, None], (5, 3, 6))

    def joined(x: Any, y: Any, z: Any, o: Any) -> Any:
        return concatenate(x, y, z, dimension=1, outs=o)

    return {
        "concatenate": Case(joined, [a, none, b, wide], np.hstack([a, b]), [2, 2]),
        "concatenate of one tile": Case(joined, [a, none, b, wide], np.hstack([a, b]), [3, 9]),
        "reverse": Case(
            lambda x, y: reverse(x, dimensions=[1], outs=y), [wide] * 2, wide[:, ::-1], [2, 3]
        ),
        "gather of rows": Case(
            lambda x, i, y: gather(x, i, outs=y), [table, ROWS, updates], table[taken], [2, 4]
        ),
        "gather of windows": Case(
            lambda x, i, y: gather(x, i, outs=y),
            [table, ROWS, floats(7, 2, 5)],
            windows,
            [3, 0, 2],
            has_elements=False,
        ),
        "scatter of rows": Case(
            lambda i, u, o: scatter(i, u, o, combine=halved),
            [ROWS, updates, init],
            scattered(updates, init, lambda new, old: new - old / 2),
            [3, 0, 4],
            has_elements=False,
        ),
        "scatter of windows": Case(
            lambda i, u, o: scatter(i, u, o),
            [ROWS, tall, init],
            scattered(tall, init, lambda new, old: new),
            [0, 0, 3],
            has_elements=False,
        ),
        "scatter of windows that are too wide": Case(
            lambda i, u, o: scatter(i, u, o), [ROWS, too_wide, init], init, [2, 0, 3], False
        ),
        "sort": Case(
            lambda x, y: sort(x, outs=y, dimension=1, comparator=less),
            [wide, floats(5, 7)],
            np.sort(wide, axis=1),
            [2],
            has_elements=False,
        ),
        "broadcast": Case(broadcast, [init, floats(5, 3, 6)], placed(init), [2, 2, 4]),
        "broadcast that expands": Case(
            broadcast,
            [init[:1], floats(5, 3, 6)],
            placed(np.repeat(init[:1], 5, axis=0)),
            [2, 0, 5],
        ),
    }


CASES = _cases()


def cut(text: str, sizes: Sequence[int], **options: Any) -> lx.Module:
    """A module with its result's op in a loop over subsets."""
    module = lx.parse(text)
    report = lx.transforms.tile_and_fuse(module, tile_sizes=sizes, **options)
    assert "gml_st" in str(module), report
    return module


@pytest.mark.parametrize("is_open", [False, True], ids=["static", "open"])
@pytest.mark.parametrize("name", CASES)
def test_tiles_of_an_op(name: str, is_open: bool) -> None:
    case = CASES[name]
    text = text_of(case.body, *types_of(case.arrays, is_open=is_open))
    form = ("parallel", "for", "loop")[(len(name) + is_open) % 3]
    (found,) = outcome(cut(text, case.sizes, form=form), case.arrays)
    np.testing.assert_array_equal(found, case.expected)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.has_elements])
def test_elements_of_an_op(name: str) -> None:
    case = CASES[name]
    text = text_of(case.body, *types_of(case.arrays, is_open=len(name) % 2 == 0))
    module = cut(text, [1] * case.expected.ndim, points=True)
    assert not select(module.ir, lambda op: op.name in OURS)
    (found,) = outcome(module, case.arrays)
    np.testing.assert_array_equal(found, case.expected)


MISFITS: dict[str, tuple[Callable[..., Any], list[Array], list[int]]] = {
    "gather": (lambda i, a, y: gather(a, i, outs=y), [ROWS[:6], floats(5, 6), floats(7, 6)], [2]),
    "reverse": (lambda a, y: reverse(a, dimensions=[0], outs=y), [floats(5, 6), floats(4, 6)], [2]),
    "concatenate": (
        lambda a, b, y: concatenate(a, b, outs=y),
        [floats(2, 6), floats(2, 6), floats(5, 6)],
        [2],
    ),
    "dynamic_broadcast_in_dim": (
        lambda a, y: dynamic_broadcast_in_dim(a, y, broadcast_dimensions=[0, 1]),
        [floats(3, 6), floats(4, 6)],
        [2],
    ),
}


@pytest.mark.parametrize("name", MISFITS)
def test_sizes_that_do_not_fit_are_told_on_parts_too(name: str) -> None:
    body, arrays, sizes = MISFITS[name]
    module = cut(text_of(body, *types_of(arrays, is_open=True)), sizes)
    with pytest.raises(ExecutionError, match=f"{name}: the sizes do not fit"):
        outcome(module, arrays)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [("gather of windows", [0, 1]), ("scatter of rows", [0, 2]), ("sort", [0, 3])],
)
def test_what_must_stay_whole_is_not_cut(name: str, sizes: list[int]) -> None:
    case = CASES[name]
    module = lx.parse(text_of(case.body, *types_of(case.arrays, is_open=False)))
    before = str(module)
    report = lx.transforms.tile_and_fuse(module, tile_sizes=sizes)
    (reasons,) = report.left.values()
    assert "dimension 1 of linalg_ext" in "".join(reasons)
    assert str(module) == before


UPSTREAM = {
    "tensor.scatter": (
        """func.func @f(%u: tensor<2x1x6xf32>, %o: tensor<5x6xf32>, %i: tensor<2x1xindex>)
             -> tensor<5x6xf32> {
          %r = tensor.scatter %u into %o[%i] scatter_dims([0]) unique
               : (tensor<2x1x6xf32>, tensor<5x6xf32>, tensor<2x1xindex>) -> tensor<5x6xf32>
          return %r : tensor<5x6xf32>
        }""",
        [0, 4],
        False,
    ),
    "tensor.concat": (
        """func.func @f(%u: tensor<2x6xf32>, %o: tensor<5x6xf32>, %i: tensor<0x6xf32>)
             -> tensor<7x6xf32> {
          %r = tensor.concat dim(0) %u, %i, %o
               : (tensor<2x6xf32>, tensor<0x6xf32>, tensor<5x6xf32>) -> tensor<7x6xf32>
          return %r : tensor<7x6xf32>
        }""",
        [1, 1],
        True,
    ),
}


@pytest.mark.parametrize("name", UPSTREAM)
def test_ops_of_upstream(name: str) -> None:
    text, sizes, points = UPSTREAM[name]
    new, old = floats(2, 6), floats(5, 6)
    if name == "tensor.scatter":
        arrays = [new[:, None], old, np.array([[3], [1]])]
        expected = old.copy()
        expected[[3, 1]] = new
    else:
        arrays, expected = [new, old, floats(0, 6)], np.vstack([new, old])
    (found,) = outcome(cut(text, sizes, points=points), arrays)
    np.testing.assert_array_equal(found, expected)


def test_a_chain_of_them_is_fused_whole() -> None:
    """Exponentials of sorted rows, half of them gathered and backwards, the rest beside these."""

    def body(table: Any, rows: Any, beside: Any) -> Any:
        backwards = reverse(gather(table, rows), dimensions=[0])
        joined = concatenate(backwards, beside, dimension=1)
        (ordered,) = sort(joined, dimension=1, comparator=less)
        return linalg.exp(ordered, outs=[tensor.empty([7, 10], ir.F32Type.get())])

    table, beside = floats(5, 6) / 8, floats(7, 4) / 8
    module = cut(text_of(body, *types_of([table, ROWS, beside], is_open=False)), [3])
    ops = select(module.ir, lambda op: op.name in OURS)
    names = [op.name.partition(".")[2] for op in ops]
    assert names == ["gather", "reverse", "concatenate", "sort"]
    assert all(op.parent.name == "gml_st.parallel" for op in ops)
    backwards = table[np.clip(ROWS[:, 0], 0, 4)][::-1]
    (found,) = outcome(module, [table, ROWS, beside])
    expected = np.exp(np.sort(np.hstack([backwards, beside]), axis=1))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
