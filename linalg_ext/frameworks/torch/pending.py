"""A graph on its way to a kernel: found on disk by what it says, or imported and then compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from linalg_ext.errors import IRError
from linalg_ext.executable import disk_cache
from linalg_ext.executable.kernel import Kernel
from linalg_ext.frameworks.torch import graphs
from linalg_ext.frameworks.torch.graph_keys import key_of_graph
from linalg_ext.frameworks.torch.options import Options
from linalg_ext.frameworks.torch.partition import Piece, Plan
from linalg_ext.frameworks.torch.requirements import ENTRY, torch
from linalg_ext.frameworks.torch.tensors import dtype_of

if TYPE_CHECKING:
    from linalg_ext.module import Module


class Draft:
    """A graph that was imported as linalg, and is not compiled yet.

    Attributes:
        key: what its kernel is kept under, if at all.
        plan: what goes into the kernel, and what comes out.
    """

    def __init__(self, graph_module: Any, options: Options) -> None:
        """Look for the kernel of a graph; if absent, import the graph.

        Raises:
            Refused: an op of it does not come through.
        """
        self._graph = graph_module.graph
        self._options = options
        self._kernel: Kernel | None = None
        self._module: Module | None = None
        self.key: str | None = None
        computed = _computed(self._graph)
        self.plan = _plan(self._graph, computed)
        self._dtypes = [_dtype_of_node(node) for node in computed]
        if not computed:
            return
        wanted = graphs.with_results(graph_module, computed)
        self.key = key_of_graph(wanted, options, self._dtypes)
        self._kernel = disk_cache.find(self.key)
        if self._kernel is None:
            from linalg_ext.frameworks.torch.importing import imported

            self._module = imported(wanted)

    def finished(self) -> Piece:
        """Compile it.

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
            return compile_copy(
                module,
                ENTRY,
                trusted=True,
                checked=self._options.is_checked,
                opt_level=self._options.opt_level,
                libraries=(),
                result_dtypes=self._dtypes,
                key=self.key,
            )
        except IRError as error:
            raise refusal_of(error, self._graph) from error


def _computed(graph: Any) -> list[Any]:
    """The results that a kernel gives, each once."""
    found = dict.fromkeys(
        result
        for result in graphs.results(graph)
        if hasattr(result, "op") and result.op != "placeholder"
    )
    return list(found)


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
    """The dtype of a kernel's result; None for a number."""
    value = node.meta.get("val")
    return dtype_of(value.dtype) if isinstance(value, torch().Tensor) else None
