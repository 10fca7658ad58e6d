"""Numbers that are not known yet: their values and bounds by trying all values of their symbols."""

from __future__ import annotations

import doctest
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linalg_ext.errors import ArgumentError, ArgumentTypeError
from linalg_ext.symbolic import integers
from linalg_ext.symbolic.integers import (
    Expression,
    Number,
    Symbol,
    all_of,
    any_of,
    at_most,
    ceildiv,
    different,
    equal,
    evaluate,
    holds,
    is_eq,
    is_le,
    known_divisor,
    lower,
    maximum,
    minimum,
    negated,
    select,
    substitute,
    symbols_of,
    upper,
)

N = Symbol("n", lower=1, upper=9)
I = Symbol("i", lower=0, upper=N - 1)  # noqa: E741
J = Symbol("j", lower=0, upper=11, step=4)
K = Symbol("k", lower=-3, upper=4)
SYMBOLS = (N, I, J, K)

Built = tuple[Number, Callable[[dict[Any, int]], int]]
"""A number, and how plain integers compute the same."""


def _values() -> Iterator[dict[Any, int]]:
    """All values that the symbols can have together."""
    for n, j, k in itertools.product(range(1, 10), (0, 4, 8), range(-3, 5)):
        for i in range(n):
            yield {"n": n, "i": i, "j": j, "k": k}


ALL_VALUES = list(_values())
SOME_VALUES = ALL_VALUES[::17]


