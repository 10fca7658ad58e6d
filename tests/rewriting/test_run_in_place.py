"""Pipelines run where time counts: the same result, the same errors, less looked at."""

from __future__ import annotations

import pytest

from linalg_ext.bindings import ir
from linalg_ext.errors import PipelineError
from linalg_ext.module import Module
from linalg_ext.rewriting import Report, module_pass, pipeline, run_in_place, run_pipeline

TEXT = """
func.func @f(%a: i32, %b: i32) -> i32 {
  %q = arith.divsi %a, %b : i32
  %p = arith.divsi %a, %b : i32
  %s = arith.addi %q, %p : i32
  return %s : i32
}
"""
RAN: list[str] = []


@module_pass("linalg-ext-place-of-divisions", on="arith.divsi")
def of_divisions(op: ir.Operation) -> None:
    """Note that it ran."""
    RAN.append("divisions")


@module_pass("linalg-ext-place-of-math", on=lambda name: name.startswith("math."))
def of_math(op: ir.Operation) -> None:
    """Note that it ran."""
    RAN.append("math")


@module_pass("linalg-ext-place-break")
def break_it(op: ir.Operation) -> Report:
    """Take the terminator of the first function."""
    block = op.regions[0].blocks[0].operations[0].operation.regions[0].blocks[0]
    block.operations[len(block.operations) - 1].operation.erase()
    report = Report("linalg-ext-place-break")
    report.changed["func.return"] += 1
    return report


@module_pass("linalg-ext-place-break-in-silence")
def break_in_silence(op: ir.Operation) -> None:
    """The same without a word about it."""
    break_it.function(op)


def test_what_has_nothing_to_look_at_is_left_out() -> None:
    RAN.clear()
    run = run_in_place(
        Module.parse(TEXT, trusted=True),
        "linalg-ext-place-of-math,linalg-ext-place-of-divisions,cse",
    )
    assert RAN == ["divisions"]
    assert [report.pass_name for report in run.reports] == ["linalg-ext-place-of-divisions"]


def test_ops_that_a_pass_before_made_are_looked_at() -> None:
    text = TEXT.replace("i32", "f32").replace("divsi", "mulf").replace("addi", "addf")
    RAN.clear()
    module = Module.parse(text.replace("arith.mulf %a, %b", "math.powf %a, %b"), trusted=True)
    run_in_place(module, "linalg-ext-place-of-divisions,cse,linalg-ext-place-of-math")
    assert RAN == ["math"]


def test_the_result_is_that_of_run_pipeline() -> None:
    pipeline = "linalg-ext-place-of-math,cse,linalg-ext-guard-integer-division,canonicalize"
    one, other = (Module.parse(TEXT, trusted=True) for _ in range(2))
    run_in_place(one, pipeline)
    run_pipeline(other, pipeline, trusted=True)
    assert str(one) == str(other)


@pytest.mark.parametrize("name", ["linalg-ext-place-break", "linalg-ext-place-break-in-silence"])
def test_what_breaks_the_module_is_named_and_undone(name: str) -> None:
    module = Module.parse(TEXT, trusted=True)
    before = str(module)
    with pytest.raises(PipelineError, match=name) as caught:
        run_in_place(module, f"cse,{name}")
    assert caught.value.pass_name == name
    assert str(module) == before


@pytest.mark.parametrize(("setting", "count"), [("1", 2), ("", 1)])
def test_the_module_is_verified_between_passes_on_request_alone(
    setting: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINALG_EXT_VERIFY", setting)
    verified: list[Module] = []
    monkeypatch.setattr(pipeline, "_require_valid", verified.append)
    run_in_place(Module.parse(TEXT, trusted=True), "linalg-ext-guard-integer-division,cse")
    assert len(verified) == count


def test_a_pass_that_does_not_exist_is_refused() -> None:
    module = Module.parse("func.func private @f(i32)", trusted=True)
    with pytest.raises(PipelineError, match="is not a pass"):
        run_in_place(module, "no-such-pass")


def test_upstreams_own_module_changes_in_place() -> None:
    with ir.Context():
        raw = ir.Module.parse(TEXT)
    run_in_place(raw, "cse")
    assert str(raw).count("divsi") == 1
