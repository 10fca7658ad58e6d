"""Ops that move elements: read back, refused at their line, and built by Python or not at all."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import linalg_ext as lx
from destination_ops import text_of
from linalg_ext.bindings import arith, ir, tensor
from linalg_ext.errors import (
    ArgumentError,
    ArityError,
    DTypeError,
    ParseError,
    ShapeError,
    VerificationError,
)
from linalg_ext.structured.destination_ops import VIEWS, Concatenate, Gather, Sort
from linalg_ext.transforms.pipelines import lower_to_llvm

ours = lx.dialects.linalg_ext


@dataclass(frozen=True)
class Op:
    """An op as text, with an @ where its operands stand, each of these `%name: type`."""

    text: str
    operands: tuple[str, ...]
    results: tuple[str, ...]

    def function(self) -> str:
        """A function of the operands which gives the results."""
        types = ", ".join(each.partition(": ")[2] for each in self.operands)
        given = ", ".join(each.partition(":")[0] for each in self.operands)
        results = ", ".join(each.removeprefix("-> ") for each in self.results)
        names = ", ".join(f"%r#{number}" for number in range(len(self.results)))
        return f"""
func.func @f({", ".join(self.operands)}) -> ({results}) {{
  %r:{len(self.results)} = {self.text.replace("@", given, 1)}
    : ({types}) -> ({results})
  return {names} : {results}
}}"""

    def with_another(self, old: str, new: str) -> Op:
        """The op with another text in place of one."""
        pieces = (self.text, *self.operands, *self.results)
        assert any(old in piece for piece in pieces)
        return Op(
            self.text.replace(old, new),
            tuple(each.replace(old, new) for each in self.operands),
            tuple(each.replace(old, new) for each in self.results),
        )


def slots(*counts: tuple[int, int]) -> str:
    numbers = [1 if n < given else 0 for given, most in counts for n in range(most)]
    return f"array<i32: {', '.join(map(str, numbers))}>"


CONCATENATE = Op(
    f'"linalg_ext.concatenate"(@) {{dimension = 0 : i64, operandSegmentSizes = '
    f"{slots((2, 25), (1, 1))}}}",
    ("%a: tensor<?x?xf32>", "%b: tensor<?x8xf32>", "%o: tensor<9x?xf32>"),
    ("-> tensor<9x?xf32>",),
)
REVERSE = Op(
    '"linalg_ext.reverse"(@) {dimensions = array<i64: 1>}',
    ("%a: tensor<4x5xf32>", "%o: tensor<4x?xf32>"),
    ("-> tensor<4x?xf32>",),
)
BROADCAST = Op(
    '"linalg_ext.dynamic_broadcast_in_dim"(@) {broadcast_dimensions = array<i64: 0, 2>}',
    ("%a: tensor<?x5xf32>", "%o: tensor<4x3x5xf32>"),
    ("-> tensor<4x3x5xf32>",),
)
GATHER = Op(
    '"linalg_ext.gather"(@)',
    ("%a: tensor<100xf32>", "%i: tensor<42x1xindex>", "%o: tensor<42xf32>"),
    ("-> tensor<42xf32>",),
)
SCATTER = Op(
    """"linalg_ext.scatter"(@) ({
  ^bb0(%new: f32, %old: f32):
    %sum = arith.addf %new, %old : f32
    "linalg_ext.yield"(%sum) : (f32) -> ()
  })""",
    ("%i: tensor<2x2xindex>", "%u: tensor<2x1x3xf32>", "%o: tensor<3x3xf32>"),
    ("-> tensor<3x3xf32>",),
)
SORT = Op(
    f""""linalg_ext.sort"(@) ({{
  ^bb0(%a0: f32, %b0: f32, %a1: i32, %b1: i32):
    %before = arith.cmpf ogt, %a0, %b0 : f32
    "linalg_ext.yield"(%before) : (i1) -> ()
  }}) {{dimension = 0 : i64, is_stable = true, operandSegmentSizes = {slots((2, 8), (2, 8))},
      resultSegmentSizes = {slots((2, 8))}}}""",
    ("%a: tensor<64x?xf32>", "%b: tensor<64x32xi32>", "%o: tensor<?x?xf32>", "%p: tensor<?x?xi32>"),
    ("-> tensor<?x?xf32>", "-> tensor<?x?xi32>"),
)

OPS = [CONCATENATE, REVERSE, BROADCAST, GATHER, SCATTER, SORT]


@pytest.mark.parametrize("op", OPS)
def test_the_generic_form_reads_back_byte_for_byte(op: Op) -> None:
    module = lx.parse(op.function())
    assert str(lx.parse(str(module))) == str(module)
    assert str(module.successor(module.bytecode())) == str(module)


def without_region(op: Op) -> str:
    text = op.function()
    return text[: text.index("({") + 2] + text[text.index("})") :]


def test_an_empty_combiner_replaces() -> None:
    module = lx.parse(without_region(SCATTER))
    assert "({\n    })" in str(module)


WRONG = [
    # Those that a dialect before this one refused.
    (CONCATENATE, "?x8xf32", "?x8xi32", "input 1 has elements of type i32"),
    (CONCATENATE, "?x8xf32", "?x?x8xf32", r"input 1 is of type .* expected rank 2"),
    (CONCATENATE, "%a: tensor<?x?xf32>", "%a: tensor<?x7xf32>", "size 8 in dimension 1, input 0"),
    (SCATTER, "2x2xindex", "2x2x2xindex", "indices is of type .* expected rank 2"),
    (SCATTER, "%u: tensor<2x1x3xf32>", "%u: tensor<3x1x3xf32>", "2 rows, updates has 3 windows"),
    (SCATTER, "2x2xindex", "2x?xindex", "expected a static second dimension"),
    (SCATTER, "2x2xindex", "2x9xindex", "indices has 9 columns.*expected 2 at most"),
    (SCATTER, "2x1x3xf32", "2x3xf32", "updates is of rank 2"),
    (SCATTER, "3x3xf32", "3x3xi32", "updates has elements of type f32"),
    (GATHER, "-> tensor<42xf32>", "-> tensor<42xf64>", "gives tensor<42xf64>"),
    (GATHER, "42x1xindex", "42xindex", "indices is of type .* expected rank 2"),
    (GATHER, "42x1xindex", "42x?xindex", "expected a static second dimension"),
    (GATHER, "42x1xindex", "43x1xindex", "indices has 43 rows, the destination has 42 windows"),
    (SORT, slots((2, 8), (2, 8)), slots((3, 8), (1, 8)), r"3 inputs and 1 destination"),
    (SORT, ", %b1: i32", "", r"the comparator takes \(f32, f32, i32\)"),
    (SORT, "%b1: i32", "%b1: f32", r"takes \(f32, f32, i32, f32\)\n.* \(f32, f32, i32, i32\)"),
    (SORT, "(%before) : (i1)", "(%before, %before) : (i1, i1)", r"yields \(i1, i1\)\n.* one i1"),
    (SORT, "(%before) : (i1)", "(%a0) : (f32)", r"the comparator yields \(f32\)"),
    (SORT, "64x32xi32", "32x32xi32", "input 1 is of type .* input 0 of type"),
    (SORT, "%o: tensor<?x?xf32>", "%o: tensor<32x64xf32>", "destination 0 is of type"),
    (SORT, "dimension = 0", "dimension = 2", "dimension = 2"),
    # And others.
    (CONCATENATE, "dimension = 0", "dimension = -1", "dimension = -1"),
    (CONCATENATE, "dimension = 0", "dimensions = 0", "dimension is missing"),
    (CONCATENATE, "dimension = 0 : i64", 'dimension = "0"', "expected an integer"),
    (CONCATENATE, "%b: tensor<?x8xf32>", "%b: tensor<10x8xf32>", "size 10 or more together"),
    (CONCATENATE, "%b: tensor<?x8xf32>", "%b: vector<4x8xf32>", "input 1 .* a ranked tensor"),
    (CONCATENATE, slots((2, 25), (1, 1)), slots((0, 25), (1, 1)), "counts 1 operands|operand"),
    (REVERSE, "i64: 1", "i64: 2", "names dimension 2"),
    (REVERSE, "i64: 1", "i64: 1, 1", "names a dimension twice"),
    (REVERSE, "array<i64: 1>", "1.0 : f32", "a list of integers"),
    (REVERSE, "4x?xf32", "5x?xf32", "expected the same shape"),
    (BROADCAST, "i64: 0, 2", "i64: 0", "expected 2 of them"),
    (BROADCAST, "i64: 0, 2", "i64: 0, 3", "names dimension 3"),
    (BROADCAST, "i64: 0, 2", "i64: 0, 1", "dimension 1 of the operand has size 5, dimension 1"),
    (BROADCAST, "2>}", "2>, known_expanding = array<i64: 1>}", "is said to expand"),
    (
        BROADCAST,
        "2>}",
        "2>, known_expanding = array<i64: 0>, known_nonexpanding = array<i64: 0>}",
        "dimension 0 is known to expand, and known not to",
    ),
    (GATHER, "42x1xindex", "42x1xf32", "elements of type index"),
    (GATHER, "100xf32", "0xf32", "a window has size 1 in dimension 0, the operand has 0"),
    (GATHER, "%o: tensor<42xf32>", "%o: tensor<42x101xf32>", "window has size 101|gives"),
    (
        SCATTER,
        "^bb0(%new: f32, %old: f32)",
        "^bb0(%new: f32, %old: f32, %x: f32)",
        "combiner takes",
    ),
    (SCATTER, '"linalg_ext.yield"(%sum) : (f32) -> ()', "", "ends without linalg_ext.yield|termin"),
    (SORT, "is_stable = true", "is_stable = 3", "expected true or false"),
    (SORT, slots((2, 8)), slots((1, 8)), "result"),
]


@pytest.mark.parametrize(("op", "old", "new", "message"), WRONG)
def test_what_breaks_a_rule_is_refused_at_its_line(
    op: Op, old: str, new: str, message: str
) -> None:
    with pytest.raises(lx.errors.IRError) as caught:
        lx.parse(op.with_another(old, new).function())
    assert re.search(message, str(caught.value), re.DOTALL), str(caught.value)
    assert "-:3:" in str(caught.value)


def test_a_sort_needs_a_comparator() -> None:
    with pytest.raises(VerificationError, match="sort has no comparator"):
        lx.parse(without_region(SORT))


@pytest.mark.parametrize("start", ["", "%r = "])
def test_an_op_without_quotes_is_told_its_form(start: str) -> None:
    text = f"// linalg_ext.sort\nfunc.func @f() {{\n  {start}linalg_ext.reverse ins(%a)\n}}"
    with pytest.raises(
        ParseError, match=r'reverse is known in .* "linalg_ext\.reverse"\('
    ) as caught:
        lx.parse(text)
    assert f"-:3:{3 + len(start)}:" in str(caught.value)


def first_op(op: Op) -> tuple[Any, Any]:
    module = lx.parse(op.function())  # an op does not keep its module alive
    return module, module.ir.body.operations[0].operation.regions[0].blocks[0].operations[
        0
    ].operation


def test_views_tell_what_an_op_says() -> None:
    module, op = first_op(CONCATENATE)
    view = VIEWS[op.name](op)
    assert isinstance(view, Concatenate)
    assert (len(view.inputs), view.dimension, str(view.init.type)) == (2, 0, "tensor<9x?xf32>")
    module, op = first_op(GATHER)
    gather = Gather.of(op)
    assert (gather.windows.index_count, gather.windows.dims) == (1, (None,))
    module, op = first_op(SORT)
    sort = Sort.of(op)
    assert (len(sort.inputs), len(sort.inits), sort.is_stable) == (2, 2, True)
    del module


def test_builders_make_destinations_of_open_sizes() -> None:
    text = text_of(
        lambda a, b, i: [
            ours.concatenate(a, b, dimension=-1),
            ours.reverse(a, dimensions=-1),
            ours.gather(a, i),
            *ours.sort(a, b),
        ],
        *("tensor<?x4xf32>", "tensor<3x?xf32>", "tensor<?x1xi32>"),
    )
    assert "-> tensor<3x?xf32>" in text
    assert "dimension = 1 : i64" in text
    assert "dimensions = array<i64: 1>" in text
    assert '"linalg_ext.gather"' in text


A = "tensor<4x3xf32>"


def new(sizes: list[int], element: str) -> Any:
    return tensor.empty(sizes, ir.Type.parse(element))


MISUSES: list[tuple[type[ArgumentError], str, Callable[..., Any]]] = [
    (ArityError, "concatenate of 0 tensors", lambda a: ours.concatenate()),
    (ArityError, "concatenate of 26 tensors", lambda a: ours.concatenate(*[a] * 26)),
    (ShapeError, "concatenate: dimension 2 of", lambda a: ours.concatenate(a, dimension=2)),
    (ArgumentError, "concatenate.* 3", lambda a: ours.concatenate(a, 3)),  # type: ignore[arg-type]
    (ShapeError, "reverse: dimensions", lambda a: ours.reverse(a, dimensions=[5])),
    (ArgumentError, "names a dimension twice", lambda a: ours.reverse(a, dimensions=[0, -2])),
    (ShapeError, "gather: indices is of type", lambda a: ours.gather(a, new([4], "i64"))),
    (DTypeError, "gather: indices", lambda a: ours.gather(a, a)),
    (
        ArgumentError,
        "outs= has 2 destinations",
        lambda a: ours.reverse(a, dimensions=0, outs=[a, a]),
    ),
    (
        ShapeError,
        "scatter: updates is of rank 1",
        lambda a: ours.scatter(new([4, 1], "i64"), new([4], "f32"), a),
    ),
    (
        ArgumentError,
        r"scatter: the combiner yields \(i1\)",
        lambda a: ours.scatter(
            new([4, 1], "i64"),
            a,
            a,
            combine=lambda new, old: arith.cmpf(arith.CmpFPredicate.OEQ, new, old),
        ),
    ),
    (ArityError, "sort of 0 tensors", lambda a: ours.sort()),
    (ArityError, "sort of 9 tensors", lambda a: ours.sort(*[a] * 9)),
    (ArityError, r"1 input and 2 dest", lambda a: ours.sort(a, outs=[a, a])),
    (ShapeError, "dimension = 7", lambda a: ours.sort(a, dimension=7)),
    (DTypeError, "no order of their own", lambda a: ours.sort(new([4], "complex<f32>"))),
    (ArgumentError, "comparator yields", lambda a: ours.sort(a, comparator=lambda x, y: x)),
    (
        ShapeError,
        "dimension 0 of the operand has size 4, dimension 1",
        lambda a: ours.dynamic_broadcast_in_dim(a, a, broadcast_dimensions=[1, 0]),
    ),
]


@pytest.mark.parametrize(("error", "message", "build"), MISUSES)
def test_what_does_not_fit_is_refused_and_leaves_nothing(
    error: type[ArgumentError], message: str, build: Callable[..., Any]
) -> None:
    def body(a: ir.Value) -> Any:
        with pytest.raises(error, match=message):
            build(a)
        return a

    assert "linalg_ext." not in text_of(body, A)


@pytest.mark.parametrize("op", OPS)
def test_types_that_tell_less_than_others_come_down(op: Op) -> None:
    """As they stand some sizes are known of one operand only; then all of one are open as well."""
    lower_to_llvm(lx.parse(op.function()).ir)
    for operand in op.operands:
        name, _, type_ = operand.partition(": ")
        is_indices = name == "%i"
        wider = re.sub(r"\d+(?=x)", "?", type_, count=1 if is_indices else 0)
        lower_to_llvm(lx.parse(op.with_another(type_, wider).function()).ir)
