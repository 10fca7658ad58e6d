"""Textual pipelines of upstream's passes and ours."""

from __future__ import annotations

import os
import shlex
import tempfile

import pytest

from linalg_ext.bindings import arith, ir
from linalg_ext.cli import main
from linalg_ext.errors import ArgumentError, LinalgExtError, PipelineError
from linalg_ext.module import Module
from linalg_ext.rewriting import (
    Rewriter,
    module_pass,
    named_pipeline,
    pipeline,
    rewrite,
    run_pipeline,
)
from linalg_ext.rewriting.pipeline_text import parse_pipeline, split_options
from linalg_ext.transforms import fold_transposes

TEXT = """
func.func @f(%a: i32, %b: i32) -> i32 {
  %q = arith.divsi %a, %b : i32
  %p = arith.divsi %a, %b : i32
  %s = arith.addi %q, %p : i32
  %r = arith.divsi %s, %b : i32
  return %r : i32
}
func.func private @g()
"""
SEEN: list[str] = []


@rewrite("linalg-ext-check-unsigned", on="arith.divsi")
def unsigned(op: arith.DivSIOp, rewriter: Rewriter) -> bool:
    """Read a division as unsigned."""
    rewriter.replace_op(op, arith.DivUIOp(op.lhs, op.rhs))
    return True


@module_pass("linalg-ext-check-look")
def look(op: ir.Operation, *, label: str = "", times: tuple[int, ...] = ()) -> None:
    """Note the op that the pass runs on."""
    SEEN.append(f"{op.name}{label}{times or ''}")


@module_pass("linalg-ext-check-break")
def break_it(op: ir.Operation) -> None:
    """Take the terminator of the first function."""
    block = op.regions[0].blocks[0].operations[0].operation.regions[0].blocks[0]
    block.operations[len(block.operations) - 1].operation.erase()


@module_pass("linalg-ext-check-raise")
def raise_it(op: ir.Operation) -> None:
    """Raise what is not ours."""
    raise ZeroDivisionError("mine")


named_pipeline("linalg-ext-check-both", "linalg-ext-check-unsigned,cse", "Both.")


@pytest.fixture
def module() -> Module:
    SEEN.clear()
    return Module.parse(TEXT, trusted=True)


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize(
    "pipeline",
    [
        "linalg-ext-check-unsigned,cse",
        "cse,linalg-ext-check-unsigned",
        "builtin.module(func.func(linalg-ext-check-unsigned,canonicalize),cse)",
        " any( cse , linalg-ext-check-unsigned ) ",
        "--linalg-ext-check-unsigned --cse",
        "-canonicalize='max-iterations=3 top-down=false' -linalg-ext-check-unsigned -cse",
        ["-linalg-ext-check-unsigned", "--pass-pipeline=builtin.module(cse)"],
        "func.func(linalg-ext-check-both)",
        "affine-loop-normalize,linalg-ext-check-both",
    ],
)
def test_all_spellings(module, pipeline, trusted):
    run = run_pipeline(module, pipeline, trusted=trusted)
    assert run.module is module
    assert str(module).count("arith.divui") == 2
    assert "arith.divsi" not in str(module)
    assert run.reports[0].changed["arith.divsi"] in (2, 3)
    assert "linalg-ext-check-unsigned" in repr(run)


def test_ours_run_on_the_ops_that_they_are_nested_in(module):
    module.run("linalg-ext-check-look,func.func(linalg-ext-check-look{label=!})")
    assert SEEN == ["builtin.module", "func.func!", "func.func!"]
    SEEN.clear()
    module.run("builtin.module(any(linalg-ext-check-look{times=1,2 label=x}))", trusted=True)
    assert SEEN == ["func.funcx(1, 2)"] * 2


def test_locations_survive_the_process_apart(module):
    module.run("cse")
    assert 'loc("-":3:8)' in module.ir.operation.get_asm(enable_debug_info=True)


