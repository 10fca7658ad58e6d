"""`torch.compile(model, backend="linalg_ext")`: graphs that PyTorch traces, compiled here.

PyTorch cuts a program where it cannot trace it, and makes the graphs of its gradients: this backend
gets the forward and the backward pass as graphs of ATen ops without effects. Ops that cannot be
compiled run in PyTorch; `report` lists them. Recurrent layers are traced, because this module sets
`torch._dynamo.config.allow_rnn` for the process.

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
from linalg_ext.frameworks.torch.compiled_graph import Options, Report, joined
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
    """Compile a graph: the backend, which PyTorch calls with each graph, and finds by its name.

    Args:
        graph_module: of torch.fx, as TorchDynamo traced it.
        example_inputs: the arguments of a call.
        options: as of `torch.compile`: `allow_fallback` (True), and `checked`, `opt_level` and
            `threads` as of `linalg_ext.compile` and of a call of a kernel.
        mode: as of `torch.compile`: "default", or None; other modes are of PyTorch's own backend.

    Raises:
        ArgumentError: an option or a mode is unknown.
        ModelError: an op cannot be compiled, and `allow_fallback` is False.
    """
    require_torch_importer()
    if mode not in (None, "default"):
        raise ArgumentError(
            f"the backend linalg_ext has no mode {mode!r}",
            hint=f"leave it out, and say options={{...}} of {', '.join(_OPTIONS)}",
        )
    values = dict(options or {})
    if unknown := [name for name in values if name not in _OPTIONS]:
        raise ArgumentError(
            f"the backend linalg_ext has no option {unknown[0]!r}",
            expected=f"one of {', '.join(_OPTIONS)}",
        )
    chosen = Options(**{"allow_fallback": True, **values})

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
        joined_report = joined(
            _reports, [(str(why), n) for why, n in counters["graph_break"].items()]
        )
        if clear:
            _reports.clear()
    if clear:
        counters["graph_break"].clear()
    return joined_report


if "torch" in sys.modules:
    # PyTorch decides this before it traces a model.
    trace_recurrent_layers()
