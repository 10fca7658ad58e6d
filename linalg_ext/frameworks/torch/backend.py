"""`torch.compile(model, backend="linalg_ext")`: graphs that PyTorch traces, compiled here.

PyTorch cuts a program where it cannot trace it, and makes the graphs of its gradients: both the way
forward and the way back come here as graphs of ATen ops without effects. What does not come through
runs in PyTorch, as it would have; `report` says what. Recurrent layers are traced, which PyTorch
leaves out unless `torch._dynamo.config.allow_rnn` is set: it is, for the process.

    fast = torch.compile(model, backend="linalg_ext")
    fast(x)
    print(linalg_ext.frameworks.torch.backend.report())
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from linalg_ext.errors import ArgumentError
from linalg_ext.frameworks.requirements import require_torch_importer, torch
from linalg_ext.frameworks.torch.compiled_graph import Options, Report, together
from linalg_ext.frameworks.torch.compiling import compile_graph
from linalg_ext.frameworks.torch.decompositions import decompositions
from linalg_ext.frameworks.torch.recurrent import keep_whole, trace_recurrent_layers
from linalg_ext.utils.locks import Lock

_OPTIONS = ("allow_fallback", "checked", "opt_level", "threads")

_lock = Lock()
_reports: list[Report] = []


def linalg_ext(
    graph_module: Any,
    example_inputs: Sequence[Any],
    *,
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
) -> Any:
    """The backend, which PyTorch calls with each graph; it is found by its name.

    Args:
        graph_module: of torch.fx, as TorchDynamo traced it.
        example_inputs: what it is called with.
        options: as of `torch.compile`: `allow_fallback` (True), and `checked`, `opt_level` and
            `threads` as of `linalg_ext.compile` and of a call of a kernel.
        mode: as of `torch.compile`: "default", or None; the others are of PyTorch's own backend.

    Raises:
        ArgumentError: an unknown option, or a mode.
        ModelError: an op does not come through, and `allow_fallback` is False.
    """
    require_torch_importer()
    if mode not in (None, "default"):
        raise ArgumentError(
            f"the backend linalg_ext has no mode {mode!r}",
            hint=f"leave it out, and say options={{...}} of {', '.join(_OPTIONS)}",
        )
    given = dict(options or {})
    if unknown := [name for name in given if name not in _OPTIONS]:
        raise ArgumentError(
            f"the backend linalg_ext has no option {unknown[0]!r}",
            expected=f"one of {', '.join(_OPTIONS)}",
        )
    chosen = Options(**{"allow_fallback": True, **given})

    def compiled(module: Any, inputs: Sequence[Any]) -> Any:
        graph = compile_graph(module, chosen)
        with _lock:
            _reports.append(graph.report)
        return torch()._functorch.aot_autograd.make_boxed_func(graph.run)

    from torch._dynamo.backends.common import aot_autograd

    keep_whole(graph_module)
    with_gradients = aot_autograd(fw_compiler=compiled, decompositions=dict(decompositions()))
    return with_gradients(graph_module, example_inputs)


def report(*, clear: bool = False) -> Report:
    """Return the report of the backend in this process: compiled ops, and ops left to PyTorch.

    Args:
        clear: True to reset the report after this call.
    """
    from torch._dynamo.utils import counters

    with _lock:
        found = together(_reports, [(str(why), n) for why, n in counters["graph_break"].items()])
        if clear:
            _reports.clear()
    if clear:
        counters["graph_break"].clear()
    return found


if "torch" in sys.modules:
    # Before a model is traced: by then PyTorch has decided.
    trace_recurrent_layers()
