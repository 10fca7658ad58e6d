"""The same work for this project and its peers: the functions of each, for one case.

A peer that is not installed is left out; `missing()` names it. Each gets its own arrays, made once,
and is run the way its users run it: NumPy as written, PyTorch in inference mode, and the same
function through `torch.compile` (`inductor`, which needs a C++ compiler). JAX runs under `jit`,
waited for, and numba with `njit` and parallel loops. IREE compiles for this CPU the same linalg as
we do.
"""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from benchmarks.timing import Work

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]

PEERS = ("torch", "inductor", "jax", "numba", "iree")
"""Besides NumPy."""

_PARTS = {"iree": ("iree", "iree.compiler", "iree.runtime")}
"""The packages that a peer needs, where they are not one package of its name."""

_threads = 1


def installed() -> tuple[str, ...]:
    """The peers at hand, NumPy first."""
    return ("numpy", *(name for name in PEERS if _is_installed(name)))


def missing() -> tuple[str, ...]:
    """The peers that are not installed."""
    return tuple(name for name in PEERS if not _is_installed(name))


@cache
def _is_installed(name: str) -> bool:
    if name == "inductor":
        return _is_installed("torch") and any(map(shutil.which, ("c++", "g++", "clang++")))
    return all(importlib.util.find_spec(part) for part in _PARTS.get(name, (name,)))


def work(peer: str, functions: Mapping[str, Function], arrays: Sequence[Array]) -> Work | None:
    """Return the work of a peer for a case; None where the case has no function for it.

    Args:
        peer: its name.
        functions: for each peer, a function of its arrays; for JAX, of `jax.numpy` arrays; for
            IREE, one that gives the text of a module, whose one function takes the arrays;
            `inductor` compiles PyTorch's.
        arrays: the operands.
    """
    function = functions.get("torch" if peer == "inductor" else peer)
    if function is None:
        return None
    return _WORKS[peer](function, arrays)


def _numpy(function: Function, arrays: Sequence[Array]) -> Work:
    return lambda: function(*arrays)


def _torch(function: Function, arrays: Sequence[Array]) -> Work:
    import torch

    tensors = _tensors(arrays)

    def run() -> object:
        with torch.inference_mode():
            return function(*tensors)

    return run


def _inductor(function: Function, arrays: Sequence[Array]) -> Work:
    import torch

    # Each case is a program of its own: guards of another one's are not tried first.
    torch.compiler.reset()
    compiled = torch.compile(function, fullgraph=True)
    return _torch(compiled, arrays)


def _tensors(arrays: Sequence[Array]) -> list[Any]:
    import torch

    return [
        # PyTorch does not know NumPy's bfloat16, which is not NumPy's own.
        torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
        if array.dtype.name == "bfloat16"
        else torch.from_numpy(array)
        for array in arrays
    ]


def _jax(function: Function, arrays: Sequence[Array]) -> Work:
    import jax

    jax.config.update("jax_enable_x64", True)  # else float64 becomes float32
    compiled = jax.jit(function)
    operands = [jax.numpy.asarray(array) for array in arrays]
    return lambda: compiled(*operands).block_until_ready()


def _numba(function: Function, arrays: Sequence[Array]) -> Work:
    import numba

    compiled = numba.njit(function, parallel=_threads > 1)
    return lambda: compiled(*arrays)


def _iree(function: Function, arrays: Sequence[Array]) -> Work:
    import iree.compiler
    import iree.runtime

    flags = ["--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3"]
    code = iree.compiler.compile_str(
        function(*arrays), target_backends=["llvm-cpu"], extra_args=flags
    )
    config = _iree_device(_threads)
    context = iree.runtime.SystemContext(config=config)
    module = iree.runtime.VmModule.copy_buffer(context.instance, code)
    context.add_vm_module(module)
    (name,) = (name for name in module.function_names if not name.startswith("__"))
    entry = getattr(context.modules, module.name)[name]
    operands = [iree.runtime.asdevicearray(config.device, array) for array in arrays]
    return lambda: entry(*operands)


@cache
def _iree_device(threads: int) -> Any:
    import iree.runtime

    if threads == 1:
        return iree.runtime.Config("local-sync")
    iree.runtime.flags.parse_flags(f"--task_topology_group_count={threads}")
    return iree.runtime.Config("local-task")


_WORKS: Mapping[str, Callable[[Function, Sequence[Array]], Work]] = {
    "numpy": _numpy,
    "torch": _torch,
    "inductor": _inductor,
    "jax": _jax,
    "numba": _numba,
    "iree": _iree,
}


def set_threads(threads: int) -> None:
    """Have every loaded peer use `threads` threads, unless the environment says otherwise."""
    global _threads
    _threads = threads
    if _is_installed("torch"):
        import torch

        torch.set_num_threads(threads)
    if _is_installed("numba"):
        import numba

        numba.set_num_threads(threads)


def environment(threads: int) -> dict[str, str]:
    """Return the environment variables of a process whose peers use a number of threads."""
    single = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    return {
        **dict.fromkeys(
            ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"),
            str(threads),
        ),
        "XLA_FLAGS": single if threads == 1 else "",
        "JAX_PLATFORMS": "cpu",
    }
