"""Rewrites and module passes on modules."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from linalg_ext.bindings import arith, ir
from linalg_ext.errors import ArgumentError, RewriteError, VerificationError
from linalg_ext.module import Module
from linalg_ext.rewriting import MatchFailure, Report, Rewriter, module_pass, rewrite
from linalg_ext.rewriting.pipeline import run_pipeline
from linalg_ext.rewriting.registry import find

TEXT = """
func.func @f(%a: i32, %b: i32) -> i32 {
  %q = arith.divsi %a, %b : i32
  %r = arith.divsi %q, %b : i32
  return %r : i32
}
"""


@pytest.fixture
def module() -> Module:
    return Module.parse(TEXT, trusted=True)


@rewrite("linalg-ext-test-divide", on="arith.divsi")
def divide(op: arith.DivSIOp, rewriter: Rewriter) -> bool:
    """Read a division as unsigned."""
    rewriter.replace_op(op, arith.DivUIOp(op.lhs, op.rhs))
    return True


@rewrite("linalg-ext-test-divide-walk", on=(arith.DivSIOp,), driver="walk")
def divide_walk(op: arith.DivSIOp, rewriter: Rewriter) -> bool:
    """Read a division as unsigned, each op once."""
    rewriter.replace_op(op, arith.DivUIOp(op.lhs, op.rhs))
    return True


@pytest.mark.parametrize("transform", [divide, divide_walk])
def test_rewrites_a_module(transform, module):
    report = transform(module)
    assert isinstance(report, Report)
    assert report.matched == {"arith.divsi": 2}
    assert report.changed == {"arith.divsi": 2}
    assert report.module is module
    assert str(module).count("arith.divui") == 2
    assert "arith.divsi" not in str(module)
    assert bool(report)


@pytest.mark.parametrize("transform", [divide, divide_walk])
def test_the_ops_of_a_module_are_counted_once(transform, module, monkeypatch):
    file = importlib.import_module("linalg_ext.rewriting.rewrite")
    count, walks = file.op_names, []

    def noted(root: ir.Operation) -> Any:
        walks.append(root.name)
        return count(root)

    monkeypatch.setattr(file, "op_names", noted)
    assert transform(module).changed
    assert walks == ["builtin.module"]


def test_repr_is_a_table(module):
    assert " ".join(repr(divide(module)).split()) == (
        "linalg-ext-test-divide: arith.divsi 2 matched 2 changed"
    )
    assert repr(divide(module)) == "linalg-ext-test-divide: nothing matched"


def test_keeps_the_location_of_the_matched_op(module):
    divide(module)
    assert 'loc("-":3:8)' in module.ir.operation.get_asm(enable_debug_info=True)


def test_a_raw_module_changes_in_place_and_old_handles_live(module):
    raw = module.ir
    old = raw.body.operations[0].operation.regions[0].blocks[0].operations[0]
    assert divide(raw)
    assert "arith.divui" in str(raw)
    assert "arith.divsi" in str(old)


def test_handles_into_a_module_survive_the_swap(module):
    old = module.ir.body.operations[0].operation.regions[0].blocks[0].operations[0]
    divide(module)
    assert "arith.divsi" in str(old)


def test_a_text_gives_its_module_in_the_report():
    assert "arith.divui" in str(divide(TEXT).module)


def test_find_by_name():
    assert find("linalg-ext-test-divide") is divide
    assert divide.pass_name == "linalg-ext-test-divide"
    assert divide.summary == "Read a division as unsigned."
    assert callable(divide.pattern)


def test_left_reasons_are_reported(module):
    @rewrite("linalg-ext-test-left", on=None)
    def leave(op: ir.OpView, rewriter: Rewriter) -> bool | MatchFailure:
        return MatchFailure("signed") if op.operation.name == "arith.divsi" else False

    report = leave(module)
    assert not report
    assert report.left == {"arith.divsi": {"signed"}}
    assert "left: signed" in repr(report)
    assert report.matched["func.return"] == 1


def test_a_predicate_sees_ops_that_the_pattern_made(module):
    @rewrite("linalg-ext-test-chain", on=lambda name: name.startswith("arith.div"))
    def chain(op: ir.OpView, rewriter: Rewriter) -> bool:
        lhs, rhs = op.operation.operands
        if op.operation.name == "arith.divsi":
            rewriter.replace_op(op, arith.DivUIOp(lhs, rhs))
        else:
            rewriter.replace_op(op, arith.MulIOp(lhs, rhs))
        return True

    assert chain(module).changed == {"arith.divsi": 2, "arith.divui": 2}
    assert "arith.div" not in str(module)


def test_options(module):
    @rewrite("linalg-ext-test-option", on="arith.divsi")
    def scaled(op: arith.DivSIOp, rewriter: Rewriter, *, factor: int = 7) -> bool:
        """Multiply instead."""
        constant = arith.ConstantOp(ir.IntegerType.get_signless(32), factor)
        rewriter.replace_op(op, arith.MulIOp(op.lhs, constant.result))
        return True

    scaled(module, factor=11)
    assert "arith.constant 121" in str(module) or "arith.constant 11" in str(module)
    with pytest.raises(ArgumentError, match="no option 'factors'"):
        scaled(module, factors=3)


def fails(function, module, error, message, on="arith.divsi"):
    before = str(module)
    transform = rewrite("linalg-ext-test-fails-" + function.__name__.replace("_", "-"), on=on)(
        function
    )
    with pytest.raises(error, match=message):
        transform(module)
    assert str(module) == before


def test_the_patterns_own_exception_comes_through(module):
    def raises(op, rewriter):
        rewriter.replace_op(op, arith.DivUIOp(op.lhs, op.rhs))
        raise KeyError("mine")

    fails(raises, module, KeyError, "mine")


def test_wrong_number_of_values(module):
    def none(op, rewriter):
        rewriter.replace_op(op, [])
        return True

    fails(none, module, RewriteError, r"expected \(i32\), got \(\)")


def test_wrong_type_of_value(module):
    def other(op, rewriter):
        rewriter.replace_op(op, arith.ConstantOp(ir.IntegerType.get_signless(64), 1))
        return True

    fails(other, module, RewriteError, r"expected \(i32\), got \(i64\)")


def test_erasing_an_op_in_use(module):
    def erase(op, rewriter):
        rewriter.erase_op(op)
        return True

    fails(erase, module, RewriteError, "while its results are in use")


def test_a_rewriter_kept_for_later(module):
    kept = []

    def keep(op, rewriter):
        kept.append(rewriter)
        return False

    rewrite("linalg-ext-test-keep", on="arith.divsi")(keep)(module)
    with pytest.raises(RewriteError, match="after the pattern had returned"):
        _ = kept[0].ip


def test_a_pattern_without_end(module):
    def again(op, rewriter):
        rewriter.replace_op(op, arith.DivSIOp(op.lhs, op.rhs))
        return True

    fails(again, module, RewriteError, "does not converge")


def test_a_pattern_that_forgets_to_answer(module):
    def forgets(op, rewriter):
        rewriter.replace_op(op, arith.DivUIOp(op.lhs, op.rhs))

    fails(forgets, module, RewriteError, "returned None")


def test_an_op_that_does_not_exist(module):
    def never(op, rewriter):
        return True

    fails(never, module, RewriteError, "not an op of this build", on="arith.divide")


def test_an_invalid_result_is_refused(module):
    @module_pass("linalg-ext-test-breaks")
    def breaks(op: ir.Operation) -> None:
        """Break the function."""
        block = op.regions[0].blocks[0].operations[0].operation.regions[0].blocks[0]
        block.operations[len(block.operations) - 1].operation.erase()

    before = str(module)
    with pytest.raises(VerificationError, match="invalid after linalg-ext-test-breaks"):
        breaks(module)
    assert str(module) == before


def test_a_module_pass(module):
    @module_pass("linalg-ext-test-tag")
    def tag(op: ir.Operation, *, label: str = "x") -> None:
        """Tag the module."""
        op.attributes["lx.tag"] = ir.StringAttr.get(label)

    tag(module, label="hello")
    assert 'lx.tag = "hello"' in str(module)
    raw = module.ir
    tag(raw, label="again")
    assert 'lx.tag = "again"' in str(raw)


def test_an_op_can_be_looked_at_after_it_was_replaced(module: Module) -> None:
    """Upstream's rewriter frees it at once, and to print it then ends the process."""
    seen = []

    @rewrite("linalg-ext-test-look-back", on="arith.divsi")
    def look_back(op: arith.DivSIOp, rewriter: Rewriter) -> bool:
        new = arith.DivUIOp(op.lhs, op.rhs)
        rewriter.replace_op(op, new)
        seen.append((str(op), op.operation.name, len(list(new.result.uses))))
        return True

    look_back(module)
    assert len(seen) == 2
    assert all("arith.divsi" in text for text, _, _ in seen)


