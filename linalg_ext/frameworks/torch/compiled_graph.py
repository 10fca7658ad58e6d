"""A compiled graph: its options, its kernels called on tensors, the report of their ops."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from linalg_ext.errors import ArgumentError, SourceLocation
from linalg_ext.executable.kernel import CompilerOptions, Kernel
from linalg_ext.executable.signature import ArrayType
from linalg_ext.frameworks.kernels import module_of
from linalg_ext.frameworks.requirements import torch
from linalg_ext.frameworks.torch.tensors import as_array, as_tensor
from linalg_ext.runtime import threads
from linalg_ext.settings import Options as Settings

if TYPE_CHECKING:
    from linalg_ext.module import Module


@dataclass(frozen=True)
class Options:
    """Options of the compilation of graphs.

    Attributes:
        allow_fallback: True where ops that cannot be compiled are left to PyTorch.
        checked, opt_level: as in `lx.compile`.
        threads: the number of threads of each call; None for `lx.threads.current()`.
        packed: True where kernels take the parameters of products in strips; `"unwatched"` where
            the strips are rebuilt only after changes that PyTorch counts.

    Raises:
        ArgumentError: an option has another value.
    """

    allow_fallback: bool = False
    checked: bool | None = None
    opt_level: int | None = None
    threads: int | None = None
    packed: bool | Literal["unwatched"] = True

    def __post_init__(self) -> None:
        """Check the values before a model is traced, which may take long."""
        for name, accepted in _CHOICES.items():
            if not any(repr(getattr(self, name)) == repr(value) for value in accepted):
                raise ArgumentError(
                    f"{name} is {getattr(self, name)!r}",
                    expected=", ".join(map(repr, accepted)),
                )

    @property
    def is_checked(self) -> bool:
        """Return whether the code checks conditions that only the run can tell."""
        return Settings.current().checked if self.checked is None else self.checked

    def of_compiler(self, dtypes: Sequence[Any]) -> CompilerOptions:
        """Return the options of a kernel that gives results of these dtypes."""
        return CompilerOptions(self.is_checked, self.opt_level, result_dtypes=dtypes)


_CHOICES: Mapping[str, tuple[object, ...]] = {
    "allow_fallback": (True, False),
    "checked": (True, False, None),
    "opt_level": (0, 1, 2, 3, None),
    "packed": (True, False, "unwatched"),
}
"""The values of options that have a few."""


@dataclass(frozen=True)
class LeftToPyTorch:
    """An op that was left to PyTorch.

    Attributes:
        op: as PyTorch names it: `aten.median.dim`.
        where: the line of the model, if known.
        reason: the reason why it was not compiled.
        count: the number of nodes of this op at that line.
        is_called: True where a kernel calls it; else it runs between kernels.
    """

    op: str
    where: SourceLocation | None
    reason: str
    count: int = 1
    is_called: bool = False

    @property
    def verb(self) -> str:
        """Return the state of the op: called by a kernel, or left out of all kernels."""
        return "called, not compiled" if self.is_called else "left to PyTorch"

    def __str__(self) -> str:
        times = f" ({self.count} times)" if self.count > 1 else ""
        line = f"\n    {self.where}" if self.where is not None else ""
        return f"{self.op}{times}: {self.reason}{line}"


@dataclass(frozen=True)
class Report:
    """The report on one graph, or on several together.

    Attributes:
        nodes: the number of calls of functions in them.
        compiled: the number of those that run in kernels.
        kernels: the number of kernels.
        left: the ops left to PyTorch, those that kernels call among them.
        graphs: the number of graphs.
        breaks: the reasons why torch.compile began a new graph, each with its count.
    """

    nodes: int
    compiled: int
    kernels: int
    left: tuple[LeftToPyTorch, ...] = ()
    graphs: int = 1
    breaks: tuple[tuple[str, int], ...] = ()

    @property
    def share(self) -> float:
        """Return the part of the calls that runs in kernels, 0 to 1."""
        return self.compiled / self.nodes if self.nodes else 1.0

    def __str__(self) -> str:
        head = (
            f"{self.compiled} of {self.nodes} ops compiled, "
            f"in {self.kernels} kernel{'s' * (self.kernels != 1)}"
        )
        if self.graphs != 1:
            head += f" of {self.graphs} graphs"
        lines = [head]
        for verb in dict.fromkeys(op.verb for op in self.left):
            lines += [f"{verb}:", *(f"  {op}" for op in self.left if op.verb == verb)]
        if self.breaks:
            lines += [
                "graph breaks:",
                *(f"  {' '.join(why.split())[:160]} ({n})" for why, n in self.breaks),
            ]
        return "\n".join(lines)

    __repr__ = __str__


def joined(reports: Sequence[Report], breaks: Sequence[tuple[str, int]] = ()) -> Report:
    """Join several reports."""
    return Report(
        nodes=sum(report.nodes for report in reports),
        compiled=sum(report.compiled for report in reports),
        kernels=sum(report.kernels for report in reports),
        left=tuple(left for report in reports for left in report.left),
        graphs=len(reports),
        breaks=tuple(breaks),
    )


@dataclass(frozen=True)
class Plan:
    """The inputs and results of a kernel, as plain data.

    Attributes:
        names: the names of the inputs in errors.
        count: the number of results of the kernel.
        results: for each result of the graph its source and its place or value. An `"input"`,
            and a `"tensor"` or a `"number"` among the kernel's results, have a place. A
            `"constant"` has a value.
    """

    names: tuple[str, ...]
    count: int
    results: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class CompiledGraph:
    """A graph that has been compiled.

    Attributes:
        run: takes the values of the placeholders, tensors or arrays in their memory, and returns
            the list of results.
        pieces: its kernels.
        report: the ops that were compiled.
    """

    run: Callable[..., list[Any]]
    pieces: tuple[Piece, ...]
    report: Report

    @property
    def shapes(self) -> Sequence[tuple[int | None, ...] | None]:
        """Return the kernel's shapes for the placeholders; empty for several kernels."""
        kernel = self.pieces[0].kernel if self.pieces and self.run is self.pieces[0] else None
        types = (
            [parameter.type for parameter in kernel.signature.parameters]
            if kernel is not None
            else []
        )
        return [type_.shape if isinstance(type_, ArrayType) else None for type_ in types]


