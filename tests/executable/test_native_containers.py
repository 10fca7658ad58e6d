"""Calls with containers, keywords, static arguments and numbers, answered natively."""

from __future__ import annotations

import enum
import gc
import pickle
import sys
import threading
from collections import OrderedDict, namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ArgumentError, ArityError, LinalgExtError
from native_calls import is_native, native_caller, records_of

Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module", autouse=True)
def _native() -> None:
    native_caller()


def floats(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float32)


Pair = namedtuple("Pair", "first second")


class Named(Pair):
    """A class of tuples with a method."""

    def swapped(self) -> Named:
        return Named(self.second, self.first)


@dataclass
class Layer:
    weights: Any
    bias: Any
    made: int = field(default=0, init=False)


@dataclass(frozen=True, slots=True)
class Slots:
    weights: Any
    bias: Any = None


class Color(enum.Enum):
    RED = 1
    BLUE = 2


A, B, C = floats(3), floats(3, seed=1), floats(3, seed=2)


@lx.jit
def of_dict(p: Any) -> Any:
    return p["a"] * p["b"] - p["c"]


@lx.jit
def of_nest(p: Any, q: Any) -> Any:
    return p[0]["w"] * q.weights - p[1][0] + q.bias[1]


@lx.jit
def of_named(x: Any, w: Any, b: Any) -> Any:
    return x * w - b


@lx.jit
def of_any(*rows: Any, scale: Any = 2.0, **more: Any) -> Any:
    total = rows[0] * scale
    for place, row in enumerate((*rows[1:], *more.values())):
        total = total * 2 - (place + 1) * row
    return total


def _static(x: Any, n: Any) -> Any:
    return x * n[0] if isinstance(n, tuple) else x * (2 if isinstance(n, Color | str) else n)


of_static = lx.jit(_static, static_argnames="n")


@lx.jit
def boxed(x: Any) -> Any:
    return {"sum": x + 1, "rest": (x * 2, [x - 1, None]), "pair": Pair(x, Layer(x + 2, x + 3))}


def _weighted(p: Any) -> Any:
    total: Any = 0.0
    for place, leaf in enumerate(_leaves(p)):
        total = total + (place + 1) * leaf
    return total


def _leaves(value: Any) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, tuple | list):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


SUM = lx.jit(_weighted)
TEN = lx.jit(_weighted)

CALLS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "a dict": (lambda: of_dict({"a": A, "b": B, "c": C}), lambda: A * B - C),
    "a dict of built keys": (
        lambda: of_dict({"".join(["a"]): A, "b": B, str(b"c", "ascii"): C}),
        lambda: A * B - C,
    ),
    "ten leaves": (
        lambda: TEN({f"w.{at}": A for at in range(10)}),
        lambda: sum((at + 1) * A for at in range(10)),
    ),
    "numbered keys": (lambda: TEN({1000 + at: A for at in range(4)}), lambda: 10 * A),
    "nested": (
        lambda: of_nest(({"w": A}, [B]), Layer(C, (A, B))),
        lambda: A * C - B + B,
    ),
    "slots": (lambda: of_nest([{"w": A}, (B,)], Slots(C, [A, B])), lambda: A * C - B + B),
    "a named tuple": (lambda: SUM(Pair(A, Pair(B, C))), lambda: A + 2 * B + 3 * C),
    "a derived one": (lambda: SUM(Named(A, B)), lambda: A + 2 * B),
    "None": (lambda: SUM((A, None, [B, {}])), lambda: A + 2 * B),
    "keywords": (lambda: of_named(A, b=C, w=B), lambda: A * B - C),
    "all by keyword": (lambda: of_named(w=A, b=B, x=C), lambda: C * A - B),
    "any number": (lambda: of_any(A, B, C), lambda: (A * 2 * 2 - B) * 2 - 2 * C),
    "any keywords": (
        lambda: of_any(A, k=B, scale=3.0, j=C),
        lambda: (A * 3 * 2 - B) * 2 - 2 * C,
    ),
    "a float": (lambda: of_named(A, 2.5, C), lambda: A * np.float32(2.5) - C),
    "an int": (lambda: of_named(A, B, 3), lambda: A * B - 3),
    "a bool": (lambda: SUM((A, True)), lambda: A + 2),
    "a number of NumPy's": (lambda: of_named(A, B, np.float32(3)), lambda: A * B - 3),
    "an int by keyword": (lambda: of_named(A, w=7, b=B), lambda: A * 7 - B),
    "numbers in a list": (lambda: SUM([A, 1.5, [2]]), lambda: A + np.float32(3) + 6),
    "a static int": (lambda: of_static(A, 3), lambda: A * 3),
    "a large static int": (lambda: of_static(A, int("1000")), lambda: A * 1000),
    "a static float": (lambda: of_static(A, float("2.5")), lambda: A * np.float32(2.5)),
    "a static keyword": (lambda: of_static(A, n=5), lambda: A * 5),
    "a static text": (lambda: of_static(A, "".join(["a", "b"])), lambda: A * 2),
    "a static tuple": (lambda: of_static(A, (int("400"), "x")), lambda: A * 400),
    "a static member": (lambda: of_static(A, n=Color.RED), lambda: A * 2),
}


