"""Every op that the wheel has in linalg, tensor and scf is asked every question."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable

from linalg_ext.bindings import ir
from linalg_ext.errors import LinalgExtError
from linalg_ext.structured import (
    DestinationStyle,
    StructuredInterface,
    check_destination_style,
    destination_style,
    interface,
    is_destination_style,
    is_structured,
)
from linalg_ext.symbolic.index_sets import Point
from op_instances import every_op, names_in_the_bindings, scratch

WITH_DESTINATIONS = {
    *("tensor.insert", "tensor.insert_slice", "tensor.scatter", "scf.for", "scf.forall"),
    *("linalg.softmax", "linalg.pack", "linalg.unpack"),
    *(f"linalg.winograd_{what}_transform" for what in ("filter", "input", "output")),
    *("bufferization.materialize_in_destination", "vector.transfer_write"),
    *("linalg_ext.contract", "linalg_ext.elementwise"),
}
"""The destination-style ops that are not structured ops of linalg."""

ACCESSORS = ("outputs", "inits", "init", "output", "dest", "initArgs", "base")
"""What upstream's own classes call the destinations."""


def test_no_op_of_the_wheel_is_missing() -> None:
    assert names_in_the_bindings() - {op.name for op in every_op()} == set()


def test_every_op_is_what_it_is_said_to_be() -> None:
    for op in every_op():
        is_structured = op.name.startswith("linalg.") and len(op.regions) > 0
        expected = is_structured or op.name in WITH_DESTINATIONS
        if expected != is_destination_style(op):
            assert op.name == "scf.for"  # one that carries a scalar
            assert not all(isinstance(v.type, ir.RankedTensorType) for v in list(op.operands)[3:])


def test_the_destinations_are_those_of_upstreams_own_classes() -> None:
    checked = set()
    for op in every_op():
        if not is_destination_style(op) or op.name.startswith("linalg_ext."):
            continue
        names = [name for name in ACCESSORS if isinstance(_accessor(op, name), property)]
        said = getattr(op.opview, names[0])
        found = [said] if isinstance(said, ir.Value) else list(said)
        asked = destination_style(op)
        assert list(asked.inits) == found, op.name
        assert len(asked.inputs) + len(found) == len(op.operands)
        checked.add(op.name)
    assert len(checked) > 100


def _accessor(op: ir.Operation, name: str) -> object:
    return getattr(type(op.opview), name, None)


def test_results_are_tied_to_inits_and_back() -> None:
    for op in every_op():
        if not is_destination_style(op):
            continue
        asked = destination_style(op)
        check_destination_style(op, inits=asked.init_positions)
        for number, position in enumerate(asked.init_positions):
            result = asked.tied_result(position)
            assert (result is None) == asked.has_buffer_semantics, op.name
            if result is not None:
                assert result == op.results[number]
                assert result.type == asked.init_types[number]
                assert asked.tied_init_position(result) == position
                assert asked.tied_init(number) == asked.inits[number]


def test_every_question_has_an_answer_or_a_located_error() -> None:
    questions = _questions()
    assert {"loops", "clone", "tied_result", "static_loop_ranges"} <= questions
    counts = Counter(_ask_about(op, questions) for op in every_op(buffers=False))
    assert counts["structured"] > 90
    assert counts["destination-style"] >= len(WITH_DESTINATIONS)
    assert counts["neither"] > 30


def _ask_about(op: ir.Operation, questions: set[str]) -> str:
    error = _refusal(interface, op)
    assert is_structured(op) == (error is None)
    if error is None:
        _ask(interface(op), questions)
        return "structured"
    assert op.name in str(error.where)
    error = _refusal(destination_style, op)
    if error is None:
        _ask(destination_style(op), questions)
        return "destination-style"
    assert op.name in error.what
    assert op.name in str(error.where)
    return "neither"


def _refusal(question: Callable[..., object], *arguments: object) -> LinalgExtError | None:
    """The error that a question is answered by; None where there is another answer."""
    try:
        question(*arguments)
    except LinalgExtError as error:
        return error
    return None


def _questions() -> set[str]:
    return {name for name, _ in inspect.getmembers(StructuredInterface) if name[0] != "_"}


def _ask(asked: DestinationStyle, questions: set[str]) -> None:
    """Ask all questions; what is built is taken away again."""
    for name in questions:
        member = getattr(type(asked), name, None)
        if isinstance(member, property):
            _answer(asked, name)
            continue
        if member is None or name in ("set_init", "set_segments", "bufferized"):
            continue  # they change the op, or need operands of another kind
        first = next(iter(list(inspect.signature(member).parameters)[1:]), None)
        if name == "iterations_touching":
            for position in range(len(asked.op.operands)):
                _answer(asked, name, position, Point((0,) * asked.rank(position)))
        elif first in ("operand", "init"):
            for position in range(len(asked.op.operands)):
                _answer(asked, name, position)
        elif first == "result":
            for result in asked.op.results:
                _answer(asked, name, result)
        elif name == "tied_operand":
            for argument in asked.op.regions[0].blocks[0].arguments if asked.op.regions else ():
                _answer(asked, name, argument)
        elif name == "can_drop":
            _answer(asked, name, range(len(asked.op.operands)))
        else:
            with scratch(asked.op):
                _answer(asked, name)
    assert asked.op.name in repr(asked)


def _answer(asked: DestinationStyle, name: str, *arguments: object) -> None:
    def ask() -> None:
        answer = getattr(asked, name)
        if callable(answer):
            answer(*arguments)

    if (error := _refusal(ask)) is not None:
        # Of an input that something only an init has is asked, or of a body where there is none.
        allowed = ("is an input", "has no body", "has no argument for operand")
        assert any(words in error.what for words in allowed), (name, error)
        assert asked.op.name in str(error.where)
