"""Elementary functions on vectors: their largest errors, and their limits."""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from elementary_functions import REFERENCES
from kernels import kernel
from linalg_ext.module import Module
from linalg_ext.transforms.codegen.vector_math import expand_vector_math as file
from resources import skip_machine

LANES = 16
DTYPES: dict[str, Any] = {"f32": np.float32, "f64": np.float64}
INTEGERS: dict[str, Any] = {"f32": np.int32, "f64": np.int64}

STATED = {
    name: error
    for error, names in {
        1: ["cbrt"],
        1.25: ["exp", "exp2", "powf"],
        2: ["cos", "cosh", "erf", "expm1", "log", "log1p", "sin", "sinh"],
        3: ["acos", "asin", "atan", "atan2", "log10", "log2", "tanh"],
        4: ["acosh", "asinh", "atanh", "erfc", "tan"],
    }.items()
    for name in names
}
"""The largest error that the files state, in ulp."""

DIALECTS = {"remf": "arith"}
"""Of functions that are not of the dialect math."""

CASES = [(name, element) for element in DTYPES for name in REFERENCES]


@cache
def on_vectors(name: str, element: str, operands: int = 1) -> Any:
    """A kernel that applies a function to whole vectors of its arguments, into the last."""
    type_, row = f"memref<?x{element}>", f"vector<{LANES}x{element}>"
    arguments = "".join(f"%a{i}: {type_}, " for i in range(operands))
    given = ", ".join(f"%x{i}" for i in range(operands))
    loads = "\n".join(f"%x{i} = vector.load %a{i}[%j] : {type_}, {row}" for i in range(operands))
    return kernel(
        f"""
        func.func @f({arguments}%o: {type_}) {{
          %c0 = arith.constant 0 : index
          %step = arith.constant {LANES} : index
          %n = memref.dim %o, %c0 : {type_}
          scf.for %j = %c0 to %n step %step {{
            {loads}
            %r = {DIALECTS.get(name, "math")}.{name} {given} : {row}
            vector.store %r, %o[%j] : {type_}, {row}
          }}
          return
        }}""",
        opt_level=1,
    )


def applied(name: str, *arrays: Any) -> Any:
    """The function of arrays of any length."""
    size = arrays[0].size
    padded = [np.pad(array, (0, -size % LANES)) for array in arrays]
    out = np.empty_like(padded[0])
    element = "f32" if out.dtype == np.float32 else "f64"
    on_vectors(name, element, len(arrays))(*padded, out)
    return out[:size]


def inputs(element: str) -> Any:
    """Numbers of every exponent and sign, of each range that a function cares for, and odd ones."""
    dtype, integer = DTYPES[element], INTEGERS[element]
    rng = np.random.default_rng(0)
    info = np.iinfo(integer)
    bits = rng.integers(info.min, info.max, 1 << 18, dtype=integer, endpoint=True)
    finite = np.finfo(dtype)
    exponents = np.ldexp(np.ones(1), np.arange(finite.minexp - finite.nmant, finite.maxexp))
    ranges = [rng.uniform(-size, size, 1 << 15) for size in (0.5, 1, 2, 4, 10, 100, 800, 3e4)]
    near_one = 1 + rng.normal(0, 1e-3, 1 << 14)
    quarters = np.arange(-4000, 4000) * (np.pi / 4)
    tiny = [finite.tiny, finite.smallest_subnormal, np.nextafter(finite.tiny, dtype(0))]
    odd = [0, 1, 2, 0.5, np.inf, np.nan, finite.max, *tiny, 88.72284, 89, 104, 709.78271289, 746]
    parts = [exponents, 3 * exponents[:-2], *ranges, near_one, quarters, odd]
    positive = np.concatenate([np.asarray(part, dtype) for part in parts])
    return np.concatenate([bits.view(dtype), positive, -positive])


def errors(actual: Any, exact: Any) -> Any:
    """Distances to the exact values, in units in the last place of `actual`'s format."""
    dtype = actual.dtype
    rounded = exact.astype(dtype)
    alike = (np.isnan(actual) & np.isnan(rounded)) | (actual == rounded)
    unit = np.spacing(np.abs(rounded)).astype(np.longdouble)
    distance = np.abs(actual.astype(np.longdouble) - exact) / unit
    distance = np.where(alike & ~np.isfinite(rounded), 0, distance)
    return np.where(np.isnan(distance), np.inf, distance)