@pytest.mark.parametrize("trusted", [True, False])
def test_on_stage_shows_every_pass(module, trusted):
    stages: list[tuple[str, str]] = []
    module.run(
        "func.func(cse),linalg-ext-check-unsigned",
        trusted=trusted,
        on_stage=lambda name, text: stages.append((name, text)),
    )
    assert [name for name, _ in stages] == ["func.func(cse)", "linalg-ext-check-unsigned"]
    assert stages[0][1].count("divsi") == 2
    assert stages[1][1] == str(module)


def test_what_upstream_prints_is_kept(module, capfd):
    run = run_pipeline(module, "print-op-stats")
    assert "arith.divsi" in run.output
    assert capfd.readouterr() == ("", "")


WRONG = {
    "cse{": "the brace is never closed",
    "cse,,cse": "the name of a pass should stand here",
    "func.func(cse": "never closed",
    "cse)": "should end here",
    "nope.op(cse)": "'nope.op', which is not an op",
    "canonicalise": "did you mean canonicalize",
    "cse,linalg-fuse-elementwise-op": "did you mean linalg-fuse-elementwise-ops",
    "linalg-ext-check-unsingned": "did you mean linalg-ext-check-unsigned",
    "canonicalize{no-such=1}": "no such option no-such",
    "builtin.module(affine-loop-normalize)": r"write func\.func\(affine-loop-normalize\)",
    "linalg-ext-check-look{lable=x}": "has no option 'lable'\n"
    "  expected one of its options: label, times",
    "linalg-ext-check-look{times=x}": "times of linalg-ext-check-look cannot be 'x'",
    "linalg-ext-check-both{x=1}": "takes no options",
    "-cse canonicalize": "'canonicalize' is not a pass",
    "--cse='": "cannot be read",
    "affine-loop-unroll": r"nest it in an op that it runs on: func\.func\(affine-loop-unroll\)",
}


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize(("pipeline", "message"), WRONG.items(), ids=WRONG)
def test_wrong_pipelines(module, pipeline, message, trusted):
    before = str(module)
    with pytest.raises(PipelineError, match=message):
        run_pipeline(module, f"{pipeline}", trusted=trusted)
    assert str(module) == before


def test_a_list_of_passes_is_a_pipeline(module):
    spellings = (["canonicalize", "func.func(cse)"], "canonicalize,func.func(cse)")
    one, other = (str(parse_pipeline(spelling)) for spelling in spellings)
    assert one == other
    with pytest.raises(PipelineError, match=r"\['canonicalize', 'cse'\]"):
        module.run(7)


def test_the_caret_stands_under_the_unknown_pass(module):
    with pytest.raises(PipelineError) as caught:
        module.run("builtin.module(func.func(cse,zzzzz))")
    where = str(caught.value.where).splitlines()
    assert where[0][where[1].index("^") :].startswith("zzzzz")
    assert caught.value.pass_name == "zzzzz"


FAILING = """func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %r = "test.unknown"(%a, %e) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}"""


@pytest.mark.parametrize("trusted", [True, False])
def test_a_failing_pass_is_named_and_can_be_repeated(trusted, capsys):
    module = Module.parse(FAILING, trusted=True, allow_unregistered=True)
    before = str(module)
    with pytest.raises(PipelineError, match="the pass one-shot-bufferize failed") as caught:
        module.run("canonicalize,cse,one-shot-bufferize,canonicalize", trusted=trusted)
    error = caught.value
    assert str(module) == before
    assert error.pass_name == "one-shot-bufferize"
    assert any("op was not bufferized" in line for line in error.diagnostics)
    assert error.module_file is not None
    assert error.module_file.parent.stat().st_mode & 0o077 == 0
    assert error.command is not None
    assert error.command in str(error)
    command, *arguments = shlex.split(error.command)
    assert command == "linalg-ext"
    assert main(arguments) == 1
    assert "the pass one-shot-bufferize failed" in capsys.readouterr().err


