"""One kernel of a graph, called on tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from linalg_ext.executable.kernel import Kernel
from linalg_ext.executable.signature import ArrayType
from linalg_ext.frameworks.modules import module_of
from linalg_ext.frameworks.torch.report import Report
from linalg_ext.frameworks.torch.requirements import torch
from linalg_ext.frameworks.torch.tensors import as_array, as_tensor
from linalg_ext.frameworks.torch.thread_pool import lent

if TYPE_CHECKING:
    from linalg_ext.module import Module


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
        run: takes the values of the placeholders, tensors or arrays in their memory, and gives
            the list of results.
        pieces: its kernels.
        report: what was compiled of it.
    """

    run: Callable[..., list[Any]]
    pieces: tuple[Piece, ...]
    report: Report

    @property
    def shapes(self) -> Sequence[tuple[int | None, ...] | None]:
        """The shapes that the kernel takes for the placeholders; empty for several kernels."""
        kernel = self.pieces[0].kernel if self.pieces and self.run is self.pieces[0] else None
        types = [each.type for each in kernel.signature.parameters] if kernel is not None else []
        return [type_.shape if isinstance(type_, ArrayType) else None for type_ in types]


class Piece:
    """One kernel, and how tensors become its arguments and its results tensors.

    Attributes:
        plan: which arguments and results.
        kernel: what runs; None where there is nothing to compute.
        key: what the kernel is kept under, if it is.
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
        """The results for the values of the placeholders."""
        found: Any = ()
        if self.kernel is not None:
            tensor = torch().Tensor
            arrays = [
                as_array(value, name) if isinstance(value, tensor) else value
                for value, name in zip(values, self.plan.names, strict=True)
            ]
            with lent(self._threads):
                if self._threads is None:
                    found = self.kernel(*arrays)  # native code takes this, and no keywords
                else:
                    found = self.kernel(*arrays, threads=self._threads)
            if self.plan.count == 1:
                found = (found,)
        return [_given(source, what, values, found) for source, what in self.plan.results]


def _given(source: str, what: Any, values: Sequence[Any], found: Sequence[Any]) -> Any:
    """One result, from the inputs or from what the kernel gave."""
    match source:
        case "tensor":
            return as_tensor(found[what])
        case "number":
            return np.asarray(found[what]).item()
        case "input":
            return values[what]
    return what
