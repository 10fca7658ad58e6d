"""What an op takes a core, by the figures of a target or by usual ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from linalg_ext.bindings import ir
from linalg_ext.target import current, named
from linalg_ext.target.analytic import analytic
from linalg_ext.transforms.ir_utils.walking import select
from linalg_ext.transforms.parallel._work_steps import Step, figures, step_of

AVX512 = named("avx512")


def step(size: int, body: str, element: str = "f32") -> Step:
    """An element-wise op on so many elements."""
    type_ = f"memref<{size}x{element}>"
    module = ir.Module.parse(f"""
    func.func @f(%x: {type_}, %y: {type_}) {{
      linalg.generic {{
          indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
          iterator_types = ["parallel"]}} ins(%x : {type_}) outs(%y : {type_}) {{
      ^bb0(%a: {element}, %o: {element}):
        {body}
        linalg.yield %r : {element}
      }}
      return
    }}""")
    (op,) = select(module.operation, lambda each: each.name == "linalg.generic")
    found = step_of(op)
    assert isinstance(found, Step)
    found.nanoseconds(AVX512)  # while the module lives
    return found


@pytest.mark.parametrize(
    ("size", "body", "nanoseconds"),
    [
        (1 << 20, "%r = arith.addf %a, %a : f32", (8 << 20) / 20),
        (1 << 12, "%r = arith.addf %a, %a : f32", (8 << 12) / 100),
        (1 << 12, "%r = math.exp %a : f32", (1 << 12) / 16 * 20 / 3),
        (1 << 12, "%r = math.ceil %a : f32", (8 << 12) / 100),
    ],
)
def test_usual_figures(size: int, body: str, nanoseconds: float) -> None:
    with ir.Context(), ir.Location.unknown():
        assert step(size, body).nanoseconds(AVX512) == pytest.approx(nanoseconds)


def test_wide_elements_fill_vectors_sooner() -> None:
    with ir.Context(), ir.Location.unknown():
        narrow = step(1 << 12, "%r = math.exp %a : f32").nanoseconds(AVX512)
        wide = step(1 << 12, "%r = math.exp %a : f64", "f64").nanoseconds(AVX512)
    assert wide == pytest.approx(2 * narrow)


def test_figures_that_were_measured() -> None:
    measured = analytic(current())
    target = replace(AVX512, figures=measured)
    assert figures(target) is measured
    with ir.Context(), ir.Location.unknown():
        exponentials = step(1 << 12, "%r = math.exp %a : f32").nanoseconds(target)
    assert exponentials == pytest.approx((1 << 12) / measured.function_rate("exp", "f32") * 1e9)
