"""Schedules as users write them: choosing ops, mistakes, scripts and replays."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

import pytest

import linalg_ext as lx
from linalg_ext.bindings import interpreter, ir
from linalg_ext.errors import ArgumentError, NotationError, ScheduleError
from rewrite_texts import assert_same_results
from schedule_modules import TEXTS, module

TWO = TEXTS["generic"].replace("@main", "@other") + TEXTS["matmul"].replace(
    "%r = linalg.matmul", "%q = linalg.matmul {tag = 1 : i64}"
).replace("return", "%r = linalg.matmul ins(%a, %b : tensor<20x16xf32>, tensor<16x24xf32>) "
    "outs(%q : tensor<20x24xf32>) -> tensor<20x24xf32>\nreturn")  # fmt: skip


def _chosen(**given: Any) -> dict[str, int]:
    return dict(lx.Schedule(lx.parse(TWO, trusted=True)).match(**given).taken[-1].report.focus)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"op": "matmul"}, {"linalg.matmul": 2}),
        ({"op": "linalg.matmul", "position": -1}, {"linalg.matmul": 1}),
        ({"op": "matmul", "position": [0, 1]}, {"linalg.matmul": 2}),
        ({"attributes": {"tag": 1}, "op": "matmul", "where": None}, {}),
        ({"attributes": {"tag": "1 : i64"}}, {"linalg.matmul": 1}),
        ({"attributes": {"tag": None}}, {"linalg.matmul": 1}),
        ({"op": "negf"}, {"linalg.negf": 1}),  # and not arith.negf in its body
        ({"function": "other"}, {"linalg.negf": 1, "linalg.generic": 1}),
        ({"where": lambda op: len(op.operands) == 3}, {"linalg.generic": 1, "linalg.matmul": 2}),
        ({}, {"linalg.fill": 1, "linalg.generic": 1, "linalg.matmul": 2, "linalg.negf": 1}),
    ],
)
def test_ops_are_chosen(given: dict[str, Any], expected: dict[str, int]) -> None:
    if not expected:  # 1 alone is an i64 in MLIR's text, as 1 : i64 is
        expected = {"linalg.matmul": 1}
    assert _chosen(**given) == expected


MISTAKES: list[tuple[Callable[[lx.Schedule], Any], type[Exception], str]] = [
    (
        lambda s: s.match("conv"),
        ScheduleError,
        r"the module has no op called 'conv'\n.*linalg.matmul \(1\)",
    ),
    (lambda s: s.match(cast(Any, ["matmul"])), ArgumentError, r"op is \['matmul'\]"),
    (lambda s: s.match(attributes=cast(Any, "label")), ArgumentError, "attributes is 'label'"),
    (lambda s: s.match(position=cast(Any, "last")), ArgumentError, "position is"),
    (lambda s: s.match("matmul", position=3), ScheduleError, "position is 3; 1 ops match"),
    (lambda s: s.match(where=cast(Any, lambda op: 1)), ArgumentError, "where answers 1"),
    (lambda s: s.match(where=cast(Any, 3)), ArgumentError, "where is 3"),
    (lambda s: s.tile([1, 2, 3, 4]), ScheduleError, "sizes has 4 numbers; linalg.matmul has 3"),
    (lambda s: s.tile([8, -2]), ScheduleError, r"sizes\[1\] is -2"),
    (lambda s: s.tile([0, 0]), ScheduleError, "leaves every loop alone"),
    (lambda s: s.take("tile", "8"), ArgumentError, "sizes of tile is '8'"),
    (lambda s: s.tile([True]), ArgumentError, "sizes of tile is"),
    (lambda s: s.take("tile"), ArgumentError, "tile needs sizes"),
    (lambda s: s.take("tile", [8], size=3), ArgumentError, "tile has no argument 'size'"),
    (lambda s: s.take("tile", [8], sizes=[3]), ArgumentError, "tile got sizes twice"),
    (lambda s: s.take("tile", [8], [0], [1]), ArgumentError, "tile got 3 arguments"),
    (lambda s: s.tile([8, 8], [0, 0]), ScheduleError, "interchange .* is not an order of 2 loops"),
    (lambda s: s.take("tlie", [8]), ArgumentError, "did you mean tile"),
    (lambda s: cast(Any, s).tlie([8]), AttributeError, "did you mean tile"),
    (lambda s: s.parallelize(), ScheduleError, "got neither"),
    (lambda s: s.parallelize([0, 0, 4]), ScheduleError, "loop 2 is a reduction"),
    (lambda s: s.parallelize([4], mapping=["core_x"]), ScheduleError, "mapping has 'core_x'"),
    (lambda s: s.parallelize([4], mapping=["thread_x"] * 2), ScheduleError, "is for 1 loops"),
    (lambda s: s.fuse([4, 0, 4]), ScheduleError, "loop 2 is a reduction"),
    (lambda s: s.tile_reduction([4]), ScheduleError, "loop 0 is parallel"),
    (lambda s: s.split_reduction(5), ScheduleError, "factor is 5, but the reduction is 16 long"),
    (lambda s: s.split_reduction(4, 7), ScheduleError, "dimension is 7"),
    (lambda s: s.pack([2, -2, 2]), ScheduleError, r"sizes\[1\] is -2"),
    (lambda s: s.finer([0, 0, 7], "mmt4d"), ScheduleError, r"sizes is \[0, 0, 7\]"),
    (lambda s: s.finer([3]), ScheduleError, r"sizes\[0\] is 3; loop 0 runs 20 times"),
    (lambda s: s.finer([4], "conv_2d"), ScheduleError, "not linalg.conv_2d"),
    (lambda s: s.unroll(2), ScheduleError, "unroll needs a loop; 0 of scf.for"),
    (lambda s: s.tile([4]).unroll(1), ScheduleError, "factor is 1"),
    (lambda s: s.tile([4, 4]).unroll_and_jam(0), ScheduleError, "factor is 0"),
    (
        lambda s: s.tile([4, 4]).unroll_and_jam(2),
        ScheduleError,
        r"which carries values.*bufferize\(\) first",
    ),
    (lambda s: s.tile([5]).peel(), ScheduleError, "peel cannot be done"),
    (lambda s: s.lower_to_loops(), ScheduleError, "on buffers; this linalg.matmul makes tensors"),
    (lambda s: s.bufferize().match("matmul").fuse([4]), ScheduleError, "writes to buffers"),
    (lambda s: s.promote([5]), ScheduleError, "operands has 5"),
    (lambda s: s.promote([2], memory_space=3), ScheduleError, "operand 2 is the op's destination"),
    (
        lambda s: s.bufferize().match("matmul").promote(),
        ScheduleError,
        "not a view of a larger buffer",
    ),
    (lambda s: s.allocate("disk"), ScheduleError, "memory is 'disk'"),
    (lambda s: s.vectorize([8, 8, 8]), ScheduleError, r"sizes\[0\] is 8; loop 0 runs 20 times"),
    (lambda s: s.vectorize([64, 64, 64]), ScheduleError, "262144 iterations at once"),
    (lambda s: s.lower_vectors("fast"), ScheduleError, "contraction is 'fast'"),
    (lambda s: s.pad([8, 8, 9], 1.0), ScheduleError, "pads the reduction 2 with 1"),
    (lambda s: s.hoist_pads(), ScheduleError, "hoist_pads needs a loop"),
    (lambda s: s.specialize(), ScheduleError, "is specialized already"),
    (lambda s: s.call_library(), ScheduleError, "the step has no library to call"),
    (lambda s: s.tile_evenly(4, 3), ScheduleError, "loop is 4"),
    (lambda s: s.tile_continuously(0, 64), ScheduleError, "range of loop 0 is 20"),
    (lambda s: s.vectorize([32, 32, 16]).tile([4]), ScheduleError, "func.func is not one"),
]


@pytest.mark.parametrize(("step", "kind", "message"), MISTAKES)
def test_a_mistake_is_told_and_changes_nothing(
    step: Callable[[lx.Schedule], Any], kind: type[Exception], message: str
) -> None:
    one = module("matmul")
    schedule = lx.Schedule(one).match("matmul")
    with pytest.raises(kind) as caught:
        step(schedule)
    assert re.search(message, str(caught.value), re.DOTALL)
    # What went before the mistake is there, and what is there is sound.
    one.verify()
    if len(schedule.taken) == 1:
        assert str(one) == str(module("matmul"))


ARGMAX = """
func.func @main(%a: tensor<20x16xf32>, %c: tensor<20x1xi64>) -> tensor<20x1xi64> {
  %r = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, 0)>],
    iterator_types = ["parallel", "reduction"]
  } ins(%a : tensor<20x16xf32>) outs(%c : tensor<20x1xi64>) {
  ^bb0(%x: f32, %o: i64):
    INDEX
    %s = arith.addi %n, %o : i64
    linalg.yield %s : i64
  } -> tensor<20x1xi64>
  return %r : tensor<20x1xi64>
}
"""
INDEX = "%k = linalg.index 1 : index\n %n = arith.index_cast %k : index to i64"
VALUE = "%n = arith.fptosi %x : f32 to i64"


@pytest.mark.parametrize("body", [INDEX, VALUE], ids=["index", "constant in a map"])
def test_what_would_end_the_process_is_refused(body: str) -> None:
    one = lx.parse(ARGMAX.replace("INDEX", body), trusted=True)
    schedule = lx.Schedule(one).match("generic")
    message = "the results of linalg.index" if body == INDEX else "that list dimensions; operand 1"
    for step in (
        lambda: schedule.split_reduction(4),
        lambda: schedule.tile_reduction([0, 4]),
        lambda: schedule.pack([0, 4]),
    ):
        with pytest.raises(ScheduleError, match=message):
            step()


def test_an_error_shows_the_users_line() -> None:
    with pytest.raises(ScheduleError) as caught:
        lx.Schedule(lx.parse(TEXTS["matmul"], filename="net.mlir")).match("matmul").tile([-1])
    assert re.search(r"net\.mlir:4:8: .*linalg\.matmul ins\(", str(caught.value))
    assert "linalg_ext.schedule" not in str(caught.value)


def test_steps_need_ops() -> None:
    with pytest.raises(ScheduleError, match="choose them first"):
        lx.Schedule(module("matmul")).tile([4])


def test_a_module_that_changed_meanwhile_is_noticed() -> None:
    one = module("matmul")
    schedule = lx.Schedule(one).match("matmul")
    lx.transforms.tile(one, op="matmul", sizes=[4])
    with pytest.raises(ScheduleError, match="changed by something else"):
        schedule.tile([2])


def _scheduled() -> lx.Schedule:
    schedule = lx.Schedule(module("matmul")).match("matmul", function="main", position=0)
    return schedule.tile([5, 8], interchange=[1, 0]).allocate("stack").run("cse").simplify()


def test_the_script_replays() -> None:
    schedule = _scheduled()
    names: dict[str, Any] = {}
    exec(str(schedule), names)
    again = module("matmul")
    replayed = names["schedule"](again)
    assert str(again) == str(schedule.module)
    assert str(replayed) == str(schedule)
    assert '.match("matmul", function="main", position=[0])' in str(schedule)


def test_json_replays() -> None:
    schedule = _scheduled()
    again = module("matmul")
    assert lx.Schedule.from_json(schedule.to_json(), again).to_json() == schedule.to_json()
    assert str(again) == str(schedule.module)


def test_a_replay_takes_all_steps_or_none() -> None:
    schedule = lx.Schedule(module("matmul")).match("matmul").tile([4]).split_reduction(4)
    other = lx.parse(TEXTS["matmul"].replace("16x", "15x").replace("x16", "x15"), trusted=True)
    before = str(other)
    with pytest.raises(ScheduleError, match="the reduction is 15 long") as caught:
        schedule.replay(other)
    assert caught.value.__notes__ == ["in step 2 of the schedule: split_reduction(4)"]
    assert str(other) == before


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"linalg_ext.schedule": 1, "steps": [{}]}'])
def test_what_is_no_schedule_is_refused(text: str) -> None:
    with pytest.raises(NotationError, match="not a schedule"):
        lx.Schedule.from_json(text, module("matmul"))


def test_a_predicate_is_not_saved() -> None:
    schedule = lx.Schedule(module("matmul")).match(where=lambda op: op.name == "linalg.matmul")
    with pytest.raises(NotationError, match="holds a function"):
        schedule.to_json()


def test_the_transform_dialect_says_the_same() -> None:
    schedule = lx.Schedule(module("matmul")).match("matmul").tile([5, 8]).unroll(2).pad([8, 8])
    again = module("matmul")
    with again.context, ir.Location.unknown():
        script = ir.Module.parse(schedule.to_transform())
        interpreter.apply_named_sequence(again.ir.operation, script.body.operations[0], script)
    assert re.sub(r" \{linalg_ext\.schedule_\d+\}", "", str(again)) == str(schedule.module)


def test_the_table_shows_each_step() -> None:
    text = repr(lx.Schedule(module("matmul")).match("matmul").tile([5, 8]).unroll(2))
    assert text.splitlines()[2:] == [
        "  tile([5, 8])     linalg.matmul (1)",
        "  unroll(2)        linalg.matmul (3)",
    ]


def test_a_report_names_what_it_touched() -> None:
    report = lx.Schedule(module("matmul")).match("matmul").tile([5, 8]).taken[-1].report
    assert "linalg.matmul at -:4:8" in repr(report)


def test_steps_are_functions_and_passes() -> None:
    by_schedule, by_function, by_pass = (module("matmul") for _ in range(3))
    lx.Schedule(by_schedule).match("matmul").tile([4, 8])
    report = lx.transforms.tile(by_function, op="matmul", sizes=[4, 8])
    by_pass.run("linalg-ext-tile{op=matmul sizes=4,8}")
    assert str(by_schedule) == str(by_function) == str(by_pass)
    assert report.changed == {"linalg.matmul": 1}
    assert_same_results(module("matmul"), by_pass)


def test_a_schedule_lists_its_steps() -> None:
    schedule = lx.Schedule(module("matmul"))
    assert {"tile", "fuse", "vectorize", "match"} <= set(dir(schedule))
    assert "sizes" in str(schedule.tile.__signature__)  # type: ignore[attr-defined]
    assert "Put an op into" in (schedule.tile.__doc__ or "")