@pytest.mark.parametrize("kind", CALLS)
def test_such_calls_are_native_once_they_come_again(kind: str) -> None:
    call, expected = CALLS[kind]
    wanted = expected()
    for _ in range(3):
        found = call()
        np.testing.assert_array_equal(found, wanted)
    assert is_native(call)
    assert call().dtype == found.dtype


def same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return bool(one.dtype == other.dtype and one.tobytes() == other.tobytes())
    if isinstance(one, Layer):
        return type(other) is Layer and same(vars(one), vars(other))
    if isinstance(one, dict):
        return list(one) == list(other) and same(list(one.values()), list(other.values()))
    if isinstance(one, tuple | list):
        alike = type(one) is type(other) and len(one) == len(other)
        return alike and all(map(same, one, other))
    return bool(one == other)


def test_results_are_contained_as_python_contains_them() -> None:
    wanted = boxed.__call__(A)
    for _ in range(2):
        boxed(A)
    found: list[Any] = []
    assert is_native(lambda: found.append(boxed(A)))
    assert same(found[0], wanted)
    out = boxed(B)
    inside = out["rest"][1][0]
    assert is_native(lambda: found.append(boxed(A, out=out)))
    assert found[1]["rest"][1][0] is inside
    assert same(found[1], wanted)
    assert same(out, wanted)


@pytest.mark.parametrize(
    "change",
    [
        lambda out: out.update(sum=None),
        lambda out: out.update(sum=np.empty(4, np.float32)),
        lambda out: out.update(sum=out["rest"][0]),
        lambda out: out.update(pair=tuple(out["pair"])),
        lambda out: out.update(more=1),
        lambda out: out.pop("pair"),
        lambda out: out["rest"][1].append(1),
        lambda out: out["sum"].setflags(write=False),
        lambda out: out.update(OrderedDict(pair=out.pop("pair"))),
    ],
)
def test_another_out_is_answered_as_python_answers_it(change: Any) -> None:
    for _ in range(3):
        boxed(A, out=boxed(B))
    answers = []
    for call in (boxed, boxed.__call__):
        out = boxed(B)
        change(out)
        try:
            answers.append(call(A, out=out))
        except LinalgExtError as error:
            answers.append(str(error))
    assert same(*answers)


def test_out_of_a_kernel_of_several_results() -> None:
    kernel = lx.jit(lambda x: (x + 1, x * 2)).lower(A).compile().kernel
    for _ in range(2):
        kernel(A)
    one, other = np.empty_like(A), np.empty_like(A)
    found: list[Any] = []
    assert is_native(lambda: found.append(kernel(A, out=(one, other))))
    assert found[0][0] is one
    assert found[0][1] is other
    np.testing.assert_array_equal(one, A + 1)
    np.testing.assert_array_equal(other, A * 2)
    with pytest.raises(LinalgExtError, match="shares memory"):
        kernel(A, out=(one, one))
    with pytest.raises(LinalgExtError, match="shares memory"):
        kernel(A, out=(A, one))


OTHERS: dict[str, Any] = {
    "another order": lambda: {"b": B, "a": A, "c": C},
    "one more": lambda: {"a": A, "b": B, "c": C, "d": A},
    "one less": lambda: {"a": A, "b": B},
    "an ordered dict": lambda: OrderedDict(a=A, b=B, c=C),
    "other keys": lambda: {"a": A, "b": B, 3: C},
    "a number": lambda: {"a": A, "b": B, "c": 2.0},
    "another shape": lambda: {"a": A, "b": B, "c": C[:1]},
    "another dtype": lambda: {"a": A, "b": B, "c": C.astype(np.float64)},
    "strides": lambda: {"a": A, "b": B, "c": np.repeat(C, 2)[::2]},
    "a list": lambda: {"a": A, "b": B, "c": C.tolist()},
    "a container": lambda: {"a": A, "b": B, "c": (C,)},
    "a subclass": lambda: {"a": A, "b": B, "c": np.ma.masked_array(C)},
    "a text": lambda: {"a": A, "b": B, "c": "C"},
    "a type": lambda: dict,
}


