"""A graph as something that is called: one kernel, or several with PyTorch's own ops in between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linalg_ext.calling.kernel import Kernel
from linalg_ext.calling.signature import ArrayType
from linalg_ext.compiler import compile
from linalg_ext.errors import ArgumentError, IRError, ModelError
from linalg_ext.frameworks.torch import graphs
from linalg_ext.frameworks.torch.importing import ENTRY, Refused, imported, refusal_of
from linalg_ext.frameworks.torch.report import Left, Report
from linalg_ext.frameworks.torch.requirements import torch
from linalg_ext.frameworks.torch.tensors import as_array, as_tensor, dtype_of
from linalg_ext.logs import logger
from linalg_ext.module import Module


@dataclass(frozen=True)
class Options:
    """How graphs are compiled.

    Attributes:
        allow_fallback: whether ops that do not come through are left to PyTorch.
        checked, opt_level: as of `lx.compile`.
        threads: of each call; None for `lx.threads.current()`.
        packed: whether kernels take the parameters of products in strips.

    Raises:
        ArgumentError: one of them is something else.
    """

    allow_fallback: bool = False
    checked: bool | None = None
    opt_level: int | None = None
    threads: int | None = None
    packed: bool = True

    def __post_init__(self) -> None:
        """Before a model is traced, which may take long."""
        for name, known in _KNOWN.items():
            if not any(getattr(self, name) is each for each in known):
                raise ArgumentError(
                    f"{name} is {getattr(self, name)!r}",
                    expected=", ".join(map(repr, known)),
                )


_KNOWN: Mapping[str, tuple[object, ...]] = {
    "allow_fallback": (True, False),
    "checked": (True, False, None),
    "opt_level": (0, 1, 2, 3, None),
    "packed": (True, False),
}
"""The values of options that have few."""


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
        """Of what the kernel takes for each placeholder; none where there are several kernels."""
        kernel = self.pieces[0].kernel if self.pieces and self.run is self.pieces[0] else None
        types = [each.type for each in kernel.signature.parameters] if kernel is not None else []
        return [type_.shape if isinstance(type_, ArrayType) else None for type_ in types]


class Piece:
    """One kernel, and how tensors become its arguments and its results tensors.

    Attributes:
        module: of linalg on tensors, as it was compiled.
        kernel: what runs; None where there is nothing to compute.
    """

    def __init__(self, graph_module: Any, module: Module | None) -> None:
        """Of a graph, and of the module that was made of it; `compile` is still to be called."""
        self.module = module
        self.kernel: Kernel | None = None
        self.graph = graph_module.graph
        inputs = graphs.placeholders(self.graph)
        self._names = [f"input {node.name!r}" for node in inputs]
        self._threads: int | None = None
        computed = _computed(self.graph)
        self._dtypes = [_dtype_of_node(node) for node in computed]
        self._results: list[Callable[[Sequence[Any], Sequence[Any]], Any]] = [
            _giver(result, inputs, computed) for result in graphs.results(self.graph)
        ]

    def compile(self, options: Options) -> None:
        """Make the kernel.

        Raises:
            Refused: the module cannot be compiled.
        """
        if self.module is None:
            return
        self._threads = options.threads
        try:
            self.kernel = compile(
                self.module,
                ENTRY,
                trusted=True,
                checked=options.checked,
                opt_level=options.opt_level,
                result_dtypes=self._dtypes,
            )
        except IRError as error:
            raise refusal_of(error, self.graph) from error

    def __call__(self, *values: Any) -> list[Any]:
        """The results for the values of the placeholders."""
        found: Any = ()
        if self.kernel is not None:
            tensor = torch().Tensor
            arrays = [
                as_array(value, name) if isinstance(value, tensor) else value
                for value, name in zip(values, self._names, strict=True)
            ]
            found = self.kernel(*arrays, threads=self._threads)
            if len(self._dtypes) == 1:
                found = (found,)
        return [give(values, found) for give in self._results]


def compile_graph(graph_module: Any, options: Options) -> CompiledGraph:
    """Compile a graph of ATen ops without effects.

    Args:
        graph_module: its graph's placeholders are tensors and numbers, each with what it is like
            in `meta["val"]`.
        options: how.

    Raises:
        ModelError: an op does not come through, and must not be left to PyTorch.
    """
    if not options.packed:
        graphs.mark_parameters(graph_module.graph, ())
    try:
        piece = _imported(graph_module)
        piece.compile(options)
    except Refused as refused:
        if not options.allow_fallback:
            raise _error(refused, graph_module.graph) from refused
        return _in_pieces(graph_module, options, refused)
    count = len(graphs.calls(graph_module.graph))
    return CompiledGraph(piece, (piece,), Report(count, count, int(piece.module is not None)))


def _imported(graph_module: Any) -> Piece:
    computed = _computed(graph_module.graph)
    if not computed:
        return Piece(graph_module, None)
    return Piece(graph_module, imported(graphs.with_results(graph_module, computed)))


def _computed(graph: Any) -> list[Any]:
    """The results that a kernel gives, each once."""
    found = dict.fromkeys(
        result
        for result in graphs.results(graph)
        if hasattr(result, "op") and result.op != "placeholder"
    )
    return list(found)


def _giver(result: Any, inputs: Sequence[Any], computed: Sequence[Any]) -> Any:
    """How a result is found among the inputs and what the kernel gave."""
    if not hasattr(result, "op"):
        return lambda values, found: result
    if result.op == "placeholder":
        place = inputs.index(result)
        return lambda values, found: values[place]
    place = computed.index(result)
    if graphs.holds_tensors(result.meta.get("val")):
        return lambda values, found: as_tensor(found[place])
    return lambda values, found: np.asarray(found[place]).item()


def _dtype_of_node(node: Any) -> Any:
    """The dtype of a kernel's result; None for a number."""
    value = node.meta.get("val")
    return dtype_of(value.dtype) if isinstance(value, torch().Tensor) else None


