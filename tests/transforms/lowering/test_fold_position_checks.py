"""What bodies ask of their positions is answered where lengths tell the answer."""

from __future__ import annotations

import pytest

from examples import check_example, examples
from linalg_ext.module import Module
from linalg_ext.transforms.lowering import fold_position_checks as file

AROUND = """
func.func @f(%x: tensor<9xf32>, %e: tensor<9xf32>) -> tensor<9xf32> {
  {}
  return %r : tensor<9xf32>
}"""


def test_the_example() -> None:
    check_example(file.fold_position_checks, examples(file)[0], around=AROUND, given="c9 9 : index")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("slt, %i, %c9", "true"),
        ("sle, %i, %c8", "true"),
        ("sge, %i, %c0", "true"),
        ("sgt, %i, %c9", "false"),
        ("slt, %i, %c8", None),
        ("sgt, %i, %c0", None),
        ("eq, %i, %c9", None),
        ("slt, %c0, %i", None),
        ("slt, %c8, %c9", None),
    ],
)
def test_what_is_answered(question: str, answer: str | None) -> None:
    constants = "".join(f"%c{n} = arith.constant {n} : index\n" for n in (0, 8, 9))
    before = examples(file)[0][0].replace("slt, %i, %c9", question)
    module = Module.parse(AROUND.replace("{}", constants + before, 1))
    report = file.fold_position_checks(module)
    assert bool(report) is (answer is not None)
    assert answer is None or f"constant {answer}" in str(module)


@pytest.mark.parametrize("size", ["?", "0"])
def test_nothing_is_known_of_open_and_of_empty_loops(size: str) -> None:
    text = AROUND.replace("{}", "%c9 = arith.constant 9 : index\n" + examples(file)[0][0], 1)
    module = Module.parse(text.replace("tensor<9x", f"tensor<{size}x"))
    assert not file.fold_position_checks(module)
