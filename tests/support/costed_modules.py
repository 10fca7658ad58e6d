"""Small modules whose costs are asked, made of functions, and their groupings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import linalg_ext as lx
from linalg_ext import target
from linalg_ext.transforms.grouping import Insert, State, TargetModel, read_graph
from linalg_ext.transforms.grouping._graph import FREE

AVX2 = target.named("avx2")


def softmax(x: Any) -> Any:
    """Along rows."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def gelu(x: Any) -> Any:
    """By a hyperbolic tangent; it reads its argument four times."""
    return 0.5 * x * (1.0 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def traced(function: Callable[..., Any], *shapes: tuple[int, ...], dtype: str = "f32") -> State:
    """The ops of a function of arrays, none in a group."""
    return State(read_graph(module_of(function, *shapes, dtype=dtype)))


def module_of(
    function: Callable[..., Any], *shapes: tuple[int, ...], dtype: str = "f32"
) -> lx.Module:
    """A function of arrays as it is recorded."""
    kind = {"f32": np.float32, "f64": np.float64, "i32": np.int32}[dtype]
    arrays = [np.ones(shape, kind) for shape in shapes]
    found: lx.Module = lx.jit(function).lower(*arrays).module
    return found


def read(text: str) -> State:
    """The ops of a function in MLIR, none in a group."""
    return State(read_graph(lx.parse(text)))


def working(state: State) -> tuple[int, ...]:
    """The nodes that do something."""
    return tuple(n for n in range(len(state.graph.nodes)) if state.node(n).work.kind != FREE)


def together(state: State, **notes: Any) -> int:
    """Put all that does something into one group; its number."""
    items = tuple(item for item in state.children() if state.node(item).op != "arith.constant")
    state.apply(Insert(items, notes))
    return state.groups[-1]


def model(threads: int = 1) -> TargetModel:
    """Of a machine that is the same wherever tests run."""
    return TargetModel(AVX2, threads=threads)
