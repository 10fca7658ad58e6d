"""A graph of ATen ops as a module of linalg on tensors, through torch-mlir's importer and passes.

The passes run in the parser process, whose crash is an error here. Every op of the module has the
name of its node in its location, so that an error about the op, in any pass, names that node.

Recurrent layers and grouped products become calls of functions in linalg before torch-mlir's
passes. Views with several open sizes become MLIR's own reshapes: torch-mlir takes all but one of
the open sizes that it cannot identify for 1. The symbols of PyTorch's tracing identify them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from linalg_ext.bindings import ir, passmanager
from linalg_ext.errors import CrashError, IRError
from linalg_ext.executable.libraries import in_force
from linalg_ext.frameworks.kernels import ENTRY
from linalg_ext.frameworks.recurrent_cells import CELLS
from linalg_ext.frameworks.requirements import torch, torch_importer
from linalg_ext.frameworks.torch import graphs, grouped_products
from linalg_ext.frameworks.torch.called_ops import function_of, is_called, is_check
from linalg_ext.frameworks.torch.graphs import Refused
from linalg_ext.frameworks.torch.recurrent import BACKWARD, GRADIENT, NAMESPACE
from linalg_ext.frameworks.torch_dialect import (
    OPERATOR,
    VIEWS,
    Group,
    write_cutting_pads,
    write_reshape,
    write_traced,
)
from linalg_ext.ir.context import new_context
from linalg_ext.ir.diagnostics import Diagnostic, joined
from linalg_ext.module import Module
from linalg_ext.runtime import parser_process
from linalg_ext.runtime.callbacks import Callback
from linalg_ext.transforms.codegen.base.parameters import PARAMETER
from linalg_ext.transforms.codegen.contractions.pack_parameters import NAME as PACK_PARAMETERS
from linalg_ext.transforms.codegen.convolutions.prepare_filters import NAME as PREPARE_FILTERS
from linalg_ext.transforms.fusion.reuse_concatenations import NAME as REUSE_CONCATENATIONS
from linalg_ext.transforms.ir_utils.walking import functions, operations, select
from linalg_ext.transforms.legalization.legalize_exported import TORCH

_SIGN_AGNOSTIC = frozenset(
    {
        *("_to_copy", "_unsafe_view", "alias", "cat", "clone", "convert_element_type", "copy"),
        *("expand", "flip", "index_select", "permute", "reshape", "select", "slice", "split"),
        *("split_with_sizes", "squeeze", "stack", "t", "transpose", "unsqueeze", "view"),
    }
)
"""Ops that move or convert elements, and do not compute with their sign."""


def imported(module: Any) -> tuple[Module, list[Callback]]:
    """Return a graph module, whose results are all of nodes, as linalg: the function `main`.

    Returns:
        The module, and the functions of Python that it calls; its kernel keeps them alive.

    Raises:
        Refused: an op of it cannot be lowered.
    """
    _refuse_wrong_results(module.graph)
    try:
        lowered, callbacks = _lowered(module)
    except Refused as refused:
        if refused.node is None:
            refused.node = _first_refused(module)
        raise
    return _packed(lowered, graphs.parameters(module.graph)), callbacks


def _first_refused(module: Any) -> str | None:
    """Return the node that keeps a graph from being lowered, where no message names it.

    It is the last of the shortest beginning of the graph that is refused.
    """
    calls = graphs.calls(module.graph)
    nodes = [node for node in calls if isinstance(node.meta.get("val"), torch().Tensor)]
    lowered, refused = 0, len(nodes)
    while refused - lowered > 1:
        middle = (lowered + refused) // 2
        try:
            _lowered(graphs.with_results(module, nodes[:middle]))
        except Refused:
            refused = middle
        else:
            lowered = middle
    return nodes[refused - 1].name if nodes else None


def _lowered(module: Any) -> tuple[Module, list[Callback]]:
    names = {node.name for node in module.graph.nodes}
    raw = Module(_torch_ir(module), filename="PyTorch's graph")
    called = {node.name: node for node in graphs.calls(module.graph) if is_called(node)}
    callbacks = write_traced(raw.ir, functools.partial(_function_of, called))
    _refuse_unknown(raw.ir, names)
    write_reshapes(raw.ir, module.graph)
    write_cutting_pads(raw.ir)
    try:
        pipeline = _without_last_check() if callbacks else TORCH
        result = parser_process.run_passes(raw.bytecode(), pipeline, allow_unregistered=False)
    except CrashError as error:
        raise Refused(None, "torch-mlir's passes die of the graph", [error.what]) from error
    if isinstance(result, parser_process.Refusal):
        diagnostics = result.diagnostics
        raise Refused(node_of(diagnostics, names), _reason(diagnostics), _notes(diagnostics))
    lowered = Module.parse(result.bytecode, trusted=True, legalize=False, context=new_context())
    for op in select(lowered.ir.operation, lambda op: op.name.startswith("torch")):
        raise Refused(graphs.name_in(str(op.location), names), _NOT_LOWERED)
    return lowered, callbacks


_LAST_CHECK = ",torch-verify-linalg-on-tensors-backend-contract"


@functools.cache
def _without_last_check() -> str:
    """Return torch-mlir's way to linalg without the pass that refuses calls on tensors."""
    with new_context():
        manager = passmanager.PassManager.parse(f"builtin.module({TORCH})")
    whole = str(manager).removeprefix("builtin.module(").removesuffix(")")
    return whole.replace(_LAST_CHECK, "")


