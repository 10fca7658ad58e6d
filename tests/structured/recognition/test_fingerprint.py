"""What ops say as keys: equal for ops that say the same, different for any other."""

from __future__ import annotations

import pytest

from generic_texts import generic, tensor
from linalg_ext.bindings import ir
from linalg_ext.ir.context import new_context
from linalg_ext.structured import recognize
from linalg_ext.structured.recognition import fingerprint

OPERANDS = {"a": (tensor(3, 4), "i, j"), "o": (tensor(3), "i")}
SUM = "%s = arith.addf %a_, %o_ : f32\nlinalg.yield %s : f32"
USUAL = generic(OPERANDS, SUM, dims="ij", reduced="j")

OTHERS = {
    "another function": USUAL.replace("arith.addf", "arith.mulf"),
    "another size": USUAL.replace("3x4", "3x1"),
    "another element type": USUAL.replace("f32", "f64"),
    "memrefs": generic(
        {"a": (tensor(3, 4, kind="memref"), "i, j"), "o": (tensor(3, kind="memref"), "i")},
        SUM,
        dims="ij",
        reduced="j",
    ),
    "another map": USUAL.replace("-> (i, j)>", "-> (j, i)>").replace("3x4", "4x3"),
    "other iterator types": USUAL.replace('"reduction"', '"parallel"'),
    "operands changed about": USUAL.replace("%a_, %o_", "%o_, %a_"),
}

COMPARED = """
func.func @main(%a: tensor<3xf32>, %o: tensor<3xi1>, %x: f32) {{
  %c = arith.constant {constant} : f32
  %r = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]}} ins(%a : tensor<3xf32>) outs(%o : tensor<3xi1>) {{
    ^bb0(%p: f32, %q: i1):
      %b = arith.cmpf {predicate}, %p, {limit} : f32
      linalg.yield %b : i1
  }} -> tensor<3xi1>
  return
}}
"""


def said(text: str) -> tuple[object, ...] | None:
    with new_context():
        module = ir.Module.parse(text)
        return fingerprint(structured_op(module))


def structured_op(module: ir.Module) -> ir.Operation:
    body = module.body.operations[0].regions[0].blocks[0]
    return next(op.operation for op in body if op.operation.name.startswith("linalg."))


def compared(constant: str = "1.0", predicate: str = "olt", limit: str = "%c") -> str:
    return COMPARED.format(constant=constant, predicate=predicate, limit=limit)


def test_equal_in_two_contexts() -> None:
    assert said(USUAL) == said(USUAL)
    assert said(compared()) == said(compared())


@pytest.mark.parametrize("what", OTHERS)
def test_different(what: str) -> None:
    assert OTHERS[what] != USUAL
    assert said(OTHERS[what]) != said(USUAL)


def test_what_the_body_is_told_counts() -> None:
    keys = {said(compared()), said(compared(constant="2.0")), said(compared(predicate="ogt"))}
    assert len(keys) == 3


def test_discardable_attributes_do_not_count() -> None:
    assert said(USUAL.replace("test.kept", "test.other = 1")) == said(USUAL)


def test_a_value_from_outside_is_not_said() -> None:
    assert said(compared(limit="%x")) is None


def test_an_op_that_was_read_before_has_its_own_values() -> None:
    with new_context():
        for _ in range(2):
            module = ir.Module.parse(USUAL)
            op = structured_op(module)
            read = recognize(op)
            assert [*read.inputs, *read.outputs] == list(op.operands)
