"""The same work for this project and its peers: what each runs, for one case.

A peer that is not installed is left out; `missing()` names it. Each gets its own arrays, made once,
and is run the way its users run it: NumPy as written, PyTorch in inference mode (`torch.compile`
needs a C++ compiler that few have at hand), JAX under `jit`, waited for.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.timing import Work

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]

PEERS = ("torch", "jax")
"""Besides NumPy."""


def installed() -> tuple[str, ...]:
    """The peers at hand, NumPy first."""
    return ("numpy", *(name for name in PEERS if importlib.util.find_spec(name)))


def missing() -> tuple[str, ...]:
    """The peers that are not installed."""
    return tuple(name for name in PEERS if not importlib.util.find_spec(name))


def work(peer: str, functions: Mapping[str, Function], arrays: Sequence[Array]) -> Work | None:
    """What a peer runs for a case; None where the case says nothing for it.

    Args:
        peer: its name.
        functions: for each peer, a function of its arrays; for JAX, of `jax.numpy` arrays.
        arrays: the operands.
    """
    function = functions.get(peer)
    if function is None:
        return None
    return _WORKS[peer](function, arrays)


def _numpy(function: Function, arrays: Sequence[Array]) -> Work:
    return lambda: function(*arrays)


def _torch(function: Function, arrays: Sequence[Array]) -> Work:
    import torch

    tensors = [
        # PyTorch does not know NumPy's bfloat16, which is not NumPy's own.
        torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
        if array.dtype.name == "bfloat16"
        else torch.from_numpy(array)
        for array in arrays
    ]

    def run() -> object:
        with torch.inference_mode():
            return function(*tensors)

    return run


def _jax(function: Function, arrays: Sequence[Array]) -> Work:
    import jax

    jax.config.update("jax_enable_x64", True)  # else float64 becomes float32
    compiled = jax.jit(function)
    operands = [jax.numpy.asarray(array) for array in arrays]
    return lambda: compiled(*operands).block_until_ready()


_WORKS: Mapping[str, Callable[[Function, Sequence[Array]], Work]] = {
    "numpy": _numpy,
    "torch": _torch,
    "jax": _jax,
}


def set_threads(threads: int) -> None:
    """Have every peer that is loaded use so many threads; what the environment says comes first."""
    if importlib.util.find_spec("torch"):
        import torch

        torch.set_num_threads(threads)


def environment(threads: int) -> dict[str, str]:
    """What must be set before a process starts, for its peers to use so many threads."""
    single = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    return {
        **dict.fromkeys(
            ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads)
        ),
        "XLA_FLAGS": single if threads == 1 else "",
        "JAX_PLATFORMS": "cpu",
    }