def test_an_op_is_let_go_once(module: Module) -> None:
    @rewrite("linalg-ext-test-twice", on="arith.divsi")
    def twice(op: arith.DivSIOp, rewriter: Rewriter) -> bool:
        rewriter.replace_op(op, op.lhs)
        rewriter.erase_op(op)
        return True

    before = str(module)
    with pytest.raises(RewriteError, match=r"in use|twice"):
        twice(module)
    assert str(module) == before


@pytest.mark.parametrize("bad", [None, 3, [], object()])
def test_what_is_not_a_module(bad):
    with pytest.raises(ArgumentError, match="is not a module"):
        divide(bad)


def test_bad_declarations():
    wrong: Any = 3
    unknown: Any = "fast"
    with pytest.raises(ArgumentError, match="cannot name a pass"):
        rewrite("Fold it", on="arith.addi")(lambda op, rewriter: False)
    with pytest.raises(ArgumentError, match="upstream has a pass called canonicalize"):
        rewrite("canonicalize", on="arith.addi")(lambda op, rewriter: False)
    with pytest.raises(ArgumentError, match=r"\(op, rewriter, \*, \.\.\.\)"):
        rewrite("linalg-ext-test-bad", on="arith.addi")(lambda op: False)
    with pytest.raises(ArgumentError, match="cannot match on 3"):
        rewrite("linalg-ext-test-bad", on=wrong)(lambda op, rewriter: False)
    with pytest.raises(ArgumentError, match="driver"):
        rewrite("linalg-ext-test-bad", on=None, driver=unknown)(lambda op, rewriter: False)
    with pytest.raises(ArgumentError, match="two passes are called"):

        @rewrite("linalg-ext-test-divide", on=None)
        def other(op: ir.OpView, rewriter: Rewriter) -> bool:
            return False


