"""linalg_ext.group: read back, refused where it breaks a rule, inlined without trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from destination_ops import text_of
from linalg_ext.bindings import ir, linalg
from linalg_ext.errors import ArgumentError, VerificationError
from linalg_ext.structured.group import GROUP_YIELD, Group

group = lx.dialects.linalg_ext.group

X, Y = "tensor<4xf32>", "tensor<?x2xf32>"
ONES = np.ones(4, np.float32)


def exp(value: Any, out: Any) -> Any:
    """The exponential of a value, in a destination."""
    return linalg.exp(value, outs=[out])


def two(x: Any, y: Any, **said: Any) -> list[ir.Value]:
    """A group of two results of two types, and one inside it."""

    def body(a: Any, b: Any, o: Any, p: Any) -> list[Any]:
        inner = group(a, outs=o, body=exp, preserve=True)
        return [exp(inner[0], o), exp(b, p)]

    return group(x, y, outs=[x, y], body=body, **said)


def plain(x: Any, y: Any) -> list[Any]:
    """The same without groups."""
    return [exp(exp(x, x), x), exp(y, y)]


def text(**said: Any) -> str:
    return text_of(lambda x, y: two(x, y, **said), X, Y)


def test_a_group_is_read_back_and_says_what_it_said() -> None:
    module = lx.parse(text(label="layer", tiling=(4, 0), isolated=True))
    assert str(lx.Module.parse(module.bytecode())) == str(module)
    (op,) = [each.operation for each in function_ops(module) if "group" in each.operation.name]
    view = Group.of(op)
    assert op.name == "linalg_ext.isolated_group"
    assert (view.label, view.tiling, view.preserve) == ("layer", (4, 0), False)
    assert (len(view.inputs), len(view.inits), len(view.yielded)) == (2, 2, 2)
    assert set(view.annotations) == {"label", "tiling"}
    assert lx.structured.destination_style(op).inits == view.inits


def function_ops(module: lx.Module) -> list[Any]:
    """The ops of the one function of a module."""
    return list(module.ir.body.operations[0].regions[0].blocks[0].operations)


def test_a_group_is_inlined_without_trace() -> None:
    module, wanted = lx.parse(text(label="layer")), lx.parse(text_of(plain, X, Y))
    kept = module.clone()
    assert lx.transforms.inline_groups(kept, keep_preserved=True).left == {
        "linalg_ext.group": {"the group is marked preserve"}
    }
    assert str(kept).count('"linalg_ext.group"') == 1
    lx.transforms.inline_groups(module)
    assert str(module) == str(wanted)


@pytest.mark.parametrize("checked", [False, True])
def test_a_group_computes_what_its_ops_do(checked: bool) -> None:
    kernel = lx.compile(lx.parse(text(isolated=True)), checked=checked)
    for found, wanted in zip(
        kernel(ONES, np.ones((3, 2), np.float32)), (np.exp(np.exp(ONES)), np.exp(1)), strict=True
    ):
        np.testing.assert_allclose(found, np.broadcast_to(wanted, found.shape), rtol=1e-6)


def test_rewrites_leave_what_a_preserved_group_holds() -> None:
    for preserve, left in ((True, 1), (False, 0)):
        module = lx.parse(text_of(lambda x, p=preserve: group(x, outs=x, body=exp, preserve=p), X))
        report = lx.transforms.categorize(module)
        assert str(module).count("linalg.exp") == left
        assert bool(report) != preserve
    assert report.left == {}


TAKEN = "array<i32: " + ", ".join(["1", *["0"] * 15]) + ">"
NONE = "array<i32: " + ", ".join(["0"] * 16) + ">"
IN_16 = "array<i32: 1" + ", 0" * 63 + ", 1" + ", 0" * 15 + ">"
ONE = f"""
func.func @f(%x: {X}, %m: memref<4xf32>) -> {X} {{
  %r = "linalg_ext.group"(%x, %x) ({{
  ^bb0(%a: {X}, %o: {X}):
    %s = linalg.exp ins(%a : {X}) outs(%o : {X}) -> {X}
    "linalg_ext.group_yield"(%s) {{operandSegmentSizes = {TAKEN}}} : ({X}) -> ()
  }}) {{label = "l", operandSegmentSizes = {IN_16}, resultSegmentSizes = {TAKEN}}}
    : ({X}, {X}) -> {X}
  return %r : {X}
}}"""

WRONG: dict[str, tuple[Callable[[str], str], str]] = {
    "a label that is not text": (lambda t: t.replace('"l"', "7"), "label = 7 : i64.*a text"),
    "a negative tile": (
        lambda t: t.replace('label = "l"', "tiling = array<i64: 4, -1>"),
        r"tiling = \[4, -1\].*0 for a dimension",
    ),
    "preserve with a value": (
        lambda t: t.replace('label = "l"', "preserve = 3"),
        "preserve = 3 : i64.*preserve alone",
    ),
    "another terminator": (
        lambda t: t.replace(
            f'"{GROUP_YIELD}"(%s) {{operandSegmentSizes = {TAKEN}}}', '"linalg_ext.yield"(%s)'
        ),
        "ends without its terminator.*group_yield at its end",
    ),
    "nothing yielded": (
        lambda t: t.replace(
            f"(%s) {{operandSegmentSizes = {TAKEN}}} : ({X})",
            f"() {{operandSegmentSizes = {NONE}}} : ()",
        ),
        r"gives 0 values for 1 destination",
    ),
    "an argument of another type": (
        lambda t: t.replace(f"(%a: {X}, %o: {X})", f"(%o: {X}, %a: tensor<4xf64>)").replace(
            f"ins(%a : {X})", f"ins(%o : {X})"
        ),
        "takes .*4xf64.*an argument for each input",
    ),
    "an op with side effects": (
        lambda t: t.replace("%s =", "memref.dealloc %m : memref<4xf32>\n %s ="),
        "side effects.*memref.dealloc.*leave it outside",
    ),
    "captured by an isolated one": (
        lambda t: t.replace('"linalg_ext.group"', '"linalg_ext.isolated_group"').replace(
            "ins(%a", "ins(%x"
        ),
        "using value defined outside",
    ),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_a_rule_that_is_broken_is_named(mistake: str) -> None:
    change, said = WRONG[mistake]
    assert lx.parse(ONE)
    wrong = change(ONE)
    assert wrong != ONE
    with pytest.raises(VerificationError, match=f"(?s){said}"):
        lx.parse(wrong)


def test_a_group_yield_belongs_in_a_group() -> None:
    with pytest.raises(VerificationError, match=r"belongs in linalg_ext\.group or"):
        lx.parse(
            f'func.func @f() {{ "{GROUP_YIELD}"() {{operandSegmentSizes = {NONE}}} : () -> () }}'
        )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"outs": []}, r"1 value for 0 destination"),
        ({"tiling": (-1,)}, "tiling"),
        ({"count": 65}, "65 inputs and 1 destinations.*64 and 16 at most"),
    ],
)
def test_the_builder_leaves_nothing_of_a_group_that_is_wrong(
    arguments: dict[str, Any], said: str
) -> None:
    def body(x: Any) -> Any:
        given = dict(arguments)
        outs = given.pop("outs", x)
        inputs = [x] * given.pop("count", 1)
        with pytest.raises(ArgumentError, match=f"(?s){said}"):
            group(*inputs, outs=outs, **{"body": lambda *a: exp(a[0], a[0]), **given})
        return x

    assert "group" not in text_of(body, X)
