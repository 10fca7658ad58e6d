"""The rules for sentences hold in the whole project, and find what they are for."""

from __future__ import annotations

import re

import pytest

from resources import project_files
from sentences import GLOSSARY, Text, avoided, broken, comments, faults, texts, vague_names

ODD = (
    ("docstring", "What an outer loop embeds into an inner one, that embeds further inwards."),
    ("docstring", "What ops give for tensors of which only the forms are known: learned once."),
    ("docstring", "What stands in a body is refused with the op around it."),
    ("docstring", "Of a part of nothing the last would lie before the first."),
    ("docstring", "An array that was given as `out=` is what it was."),
    ("docstring", "Keep it that no Python module has the ops of a dialect."),
    (
        "docstring",
        "Where the first is that equals what was found along an axis, or is not a number.",
    ),
    ("docstring", "A vector of every so-manieth element: nothing after the last of them is read."),
    ("docstring", "A kernel that lives in a process apart: its crash and its loops stay there."),
    ("page", "Run what nobody vouches for, as far as its limits allow."),
    ("docstring", "Whether it is one."),
    ("docstring", "cast: how inputs become what the result is of."),
    ("docstring", "A cache is checked first. What is there stays."),
    ("comment", "the result is what it was"),
    ("message", "the op reads what it wrote"),
    ("message", "'canonicalise' is no pass"),
    ("page", "Sets that are no rectangles are left."),
    ("page", "A step is checked first. What it makes is verified."),
    ("page", "A sentence " + "that goes on " * 12 + "is too long."),
    ("message", "it is on tensors"),
    ("message", "nothing is multiplied"),
    ("message", "its vectors have one element"),
    ("message", "there is no pass called 'canonicalise'"),
    ("message", "no op is called 'conv'"),
    ("text", "it counts in integers, or without signs"),
)
GOOD = (
    ("docstring", "Adding 1.5 * 2^mantissa leaves no fraction bits. It is defined for NaN."),
    ("docstring", "Whole rows, read through views that overlap."),
    ("docstring", "Offsets of the lanes, in elements."),
    ("docstring", "Return whether the array was written to since `begin`."),
    ("docstring", "what: the mistake, in one sentence."),
    ("docstring", "U. Drepper, What Every Programmer Should Know About Memory."),
    ("page", "A rewrite folds both. What does an op need? Its footprint has the parts."),
    ("comment", "There is no destination, and the window is no larger than the array."),
    ("page", "The inliner inlines all: 10,000 operations take LLVM 0.3 s at level 0, 15 s at 3."),
    ("message", "the operands are tensors, not buffers"),
    ("message", "'canonicalise' is not a pass"),
    ("message", "dimension d1 would index no operand"),
    ("message", "one of two results has no type"),
    ("text", "one for each dimension of the shape; [None] for rank 0"),
)


def test_the_project_keeps_the_rules() -> None:
    assert list(broken(project_files())) == []


@pytest.mark.parametrize(("kind", "content"), ODD)
def test_an_odd_sentence_is_found(kind: str, content: str) -> None:
    assert list(faults(Text(1, kind, content)))


@pytest.mark.parametrize(("kind", "content"), GOOD)
def test_a_good_sentence_is_none_of_them(kind: str, content: str) -> None:
    assert list(faults(Text(1, kind, content))) == []


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ('"""A module."""', "docstring"),
        ('X = 1\n"""A constant."""', "docstring"),
        ('raise ShapeError("a message", expected="rank 2")', "message"),
        ('report.leave(op.name, "a message")', "message"),
        ('def why():\n    return None if fits else f"{name} has {rank} axes"', "message"),
        ('LABELS = {"key": "a label"}', "text"),
    ],
)
def test_each_kind_of_text_is_found(source: str, kind: str) -> None:
    assert kind in {text.kind for text in texts(source)}


def test_code_is_no_sentence() -> None:
    example = "Add.\n\n    " + "%a = arith.addf %x, %y : f32\n    " * 9 + "\n\nThe end."
    assert list(faults(Text(1, "docstring", example))) == []


def test_the_glossary_defines_each_term_once() -> None:
    page = GLOSSARY.read_text(encoding="utf-8").partition("## Words to avoid")[0]
    terms = re.findall(r"^\| ([^|]+?) \| [^|]+ \|$", page, re.MULTILINE)
    terms = [term for term in terms if term not in ("term", "---")]
    assert len(terms) == len(set(terms)) > 60
    assert len(avoided()) > 15
    assert not set(terms) & set(avoided())


def test_comments_are_read_whole() -> None:
    source = "x = 1  # a size\n# Where the first\n# is that equals\ny = 2\n# another"
    assert [(text.line, text.content) for text in comments(source)] == [
        (1, "a size"),
        (2, "Where the first\nis that equals"),
        (5, "another"),
    ]


def test_names_that_say_nothing_are_found() -> None:
    source = "def what(found, count):\n    for each in found:\n        total = each\n"
    assert sorted(vague_names(source)) == [(1, "found"), (1, "what"), (2, "each")]