class Piece:
    """A kernel that is called on tensors.

    Attributes:
        plan: its arguments and results.
        kernel: the compiled code; None if there is nothing to compute.
        key: of the kernel in the cache, if it is kept.
    """

    def __init__(
        self, plan: Plan, kernel: Kernel | None, threads: int | None, key: str | None
    ) -> None:
        self.plan = plan
        self.kernel = kernel
        self.key = key
        self._threads = threads

    @cached_property
    def module(self) -> Module | None:
        """Linalg on tensors, as it was compiled."""
        return None if self.kernel is None else module_of(self.kernel)

    def __call__(self, *values: Any) -> list[Any]:
        """Return the results for the values of the placeholders."""
        results: Any = ()
        if self.kernel is not None:
            tensor = torch().Tensor
            arrays = [
                as_array(value, name) if isinstance(value, tensor) else value
                for value, name in zip(values, self.plan.names, strict=True)
            ]
            with lent(self._threads):
                if self._threads is None:
                    results = self.kernel(*arrays)  # native code answers calls without keywords
                else:
                    results = self.kernel(*arrays, threads=self._threads)
            if self.plan.count == 1:
                results = (results,)
        return [
            _graph_result(source, position, values, results)
            for source, position in self.plan.results
        ]


def _graph_result(source: str, position: Any, values: Sequence[Any], results: Sequence[Any]) -> Any:
    match source:
        case "tensor":
            return as_tensor(results[position])
        case "number":
            return np.asarray(results[position]).item()
        case "input":
            return values[position]
    return position


def lent(count: int | None) -> AbstractContextManager[object]:
    """Share calls inside the `with` block among PyTorch's threads, if it has as many.

    Args:
        count: the number of threads of the calls; None for `lx.threads.current()`.
    """
    thread_count = count or threads.current()
    if (
        thread_count < 2
        or torch().get_num_threads() != thread_count
        or not (team := _openmp_team())
    ):
        return nullcontext()
    return threads.lent(team)


@functools.cache
def _openmp_team() -> int:
    """Return the address of PyTorch's `GOMP_parallel`.

    0 if PyTorch's threads are not OpenMP's, or the function is not found.
    """
    package = torch()
    if not package.backends.openmp.is_available():
        return 0
    # The function is that of PyTorch's own library, unless another one is loaded globally.
    for path in (None, Path(package.__file__).parent / "lib" / "libtorch_cpu.so"):
        try:
            library = ctypes.CDLL(None if path is None else str(path), os.RTLD_NOLOAD)
            return ctypes.cast(library.GOMP_parallel, ctypes.c_void_p).value or 0
        except (AttributeError, OSError):
            continue
    return 0