def _combined(children: st.SearchStrategy[Built]) -> st.SearchStrategy[Built]:
    def pair(kind: str, a: Built, b: Built, divisor: int) -> Built:
        (x, f), (y, g) = a, b
        match kind:
            case "+":
                return x + y, lambda v: f(v) + g(v)
            case "-":
                return x - y, lambda v: f(v) - g(v)
            case "*":
                return x * divisor, lambda v: f(v) * divisor
            case "product":
                return x * y, lambda v: f(v) * g(v)
            case "//":
                return x // divisor, lambda v: f(v) // divisor
            case "ceildiv":
                return ceildiv(x, divisor), lambda v: -(-f(v) // divisor)
            case "%":
                return x % divisor, lambda v: f(v) % divisor
            case "// n":
                return x // N, lambda v: f(v) // v["n"]
            case "% n":
                return x % N, lambda v: f(v) % v["n"]
            case "min":
                return minimum(x, y), lambda v: min(f(v), g(v))
            case "max":
                return maximum(x, y), lambda v: max(f(v), g(v))
        return select(at_most(x, y), x, 2), lambda v: f(v) if f(v) <= g(v) else 2

    kinds = st.sampled_from(
        ["+", "-", "*", "product", "//", "ceildiv", "%", "// n", "% n", "min", "max", "select"]
    )
    return st.builds(pair, kinds, children, children, st.integers(1, 6))


def _leaf(symbol: Symbol) -> Built:
    return symbol.number, lambda v: v[symbol.key]


def _constant(value: int) -> Built:
    return value, lambda v: value


BUILT = st.recursive(
    st.one_of(st.sampled_from(SYMBOLS).map(_leaf), st.integers(-5, 12).map(_constant)),
    _combined,
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(BUILT)
def test_a_number_has_the_value_and_the_bounds_that_integers_give(built: Built) -> None:
    number, value = built
    found = [value(each) for each in ALL_VALUES]
    assert [evaluate(number, each) for each in SOME_VALUES] == [value(v) for v in SOME_VALUES]
    lowest, highest, divisor = lower(number), upper(number), known_divisor(number)
    assert lowest is None or lowest <= min(found)
    assert highest is None or highest >= max(found)
    assert all(each % divisor == 0 if divisor else each == 0 for each in found)


@settings(max_examples=100, deadline=None)
@given(BUILT, BUILT)
def test_what_is_said_of_two_numbers_is_so_for_all_values(a: Built, b: Built) -> None:
    pairs = [(a[1](each), b[1](each)) for each in ALL_VALUES]
    below, same = is_le(a[0], b[0]), is_eq(a[0], b[0])
    assert below is None or {x <= y for x, y in pairs} == {below}
    assert same is None or {x == y for x, y in pairs} == {same}
    assert a[0] != b[0] or all(x == y for x, y in pairs)
    for values in SOME_VALUES[::5]:
        x, y = a[1](values), b[1](values)
        truth = any_of(all_of(at_most(*_n(a, b)), different(*_n(a, b))), equal(a[0], 3))
        assert holds(truth, values) == (x < y or x == 3)
        assert holds(negated(truth), values) == (not (x < y or x == 3))


def _n(a: Built, b: Built) -> tuple[Number, Number]:
    return a[0], b[0]


@settings(max_examples=100, deadline=None)
@given(BUILT, st.integers(0, len(ALL_VALUES) - 1))
def test_symbols_may_be_replaced_one_after_the_other(built: Built, at: int) -> None:
    number, values = built[0], ALL_VALUES[at]
    for key, value in values.items():
        number = substitute(number, {key: value})
        assert key not in {symbol.key for symbol in symbols_of(number)}
    assert number == built[1](values)


@settings(max_examples=100, deadline=None)
@given(st.permutations([N * 2, I.number, J * K, minimum(I, K), 7, -(N // 2)]))
def test_the_order_of_writing_does_not_tell_numbers_apart(parts: list[Number]) -> None:
    straight = [N * 2, I.number, K * J, minimum(K, I), 7, -(N // 2)]
    one, other = integers.total(parts), integers.total(straight)
    assert one == other
    assert hash(one) == hash(other)
    assert minimum(*parts) == minimum(*straight)


@pytest.mark.parametrize(
    ("folded", "expected"),
    [
        (minimum(4, 80 - Symbol("i", 0, 79, step=4)), 4),
        (I + minimum(4, N - I) - minimum(I + 4, N), 0),
        ((J * 8 + 2) // 4, J * 2),
        (J % 4, 0),
        ((4 * K + 6) % 4, 2),
        (6 * K // 4, 3 * K // 2),
        (K // 2 // 3, K // 6),
        (-(-K // 4), (K + 3) // 4),
        (I // N, 0),
        (I % N, I.number),
        (maximum(0, minimum(K, 9), 0), maximum(K, 0)),
        (select(at_most(I, N), K, J), K.number),
        (select(equal(K, 2), J, J), J.number),
        (equal(4 * K, 2), False),
        (Symbol("one", 3, 3) + 1, 4),
        (4 * (K // 4) + K % 4 - K, 0),
    ],
)
def test_what_is_decided_is_folded(folded: Any, expected: Any) -> None:
    equals = isinstance(folded, bool) or is_eq(folded, expected)
    assert folded == expected or equals is True


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (80 - I, "80 - i"),
        (I - 3, "i - 3"),
        (2 * (K // 3) - 4 * J, "2*(k // 3) - 4*j"),
        ((K + 1) % N, "(k + 1) % n"),
        (minimum(4, N - J), "min(4, n - j)"),
        (select(at_most(K, 0), I, 1), "select(k <= 0, i, 1)"),
    ],
)
def test_numbers_read_as_formulas(number: Number, text: str) -> None:
    assert str(number) == text


def test_a_loop_ends_where_its_step_reaches() -> None:
    assert Symbol("i", 0, 79, 4).upper == 76
    assert Symbol("i", 3, 3 + 8, 4).upper == 11


def test_an_answer_is_given_for_chains_too_long_to_search() -> None:
    symbols = [Symbol(f"s{at}", 0, 9) for at in range(24)]
    long = integers.total(minimum(s, 20 - t) for s, t in itertools.pairwise(symbols))
    assert isinstance(long, Expression)
    highest = upper(long)
    assert highest is None or highest >= 23 * 9


def test_the_examples_of_the_docstring_run() -> None:
    failures, count = doctest.testmod(integers)
    assert (failures, count > 3) == (0, True)


def test_a_symbol_without_a_value_is_named() -> None:
    with pytest.raises(ArgumentError, match=r"the value of i is not known, so `i \+ n`"):
        evaluate(I + N, {"n": 3})


@pytest.mark.parametrize("wrong", [1.5, "n", None, True, [1]])
def test_what_is_no_number_is_refused(wrong: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="is not an offset, size or stride"):
        I + wrong


@pytest.mark.parametrize("divisor", [0, -2])
def test_divisors_are_positive(divisor: int) -> None:
    refusal = f"// {divisor}` divides by a number that is not positive"
    for divide in (lambda: I // divisor, lambda: I % divisor, lambda: ceildiv(I, divisor)):
        with pytest.raises(ArgumentError, match=refusal):
            divide()


def test_a_minimum_of_nothing_and_a_step_of_nothing_are_refused() -> None:
    with pytest.raises(ArgumentError, match="minimum of no numbers"):
        minimum()
    with pytest.raises(ArgumentTypeError, match="step 0"):
        Symbol("i", 0, 4, step=0)