FOLDABLE = """
func.func @g(%a: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %sum = arith.addi %a, %zero : i32
  %unused = arith.muli %a, %a : i32
  return %sum : i32
}
"""


@rewrite("linalg-ext-test-idle", on="func.return")
def idle(op: Any, rewriter: Rewriter) -> bool:
    """Do nothing."""
    return False


@rewrite("linalg-ext-test-idle-walk", on="func.return", driver="walk")
def idle_walk(op: Any, rewriter: Rewriter) -> bool:
    """Do nothing, without folding."""
    return False


def _in_a_pipeline(module: Module) -> Report:
    return run_pipeline(module, idle.pass_name).reports[0]


@pytest.mark.parametrize("run", [idle, _in_a_pipeline])
def test_what_folding_took_away_is_counted_apart(run: Any) -> None:
    module = Module.parse(FOLDABLE)
    report = run(module)
    assert "arith" not in str(module)
    assert report.changed.total() == 0
    assert report.folded == {"arith.constant": 1, "arith.addi": 1, "arith.muli": 1}
    assert not report
    assert "    0 changed      1 folded" in repr(report)
    again = run(module)
    assert not again.folded
    assert "folded" not in repr(again)


def test_what_folding_changed_in_place_is_counted_for_what_holds_it() -> None:
    text = """
    func.func @g(%a: i32) -> i32 {
      %one = arith.constant 1 : i32
      %sum = arith.addi %one, %a : i32
      return %sum : i32
    }
    """
    module = Module.parse(text)
    report = idle(module)
    assert "arith.addi %arg0, %c1_i32" in str(module)
    assert (report.folded, report.changed) == ({"builtin.module": 1}, {})


