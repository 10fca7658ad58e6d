"""Groups inlined: the documented example, and destinations that groups alone had."""

from __future__ import annotations

import linalg_ext as lx
from examples import check_example, examples
from linalg_ext.transforms.grouping import inline_groups as file

SLOTS_16 = "1" + ", 0" * 15
SLOTS_64 = "1" + ", 0" * 63
AROUND = """
func.func @f(%x: tensor<4xf32>, %e: tensor<4xf32>) -> tensor<4xf32> {
  {}
  return %r : tensor<4xf32>
}"""


def example() -> tuple[str, str]:
    """The one of the file, its slots written out."""
    before, after = examples(file)[0]
    return before.replace("SLOTS_16", SLOTS_16).replace("SLOTS_64", SLOTS_64), after.partition(
        "\n\n"
    )[0]


def test_the_example() -> None:
    check_example(file.inline_groups, example(), around=AROUND)


def test_a_destination_that_only_the_group_had_goes_with_it() -> None:
    text = AROUND.replace("{}", "%d = tensor.empty() : tensor<4xf32>\n" + example()[0])
    text = text.replace('"(%x, %e)', '"(%x, %d)').replace("outs(%o :", "outs(%e :")
    module = lx.parse(text)
    lx.transforms.inline_groups(module)
    assert "tensor.empty" not in str(module)