@pytest.mark.parametrize("kind", OTHERS)
def test_what_differs_is_answered_as_python_answers_it(kind: str) -> None:
    given = OTHERS[kind]()
    compiled = of_dict.lower({"a": A, "b": B, "c": C}).compile()
    for call in (of_dict, compiled):
        for _ in range(3):
            call({"a": A, "b": B, "c": C})
        answers = []
        for way in (call, call.__call__):
            try:
                answers.append(np.asarray(way(given)).tolist())
            except (LinalgExtError, KeyError, TypeError) as error:
                answers.append(f"{type(error)}: {error}")
        assert answers[0] == answers[1]


def test_what_has_changed_in_a_container_is_seen() -> None:
    layer, params = Layer(A, (B, C)), dict[str, Any](a=A, b=B, c=C)
    for _ in range(3):
        of_dict(params)
        of_nest(({"w": A}, [B]), layer)
    params["b"], layer.weights = C, B
    assert is_native(lambda: of_dict(params))
    np.testing.assert_array_equal(of_dict(params), A * C - C)
    np.testing.assert_array_equal(of_nest(({"w": A}, [B]), layer), A * B - B + C)
    del layer.weights
    with pytest.raises(AttributeError, match="weights"):
        of_nest(({"w": A}, [B]), layer)
    layer.weights = A.astype(np.float64)
    assert of_nest(({"w": A}, [B]), layer).dtype == np.float64
    params["c"] = np.float64(2)
    assert of_dict(params).dtype == np.float64


def test_a_class_whose_attributes_are_computed_goes_through_python() -> None:
    asked: list[str] = []

    @dataclass
    class Computed:
        weights: Any
        bias: Any

        def __getattribute__(self, name: str) -> Any:
            if name == "bias":
                asked.append(name)
            return super().__getattribute__(name)

    given = Computed(A, (B, C))
    for _ in range(4):
        asked.clear()
        found = of_nest(({"w": A}, [B]), given)
        np.testing.assert_array_equal(found, A * A - B + C)
        assert asked


STATICS = [1, 1.0, True, 0.0, -0.0, (1,), (1.0,), (True,), (2,), ((1),), "1", 1 << 70]


def test_equal_static_values_of_other_types_are_other_functions() -> None:
    """1 and 1.0 are equal, also within a tuple; the functions that they make are not."""

    def show(x: Any, n: Any) -> Any:
        return x * 0 + np.float32(len(repr(n)))

    function = lx.jit(show, static_argnames="n")
    for _ in range(3):
        for value in STATICS:
            assert function(A, value)[0] == len(repr(value)), repr(value)
            assert function(A, n=value)[0] == len(repr(value)), repr(value)


def test_a_static_value_that_may_change_goes_through_python() -> None:
    class Settings:
        def __init__(self, factor: int) -> None:
            self.factor = factor

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Settings) and self.factor == other.factor

        def __hash__(self) -> int:
            return self.factor

    function = lx.jit(lambda x, n: x * n.factor, static_argnames="n")
    settings = Settings(2)
    for _ in range(3):
        np.testing.assert_array_equal(function(A, settings), A * 2)
    settings.factor = 3
    np.testing.assert_array_equal(function(A, settings), A * 3)


def test_a_large_integer_is_another_type() -> None:
    for _ in range(3):
        assert of_named(A, B, (1 << 63) + 5).dtype == of_named.__call__(A, B, 1 << 63).dtype
        np.testing.assert_array_equal(of_named(A, B, 3), A * B - 3)
    with pytest.raises(LinalgExtError):
        of_named(A, B, 1 << 80)


def test_a_compiled_function_is_called_as_the_function_is() -> None:
    compiled = of_any.lower(A, B, k=C, scale=A).compile()
    expected = of_any(A, B, k=C, scale=A)
    calls: list[Callable[[], Any]] = [
        lambda: compiled(A, B, k=C, scale=A),
        lambda: compiled(A, B, scale=A, k=C),
    ]
    for call in calls:
        for _ in range(2):
            np.testing.assert_array_equal(call(), expected)
        assert is_native(call)
    static = of_static.lower(A, n=4).compile()
    for _ in range(2):
        np.testing.assert_array_equal(static(A), A * 4)
    assert is_native(lambda: static(A))
    np.testing.assert_array_equal(static(x=A), A * 4)
    for wrong in (lambda: static(A, 4), lambda: static(A, n=4), lambda: static()):
        with pytest.raises(ArityError):
            wrong()
    with pytest.raises(ArityError, match=r"expected 4: rows\[0\], rows\[1\], scale, more\['k'\]"):
        compiled(A, B, j=C, scale=A, other=B)


