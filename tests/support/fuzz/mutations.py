"""Changes of a module that leave it nearly one."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Callable, Sequence

from fuzz.seeds import seeds

_TOKEN = re.compile(r"\s+|[%@#!^]?[\w$.]+|->|.", re.DOTALL)
_NUMBER = re.compile(r"-?\d+")
_TYPE = re.compile(r"\b(?:[if]\d+|bf16|index|f8\w+|(?:tensor|memref|vector)<[^<>]*>)")
_OP = re.compile(
    r"\b(?:arith|linalg|tensor|memref|scf|math|vector|cf|func|llvm|affine|complex|"
    r"bufferization|linalg_ext|index)\.\w+"
)

_NUMBERS = (
    *("0", "1", "-1", "2", "3", "7", "255", "-128", "65536", "2147483647", "4294967296"),
    *("9223372036854775807", "-9223372036854775808", "18446744073709551616", "1" + 30 * "0"),
)
_TYPES = (
    *("f64", "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2", "i1", "i2", "i4", "i8", "i16", "i32"),
    *("i64", "i128", "index", "none", "complex<f32>", "si8", "ui8", "f80", "tf32", "vector<4xf32>"),
    *("tensor<?xf32>", "tensor<0xf32>", "tensor<*xf32>", "memref<?x?xf32>", "memref<4xi8, 1>"),
    *("memref<2x3xf32, strided<[?, ?], offset: ?>>", "tensor<3x4xi4>", "tensor<2xvector<4xf32>>"),
)
_WORDS = (
    *("?", "*", "unit", "true", "false", "dense<0.0>", "affine_map<(d0) -> (d0)>", "loc(unknown)"),
    *('"parallel"', '"reduction"', '"window"', "ins(", "outs(", "{", "}", "<", ">", "(", ")", ","),
    *("0x7F800000", "0x7FC00000", "1.0e400", "-0.0", "private", "\x00", "\u00e9", "// "),
)

Mutation = Callable[[str, random.Random], str]


def mutated(text: str, dice: random.Random) -> str:
    """A text with one change, or with a few."""
    for _ in range(dice.choice((1, 1, 1, 2, 2, 3, 5))):
        text = dice.choice(_MUTATIONS)(text, dice) or "\n"
    return text


def mutated_bytes(data: bytes, dice: random.Random) -> bytes:
    """Bytes with one change, or with a few."""
    changed = bytearray(data)
    for _ in range(dice.choice((1, 1, 2, 4, 16))):
        if not changed:
            break
        # What names and shapes are in comes first; the last half is mostly locations and strings.
        at = dice.randrange(len(changed))
        match dice.randrange(5):
            case 0:
                changed[at] ^= 1 << dice.randrange(8)
            case 1:
                changed[at] = dice.choice((0, 1, 0x7F, 0x80, 0xFE, 0xFF))
            case 2:
                del changed[at : at + dice.choice((1, 2, 8, 64))]
            case 3:
                changed[at:at] = changed[at : at + dice.choice((1, 2, 8, 64))]
            case _:
                other = dice.randrange(len(changed))
                changed[at : at + 4] = changed[other : other + 4]
    return bytes(changed)


def _drop_token(text: str, dice: random.Random) -> str:
    tokens = _TOKEN.findall(text)
    return "".join(_without(tokens, dice.randrange(len(tokens))))


def _without(tokens: Sequence[str], at: int) -> list[str]:
    return [token for number, token in enumerate(tokens) if number != at]


def _repeat_token(text: str, dice: random.Random) -> str:
    tokens = _TOKEN.findall(text)
    at = dice.randrange(len(tokens))
    return "".join([*tokens[:at], tokens[at], *tokens[at:]])


def _swap_tokens(text: str, dice: random.Random) -> str:
    tokens = _TOKEN.findall(text)
    one, other = dice.randrange(len(tokens)), dice.randrange(len(tokens))
    tokens[one], tokens[other] = tokens[other], tokens[one]
    return "".join(tokens)


def _swap_values(text: str, dice: random.Random) -> str:
    """Use another value of the module in one place."""
    return _replaced(
        text, dice, re.compile(r"%\w+"), lambda: dice.choice(re.findall(r"%\w+", text))
    )


def _insert_word(text: str, dice: random.Random) -> str:
    tokens = _TOKEN.findall(text)
    tokens.insert(dice.randrange(len(tokens) + 1), dice.choice(_WORDS))
    return "".join(tokens)


def _change_number(text: str, dice: random.Random) -> str:
    def other() -> str:
        found = _NUMBER.findall(text)
        near = str(int(dice.choice(found)) + dice.choice((-1, 1, 2))) if found else "0"
        return dice.choice((*_NUMBERS, near, near, near))

    return _replaced(text, dice, _NUMBER, other)


def _change_type(text: str, dice: random.Random) -> str:
    return _replaced(text, dice, _TYPE, lambda: dice.choice(_TYPES))


def _change_type_everywhere(text: str, dice: random.Random) -> str:
    """One type for another, wherever it stands: most such modules are valid still."""
    found = re.findall(r"\b(?:[if]\d+|bf16|index)\b", text)
    return re.sub(rf"\b{dice.choice(found)}\b", dice.choice(_TYPES[:20]), text) if found else text


def _change_size_everywhere(text: str, dice: random.Random) -> str:
    found = re.findall(r"(?<=[<x])\d+(?=x)", text)
    if not found:
        return text
    size = dice.choice(("0", "1", "2", "5", "17", "?", "4096"))
    return re.sub(rf"(?<=[<x]){dice.choice(found)}(?=x)", size, text)


def _change_op(text: str, dice: random.Random) -> str:
    return _replaced(text, dice, _OP, lambda: dice.choice(_op_names()))


def _drop_line(text: str, dice: random.Random) -> str:
    lines = text.splitlines()
    return "\n".join(_without(lines, dice.randrange(len(lines))))


def _repeat_line(text: str, dice: random.Random) -> str:
    lines = text.splitlines()
    lines.insert(dice.randrange(len(lines) + 1), dice.choice(lines))
    return "\n".join(lines)


def _swap_lines(text: str, dice: random.Random) -> str:
    lines = text.splitlines()
    one, other = dice.randrange(len(lines)), dice.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return "\n".join(lines)


def _foreign_line(text: str, dice: random.Random) -> str:
    lines = text.splitlines()
    lines.insert(dice.randrange(len(lines) + 1), dice.choice(dice.choice(seeds()).splitlines()))
    return "\n".join(lines)


def _cut_short(text: str, dice: random.Random) -> str:
    return text[: dice.randrange(len(text))]


def _replaced(
    text: str, dice: random.Random, pattern: re.Pattern[str], other: Callable[[], str]
) -> str:
    found = list(pattern.finditer(text))
    if not found:
        return text
    place = dice.choice(found)
    return text[: place.start()] + other() + text[place.end() :]


@functools.cache
def _op_names() -> tuple[str, ...]:
    return tuple(sorted({name for text in seeds() for name in _OP.findall(text)}))


_MUTATIONS: tuple[Mutation, ...] = (
    *(_drop_token, _repeat_token, _swap_tokens, _insert_word, _cut_short),
    *(_drop_line, _repeat_line, _swap_lines, _foreign_line),
    # Those that leave it valid more often than not reach further: more of them.
    *2 * (_swap_values, _change_op),
    *3 * (_change_number, _change_type),
    *4 * (_change_type_everywhere, _change_size_everywhere),
)
