"""Scripts of the transform dialect beside what they transform: dropped once they were applied."""

from __future__ import annotations

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import LoweringError

TEXT = """
module attributes {transform.with_named_sequence} {
  func.func @f(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>, %c: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %r = linalg.matmul ins(%a, %b : tensor<8x8xf32>, tensor<8x8xf32>)
           outs(%c : tensor<8x8xf32>) -> tensor<8x8xf32>
    return %r : tensor<8x8xf32>
  }
  transform.named_sequence @tile(%op: !transform.any_op {transform.consumed}) {
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
  transform.named_sequence @NAME(%module: !transform.any_op) {
    %0 = transform.structured.match ops{["linalg.matmul"]} in %module
      : (!transform.any_op) -> !transform.any_op
    transform.include @tile failures(propagate) (%0) : (!transform.any_op) -> ()
    transform.yield
  }
}"""


@pytest.mark.parametrize(
    ("name", "options"), [("__transform_main", ""), ("mine", "{entry-point=mine}")]
)
@pytest.mark.parametrize("isolated", [False, True])
def test_a_script_that_ran_is_dropped_with_what_it_names(
    name: str, options: str, isolated: bool
) -> None:
    module = lx.parse(TEXT.replace("NAME", name)).run(f"transform-interpreter{options}").clone()
    assert str(module).count("scf.for") == 1
    assert "transform.named_sequence" in str(module)  # the module itself keeps it
    eye = np.eye(8, dtype=np.float32)
    kernel = lx.compile(module, isolated=True) if isolated else lx.compile(module)
    np.testing.assert_array_equal(kernel(eye, eye, np.zeros_like(eye)), eye)


def test_a_script_that_did_not_run_is_refused() -> None:
    with pytest.raises(LoweringError, match="apply the schedule first"):
        lx.compile(lx.parse(TEXT.replace("NAME", "__transform_main")))


def test_a_script_in_a_module_of_its_own_is_dropped_with_the_module() -> None:
    head, script = TEXT.split("  transform.named_sequence @tile", 1)
    functions = head.replace("module attributes {transform.with_named_sequence} {", "")
    library = (
        "module attributes {transform.with_named_sequence} {\n  transform.named_sequence @tile"
    )
    text = functions + library + script.replace("NAME", "__transform_main")
    module = lx.parse(text).run("transform-interpreter")
    assert str(module).count("scf.for") == 1
    eye = np.eye(8, dtype=np.float32)
    np.testing.assert_array_equal(lx.compile(module)(eye, eye, np.zeros_like(eye)), eye)
    with pytest.raises(LoweringError, match="apply the schedule first"):
        lx.compile(lx.parse(text))