def _packed(module: Module, parameters: Sequence[int]) -> Module:
    """Pack the parameters of a module for products and convolutions, if that is faster.

    Concatenations read earlier ones, of which dense networks have one for each layer.

    Args:
        parameters: the numbers of the arguments that are the same for many calls.
    """
    module.run(REUSE_CONCATENATIONS)
    if in_force():
        return module  # libraries take unpacked parameters
    with module.context:
        for function in functions(module.ir):
            count = len(function.regions[0].blocks[0].arguments)
            attributes: list[dict[str, ir.Attribute]] = [
                {PARAMETER: ir.UnitAttr.get()} if position in parameters else {}
                for position in range(count)
            ]
            function.attributes["arg_attrs"] = ir.ArrayAttr.get(
                [ir.DictAttr.get(entries) for entries in attributes]
            )
    module.run(f"{PACK_PARAMETERS},{PREPARE_FILTERS}")
    return module


def refusal_of(error: IRError, graph: Any) -> Refused:
    """Return an error of this library's compiler, by the node that it is about."""
    names = {node.name for node in graph.nodes}
    node = graphs.name_in("\n".join([str(error.where), *error.diagnostics]), names)
    return Refused(node, error.what, error.diagnostics[:1])


def node_of(diagnostics: Sequence[Diagnostic], names: set[str]) -> str | None:
    """Return the node that diagnostics point at first."""
    everything = (
        message for diagnostic in diagnostics for message in (diagnostic, *diagnostic.notes)
    )
    return next(
        (n for diagnostic in everything if (n := graphs.name_in(diagnostic.location, names))), None
    )


_NOT_LOWERED = "torch-mlir does not lower it to linalg"


def _reason(diagnostics: Sequence[Diagnostic]) -> str:
    message = diagnostics[0].message if diagnostics else ""
    if "failed to legalize" in message or OPERATOR in message:
        return _NOT_LOWERED
    first = message.strip().partition("\n")[0]
    return first or "torch-mlir's passes fail"


def _notes(diagnostics: Sequence[Diagnostic]) -> list[str]:
    firsts = (diagnostic.message.strip().partition("\n")[0] for diagnostic in joined(diagnostics))
    return [f"torch-mlir: {first[:200]}" for first in firsts][:1]


def _base(op: str) -> str:
    return op.split(".")[1] if "." in op else op


def _torch_ir(module: Any) -> Any:
    """Return the graph, and those of its loops, as ops of the torch dialect."""
    fx = torch_importer()
    last: list[Any] = []
    context = new_context()
    importer = fx.FxImporter(
        context=context, graph_node_importer_cls=_naming(fx.GraphNodeImporter, last)
    )
    try:
        importer.import_graph_module(module, func_name=ENTRY)
    except Exception as error:
        # The importer raises errors of all kinds, AssertionError and KeyError among them.
        node = last[-1].name if last else None
        text = str(error).strip().partition("\n")[0]
        reason = f"torch-mlir's importer does not know it: {type(error).__name__}: {text[:200]}"
        raise Refused(node, reason) from error
    _assume_strict_sizes(importer.module)
    return importer.module


def _assume_strict_sizes(module: ir.Module) -> None:
    """Mark all functions as free of open sizes that are 1 and broadcast.

    PyTorch's tracing decided the broadcasts, and the sizes of a call are checked against that.
    Without this mark, torch-mlir checks it again for each element.
    """
    with module.context:
        for function in functions(module.operation):
            function.attributes["torch.assume_strict_symbolic_shapes"] = ir.UnitAttr.get()


def _naming(base: Any, last: list[Any]) -> Any:
    """Return a class of importers of nodes that puts their names into locations.

    Args:
        last: gets the current node.
    """

    class Naming(base):  # type: ignore[misc]
        def _import_torch_op_overload(self, loc: Any, node: Any, target: Any = None) -> None:
            last[:] = [node]
            loc = ir.Location.name(node.name, loc)
            if is_called(node):
                self._import_called(loc, node)
            elif not is_check(node):
                super()._import_torch_op_overload(loc, node, target)

        def _import_called(self, loc: Any, node: Any) -> None:
            """Import an op whose operands are the tensors alone: the call knows all else."""
            types = self._unpack_node_result_types(node, node.target._schema)
            if len(types) > 1:
                self._multi_result_nodes.add(node)
            operands = [self._import_argument(loc, value) for value in node.all_input_nodes]
            name: ir.Attribute = ir.StringAttr.get(_CALLED + node.name)
            op = ir.Operation.create(OPERATOR, types, operands, {"name": name}, loc=loc)
            for position, result in enumerate(op.results):
                self.bind_node_value(node, result, position)

        def _import_hop(self, loc: Any, node: Any, hop: Any) -> None:
            last[:] = [node]
            super()._import_hop(ir.Location.name(node.name, loc), node, hop)

    return Naming