def test_folding_is_counted_beside_rewrites() -> None:
    module = Module.parse(FOLDABLE.replace("addi", "divsi").replace("constant 0", "constant 1"))

    @rewrite("linalg-ext-test-multiply", on="arith.muli")
    def multiply(op: arith.MulIOp, rewriter: Rewriter) -> bool:
        """Unused: it is folded away before it matches."""
        return False

    report = multiply(module)
    assert report.folded == {"arith.constant": 1, "arith.divsi": 1, "arith.muli": 1}


def test_a_walk_folds_nothing() -> None:
    module = Module.parse(FOLDABLE)
    assert not idle_walk(module)
    assert str(module) == str(Module.parse(FOLDABLE))


@pytest.mark.parametrize("driver", ["greedy", "walk"])
def test_a_rewrite_that_replaces_and_denies_it_is_counted(driver: Any, module: Module) -> None:
    @rewrite(f"linalg-ext-test-deny-{driver}", on="arith.divsi", driver=driver)
    def deny(op: arith.DivSIOp, rewriter: Rewriter) -> bool:
        """Replace an op and say that it did not."""
        rewriter.replace_op(op, arith.DivUIOp(op.lhs, op.rhs))
        return False

    report = deny(module)
    assert str(module).count("arith.divui") == 2
    assert report.changed == {"arith.divsi": 2}


@pytest.mark.parametrize("driver", ["greedy", "walk"])
def test_a_rewrite_that_changes_in_place_and_denies_it_is_told(driver: Any, module: Module) -> None:
    @rewrite(f"linalg-ext-test-mark-{driver}", on="arith.divsi", driver=driver)
    def mark(op: arith.DivSIOp, rewriter: Rewriter) -> bool:
        """Change an attribute and say that nothing changed."""
        op.attributes["seen"] = ir.UnitAttr.get()
        return False

    report = mark(module)
    assert "seen" in str(module)
    assert (report.changed.total(), report.folded.total()) == (0, 0)
    assert bool(report)
    assert report.uncounted
    assert "changed the module, and reported no change" in repr(report)
    assert not mark(module)


def test_an_exception_names_the_rewrite_the_op_and_its_place() -> None:
    @rewrite("linalg-ext-divides", on="arith.addi")
    def divides(op, rewriter):
        """Fail."""
        return 1 // 0

    module = Module.parse(
        "func.func @f(%x: i32) -> i32 {\n %y = arith.addi %x, %x : i32\n return %y : i32 }"
    )
    with pytest.raises(ZeroDivisionError) as caught:
        divides(module)
    assert caught.value.__notes__ == [
        'in the rewrite linalg-ext-divides, of arith.addi at loc("-":2:7)'
    ]


def test_a_rewrite_that_never_rests_says_what_it_may() -> None:
    @rewrite("linalg-ext-swaps", on="arith.subi")
    def swaps(op, rewriter):
        """Exchange the operands."""
        rewriter.replace_op(op, arith.subi(op.operands[1], op.operands[0]))
        return True

    module = Module.parse(
        "func.func @f(%x: i32, %y: i32) -> i32 {\n %z = arith.subi %x, %y : i32\n return %z : i32 }"
    )
    with pytest.raises(RewriteError, match="changed ops 10 times") as caught:
        swaps(module)
    assert "no change after at most 10 rounds" in str(caught.value)
