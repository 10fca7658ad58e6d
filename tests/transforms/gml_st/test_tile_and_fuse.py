"""Tiling and fusion, form by form: what stands in the loops, what outside, and the numbers."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.dialects.gml_st.ir.op_views import LOOPS
from linalg_ext.errors import ArgumentError
from linalg_ext.module import Module
from linalg_ext.rewriting import Report
from linalg_ext.transforms.ir_utils.walking import select
from tiled_modules import Array, Program, outcome, short

UNSEEN = ("arith.", "affine.", "func.", "gml_st.", "linalg.yield", "tensor.empty", "math.")


def places(module: Module) -> tuple[list[str], list[str]]:
    """The names of the ops that compute, outside of loops and inside them."""
    outside: list[str] = []
    inside: list[str] = []
    for op in select(module.ir, lambda op: not op.name.startswith(UNSEEN)):
        if op.parent is None or op.name == "builtin.module" or _in_a_body(op):
            continue
        (inside if _in_a_loop(op) else outside).append(op.name.partition(".")[2])
    return outside, inside


def _in_a_loop(op: Any) -> bool:
    while op.parent is not None:
        op = op.parent.operation
        if op.name in LOOPS:
            return True
    return False


def _in_a_body(op: Any) -> bool:
    return str(op.parent.operation.name).startswith(("linalg.", "tensor."))


def loops(module: Module) -> list[str]:
    return [op.name for op in select(module.ir, lambda op: op.name in LOOPS)]


def fused(program: Program | str, arrays: list[Array], *results: Any, **options: Any) -> Any:
    """A program that was tiled and fused, and gives what it gave; and the report."""
    text = program if isinstance(program, str) else program.text(results)
    module = Module.parse(text)
    report = lx.transforms.tile_and_fuse(module, **options)
    for got, want in zip(outcome(module, arrays), outcome(text, arrays), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)
    return module, report


def chain(*, is_open: bool = False) -> tuple[Program, Any]:
    """Sums over rows of a broadcast vector plus a matrix."""
    program = Program([(12, 10), (10,)], is_open=is_open)
    x, v = program.values
    wide = program.broadcast(program.unary("abs", v), (12, 10), 0)
    return program, program.sums(program.binary("add", program.unary("negf", x), wide), 1)


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("form", ["parallel", "for", "loop"])
def test_a_chain_ends_up_in_the_loop(form: str, is_open: bool) -> None:
    program, result = chain(is_open=is_open)
    module, report = fused(program, program.arrays(), result, tile_sizes=[5], form=form)
    outside, inside = places(module)
    assert loops(module) == [f"gml_st.{form}"]
    # The vector is the same for all rows: nothing would be gained by computing it in each part.
    assert [op for op in outside if op != "dim"] == ["abs"]
    assert [op for op in inside if op != "dim"] == ["negf", "broadcast", "add", "fill", "reduce"]
    assert report.left["linalg.abs"] == {"the loop needs the same part of it in every iteration"}


def test_what_every_iteration_needs_whole_moves_where_it_is_named() -> None:
    program, result = chain()
    names = ("linalg.broadcast", "linalg.add", "linalg.abs", "linalg.negf")
    module, _ = fused(program, program.arrays(), result, tile_sizes=[5], producers=names)
    assert places(module) == (["fill"], ["negf", "abs", "broadcast", "add", "reduce"])


def test_reductions_are_cut_in_a_loop_of_their_own() -> None:
    program, result = chain()
    module, _ = fused(program, program.arrays(), result, tile_sizes=[5, 4])
    assert loops(module) == ["gml_st.parallel", "gml_st.for"]
    # A part of the vector is another one for each part of the reduction.
    assert places(module)[0] == []


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("sizes", [[5, 4], [0, 3], [1, 1]])
@pytest.mark.parametrize("form", ["parallel", "loop"])
def test_parts_of_sums_are_accumulated(sizes: list[int], form: str, threads: int) -> None:
    program, result = chain()
    text, arrays = program.text([result]), program.arrays()
    module = Module.parse(text)
    lx.transforms.tile_and_fuse(module, tile_sizes=sizes, accumulate=True, form=form)
    assert "accumulator_flags = array<i1: true>" in str(module)
    with lx.options(threads=threads):
        got = lx.compile(module, opt_level=0)(*arrays)
    np.testing.assert_array_equal(got, outcome(text, arrays)[0])


def test_points_become_scalars() -> None:
    program = Program([(4, 5), (4, 5)])
    x, y = program.values
    result = program.binary("max", program.unary("abs", x), program.transpose(program.transpose(y)))
    module, _ = fused(program, program.arrays(), result, tile_sizes=[1, 1], points=True)
    assert places(module) == ([], [])
    assert "math.absf" in short(module)
    assert "!gml_st.element" in short(module)


def test_points_of_sums_of_pads_and_of_joined_parts() -> None:
    program = Program([(4, 5), (2, 5)])
    x, y = program.values
    joined = program.concat([x, program.unary("abs", y)], 0)
    result = program.sums(program.pad(joined, (1, 0), (0, 2)), 1)
    module, _ = fused(program, program.arrays(), result, tile_sizes=[1], points=True)
    assert places(module)[0] == []


def softmax(program: Program, x: tuple[str, Any]) -> tuple[str, Any]:
    shape = x[1]
    low = program.add(shape[:1], "{r} = linalg.fill ins(%least : f32) outs({e} : {t}) -> {t}")
    program.lines.insert(0, "%least = arith.constant 0xFF800000 : f32")
    line = f"{{r}} = linalg.reduce {{{{arith.maximumf}}}} ins({x[0]} : {program.type(shape)})"
    largest = program.add(shape[:1], f"{line} outs({low[0]} : {{t}}) dimensions = [1]")
    above = program.binary("sub", x, program.broadcast(largest, shape, 1))
    powers = program.unary("exp", above)
    return program.binary("div", powers, program.broadcast(program.sums(powers, 1), shape, 1))


@pytest.mark.parametrize("sizes", [[3], [[6], [2]], [12]])
@pytest.mark.parametrize("form", ["parallel", "loop"])
def test_softmax_is_fused_whole_along_its_rows(sizes: Any, form: str) -> None:
    program = Program([(12, 10)])
    result = softmax(program, program.unary("abs", program.values[0]))
    module, report = fused(program, program.arrays(), result, tile_sizes=sizes, form=form)
    outside, inside = places(module)
    assert outside == []
    # Each op once, though the powers and the maximum have two users each.
    assert sorted(inside) == sorted(
        ["abs", "fill", "reduce", "broadcast", "sub", "exp", "fill", "reduce", "broadcast", "div"]
    )
    assert not report.left


def test_softmax_cut_along_its_rows_keeps_its_sums_outside() -> None:
    program = Program([(12, 10)])
    result = softmax(program, program.values[0])
    module, report = fused(program, program.arrays(), result, tile_sizes=[4, 5])
    assert places(module)[0].count("reduce") == 2
    assert report.left["linalg.reduce"] == {
        "the sums of the producer would be computed again in iterations that share them"
    }


def test_the_op_softmax_is_cut_between_its_rows_alone() -> None:
    text = """
    func.func @f(%x: tensor<12x10xf32>) -> tensor<12x10xf32> {
      %e = tensor.empty() : tensor<12x10xf32>
      %a = linalg.abs ins(%x : tensor<12x10xf32>) outs(%e : tensor<12x10xf32>) -> tensor<12x10xf32>
      %r = linalg.softmax dimension(1) ins(%a : tensor<12x10xf32>) outs(%e : tensor<12x10xf32>)
        -> tensor<12x10xf32>
      return %r : tensor<12x10xf32>
    }"""
    arrays = Program([(12, 10)]).arrays()
    module, _ = fused(text, arrays, tile_sizes=[5])
    assert places(module) == ([], ["abs", "softmax"])
    left, report = fused(text, arrays, tile_sizes=[5, 5])
    assert loops(left) == []
    assert report.left["linalg.softmax"] == {"dimension 1 of linalg.softmax cannot be cut"}


def test_each_op_of_a_chain_of_two_uses_is_built_once() -> None:
    """Fibonacci: were each use to build its operand anew, there would be hundreds of ops."""
    program = Program([(12,), (12,)])
    before, last = program.values
    for _ in range(10):
        before, last = last, program.binary("add", before, last)
    module, _ = fused(program, program.arrays(), last, tile_sizes=[5])
    assert places(module) == ([], ["add"] * 10)


def test_a_cheap_producer_of_two_loops_is_in_both() -> None:
    program = Program([(12, 10)])
    shared = program.unary("abs", program.values[0])
    results = program.unary("negf", shared), program.sums(shared, 1)
    module, _ = fused(program, program.arrays(), *results, tile_sizes=[5])
    assert loops(module) == ["gml_st.parallel"] * 2
    assert places(module) == ([], ["abs", "negf", "abs", "fill", "reduce"])


@pytest.mark.parametrize("form", ["parallel", "for", "loop"])
def test_sums_with_another_user_are_a_further_output(form: str) -> None:
    program = Program([(12, 10)])
    x = program.values[0]
    sums = program.sums(x, 1)
    results = program.binary("sub", x, program.broadcast(sums, x[1], 1)), sums
    module, report = fused(program, program.arrays(), *results, tile_sizes=[5], form=form)
    assert loops(module) == [f"gml_st.{form}"]
    assert places(module) == ([], ["fill", "reduce", "broadcast", "sub"])
    assert not report.left


def test_sums_that_are_needed_before_the_loop_stay() -> None:
    program = Program([(12, 10)])
    x = program.values[0]
    sums = program.sums(x, 1)
    first = program.unary("negf", sums)
    second = program.binary("sub", x, program.broadcast(sums, x[1], 1))
    options = {"tile_sizes": [5], "op": "linalg.sub"}
    module, report = fused(program, program.arrays(), second, first, **options)
    assert "reduce" in places(module)[0]
    assert report.left["linalg.reduce"] == {
        "the producer has another user, and sums are not computed twice"
    }


def test_sizes_of_what_was_fused_are_those_of_what_it_is_made_of() -> None:
    text = """
    func.func @f(%x: tensor<?xf32>) -> (tensor<?xf32>, index) {
      %c0 = arith.constant 0 : index
      %n = tensor.dim %x, %c0 : tensor<?xf32>
      %e = tensor.empty(%n) : tensor<?xf32>
      %a = linalg.abs ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
      %m = tensor.dim %a, %c0 : tensor<?xf32>
      %i = tensor.empty(%m) : tensor<?xf32>
      %b = linalg.negf ins(%a : tensor<?xf32>) outs(%i : tensor<?xf32>) -> tensor<?xf32>
      %k = tensor.dim %b, %c0 : tensor<?xf32>
      return %b, %k : tensor<?xf32>, index
    }"""
    module, _ = fused(text, Program([(11,)]).arrays(), tile_sizes=[4])
    outside, inside = places(module)
    assert set(outside) == {"dim"}
    assert [op for op in inside if op != "dim"] == ["abs", "negf"]
    empty = [np.zeros(0, np.float32)]
    assert outcome(module, empty)[0].shape == (0,)


def test_parts_that_straddle_what_is_joined() -> None:
    program = Program([(2, 4), (3, 4), (5, 4)])
    x, y, z = program.values
    empty = program.slice(x, (0, 0), (0, 4), (1, 1))
    joined = program.concat([x, empty, program.unary("abs", y), z], 0)
    module, _ = fused(program, program.arrays(), program.unary("negf", joined), tile_sizes=[4])
    assert "concat" in places(module)[1]
    assert places(module)[0] == []


def test_a_loop_argument_is_fused_by_its_place_or_its_name() -> None:
    program = Program([(12, 10)] * 2)
    x, y = program.values
    result = program.binary("add", program.unary("abs", x), program.unary("negf", y))
    for arguments, moved in ((["in0"], "abs"), (["in1"], "negf")):
        module = Module.parse(program.text([result]))
        lx.transforms.tile_into_subset_loops(module, tile_sizes=[5], form="loop")
        report = lx.transforms.fuse_into_subset_loops(module, arguments=arguments)
        assert report.changed[f"linalg.{moved}"] == 1
        assert places(module)[1] == [moved, "add"]
        got = outcome(module, program.arrays())
        np.testing.assert_array_equal(got, outcome(program.text([result]), program.arrays()))


@pytest.mark.parametrize("sizes", [[4], [7, 5], [100]])
def test_parts_that_overlap_are_computed_once_with_a_rim(sizes: list[int]) -> None:
    def smoothed(x: Any) -> Any:
        for _ in range(2):
            x = np.tanh(x)
            x = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2]
        return x

    x = np.random.default_rng(0).standard_normal((18, 20))
    module = lx.jit(smoothed).lower(x).module
    before = len(select(module.ir, lambda op: op.name == "linalg.generic"))
    lx.transforms.tile_and_fuse(module, tile_sizes=[sizes])
    outside, inside = places(module)
    assert "generic" not in outside
    assert inside.count("generic") == before == 6
    np.testing.assert_allclose(lx.compile(module)(x), smoothed(x), rtol=1e-12)


def test_parts_that_lie_apart_are_computed_by_themselves() -> None:
    def rotated(x: Any) -> Any:
        y = np.exp(x)
        return y[:, :10] * y[:, 10:]

    x = np.random.default_rng(0).standard_normal((9, 20))
    module = lx.jit(rotated).lower(x).module
    lx.transforms.tile_and_fuse(module, tile_sizes=[[4]])
    assert places(module)[1].count("generic") == 3
    np.testing.assert_allclose(lx.compile(module)(x), rotated(x), rtol=1e-12)


def test_an_op_is_named_by_its_label() -> None:
    program = Program([(12, 10)])
    first = program.unary("abs", program.values[0])
    result = program.unary("negf", first)
    text = program.text([result]).replace(
        "linalg.abs ins", 'linalg.abs {linalg_ext.label = "me"} ins'
    )
    module = Module.parse(text)
    lx.transforms.tile_and_fuse(module, tile_sizes=[5], op="me")
    assert places(module) == (["negf"], ["abs"])


def test_as_scf_leaves_nothing_of_gml_st() -> None:
    program, result = chain()
    module, _ = fused(program, program.arrays(), result, tile_sizes=[5, 4], as_scf=True)
    assert "gml_st" not in str(module)
    assert "scf.forall" in str(module)
    text = "linalg-ext-tile-and-fuse{tile-sizes=[[6,0],[3,2]] as-scf=true}"
    again = Module.parse(program.text([result]))
    again.run(text)
    assert "gml_st" not in str(again)
    np.testing.assert_array_equal(
        outcome(again, program.arrays()), outcome(module, program.arrays())
    )


def test_sizes_are_chosen_for_the_target() -> None:
    program = Program([(2000, 3000)])
    result = program.unary("negf", program.unary("abs", program.values[0]))
    module = Module.parse(program.text([result]))
    with lx.target.using("avx2"):
        report = lx.transforms.tile_and_fuse(module)
    ((title, rows),) = cast(Any, report.decisions)
    assert title == "linalg.negf"
    assert dict(rows)["target"] == "avx2"
    assert places(module) == ([], ["abs", "negf"])
    small = Module.parse(chain()[0].text([chain()[1]]))
    left = lx.transforms.tile_and_fuse(small)
    assert "fits in half of the second cache" in str(left)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tile_sizes": [4, -1]}, "tile size 1 is -1"),
        ({"tile_sizes": [4.5]}, "tile size 0 is 4.5"),
        ({"tile_sizes": "4"}, "tile_sizes='4'"),
        ({"tile_sizes": [[4], 2]}, "tile_sizes hold 2 beside lists"),
        ({"tile_sizes": [4], "op": "linalg.redcue"}, "did you mean linalg.reduce"),
        ({"tile_sizes": [4], "form": "forall"}, "one of parallel, for, loop"),
        ({"tile_sizes": [4, 4], "points": True}, "sizes of 1"),
        ({"tile_sizes": [1, 2, 3], "op": "linalg.reduce"}, "3 tile sizes for linalg.reduce"),
        ({"sizes": [4]}, "has no option 'sizes'"),
    ],
)
def test_mistakes_are_named(options: dict[str, Any], said: str) -> None:
    module = Module.parse(chain()[0].text([chain()[1]]))
    before = str(module)
    with pytest.raises(ArgumentError) as raised:
        lx.transforms.tile_and_fuse(module, **options)
    assert said in str(raised.value)
    assert str(module) == before


@pytest.mark.parametrize("size", [0, 100])
def test_sizes_of_nothing_and_of_more_than_there_is(size: int) -> None:
    program, result = chain()
    module, report = fused(program, program.arrays(), result, tile_sizes=[size])
    assert isinstance(report, Report)
    assert len(loops(module)) == (1 if size else 0)
    if not size:
        assert report.left["linalg.reduce"] == {"the sizes cut no dimension"}


def test_what_no_rule_serves_is_named_and_stays() -> None:
    text = """
    func.func @f(%x: tensor<12xf32>) -> tensor<12xf32> {
      %e = tensor.empty() : tensor<12xf32>
      %c = tensor.reshape %x(%s) : (tensor<12xf32>, tensor<1xindex>) -> tensor<12xf32>
      %r = linalg.abs ins(%c : tensor<12xf32>) outs(%e : tensor<12xf32>) -> tensor<12xf32>
      return %r : tensor<12xf32>
    }""".replace("%e =", "%s = arith.constant dense<[12]> : tensor<1xindex>\n      %e =")
    module, report = fused(text, Program([(12,)]).arrays(), tile_sizes=[5])
    assert places(module) == (["reshape"], ["abs"])
    assert report.left["tensor.reshape"] == {"tensor.reshape has no tiling rule"}
