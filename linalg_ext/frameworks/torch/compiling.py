"""The compilation of a graph: to one kernel, or to several with PyTorch's own ops in between.

An op that cannot be compiled is called from the kernel, if the forms of its results are known; else
the graph is cut around it.

A kernel is loaded from the disk under the key of its graph, or else imported and compiled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from linalg_ext.errors import IRError, ModelError
from linalg_ext.executable import disk_cache
from linalg_ext.executable.kernel import Kernel
from linalg_ext.frameworks.kernels import ENTRY
from linalg_ext.frameworks.requirements import torch
from linalg_ext.frameworks.torch import graphs
from linalg_ext.frameworks.torch.called_ops import (
    belonging_to,
    can_be_called,
    is_called,
    mark_called,
)
from linalg_ext.frameworks.torch.compiled_graph import (
    CompiledGraph,
    LeftToPyTorch,
    Options,
    Piece,
    Plan,
    Report,
)
from linalg_ext.frameworks.torch.graph_keys import key_of_graph
from linalg_ext.frameworks.torch.graphs import Refused
from linalg_ext.frameworks.torch.tensors import as_tensor, dtype_of
from linalg_ext.runtime import threads
from linalg_ext.utils.logs import logger

if TYPE_CHECKING:
    from linalg_ext.module import Module
    from linalg_ext.runtime.callbacks import Callback


def compile_graph(graph_module: Any, options: Options) -> CompiledGraph:
    """Compile a graph of ATen ops without effects.

    Args:
        graph_module: its graph's placeholders are tensors and numbers, each with an example value
            in `meta["val"]`.

    Raises:
        ModelError: an op cannot be compiled, and must not be left to PyTorch.
    """
    if not options.packed:
        graphs.mark_parameters(graph_module.graph, ())
    nodes = graphs.calls(graph_module.graph)
    drawn = {node.name: _DRAWN for node in nodes if graphs.draws(node)}
    if drawn:
        return _in_pieces(graph_module, options, drawn)
    called: dict[str, str] = {}
    while True:
        try:
            piece = PendingGraph(graph_module, options).compiled()
        except Refused as refused:
            alike = _refused_alike(nodes, refused, called)
            refused_nodes = [node for node in nodes if node.name in alike]
            if not options.allow_fallback or not any(map(can_be_called, refused_nodes)):
                is_of_call = refused.node in called
                return _in_pieces(graph_module, options, called, None if is_of_call else refused)
            called |= {node.name: refused.reason for node in filter(can_be_called, refused_nodes)}
            mark_called(graph_module.graph, called)
        else:
            return CompiledGraph(piece, (piece,), _report(nodes, called, piece))


def _report(nodes: Sequence[Any], called: Mapping[str, str], piece: Piece) -> Report:
    """Return the report of a graph that is one kernel."""
    outside = {part for node in nodes if node.name in called for part in belonging_to(node)}
    left = _grouped(nodes, called, is_called=True)
    report = Report(len(nodes), len(nodes) - len(outside), int(piece.kernel is not None), left)
    return _logged(report)


def _logged(report: Report) -> Report:
    for op in report.left:
        logger("fallbacks").info("%s: %s", op.verb, op)
    return report


def _error(refused: Refused, graph: Any) -> ModelError:
    node = next((node for node in graph.nodes if node.name == refused.node), None)
    subject = "the model" if node is None else f"{graphs.op_of(node)} of the model"
    return ModelError(
        f"{subject} cannot be compiled: {refused.reason}",
        where=None if node is None else graphs.line_of(node),
        hint="write it with other ops, or have PyTorch run that part: allow_fallback=True",
        notes=refused.notes,
    )


_DRAWN = "PyTorch draws its random numbers, by torch.manual_seed"


def _in_pieces(
    graph_module: Any, options: Options, drawn: Mapping[str, str], refused: Refused | None = None
) -> CompiledGraph:
    """Compile a graph around the nodes that draw, and those that cannot be compiled.

    Args:
        drawn: the nodes that draw, each with the reason why PyTorch runs it.
        refused: the error of the graph as a whole, if it is known.

    Raises:
        ModelError: an op cannot be compiled, and must not be left to PyTorch.
    """
    graphs.mark_parameters(graph_module.graph, ())
    nodes = graphs.calls(graph_module.graph)
    left = dict(drawn)
    while True:
        if refused is not None:
            if not options.allow_fallback:
                raise _error(refused, graph_module.graph) from refused
            refusals = _refused_alike(nodes, refused, left)
            if not refusals:
                # The node at fault is unknown, so PyTorch runs all nodes.
                refusals = {node.name: refused.reason for node in nodes if node.name not in left}
            left |= refusals
        cut_graph, parts, refused = _cut(graph_module, left, options)
        if refused is None:
            break
    inside = {node.name for part, _ in parts for node in graphs.calls(part.graph)}
    compiled = [node for node in nodes if node.name in inside]
    report = _logged(Report(len(nodes), len(compiled), len(parts), _grouped(nodes, left)))

    def run(*values: Any) -> list[Any]:
        tensors = [as_tensor(v) if isinstance(v, np.ndarray) else v for v in values]
        return list(cut_graph(*tensors))

    return CompiledGraph(run, tuple(piece for _, piece in parts), report)


def _refused_alike(
    nodes: Sequence[Any], refused: Refused, left: Mapping[str, str]
) -> dict[str, str]:
    """Return the refused node and those like it: they would be refused, too."""
    guilty = next((node for node in nodes if node.name == refused.node), None)
    if guilty is None or guilty.name in left:
        return {}
    same = (node for node in nodes if _kind(node) == _kind(guilty))
    return {node.name: refused.reason for node in same}


def _kind(node: Any) -> Hashable:
    tensors = [
        tensor
        for value_node in (*node.all_input_nodes, node)
        for tensor in graphs.tensors_of(value_node.meta.get("val"))
    ]
    return node.target, tuple((tensor.dtype, tensor.ndim) for tensor in tensors)


def _cut(
    graph_module: Any, left: Mapping[str, str], options: Options
) -> tuple[Any, list[tuple[Any, Piece]], Refused | None]:
    """Return the graph with kernels for the parts that can be compiled, the parts and the kernels.

    The last result is the error of a part that cannot be compiled, if any.
    """
    from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
    from torch.fx.passes.operator_support import create_op_support

    def may_be_compiled(submodules: Any, node: Any) -> bool:
        return node.op == "call_function" and node.name not in left

    partitioner = CapabilityBasedPartitioner(
        torch().fx.GraphModule(graph_module, _copied(graph_module.graph)),
        create_op_support(may_be_compiled),
        allows_single_node_partition=True,
    )
    parts = [
        part
        for part in partitioner.propose_partitions()
        if not all(map(graphs.is_free, part.nodes))
    ]
    whole = partitioner.fuse_partitions(parts)
    fused = {name: part for name, part in whole.named_children() if name.startswith("fused_")}
    try:
        pendings = [PendingGraph(part, options) for part in fused.values()]
        pieces = [pending.compiled() for pending in pendings]
    except Refused as refused:
        return whole, [], refused
    for (name, part), piece in zip(fused.items(), pieces, strict=True):
        setattr(whole, name, _as_module(part.graph, piece))
    return whole, list(zip(fused.values(), pieces, strict=True)), None


def _copied(graph: Any) -> Any:
    copy = torch().fx.Graph()
    copy.output(copy.graph_copy(graph, {}))
    return copy


def _as_module(graph: Any, piece: Piece) -> Any:
    (output,) = (node for node in graph.nodes if node.op == "output")
    gives_several = isinstance(output.args[0], list | tuple)

    class Part(torch().nn.Module):  # type: ignore[misc]
        def forward(self, *values: Any) -> Any:
            results = piece(*values)
            return tuple(results) if gives_several else results[0]

    return Part()


def _grouped(
    nodes: Sequence[Any], left: Mapping[str, str], *, is_called: bool = False
) -> tuple[LeftToPyTorch, ...]:
    """Return the ops left to PyTorch, each op of a line once, with its count."""
    counts = Counter(
        (graphs.op_of(node), graphs.line_of(node), left[node.name])
        for node in nodes
        if node.name in left
    )
    return tuple(
        LeftToPyTorch(op, line, why, count, is_called) for (op, line, why), count in counts.items()
    )


class PendingGraph:
    """A graph that was imported as linalg, and is not compiled yet.

    Attributes:
        key: of its kernel in the cache, if it is kept.
        plan: the arguments and results of the kernel.
    """

    def __init__(self, graph_module: Any, options: Options) -> None:
        """Look for the kernel of a graph; if absent, import the graph.

        Raises:
            Refused: an op of it cannot be imported.
        """
        self._graph = graph_module.graph
        self._options = options
        self._kernel: Kernel | None = None
        self._module: Module | None = None
        self._callbacks: Sequence[Callback] = ()
        self.key: str | None = None
        computed = _computed(self._graph)
        self.plan = _plan(self._graph, computed)
        self._dtypes = [_dtype_of_node(node) for node in computed]
        if not computed:
            return
        computing = graphs.with_results(graph_module, computed)
        if not any(map(is_called, graphs.calls(computing.graph))):
            self.key = key_of_graph(computing, options, self._dtypes)
            self._kernel = disk_cache.find(self.key)
        if self._kernel is None:
            from linalg_ext.frameworks.torch.importing import imported

            self._module, self._callbacks = imported(computing)

    def compiled(self) -> Piece:
        """Compile the graph.

        Raises:
            Refused: the module cannot be compiled.
        """
        kernel = self._kernel
        if kernel is None and self._module is not None:
            kernel = self._compiled(self._module)
        return Piece(self.plan, kernel, self._options.threads, self.key)

    def _compiled(self, module: Module) -> Kernel:
        from linalg_ext.compiler.module_compilation import compile_copy
        from linalg_ext.frameworks.torch.importing import refusal_of

        try:
            with threads.using(self._options.threads or threads.current()):
                kernel = compile_copy(
                    module,
                    ENTRY,
                    self._options.of_compiler(self._dtypes),
                    trusted=True,
                    key=self.key,
                )
        except IRError as error:
            raise refusal_of(error, self._graph) from error
        kernel.callbacks = tuple(self._callbacks)
        return kernel


def _computed(graph: Any) -> list[Any]:
    """Return the results that a kernel computes, each once."""
    computed = dict.fromkeys(
        result
        for result in graphs.results(graph)
        if hasattr(result, "op") and result.op != "placeholder"
    )
    return list(computed)


def _plan(graph: Any, computed: list[Any]) -> Plan:
    inputs = graphs.placeholders(graph)

    def place(result: Any) -> tuple[str, Any]:
        if not hasattr(result, "op"):
            return "constant", result
        if result.op == "placeholder":
            return "input", inputs.index(result)
        is_tensor = graphs.holds_tensors(result.meta.get("val"))
        return "tensor" if is_tensor else "number", computed.index(result)

    names = tuple(f"input {node.name!r}" for node in inputs)
    return Plan(names, len(computed), tuple(map(place, graphs.results(graph))))


def _dtype_of_node(node: Any) -> Any:
    value = node.meta.get("val")
    return dtype_of(value.dtype) if isinstance(value, torch().Tensor) else None