@pytest.mark.parametrize(("name", "element"), CASES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_errors_and_limits(name: str, element: str) -> None:
    x = inputs(element)
    wide = x.astype(np.float64 if element == "f32" else np.longdouble)
    if name in ("erf", "erfc"):
        x, wide = x[::8], wide[::8]
    actual = applied(name, x)
    exact = REFERENCES[name](wide).astype(np.longdouble)
    found = errors(actual, exact)
    worst = found.argmax()
    assert found[worst] <= STATED[name], f"{name}({x[worst]!r}) = {actual[worst]!r}"
    sure = ~np.isnan(actual)
    np.testing.assert_array_equal(np.signbit(actual)[sure], np.signbit(exact)[sure])


def odd_pairs(element: str) -> tuple[Any, Any]:
    """All pairs of numbers that a function of two may treat in its own way, and random bits."""
    finite = np.finfo(DTYPES[element])
    odd = [0, 1, 2, 3, 0.5, 1.5, np.inf, np.nan, finite.smallest_subnormal, finite.tiny]
    whole = 2.0 ** (finite.nmant + 1)
    odd += [finite.max, 1e30, whole - 1, whole, 2 * whole, whole / 2 - 0.5]
    both = np.array([*odd, *(-each for each in odd)], DTYPES[element])
    info = np.iinfo(INTEGERS[element])
    rng = np.random.default_rng(1)
    shape = (2, 1 << 16)
    bits = rng.integers(info.min, info.max, shape, INTEGERS[element]).view(DTYPES[element])
    first = np.concatenate([np.repeat(both, both.size), bits[0]])
    return first, np.concatenate([np.tile(both, both.size), bits[1]])


def check_pairs(name: str, x: Any, y: Any, exact: Any) -> None:
    actual = applied(name, x, y)
    found = errors(actual, exact)
    worst = found.argmax()
    assert found[worst] <= STATED[name], f"{name}({x[worst]!r}, {y[worst]!r})"
    sure = ~np.isnan(actual)
    np.testing.assert_array_equal(np.signbit(actual)[sure], np.signbit(exact)[sure])


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_powers(element: str) -> None:
    rng = np.random.default_rng(1)
    size = 1 << 16
    most = 38 if element == "f32" else 80
    x, y = odd_pairs(element)
    pairs = [
        (x, y),
        (10 ** rng.uniform(-most, most, size), rng.uniform(-40, 40, size)),
        (1 + rng.normal(0, 1e-3, size), rng.normal(0, 3e4, size)),
        (-np.abs(rng.normal(0, 3, size)), rng.integers(-30, 30, size)),
        # Results about as large and as small as there are.
        (rng.uniform(0.5, 2, size), rng.uniform(-4 * most, 4 * most, size)),
        (rng.uniform(0.7, 1.42, size), rng.uniform(-8 * most, 8 * most, size)),
    ]
    for one, other in pairs:
        base, exponent = one.astype(DTYPES[element]), other.astype(DTYPES[element])
        # In long double the exponent costs digits beside f64, but few where it is small.
        exact = np.power(base.astype(np.longdouble), exponent.astype(np.longdouble))
        check_pairs("powf", base, exponent, exact)


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_odd_power_in_one_lane_does_not_spoil_the_others(element: str) -> None:
    dtype = DTYPES[element]
    x = np.linspace(0.1, 9, LANES).astype(dtype)
    y = np.linspace(-7, 7, LANES).astype(dtype)
    cases = [(0, 2), (-2, 3), (-2, 0.5), (np.inf, -1), (np.nan, 0), (1, np.inf), (10, 1e4)]
    for lane in (0, 7, LANES - 1):
        for base, exponent in cases:
            bases, exponents = x.copy(), y.copy()
            bases[lane], exponents[lane] = base, exponent
            exact = np.power(bases.astype(np.longdouble), exponents.astype(np.longdouble))
            check_pairs("powf", bases, exponents, exact)


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_angles_of_points(element: str) -> None:
    rng = np.random.default_rng(2)
    x, y = odd_pairs(element)
    around = rng.uniform(-2, 2, (2, 1 << 16)).astype(DTYPES[element])
    for height, width in ((y, x), around):
        exact = np.arctan2(height.astype(np.longdouble), width.astype(np.longdouble))
        check_pairs("atan2", height, width, exact)


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_remainders_are_exact(element: str) -> None:
    rng = np.random.default_rng(3)
    dtype, size = DTYPES[element], 1 << 14
    most = np.finfo(dtype).maxexp
    scale = np.ldexp(1.0, rng.integers(-most, most - 1, (2, size)))
    pairs: list[Any] = [
        odd_pairs(element),
        rng.uniform(-100, 100, (2, size)),
        rng.normal(0, 1, (2, size)) * scale,
        (rng.integers(-(10**6), 10**6, size) * 0.1, np.full(size, 0.1)),
        (rng.integers(-(10**6), 10**6, size), rng.integers(1, 1000, size)),
    ]
    for one, other in pairs:
        x, y = (np.asarray(each, dtype) for each in (one, other))
        actual, exact = applied("remf", x, y), np.fmod(x, y)
        np.testing.assert_array_equal(actual, exact)
        sure = ~np.isnan(exact)
        np.testing.assert_array_equal(np.signbit(actual)[sure], np.signbit(exact)[sure])


def test_remainders_of_rows_call_no_library() -> None:
    run = on_vectors("remf", "f32", 2)
    assert "frem" not in run.as_text("llvm")


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_far_angles_in_one_lane_do_not_spoil_the_others(element: str) -> None:
    x = np.linspace(-3, 3, LANES).astype(DTYPES[element])
    for lane in (0, 7, LANES - 1):
        far = x.copy()
        far[lane] = 1e30
        expected = np.sin(far.astype(np.longdouble))
        assert errors(applied("sin", far), expected).max() <= STATED["sin"]


@pytest.mark.parametrize("function", ["math.tanh %x", "math.powf %x, %x"])
def test_rows_of_rows(function: str) -> None:
    text = f"""
    func.func @f(%a: memref<2x8xf32>, %o: memref<2x8xf32>) {{
      %c0 = arith.constant 0 : index
      %zero = arith.constant 0.0 : f32
      %x = vector.transfer_read %a[%c0, %c0], %zero : memref<2x8xf32>, vector<2x8xf32>
      %r = {function} : vector<2x8xf32>
      vector.transfer_write %r, %o[%c0, %c0] : vector<2x8xf32>, memref<2x8xf32>
      return
    }}"""
    a = np.linspace(-2, 2, 16, dtype=np.float32).reshape(2, 8)
    out = np.empty_like(a)
    kernel(text)(a, out)
    with np.errstate(invalid="ignore"):
        expected = np.tanh(a) if "tanh" in function else np.power(a, a)
    np.testing.assert_allclose(out, expected, rtol=5e-7)


INTEGERS_OF_64_BITS = np.array(
    [
        *(0, 1, -1, 2**31, -(2**31), 2**32 - 1, 2**32, -(2**32), 2**52, 2**53 + 1, -(2**53) - 1),
        *(2**53 + 3, 2**62 + 2**9, 2**62 + 2**9 + 1, 2**63 - 1, 2**63 - 513, -(2**63)),
        *np.random.default_rng(0).integers(-(2**63), 2**63 - 1, 1000, dtype=np.int64),
    ]
)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
@pytest.mark.parametrize("machine", ["avx2", "host"])
def test_integers_of_64_bits_are_rounded_once(dtype: Any, machine: str) -> None:
    if not lx.target.named(machine).features <= lx.target.host().features:
        skip_machine(machine)
    integers = INTEGERS_OF_64_BITS.view(dtype)
    with lx.target.using(machine):
        numbers = lx.jit(lambda x: x.astype(np.float64))(integers)
    np.testing.assert_array_equal(numbers, integers.astype(np.float64))
    assert not np.signbit(numbers[integers == 0]).any()


def test_what_is_left() -> None:
    module = Module.parse(
        """
        func.func @f(%s: f32, %h: vector<8xf16>, %d: vector<8xf64>, %t: vector<2x8xf32>)
            -> (f32, vector<8xf16>, vector<8xf64>, vector<2x8xf32>) {
          %0 = math.exp %s : f32
          %1 = math.exp %h : vector<8xf16>
          %2 = math.floor %d : vector<8xf64>
          %3 = math.sin %t : vector<2x8xf32>
          return %0, %1, %2, %3 : f32, vector<8xf16>, vector<8xf64>, vector<2x8xf32>
        }""",
        trusted=True,
    )
    before = str(module)
    report = file.expand_vector_math(module)
    assert not report
    assert str(module) == before
    reasons = set.union(*report.left.values())
    assert reasons == {
        "elements of f16",
        "a vector of another rank than 1",
    }


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_narrow_formats_go_by_way_of_f32(element: str) -> None:
    text = f"""
    func.func @f(%a: memref<16x{element}>, %o: memref<16x{element}>) {{
      %c0 = arith.constant 0 : index
      %x = vector.load %a[%c0] : memref<16x{element}>, vector<16x{element}>
      %r = math.tanh %x : vector<16x{element}>
      vector.store %r, %o[%c0] : memref<16x{element}>, vector<16x{element}>
      return
    }}"""
    dtype: Any = np.float16 if element == "f16" else ml_dtypes.bfloat16
    a = np.linspace(-2, 2, 16).astype(dtype)
    out = np.empty_like(a)
    run = kernel(text)
    run(a, out)
    np.testing.assert_array_equal(out, np.tanh(a.astype(np.float64)).astype(dtype))
    assert "tanhf" not in run.as_text("llvm")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_exponentials_of_all_numbers_of_f16() -> None:
    text = """
    func.func @f(%a: memref<65536xf16>, %o: memref<65536xf16>) {
      %c0 = arith.constant 0 : index
      %step = arith.constant 16 : index
      %n = arith.constant 65536 : index
      scf.for %j = %c0 to %n step %step {
        %x = vector.load %a[%j] : memref<65536xf16>, vector<16xf16>
        %r = math.exp %x : vector<16xf16>
        vector.store %r, %o[%j] : memref<65536xf16>, vector<16xf16>
      }
      return
    }"""
    a = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    out = np.empty_like(a)
    kernel(text)(a, out)
    exact = np.exp(a.astype(np.float64))
    rounded = exact.astype(np.float16)
    same = (out == rounded) | (np.isnan(out) & np.isnan(a))
    # Half-way between two numbers f32 may know too few digits: these are the next one.
    near = np.abs(exact - out.astype(np.float64)) <= 0.51 * np.spacing(np.abs(rounded))
    assert (same | near).all()
    assert np.count_nonzero(~same) < 10
