"""Payloads: whatever an element-wise loop computes on vectors is computed behind other ops, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from elementary_functions import REFERENCES
from kernels import entry_of, kernel
from linalg_ext.bindings import ir
from linalg_ext.bindings import math as math_dialect
from linalg_ext.transforms.codegen.base.payload import Payload, Step, has_vector_form, read_payload
from linalg_ext.transforms.codegen.vector_math.expand_vector_math import EXPANSIONS
from memrefs import integers

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Function:
    """A function of %t, and of a number for each channel: %y.

    Attributes:
        body: defines %r.
        expected: the same in NumPy, in f64.
        shift: what is added to numbers between -1 and 1 to make %t.
    """

    body: str
    expected: Callable[[Array, Array], Array]
    shift: float = 0.0


def one(name: str, expected: Callable[[Array], Array], shift: float = 0.0) -> Function:
    """A function of one number."""
    return Function(f"%r = {name} %t : f32", lambda t, _: expected(t), shift)


def two(name: str, expected: Callable[[Array, Array], Array], shift: float = 0.0) -> Function:
    """A function of two numbers."""
    return Function(f"%r = {name} %t, %y : f32", expected, shift)


def question(name: str, expected: Callable[[Array], Array]) -> Function:
    """A question; a third of a number is infinite, NaN, or what it is."""
    body = f"""
      %thirds = arith.divf %t, %y : f32
      %met = {name} %thirds : f32
      %r = arith.select %met, %y, %t : f32"""
    return Function(body, lambda t, y: np.where(expected(t / y), y, t))


def division(name: str, expected: Callable[[int, int], int]) -> Function:
    """A division of integers; by 0 it gives 0."""
    body = f"""
      %c100 = arith.constant 100.0 : f32
      %scaled = arith.mulf %t, %c100 : f32
      %n = arith.fptosi %scaled : f32 to i32
      %d = arith.fptosi %y : f32 to i32
      %q = {name} %n, %d : i32
      %r = arith.sitofp %q : i32 to f32"""

    def divided(t: Array, y: Array) -> Array:
        n, d = np.broadcast_arrays(np.trunc(100 * t).astype(int), y.astype(int))
        pairs = zip(n.ravel().tolist(), d.ravel().tolist(), strict=True)
        answers = [expected(one, other) if other else 0 for one, other in pairs]
        return np.reshape(answers, n.shape).astype(np.float64)

    return Function(body, divided, shift=1.5)


SHIFTS = {"acosh": 2.0, "log": 1.0, "log10": 1.0, "log2": 1.0}

FUNCTIONS: Mapping[str, Function] = {
    **{
        f"math.{name}": one(f"math.{name}", function, SHIFTS.get(name, 0.0))
        for name, function in REFERENCES.items()
    },
    "math.absf": one("math.absf", np.abs),
    "math.absi": Function(
        "%n = arith.bitcast %t : f32 to i32\n%m = math.absi %n : i32\n"
        "%a = arith.bitcast %m : i32 to f32\n%z0 = arith.constant 0.0 : f32\n"
        "%p = arith.cmpf olt, %t, %z0 : f32\n%r = arith.select %p, %t, %a : f32",
        lambda t, _: t,
    ),
    "math.atan2": two("math.atan2", np.arctan2),
    "math.ceil": one("math.ceil", np.ceil),
    "math.clampf": Function(
        "%low = arith.constant -0.25 : f32\n%r = math.clampf %t to [%low, %y] : f32",
        lambda t, y: np.minimum(np.maximum(t, -0.25), y),
    ),
    "math.copysign": two("math.copysign", np.copysign),
    "math.floor": one("math.floor", np.floor),
    "math.fma": Function("%r = math.fma %t, %y, %t : f32", lambda t, y: t * y + t),
    "math.isfinite": question("math.isfinite", np.isfinite),
    "math.isinf": question("math.isinf", np.isinf),
    "math.isnan": question("math.isnan", np.isnan),
    "math.isnormal": question("math.isnormal", lambda x: np.isfinite(x) & (x != 0)),
    "math.powf": two("math.powf", np.power, 1.0),
    "math.roundeven": one("math.roundeven", np.rint, 1.5),
    "math.rsqrt": one("math.rsqrt", lambda t: 1 / np.sqrt(t), 1.0),
    "math.sqrt": one("math.sqrt", np.sqrt, 1.0),
    "math.trunc": one("math.trunc", np.trunc, 1.5),
    "arith.divf": two("arith.divf", np.divide),
    "arith.remf": two("arith.remf", np.fmod, 2.0),
    "arith.maximumf": two("arith.maximumf", np.maximum),
    "arith.minnumf": two("arith.minnumf", np.minimum),
    "arith.negf": one("arith.negf", np.negative),
    "arith.divsi": division("arith.divsi", lambda n, d: int(n / d)),
    "arith.floordivsi": division("arith.floordivsi", lambda n, d: n // d),
    "arith.ceildivsi": division("arith.ceildivsi", lambda n, d: -(-n // d)),
    "arith.remsi": division("arith.remsi", lambda n, d: n - d * int(n / d)),
}
"""Functions and, beyond those of math, what ought to go behind a convolution or a product."""


def test_every_function_of_vectors_is_here() -> None:
    ops = vars(math_dialect).values()
    names = {op.OPERATION_NAME for op in ops if hasattr(op, "OPERATION_NAME")}
    on_vectors = {name for name in names if has_vector_form(name, "f32")}
    assert on_vectors | EXPANSIONS.keys() <= FUNCTIONS.keys()


@dataclass(frozen=True)
class Producer:
    """What computes the results that a function is applied to: of -32 to 32, channels last.

    Attributes:
        shapes: of its operands, and of its result.
        text: fills %c, given `ins`.
        start: what its results start from.
        expected: what they are.
    """

    shapes: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
    text: str
    start: str
    expected: Callable[[Array, Array], Array]


def windows_of(x: Array) -> Array:
    """Those of 3 x 3 elements, the places in a window last."""
    return np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(1, 2))


PRODUCERS: Mapping[str, Producer] = {
    "contraction": Producer(
        ((23, 30), (30, 37), (23, 37)), "linalg.matmul", "0.0", lambda x, k: x @ k
    ),
    "convolution": Producer(
        ((1, 7, 9, 3), (3, 3, 3, 21), (1, 5, 7, 21)),
        "linalg.conv_2d_nhwc_hwcf",
        "0.0",
        lambda x, k: np.einsum("nhwcyx,yxcf->nhwf", windows_of(x), k),
    ),
    "depthwise convolution": Producer(
        ((1, 7, 9, 21), (3, 3, 21), (1, 5, 7, 21)),
        "linalg.depthwise_conv_2d_nhwc_hwc",
        "0.0",
        lambda x, k: np.einsum("nhwcyx,yxc->nhwc", windows_of(x), k),
    ),
    "pooling": Producer(
        ((1, 7, 9, 21), (3, 3), (1, 5, 7, 21)),
        "linalg.pooling_nhwc_max",
        "0xFF800000",
        lambda x, _: windows_of(x).max((-2, -1)),
    ),
}


def tensor(shape: tuple[int, ...]) -> str:
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


def text(producer: Producer, function: Function) -> str:
    """A function of another op's results, divided by 32 and shifted."""
    x, k, c = map(tensor, producer.shapes)
    channels = producer.shapes[2][-1]
    dims = "bhwc"[-len(producer.shapes[2]) :]
    place = f"affine_map<({', '.join(dims)}) -> ({', '.join(dims)})>"
    channel = f"affine_map<({', '.join(dims)}) -> (c)>"
    kinds = ", ".join(['"parallel"'] * len(dims))
    return f"""
    func.func @f(%x: {x}, %k: {k}, %channels: tensor<{channels}xf32>) -> {c} {{
      %start = arith.constant {producer.start} : f32
      %scale = arith.constant 0.03125 : f32
      %shift = arith.constant {function.shift} : f32
      %e = tensor.empty() : {c}
      %f = linalg.fill ins(%start : f32) outs(%e : {c}) -> {c}
      %c = {producer.text} ins(%x, %k : {x}, {k}) outs(%f : {c}) -> {c}
      %r = linalg.generic {{indexing_maps = [{place}, {channel}, {place}],
                           iterator_types = [{kinds}]}}
        ins(%c, %channels : {c}, tensor<{channels}xf32>) outs(%e : {c}) {{
      ^bb0(%in: f32, %y: f32, %out: f32):
        %s = arith.mulf %in, %scale : f32
        %t = arith.addf %s, %shift : f32
        {function.body}
        linalg.yield %r : f32
      }} -> {c}
      return %r : {c}
    }}"""