def test_what_is_left_to_repeat_failures_with_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(pipeline, "_SAVED", 3)
    files = []
    for number in (0, 1, 2, 3, 3, 4):
        text = FAILING.replace("tensor<4x", f"tensor<{number + 1}x")
        module = Module.parse(text, trusted=True, allow_unregistered=True)
        with pytest.raises(PipelineError) as caught:
            module.run("one-shot-bufferize", trusted=True)
        assert caught.value.module_file is not None
        files.append(caught.value.module_file)
        os.utime(files[-1], (number, number))
    (folder,) = tmp_path.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert set(folder.iterdir()) == set(files[2:])
    folder.chmod(0o777)  # somebody else could have put there what is
    with pytest.raises(PipelineError) as caught:
        module.run("one-shot-bufferize", trusted=True)
    assert caught.value.module_file is not None
    assert caught.value.module_file.parent not in (folder, tmp_path)
    assert caught.value.module_file.parent.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("trusted", [True, False])
def test_one_of_ours_that_leaves_an_invalid_module(module, trusted):
    before = str(module)
    with pytest.raises(PipelineError, match="linalg-ext-check-break failed") as caught:
        module.run("cse,linalg-ext-check-break,cse", trusted=trusted)
    assert str(module) == before
    assert caught.value.module_file is not None
    assert caught.value.module_file.read_text().count("divsi") == 2


def test_an_exception_of_ours_comes_through_with_a_note(module):
    before = str(module)
    with pytest.raises(ZeroDivisionError, match="mine") as caught:
        module.run("cse,linalg-ext-check-raise")
    assert str(module) == before
    assert "in the pass linalg-ext-check-raise; repeat it with:" in caught.value.__notes__[0]


def test_names_of_passes_and_pipelines_are_free(module):
    SEEN.clear()

    @module_pass("look-here")
    def look_here(op: ir.Operation) -> None:
        SEEN.append(op.name)

    named_pipeline("tidy-and-look", "cse,look-here", "Both.")
    module.run("tidy-and-look,look-here")
    assert SEEN == ["builtin.module"] * 2
    assert str(module).count("divsi") == 2
    with pytest.raises(PipelineError, match=r"'look-her' is not(.|\n)*did you mean look-here"):
        module.run("look-her")


def test_named_pipelines_are_checked():
    with pytest.raises(ArgumentError, match="cannot name a pass"):
        named_pipeline("Mine", "cse", "")
    with pytest.raises(ArgumentError, match="upstream has a pass called cse"):
        named_pipeline("cse", "canonicalize", "")
    named_pipeline("linalg-ext-check-loop", "linalg-ext-check-loop", "Itself.")
    with pytest.raises(PipelineError, match="holds itself"):
        run_pipeline(TEXT, "linalg-ext-check-loop")


@pytest.mark.parametrize("bad", ["", "builtin.module()", []])
def test_an_empty_pipeline_does_nothing(module, bad):
    before = str(module)
    module.run(bad)
    assert str(module) == before


def test_reading_a_pipeline():
    steps = parse_pipeline("a{x=1 y={2,3}},func.func(b,scf.for(c{s='}'})),d").steps
    assert [step.nested for step in steps] == [
        "a{x=1 y={2,3}}",
        "func.func(b)",
        "func.func(scf.for(c{s='}'}))",
        "d",
    ]
    assert [step.nestable for step in steps] == [True, False, False, True]
    assert split_options("a=1 b c={2 3} d='x y' e=[1,2]") == {
        "a": "1",
        "b": None,
        "c": "2 3",
        "d": "x y",
        "e": "1,2",
    }


def test_a_module_beside_a_module_is_nested():
    steps = parse_pipeline("builtin.module(a),b").steps
    assert [step.nested for step in steps] == ["builtin.module(a)", "b"]


@pytest.mark.parametrize("bad", [None, 3, [3], object()])
def test_what_is_no_pipeline(module, bad):
    with pytest.raises(LinalgExtError, match="pipeline"):
        run_pipeline(module, bad)


def test_a_rewrite_in_a_list_goes_by_its_name(module):
    with pytest.raises(PipelineError, match="a rewrite goes by its name, 'linalg-ext-fold-transp"):
        module.run(["cse", fold_transposes])
