"""Descriptions of machines for code generation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from linalg_ext.errors import TargetError
from linalg_ext.target.features import BASELINE, DOT_PRODUCTS, DotProduct, check_features, without
from linalg_ext.target.text import bytes_text, table
from linalg_ext.utils.hooks import Shown

if TYPE_CHECKING:
    from linalg_ext.target.performance import Figures


_ELEMENT = r"(?:[su]?i|s|u|b?f)(\d+)|f8E\w+"

BASELINE_CPU: Mapping[str, str] = MappingProxyType({"x86_64": "x86-64", "aarch64": "generic"})
"""LLVM's name of the least CPU of each architecture."""

HUGE_PAGES = ("always", "madvise", "never")

NoteValue = bool | int | float | str | tuple[int, ...]
"""The value of a note, which one pass leaves in a description for later ones."""

Notes = tuple[tuple[str, NoteValue], ...]
"""Notes by name, in the order of their names."""

_NOTE_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")
_KINDS = (bool, int, float, str, tuple)
_Kind = TypeVar("_Kind", bool, int, float, str, tuple[int, ...])


def _check_positive(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise TargetError(f"{name} is {value!r}", expected="a whole number of at least 1")


def _check_figures(figures: object) -> None:
    # Most targets have none, and every process that calls a kernel makes one.
    from linalg_ext.target.performance import Figures

    if not isinstance(figures, Figures):
        raise TargetError(f"figures are {figures!r}", expected="Figures, or None")


@dataclass(frozen=True, slots=True)
class Cache:
    """A data or unified cache.

    Attributes:
        level: 1 is the nearest to the core.
        size: in bytes.
        line: in bytes.
        associativity: ways of a set.
        shared_by: how many logical cores use one such cache.
    """

    level: int
    size: int
    line: int = 64
    associativity: int = 8
    shared_by: int = 1

    def __post_init__(self) -> None:
        for name in ("level", "size", "line", "associativity", "shared_by"):
            _check_positive(f"{name} of a cache", getattr(self, name))

    @property
    def sets(self) -> int:
        """Number of sets: addresses `sets * line` bytes apart compete for the same ways."""
        return max(1, self.size // (self.line * self.associativity))

    def __str__(self) -> str:
        shared = f" for {self.shared_by} cores" if self.shared_by > 1 else ""
        return f"L{self.level} {bytes_text(self.size)}, {self.associativity} ways{shared}"


@dataclass(frozen=True, eq=True)
class Target(Shown, shown_as="target"):
    """A machine to generate code for.

    Attributes:
        name: `host`, one of `linalg_ext.target.names()`, or a name of your own.
        architecture: `x86_64` or `aarch64`.
        features: instruction set extensions, by LLVM's names.
        vector_bits: width of a vector register.
        vector_registers: how many there are.
        fma_units: how many fused multiply-adds (or, without the extension, multiplications and
            additions each) on whole vector registers a core begins in one cycle.
        fma_latency: cycles until the result of one can be used.
        caches: data and unified caches, the nearest first.
        logical_cores: how many threads can run at once.
        physical_cores: how many of these do not share a core's units.
        page_bytes: size of a page of memory.
        huge_page_bytes: size of a huge page; 0 where there are none.
        huge_pages: `always` for all memory, `madvise` for memory that asks for them, or `never`.
        cpu: LLVM's name of the CPU to schedule instructions for; empty if unknown. The features
            alone decide which instructions may be used.
        figures: its performance, if measured; see `target.figures`.
        notes: values that passes leave for later passes, by name.

    Raises:
        TargetError: two of these cannot be true together.
    """

    name: str
    architecture: str
    features: frozenset[str]
    vector_bits: int
    vector_registers: int
    fma_units: int = 2
    fma_latency: int = 4
    caches: tuple[Cache, ...] = (
        Cache(level=1, size=32 << 10),
        Cache(level=2, size=256 << 10),
        Cache(level=3, size=2 << 20, associativity=16),
    )
    logical_cores: int = 1
    physical_cores: int = 1
    page_bytes: int = 4096
    huge_page_bytes: int = 0
    huge_pages: str = "never"
    cpu: str = ""
    figures: Figures | None = None
    notes: Notes = ()

    def __post_init__(self) -> None:
        if self.architecture not in BASELINE:
            raise TargetError(
                f"architecture {self.architecture!r}", expected="one of " + ", ".join(BASELINE)
            )
        for name in (
            "vector_bits",
            "vector_registers",
            "fma_units",
            "fma_latency",
            "logical_cores",
            "physical_cores",
            "page_bytes",
        ):
            _check_positive(name, getattr(self, name))
        check_features(self.architecture, self.features)
        widest = widest_vector(self.architecture, self.features)
        if self.vector_bits > widest or self.vector_bits % 64:
            raise TargetError(
                f"vectors of {self.vector_bits} bits on a target whose widest are of {widest}",
                hint="name the extension that has them among the features",
            )
        if self.huge_pages not in HUGE_PAGES:
            raise TargetError(
                f"huge_pages is {self.huge_pages!r}", expected="one of " + ", ".join(HUGE_PAGES)
            )
        if self.figures is not None:
            _check_figures(self.figures)
        for name, value in self.notes:
            _check_note(name, value)
        levels = [cache.level for cache in self.caches]
        if not levels or levels != sorted(set(levels)):
            raise TargetError(
                f"caches of levels {levels}", expected="one at least, each level once, L1 first"
            )

    def lanes(self, dtype: object) -> int:
        """Return the number of elements that one vector register holds, at least 1.

        Args:
            dtype: MLIR's name of an element type (`f32`, `bf16`, `i8`), or a NumPy dtype.
        """
        return max(1, self.vector_bits // element_bits(dtype))

    @property
    def has_fma(self) -> bool:
        """Return whether a multiplication and an addition are one instruction, rounded once.

        If it is not, `vector.fma` becomes two, and `math.fma` a call of libm for each element.
        """
        return self.architecture == "aarch64" or "fma" in self.features

    @property
    def has_masks(self) -> bool:
        """Return whether masked loads and stores are instructions.

        They do not fault at elements that the mask excludes.
        """
        return bool({"avx", "sve"} & self.features)

    @property
    def has_mask_registers(self) -> bool:
        """Return whether masks have registers of their own, and cost no further instruction."""
        return bool({"avx512f", "sve"} & self.features)

    def flops_per_cycle(self, dtype: object) -> int:
        """Return the number of additions and multiplications of a core in one cycle."""
        return 2 * self.fma_units * self.lanes(dtype)

    def cache(self, level: int) -> Cache:
        """Return the cache of a level, or the last cache if there are fewer."""
        return next((cache for cache in self.caches if cache.level >= level), self.caches[-1])

    @cached_property
    def dot_products(self) -> tuple[DotProduct, ...]:
        """Return the instructions for products of narrow elements, the widest first."""
        return tuple(
            instruction for instruction in DOT_PRODUCTS if instruction.feature in self.features
        )

    @property
    def llvm_cpu(self) -> str:
        """Return LLVM's name of the least CPU of the architecture."""
        return BASELINE_CPU[self.architecture]

    @property
    def llvm_features(self) -> tuple[str, ...]:
        """Return LLVM's switches for the features; other extensions stay off."""
        return tuple(f"+{feature}" for feature in sorted(self.features))

    def without(self, *features: str) -> Target:
        """Return this machine without some extensions, and without all that builds on them.

        The widest vectors are those of the remaining extensions.

        Raises:
            TargetError: every CPU of the architecture has one of them.
        """
        remaining = without(self.architecture, self.features, features)
        if lost := sorted(BASELINE[self.architecture] - remaining):
            raise TargetError(f"every CPU of {self.architecture} has {', '.join(lost)}")
        bits = min(self.vector_bits, widest_vector(self.architecture, remaining))
        registers = min(self.vector_registers, vector_registers(self.architecture, remaining))
        return replace(
            self,
            name=f"{self.name} without {', '.join(features)}",
            features=remaining,
            vector_bits=bits,
            vector_registers=registers,
        )

    def with_note(self, name: str, value: NoteValue | None) -> Target:
        """Return this machine with one more note; None removes it.

        Raises:
            TargetError: the name or the value is not one of a note.
        """
        notes = {other: old for other, old in self.notes if other != name}
        if value is not None:
            notes[name] = value
        return replace(self, notes=tuple(sorted(notes.items())))

    def note(self, name: str, kind: type[_Kind]) -> _Kind | None:
        """Return the value of a note; None if no note has that name.

        Args:
            name: the pass that left the note and its subject, such as `fusion.tile_bytes`.
            kind: the type of the value: `bool`, `int`, `float`, `str` or `tuple`.

        Raises:
            TargetError: the value is of another type.
        """
        if kind not in _KINDS:
            names = ", ".join(kind_.__name__ for kind_ in _KINDS)
            raise TargetError(f"a note cannot be of type {kind!r}", expected=f"one of {names}")
        value = dict(self.notes).get(name)
        if value is not None and type(value) is not kind:
            raise TargetError(
                f"the note {name} says {value!r}, of type {type(value).__name__}",
                expected=f"one of type {kind.__name__}",
            )
        return value

    def missing_on(self, machine: Target) -> tuple[str, ...]:
        """Return the features that `machine` lacks to run code for this target.

        That is the architecture if it differs, or else the missing extensions.
        """
        if machine.architecture != self.architecture:
            return (self.architecture,)
        return tuple(sorted(self.features - machine.features))

    def description(self) -> dict[str, str]:
        """Return the facts about the machine as rows of a table: a name and a text each."""
        lanes = ", ".join(f"{self.lanes(dtype)} {dtype}" for dtype in ("f32", "f64"))
        unit = "FMA" if self.has_fma else "multiplication and addition"
        huge = "no huge ones"
        if self.huge_page_bytes:
            huge = f"huge ones of {bytes_text(self.huge_page_bytes)} ({self.huge_pages})"
        rows = {
            f"target {self.name}": f"{self.architecture} {self.cpu}".rstrip(),
            "cores": f"{self.logical_cores} ({self.physical_cores} physical)",
            "vectors": f"{self.vector_registers} of {self.vector_bits} bits: {lanes}",
            unit: f"{self.fma_units} a cycle, {self.fma_latency} cycles each",
            "dot products": "; ".join(map(str, self.dot_products)) or "none",
            "caches": "; ".join(map(str, self.caches)),
            "pages": f"{bytes_text(self.page_bytes)}, {huge}",
            "features": " ".join(sorted(self.features)),
        }
        if self.notes:
            rows["notes"] = "; ".join(f"{name} = {value!r}" for name, value in self.notes)
        return rows

    def __repr__(self) -> str:
        described = table(self.description().items())
        return described if self.figures is None else f"{described}\n{self.figures}"


def element_bits(dtype: object) -> int:
    """Return the width of an element type in bits: `bf16` is 16, `numpy.float64` is 64.

    Raises:
        TargetError: the type is not an element type of fixed width.
    """
    if isinstance(dtype, str):
        if dtype == "index":
            return 64
        if match := re.fullmatch(_ELEMENT, dtype):
            return int(match[1] or 8)
    try:
        return 8 * np.dtype(dtype).itemsize  # type: ignore[call-overload, no-any-return]
    except TypeError:
        raise TargetError(
            f"{dtype!r} is not an element type",
            expected="MLIR's name of one, such as f32, or a NumPy dtype",
        ) from None


def widest_vector(architecture: str, features: frozenset[str]) -> int:
    """Return the most bits that a vector register can have with these extensions."""
    if architecture == "aarch64":
        return 2048 if "sve" in features else 128
    if "avx512f" in features:
        return 512
    return 256 if "avx" in features else 128


def vector_registers(architecture: str, features: frozenset[str]) -> int:
    """Return the number of vector registers that instructions can name."""
    return 32 if architecture == "aarch64" or "avx512f" in features else 16


def _check_note(name: object, value: object) -> None:
    if not isinstance(name, str) or not _NOTE_NAME.fullmatch(name):
        raise TargetError(
            f"{name!r} cannot name a note",
            expected="an owner and a subject, such as `fusion.tile_bytes`",
        )
    is_tuple = isinstance(value, tuple) and all(type(item) is int for item in value)
    if not is_tuple and type(value) not in _KINDS[:-1]:
        raise TargetError(
            f"the note {name} says {value!r}",
            expected="a truth value, a number, a text, or a tuple of whole numbers",
        )