@pytest.mark.parametrize("producer", PRODUCERS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_is_an_epilogue(name: str, producer: str) -> None:
    function, made = FUNCTIONS[name], PRODUCERS[producer]
    compiled = kernel(text(made, function))
    stage = compiled.as_text("loops")
    assert "scf.for" not in entry_of(compiled)
    plan = str(compiled.explain()) if producer == "contraction" else stage
    _, found, row = plan.partition("epilogue ")
    assert found
    assert name.partition(".")[2] in row.partition("\\0A" if plan is stage else "\n")[0]
    x = np.clip(integers(*made.shapes[0]), -1, 1)
    k = np.clip(integers(*made.shapes[1], seed=1), -1, 1)
    numbers = [1, 2, 0.5, 3] if "pow" in name else [0, 1, 2, 0.5, 3]
    y = np.resize(np.array(numbers, np.float32), made.shapes[2][-1])
    with np.errstate(all="ignore"):
        t = made.expected(x, k).astype(np.float64) / 32 + function.shift
        expected = function.expected(t, y.astype(np.float64))
    np.testing.assert_allclose(compiled(x, k, y), expected, rtol=1e-6, atol=1e-6)


BODY = """
  ^bb0(%a: f32, %b: f32, %o: f32):
    %half = arith.constant 0.5 : f32
    %p = arith.mulf %a, %b : f32
    %q = arith.mulf %a, %half : f32
    %s = arith.addf %p, %q : f32
    %t = arith.addf %s, %q : f32
    linalg.yield %t : f32"""


def generic(body: str, element: str = "f32") -> Any:
    """A generic of two inputs and an output with a body."""
    maps = ", ".join(["affine_map<(i) -> (i)>"] * 3)
    type_ = f"memref<8x{element}>"
    module = ir.Module.parse(f"""
    func.func @f(%x: {type_}, %y: {type_}, %z: {type_}, %given: {element}) {{
      linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel"]}}
        ins(%x, %y : {type_}, {type_}) outs(%z : {type_}) {{ {body} }}
      return
    }}""")
    return module, next(iter(module.body.operations)).regions[0].blocks[0].operations[0]


def read(body: str, element: str = "f32") -> Payload | str:
    with ir.Context(), ir.Location.unknown():
        _, op = generic(body, element)
        known = {value: at for at, value in enumerate(op.regions[0].blocks[0].arguments)}
        return read_payload(op, known, len(known))


def test_steps_are_numbered_after_the_inputs() -> None:
    payload = read(BODY)
    assert isinstance(payload, Payload)
    assert payload.summary == "mulf mulf addf addf"
    assert [step.operands for step in payload.steps] == [
        (0, 1), (0, "5.000000e-01 : f32"), (3, 4), (5, 4),
    ]  # fmt: skip
    assert payload.result == 6
    assert [payload.reads(at) for at in range(3)] == [True, True, False]
    assert payload.bits == 32
    assert not payload.is_long


def test_sums_of_products_round_once_where_nobody_else_reads_the_product() -> None:
    payload = read(BODY)
    assert isinstance(payload, Payload)
    contracted = payload.contracted()
    assert contracted.summary == "mulf fma addf"
    assert contracted.steps[1] == Step("vector.fma", "", (0, 1, 3), ("f32",) * 3, "f32")
    assert contracted.result == 5


@pytest.mark.parametrize(
    ("why", "element", "body"),
    [
        ("has no form on vectors", "f32", "%r = math.round %a : f32"),
        ("linalg.index on positions", "f32", """
            %i = linalg.index 0 : index
            %n = arith.index_cast %i : index to i32
            %r = arith.sitofp %n : i32 to f32"""),
        ("has several results", "i32", "%r, %h = arith.mulsi_extended %a, %b : i32"),
        ("reads a value from outside", "f32", "%r = arith.addf %a, %given : f32"),
        ("arith.extf on f80", "f32", """
            %w = arith.extf %a : f32 to f80
            %r = arith.truncf %w : f80 to f32"""),
    ],
)  # fmt: skip
def test_what_cannot_be_on_vectors(why: str, element: str, body: str) -> None:
    arguments = ", ".join(f"%{name}: {element}" for name in "abo")
    found = read(f"^bb0({arguments}): {body}\nlinalg.yield %r : {element}", element)
    assert isinstance(found, str)
    assert why in found


def test_a_constant_is_no_payload() -> None:
    body = "^bb0(%a: f32, %b: f32, %o: f32):\n%r = arith.constant 1.0 : f32\nlinalg.yield %r : f32"
    assert read(body) == "the body yields a constant"
