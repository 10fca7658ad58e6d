"""Groups inlined: the documented example, and destinations that groups alone had."""

from __future__ import annotations

import linalg_ext as lx
from examples import examples
from groupings import AROUND
from linalg_ext.transforms.grouping import inline_groups as file


def test_a_destination_that_only_the_group_had_goes_with_it() -> None:
    text = AROUND.replace("{}", "%d = tensor.empty() : tensor<4xf32>\n" + examples(file)[0][0])
    text = text.replace('"(%x, %e)', '"(%x, %d)').replace("outs(%o :", "outs(%e :")
    module = lx.parse(text)
    lx.transforms.inline_groups(module)
    assert "tensor.empty" not in str(module)