def _error(refused: Refused, graph: Any) -> ModelError:
    node = next((node for node in graph.nodes if node.name == refused.node), None)
    what = "the model" if node is None else f"{graphs.op_of(node)} of the model"
    return ModelError(
        f"{what} cannot be compiled: {refused.reason}",
        where=None if node is None else graphs.line_of(node),
        cure="write it with other ops, or have PyTorch run that part: allow_fallback=True",
        notes=refused.notes,
    )


def _in_pieces(graph_module: Any, options: Options, first: Refused) -> CompiledGraph:
    """The graph with what does not come through left to PyTorch."""
    graphs.mark_parameters(graph_module.graph, ())
    nodes = graphs.calls(graph_module.graph)
    left: dict[str, str] = {}
    refused: Refused | None = first
    while refused is not None:
        known = _alike(nodes, refused, left)
        if not known:
            # Nobody knows whom to blame: PyTorch runs all.
            known = {node.name: refused.reason for node in nodes if node.name not in left}
        left |= known
        whole, pieces, refused = _cut(graph_module, left, options)
    compiled = [node for node in nodes if not _is_left(node, left, pieces)]
    report = Report(len(nodes), len(compiled), len(pieces), _grouped(nodes, left))
    for each in report.left:
        logger("fallbacks").info("left to PyTorch: %s", each)

    def run(*values: Any) -> list[Any]:
        tensors = [as_tensor(v) if isinstance(v, np.ndarray) else v for v in values]
        return list(whole(*tensors))

    return CompiledGraph(run, tuple(pieces), report)


def _alike(nodes: Sequence[Any], refused: Refused, left: Mapping[str, str]) -> dict[str, str]:
    """The refused node and those like it: they would be refused, too."""
    guilty = next((node for node in nodes if node.name == refused.node), None)
    if guilty is None or guilty.name in left:
        return {}
    same = (node for node in nodes if _kind(node) == _kind(guilty))
    return {node.name: refused.reason for node in same}


def _kind(node: Any) -> Hashable:
    tensors = [
        tensor
        for each in (*node.all_input_nodes, node)
        for tensor in graphs.tensors_of(each.meta.get("val"))
    ]
    return node.target, tuple((tensor.dtype, tensor.ndim) for tensor in tensors)


def _cut(
    graph_module: Any, left: Mapping[str, str], options: Options
) -> tuple[Any, list[Piece], Refused | None]:
    """The graph with kernels in the place of what can be compiled, and the kernels.

    The last of what is returned says why one of them could not be made, if so.
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
    pieces = {}
    try:
        for name, part in list(whole.named_children()):
            if name.startswith("fused_"):
                pieces[name] = _imported(part)
        for piece in pieces.values():
            piece.compile(options)
    except Refused as refused:
        return whole, [], refused
    for name, piece in pieces.items():
        setattr(whole, name, _as_module(piece))
    return whole, list(pieces.values()), None


def _copied(graph: Any) -> Any:
    copy = torch().fx.Graph()
    copy.output(copy.graph_copy(graph, {}))
    return copy


def _as_module(piece: Piece) -> Any:
    (output,) = (node for node in piece.graph.nodes if node.op == "output")
    gives_several = isinstance(output.args[0], list | tuple)

    class Part(torch().nn.Module):  # type: ignore[misc]
        def forward(self, *values: Any) -> Any:
            found = piece(*values)
            return tuple(found) if gives_several else found[0]

    return Part()


def _is_left(node: Any, left: Mapping[str, str], pieces: Sequence[Piece]) -> bool:
    if node.name in left:
        return True
    return not any(node.name == own.name for piece in pieces for own in graphs.calls(piece.graph))


def _grouped(nodes: Sequence[Any], left: Mapping[str, str]) -> tuple[Left, ...]:
    """What was left, each op of a line once."""
    counts = Counter(
        (graphs.op_of(node), graphs.line_of(node), left[node.name])
        for node in nodes
        if node.name in left
    )
    return tuple(Left(op, line, why, count) for (op, line, why), count in counts.items())
