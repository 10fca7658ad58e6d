"""What bodies ask of their positions is answered where lengths tell the answer."""

from __future__ import annotations

import pytest

from examples import examples
from linalg_ext.module import Module
from linalg_ext.transforms.checks import fold_position_checks as file

AROUND = """
func.func @f(%x: tensor<9xf32>, %e: tensor<9xf32>) -> tensor<9xf32> {
  {}
  return %r : tensor<9xf32>
}"""


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


LOOP = """
func.func @f(%x: tensor<?x?xf32>, %y: tensor<?xf32>, %n: index) -> tensor<?x?xf32> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %rows = tensor.dim %x, %c0 : tensor<?x?xf32>
  %columns = tensor.dim %x, %c1 : tensor<?x?xf32>
  %same = tensor.empty(%rows, %columns) : tensor<?x?xf32>
  %least = arith.minsi %columns, %n : index
  %r = scf.for %i = {low} to {high} step %c1 iter_args(%t = {start}) -> (tensor<?x?xf32>) {{
    %taken = tensor.dim %y, %c0 : tensor<?xf32>
    %carried = tensor.dim %t, %c1 : tensor<?x?xf32>
    %within = arith.cmpi {question} : index
    cf.assert %within, "out of bounds"
    %e = tensor.extract %y[%i] : tensor<?xf32>
    %u = tensor.insert %e into %t[%c0, %i] : tensor<?x?xf32>
    scf.yield {end} : tensor<?x?xf32>
  }}
  return %r : tensor<?x?xf32>
}}"""


@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        ({}, "true"),
        ({"question": "sle, %i, %columns"}, "true"),
        ({"question": "sge, %i, %c0"}, "true"),
        ({"question": "sge, %i, %c9"}, None),
        ({"question": "slt, %i, %rows"}, None),
        ({"question": "slt, %i, %taken"}, None),
        ({"question": "sgt, %i, %columns"}, None),
        ({"question": "slt, %i, %carried"}, "true"),
        ({"question": "slt, %i, %carried", "start": "%same"}, "true"),
        ({"question": "slt, %i, %carried", "end": "%other"}, None),
        ({"question": "slt, %i, %c9", "high": "%c9"}, "true"),
        ({"question": "slt, %i, %c9", "high": "%n"}, None),
        ({"question": "slt, %i, %n", "high": "%n"}, "true"),
        ({"question": "slt, %i, %n", "high": "%least"}, "true"),
        ({"question": "slt, %i, %columns", "high": "%least"}, "true"),
        ({"question": "sge, %i, %c0", "low": "%n"}, None),
        ({"question": "slt, %i, %columns", "low": "%n"}, "true"),
    ],
)
def test_what_is_answered_of_loops(changes: dict[str, str], answer: str | None) -> None:
    usual = {"low": "%c0", "high": "%columns", "start": "%x", "end": "%u"}
    parts = usual | {"question": "slt, %i, %columns"} | changes
    text = LOOP.format(**parts)
    if parts["end"] == "%other":
        made = "%other = tensor.empty(%n, %n) : tensor<?x?xf32>\n    %taken"
        text = text.replace("%taken", made, 1)
    module = Module.parse(text)
    report = file.fold_position_checks(module)
    assert report.matched.total() == 1
    assert bool(report) is (answer is not None)
    assert answer is None or f"constant {answer}" in str(module)


def test_affine_loops_and_the_positions_of_open_ops() -> None:
    loops = """
    func.func @f(%x: memref<7xf32>) {
      %c7 = arith.constant 7 : index
      affine.for %i = 1 to 7 {
        %within = arith.cmpi slt, %i, %c7 : index
        cf.assert %within, "out of bounds"
      }
      return
    }"""
    body = """
    %size = tensor.dim %x, %c0 : tensor<?xf32>
    %other = tensor.dim %y, %c0 : tensor<?xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        outs(%x : tensor<?xf32>) {
    ^bb0(%o: f32):
      %i = linalg.index 0 : index
      %within = arith.cmpi slt, %i, QUESTION : index
      cf.assert %within, "out of bounds"
      linalg.yield %o : f32
    } -> tensor<?xf32>"""
    open_ = f"""
    func.func @f(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {{
      %c0 = arith.constant 0 : index
      {body}
      return %r : tensor<?xf32>
    }}"""
    for text, is_known in (
        (loops, True),
        (open_.replace("QUESTION", "%size"), True),
        (open_.replace("QUESTION", "%other"), False),
    ):
        assert bool(file.fold_position_checks(Module.parse(text))) is is_known


@pytest.mark.parametrize("size", ["?", "0"])
def test_nothing_is_known_of_open_and_of_empty_loops(size: str) -> None:
    text = AROUND.replace("{}", "%c9 = arith.constant 9 : index\n" + examples(file)[0][0], 1)
    module = Module.parse(text.replace("tensor<9x", f"tensor<{size}x"))
    assert not file.fold_position_checks(module)
