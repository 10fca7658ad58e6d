"""Assertions stand where all is there that they ask of."""

from __future__ import annotations

from linalg_ext.module import Module
from linalg_ext.transforms.checks import hoist_assertions as file


def _order(body: str) -> list[str]:
    module = Module.parse("func.func @f(%m: memref<8xindex>, %k: index) {" + body + "return }")
    file.hoist_assertions(module)
    with module.context:
        return [op.name for op in module.ir.body.operations[0].regions[0].blocks[0].operations]


def test_an_assertion_stays_behind_what_writes_memory() -> None:
    order = _order(
        """
        %c0 = arith.constant 0 : index
        memref.store %k, %m[%c0] : memref<8xindex>
        %n = memref.load %m[%c0] : memref<8xindex>
        memref.store %n, %m[%k] : memref<8xindex>
        %small = arith.cmpi slt, %n, %k : index
        cf.assert %small, "large"
        """
    )
    assert order.index("memref.load") < order.index("cf.assert")
    assert order.index("cf.assert") > len(order) - 1 - order[::-1].index("memref.store")


def test_those_in_place_do_not_move() -> None:
    body = """
        %c0 = arith.constant 0 : index
        %small = arith.cmpi slt, %c0, %k : index
        cf.assert %small, "first"
        %less = arith.cmpi sle, %c0, %k : index
        cf.assert %less, "second"
        memref.store %k, %m[%c0] : memref<8xindex>
    """
    module = Module.parse("func.func @f(%m: memref<8xindex>, %k: index) {" + body + "return }")
    assert not file.hoist_assertions(module)