def _refuse_wrong_results(graph: Any) -> None:
    """Refuse nodes that torch-mlir would compute differently from PyTorch."""
    unsigned = {getattr(torch(), f"uint{bits}", None) for bits in (8, 16, 32, 64)}
    for node in graphs.calls(graph):
        is_safe = is_called(node) or graphs.is_free(node)
        if is_safe or _base(graphs.op_of(node)) in _SIGN_AGNOSTIC:
            continue
        values = [tensor.meta.get("val") for tensor in node.all_input_nodes]
        if any(tensor.dtype in unsigned for val in values for tensor in graphs.tensors_of(val)):
            raise Refused(
                node.name, "torch-mlir computes with unsigned integers as with signed ones"
            )


def _refuse_unknown(module: ir.Module, names: Collection[str]) -> None:
    """Refuse ops of PyTorch's that torch-mlir's dialect lacks, before its passes do."""
    for op in operations(module.operation, {OPERATOR}):
        if ir.StringAttr(op.attributes["name"]).value.startswith("torch.aten."):
            raise Refused(graphs.name_in(str(op.location), names), _NOT_LOWERED)


_PREFIX = f"torch.{NAMESPACE}."
_CALLED = f"{_PREFIX}called."


def _function_of(
    called: Mapping[str, Any], op: ir.Operation
) -> tuple[str, Callable[..., Any]] | None:
    """Return the name of an op of ours, and the function that computes it.

    Args:
        called: the nodes that the kernel calls, by their names.
    """
    name = ir.StringAttr(op.attributes["name"]).value
    if name.startswith(_CALLED):
        return name, function_of(called[name.removeprefix(_CALLED)])
    if grouped := grouped_products.TRACED.get(name.removeprefix(_PREFIX)):
        return name, grouped
    base = name.removeprefix(_PREFIX).removesuffix(BACKWARD)
    cell = CELLS.get(base.removesuffix(GRADIENT))
    if cell is None or not name.startswith(_PREFIX):
        return None
    over_rows = cell.gradient_over_rows if base.endswith(GRADIENT) else cell.over_rows
    return name, functools.partial(over_rows, name.endswith(BACKWARD))


_RESHAPE = "linalg_ext.reshape"

AnySize = Any
"""An int, or a SymInt of PyTorch's."""


def write_reshapes(module: ir.Module, graph: Any) -> None:
    """Make each view in torch's dialect that has open sizes a call of a function in tensor.

    Args:
        module: the imported module of the graph, with names of nodes in locations.
    """
    nodes = {node.name: node for node in graphs.calls(graph)}
    for number, op in enumerate(operations(module.operation, VIEWS)):
        name = graphs.name_in(str(op.location), nodes)
        if name is None:
            continue
        view = nodes[name]
        before, after = (node.meta["val"].shape for node in (view.args[0], view))
        groups = grouped(before, after) if _is_open(after) else None
        if groups is not None:
            with op.location:
                write_reshape(module, op, f"{_RESHAPE}.{number}", groups)


def _is_open(shape: Sequence[AnySize]) -> bool:
    return not all(isinstance(size, int) for size in shape)


def grouped(before: Sequence[AnySize], after: Sequence[AnySize]) -> list[Group] | None:
    """Return the smallest groups of axes, outermost first; None if sizes do not match."""
    groups: list[Group] = []
    left, right = list(range(len(before))), list(range(len(after)))
    while left and right:
        group = _first(left, right, before, after)
        if group is None:
            return None
        groups.append(group)
        left, right = left[len(group.before) :], right[len(group.after) :]
    if not groups or not all(_is_one(before[axis]) for axis in left):
        return None
    if not all(_is_one(after[axis]) for axis in right):
        return None
    last = groups.pop()
    return [*groups, Group((*last.before, *left), (*last.after, *right))]


def _first(
    left: list[int], right: list[int], before: Sequence[AnySize], after: Sequence[AnySize]
) -> Group | None:
    """Return the smallest group that the first of some axes are in."""
    counts = [(i, j) for i in range(1, len(left) + 1) for j in range(1, len(right) + 1)]
    for i, j in sorted(counts, key=sum):
        group = Group(tuple(left[:i]), tuple(right[:j]))
        if _is_same(
            _product(before[axis] for axis in group.before),
            _product(after[axis] for axis in group.after),
        ):
            return group
    return None


def _product(sizes: Any) -> Any:
    return math.prod(size if isinstance(size, int) else size.node.expr for size in sizes)


def _is_same(left: Any, right: Any) -> bool:
    difference = left - right
    return bool((difference if isinstance(difference, int) else difference.expand()) == 0)


def _is_one(size: AnySize) -> bool:
    return isinstance(size, int) and size == 1
