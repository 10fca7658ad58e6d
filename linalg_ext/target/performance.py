"""Performance figures of a machine, from which cost models compute times.

They are measured (`calibrate`), read from a file, or made from a description (`analytic`). All are
of one core, unless they state otherwise, and of kernels as this library generates them. No loop
reaches the figures of a vendor's table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from linalg_ext.errors import TargetError
from linalg_ext.target.text import bytes_text, table

MEASURED, ANALYTIC = "measured", "analytic"

FUNCTIONS = ("simple", "divide", "sqrt", "exp", "log", "tanh", "erf", "sin", "pow")
"""Functions with figures; `simple` is an addition, a comparison or a conversion.

Other functions of mathematics take about as long as one of these: see `Figures.function_rate`.
"""

BESIDE_FUNCTIONS = 0.5
"""Part of the time of simple operations that functions in the same loop leave visible."""

TYPES = ("f32", "f64")
"""Element types that have figures of their own; others are taken for one of them by their width."""

_ALIKE: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("remainder", "reciprocal"), "divide"),
        **dict.fromkeys(("rsqrt", "cbrt"), "sqrt"),
        **dict.fromkeys(("exp2", "expm1", "sigmoid"), "exp"),
        **dict.fromkeys(("log2", "log10", "log1p"), "log"),
        **dict.fromkeys(("sinh", "cosh", "atanh", "acosh", "asinh"), "tanh"),
        **dict.fromkeys(("erfc",), "erf"),
        **dict.fromkeys(("cos", "tan", "sincos", "asin", "acos", "atan"), "sin"),
        **dict.fromkeys(("powf", "fpowi", "ipowi", "atan2"), "pow"),
    }
)


@dataclass(frozen=True)
class Level:
    """A level of memory.

    Attributes:
        name: `L1`, `L2`, ..., and `memory` for the last.
        size: bytes that one core finds there; 0 for memory, which has no bound.
        read: bytes a second that one core reads from it.
        write: bytes a second that one core writes to it.
        shared: bytes a second that all cores together read from it.
    """

    name: str
    size: int
    read: float
    write: float
    shared: float

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise TargetError(f"the name of a level of memory is {self.name!r}", expected="a text")
        if type(self.size) is not int or self.size < 0:
            raise TargetError(f"the size of {self.name} is {self.size!r}", expected="bytes, or 0")
        for name in ("read", "write", "shared"):
            check_figure(f"{name} of {self.name}", getattr(self, name))


@dataclass(frozen=True)
class Figures:
    """Performance figures of a machine: rates per second, and times.

    Attributes:
        source: `measured` or `analytic`, or the origin in your own words.
        levels: of memory, the nearest first; the last is memory itself.
        multiply_adds: for each element type, additions and multiplications a second by the widest
            instruction that does both: the peak.
        contractions: the same of a product of matrices that fits the caches, as this library
            generates it.
        windows: the same of a convolution.
        functions: for each of `FUNCTIONS`, results a second in loops over vectors of f32.
        crowding: the factor by which functions take longer where a loop has several: one waits for
            the other, or for registers.
        scalar: operations a second in loops that are not vectorized.
        nest: seconds to begin a nest of loops and its buffers, in a kernel that has others.
        loop: seconds to begin an innermost loop.
        call: seconds of a call of a kernel from Python.
        fork: seconds to start other threads, and to wait for the last of them.
        page: seconds to ask the system for a page of memory, write to it and give it back, beyond
            those of the bytes.
        page_bytes: the size of such a page.
        threads: the number of threads that can run at once.

    Raises:
        TargetError: a figure is missing, or is not a positive number.
    """

    source: str
    levels: tuple[Level, ...]
    multiply_adds: tuple[tuple[str, float], ...]
    contractions: tuple[tuple[str, float], ...]
    windows: tuple[tuple[str, float], ...]
    functions: tuple[tuple[str, float], ...]
    crowding: float
    scalar: float
    nest: float
    loop: float
    call: float
    fork: float
    page: float
    page_bytes: int
    threads: int

    def __post_init__(self) -> None:
        if not isinstance(self.source, str):
            raise TargetError(f"source is {self.source!r}", expected="a text")
        for name in ("crowding", "scalar", *TIMES):
            check_figure(name, getattr(self, name))
        for name in ("page_bytes", "threads"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise TargetError(f"{name} is {value!r}", expected="a whole number of at least 1")
        for name in PER_TYPE:
            _check_named(name, getattr(self, name), TYPES)
        _check_named("functions", self.functions, FUNCTIONS)
        if not self.levels or self.levels[-1].size:
            raise TargetError(
                "the figures have no level of memory without a bound",
                expected="levels, the nearest first, the last one of size 0",
            )
        sizes = [level.size for level in self.levels[:-1]]
        if sizes != sorted(sizes) or 0 in sizes:
            raise TargetError(f"levels of {sizes} bytes", expected="the nearest, least, first")

    def level_of(self, footprint: float) -> Level:
        """Return the nearest level that holds a number of bytes."""
        for level in self.levels:
            if footprint <= level.size:
                return level
        return self.levels[-1]

    def rate(self, what: str, dtype: str) -> float:
        """Return a figure of `multiply_adds`, `contractions` or `windows` for an element type.

        Args:
            what: the name of that field.
            dtype: MLIR's name of the type; types other than f32 and f64 go by their width.
        """
        rates: dict[str, float] = dict(getattr(self, what))
        return rates[dtype] if dtype in rates else rates["f64" if "64" in dtype else "f32"]

    def function_rate(self, function: str, dtype: str) -> float:
        """Return results a second of one of `FUNCTIONS`, or of a function by MLIR's name."""
        rates = dict(self.functions)
        rate = rates[function if function in rates else _ALIKE.get(function, "simple")]
        if "64" not in dtype:
            return rate
        # Half the lanes, and for a function of mathematics about half again as many terms.
        return rate / (2.0 if function in ("simple", "divide", "sqrt") else 3.0)

    def __str__(self) -> str:
        return table(self._rows())

    def _rows(self) -> Iterator[tuple[str, str]]:
        yield "figures", f"{self.source}, {self.threads} threads"
        for level in self.levels:
            size = bytes_text(level.size) if level.size else "all"
            yield (
                level.name,
                f"{size}: reads {_giga(level.read)} GB/s, writes {_giga(level.write)}; "
                f"all threads read {_giga(level.shared)}",
            )
        for name in PER_TYPE:
            rates = ", ".join(f"{_giga(rate)} {dtype}" for dtype, rate in getattr(self, name))
            yield name.replace("_", "-"), f"{rates} GFLOP/s"
        rates = ", ".join(f"{name} {_giga(rate)}" for name, rate in self.functions)
        yield "functions", f"{rates} G/s; several in a loop take {self.crowding:.2g} times as long"
        yield "scalar", f"{_giga(self.scalar)} G/s without vectors"
        yield "begins", ", ".join(f"{name} {getattr(self, name) * 1e9:.0f} ns" for name in _BEGINS)
        yield "fresh pages", f"{self.page * 1e9:.0f} ns for {bytes_text(self.page_bytes)}"


PER_TYPE = ("multiply_adds", "contractions", "windows")
"""The fields that have a figure for each element type."""

_BEGINS = ("nest", "loop", "call", "fork")

TIMES = (*_BEGINS, "page")
"""The fields that are seconds."""


def check_figure(name: str, value: object) -> None:
    """Raise TargetError unless a value is a positive, finite number."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value <= 0:  # type: ignore[operator,arg-type]
        raise TargetError(f"{name} is {value!r}", expected="a number above 0")


def _check_named(
    field: str, pairs: tuple[tuple[str, float], ...], required: tuple[str, ...]
) -> None:
    figures = dict(pairs)
    if missing := [name for name in required if name not in figures]:
        raise TargetError(
            f"the figures of {field} lack {', '.join(missing)}",
            expected="one for each of " + ", ".join(required),
            hint="lx.target.calibrate() measures all of them",
        )
    for name, value in pairs:
        check_figure(f"{field} of {name}", value)


def _giga(rate: float) -> str:
    return f"{rate / 1e9:.3g}"