def test_a_compiled_function_takes_keywords_where_the_function_does() -> None:
    compiled = lx.jit(lambda x, *, w: x * w - x).lower(A, w=B).compile()
    for _ in range(3):
        np.testing.assert_array_equal(compiled(A, w=B), A * B - A)
        with pytest.raises(ArityError, match="too many positional arguments"):
            compiled(A, B)
        with pytest.raises(ArityError, match="missing a required argument: 'w'"):
            compiled(A)


def test_a_compiled_function_refuses_other_containers() -> None:
    """The same leaves in another order would be other numbers."""
    compiled = of_dict.lower({"a": A, "b": B, "c": C}).compile()
    for wrong in ({"c": C, "b": B, "a": A}, (A, B, C)):
        with pytest.raises(ArgumentError, match="containers as they were traced"):
            compiled(wrong)


def test_a_compiled_function_can_be_pickled() -> None:
    compiled = boxed.lower(A).compile()
    for _ in range(3):
        compiled(A)
    assert len(records_of(compiled)) == 1
    arrived = pickle.loads(pickle.dumps(compiled))
    for _ in range(3):
        assert same(arrived(A), boxed(A))
    assert len(records_of(arrived)) == 1


def test_a_method_of_a_dataclass_is_native() -> None:
    @dataclass
    class Model:
        weights: Any

        @lx.jit
        def run(self, x: Any) -> Any:
            return self.weights * x

    model: Any = Model(A)
    for _ in range(3):
        np.testing.assert_array_equal(model.run(B), A * B)
    run = model.run
    assert is_native(lambda: run(B))


def test_references_are_balanced() -> None:
    layer, params = Layer(A, (B, C)), {"a": A, "b": B, "c": C}
    nest, out = ({"w": A}, [B]), boxed(A)
    things: list[Any] = [layer, params, nest, out, A, B, C, Layer, Pair, dict, Color.RED]
    odd = {"a": A, "b": B, "c": np.repeat(C, 2)[::2]}

    def work(times: int) -> None:
        for _ in range(times):
            of_dict(params)
            of_nest(nest, layer)
            boxed(A, out=out)
            boxed(A)
            of_named(A, w=2.5, b=C)
            of_static(A, n=Color.RED)
            SUM(Named(A, B))

    def fail(times: int) -> None:
        for _ in range(times):
            of_dict(odd)  # fits but for the last of its arrays
            with pytest.raises(LinalgExtError):
                of_dict({"a": A, "b": B, "c": B[:2]})

    work(150)
    fail(20)
    gc.collect()
    before, blocks = list(map(sys.getrefcount, things)), sys.getallocatedblocks()
    work(3000)
    gc.collect()
    assert sys.getallocatedblocks() - blocks < 500
    fail(200)
    gc.collect()
    assert list(map(sys.getrefcount, things)) == before


def test_what_a_class_raises_in_making_a_result_is_raised() -> None:
    broken = False

    @dataclass
    class Picky:
        value: Any

        def __post_init__(self) -> None:
            if broken:
                raise ValueError("no")

    function = lx.jit(lambda x: (x + 1, [Picky(x * 2)], x))
    for _ in range(3):
        function(A)
    broken = True
    held = sys.getrefcount(A)
    for _ in range(50):
        with pytest.raises(ValueError, match="no"):
            function(A)
    assert sys.getrefcount(A) == held
    broken = False
    np.testing.assert_array_equal(function(A)[1][0].value, A * 2)


def test_threads_may_change_a_container_while_it_is_read() -> None:
    """Each call sees some array that was there, and no array goes while native code reads it."""
    size, rounds = 1 << 16, 300
    params = {"a": np.full(size, 1, np.float32), "b": np.full(size, 1, np.float32)}
    function = lx.jit(lambda p: p["a"] * 10 + p["b"])
    for _ in range(3):
        function(params)
    stop = threading.Event()
    wrong: list[Any] = []

    def change() -> None:
        while not stop.is_set():
            for value in (1, 2):
                params["b"] = np.full(size, value, np.float32)

    def call() -> None:
        for _ in range(rounds):
            found = function(params)
            if found[0] not in (11, 12) or (found != found[0]).any():
                wrong.append(found)

    changing = threading.Thread(target=change)
    calling = [threading.Thread(target=call) for _ in range(3)]
    for thread in (changing, *calling):
        thread.start()
    for thread in calling:
        thread.join()
    stop.set()
    changing.join()
    assert not wrong


def test_more_than_native_code_has_room_for_goes_through_python() -> None:
    many = [np.full(2, at, np.float32) for at in range(140)]
    function = lx.jit(lambda values: sum(values[1:], values[0]))
    for _ in range(3):
        np.testing.assert_array_equal(function(many), sum(range(140)))
    assert not is_native(lambda: function(many))
    for _ in range(2):
        np.testing.assert_array_equal(function(many[:100]), sum(range(100)))
    assert is_native(lambda: function(many[:100]))
