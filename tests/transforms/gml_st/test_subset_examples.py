"""The examples of the passes that compose and canonicalize subsets, run from their docstrings."""

from __future__ import annotations

import sys

import pytest

from examples import check_example, examples
from linalg_ext import transforms
from linalg_ext.rewriting import Transformation

AROUND = {
    "compose_subsets": ("%x: tensor<64x96xf32>, %i: index", "tensor<4x4xf32>"),
    "collapse_materialize": ("%x: tensor<64x256xf32>, %i: index", "tensor<2x16xf32>"),
    "expand_materialize": ("%x: tensor<64x256xf32>, %i: index", "tensor<2x16xf32>"),
    "fold_subset_questions": ("%x: tensor<64x96xf32>, %i: index", "index"),
    "fold_constants_into_subsets": ("%x: tensor<64xf32>", "tensor<?xf32>"),
    "remove_trivial_subset_loops": ("%x: tensor<8x8xf32>, %y: tensor<8x8xf32>", "tensor<8x8xf32>"),
    "fold_dims_of_subset_loops": ("%x: tensor<?xf32>", "index"),
    "fold_casts_into_subset_loops": ("%x: tensor<8xf32>, %y: tensor<8xf32>", "tensor<8xf32>"),
    "drop_unused_subset_loop_operands": (
        "%x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<8xf32>",
        "tensor<8xf32>",
    ),
    "collapse_shapes": (
        "%x: tensor<2x3x4xf32>, %y: tensor<2x3x4xf32>, %zero: f32",
        "tensor<2x3xf32>",
    ),
    "scalarize": (
        "%x: tensor<1x1xf32>, %y: tensor<1x1xf32>, %z: tensor<4x4xf32>, %i: index",
        "tensor<4x4xf32>",
    ),
}
OPTIONS = {"collapse_shapes": {"retain_trailing_dims": 1}}


@pytest.mark.parametrize("name", AROUND)
def test_the_example(name: str) -> None:
    transformation: Transformation = getattr(transforms, name)
    file = sys.modules[transformation.function.__module__]
    arguments, result = AROUND[name]
    around = f"func.func @f({arguments}) -> {result} {{\n{{}}\nreturn %r : {result}\n}}"
    given = "\n".join(f"c{n} {n} : index" for n in (0, 1, 2, 4, 8))
    (example,) = examples(file)
    options = OPTIONS.get(name, {})
    check_example(transformation, example, around=around, given=given, **options)
