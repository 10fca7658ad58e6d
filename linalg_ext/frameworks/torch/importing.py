"""A graph of ATen ops as a module of linalg on tensors, through torch-mlir's importer and passes.

The passes run in the guard process: what kills them is an error here. Every op of the module has
the name of the node that it comes from in its location, so that whatever refuses it, there or
further down, refuses that node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import CrashError, IRError
from linalg_ext.frameworks.torch import graphs
from linalg_ext.frameworks.torch.recurrent_calls import write_recurrent_layers
from linalg_ext.frameworks.torch.refusals import Refused
from linalg_ext.frameworks.torch.requirements import ENTRY, importer, torch
from linalg_ext.frameworks.torch.reshapes import write_reshapes
from linalg_ext.frameworks.torch_dialect.cutting_pads import write_cutting_pads
from linalg_ext.ir.context import new_context
from linalg_ext.ir.diagnostics import Diagnostic, joined
from linalg_ext.libraries import in_force
from linalg_ext.module import Module
from linalg_ext.runtime import parser_process
from linalg_ext.transforms.codegen.base.parameters import PARAMETER
from linalg_ext.transforms.codegen.contractions.pack_parameters import NAME as PACK_PARAMETERS
from linalg_ext.transforms.codegen.convolutions.prepare_filters import NAME as PREPARE_FILTERS
from linalg_ext.transforms.ir_utils.walking import functions
from linalg_ext.transforms.legalization.legalize_exported import TORCH

_KEEPING = frozenset(
    {
        *("_to_copy", "_unsafe_view", "alias", "cat", "clone", "convert_element_type", "copy"),
        *("expand", "flip", "index_select", "permute", "reshape", "select", "slice", "split"),
        *("split_with_sizes", "squeeze", "stack", "t", "transpose", "unsqueeze", "view"),
    }
)
"""Ops that move or convert elements, and do not compute with their sign."""


def imported(module: Any) -> Module:
    """A graph module, whose results are all of nodes, as linalg on tensors: the function `main`.

    Raises:
        Refused: an op of it does not come through.
    """
    _refuse_what_would_differ(module.graph)
    names = {node.name for node in module.graph.nodes}
    raw = Module(_torch_ir(module), filename="PyTorch's graph")
    write_recurrent_layers(raw.ir)
    write_reshapes(raw.ir, module.graph)
    write_cutting_pads(raw.ir)
    try:
        done = parser_process.run_passes(raw.bytecode(), TORCH, allow_unregistered=False)
    except CrashError as error:
        raise Refused(None, "torch-mlir's passes die of the graph", [error.what]) from error
    if isinstance(done, parser_process.Refusal):
        found = done.diagnostics
        raise Refused(node_of(found, names), _reason(found), _notes(found))
    made = Module.parse(done.bytecode, trusted=True, legalize=False, context=new_context())
    return _packed(made, graphs.parameters(module.graph))


def _packed(module: Module, parameters: Sequence[int]) -> Module:
    """The module with its parameters as products and convolutions read them, if that is better.

    Args:
        module: the function `main`.
        parameters: the numbers of the arguments that are the same for many calls.
    """
    if in_force():
        return module  # libraries take them as they are
    with module.context:
        for function in functions(module.ir):
            count = len(function.regions[0].blocks[0].arguments)
            said: list[dict[str, ir.Attribute]] = [
                {PARAMETER: ir.UnitAttr.get()} if place in parameters else {}
                for place in range(count)
            ]
            function.attributes["arg_attrs"] = ir.ArrayAttr.get(
                [ir.DictAttr.get(each) for each in said]
            )
    module.run(f"{PACK_PARAMETERS},{PREPARE_FILTERS}")
    return module


def refusal_of(error: IRError, graph: Any) -> Refused:
    """An error of this library's compiler, by the node that it is about."""
    names = {node.name for node in graph.nodes}
    node = graphs.name_in("\n".join([str(error.where), *error.diagnostics]), names)
    return Refused(node, error.what, error.diagnostics[:1])


def node_of(found: Sequence[Diagnostic], names: set[str]) -> str | None:
    """The node that diagnostics point at first."""
    everything = (each for one in found for each in (one, *one.notes))
    return next((n for one in everything if (n := graphs.name_in(one.location, names))), None)


def _reason(found: Sequence[Diagnostic]) -> str:
    message = found[0].message if found else ""
    if "failed to legalize" in message or "torch.operator" in message:
        return "torch-mlir does not lower it to linalg"
    first = message.strip().partition("\n")[0]
    return first or "torch-mlir's passes fail"


def _notes(found: Sequence[Diagnostic]) -> list[str]:
    firsts = (one.message.strip().partition("\n")[0] for one in joined(found))
    return [f"torch-mlir: {first[:200]}" for first in firsts][:1]


def _base(op: str) -> str:
    """The name of an op alone: `view` of `aten.view.default`."""
    return op.split(".")[1] if "." in op else op


def _torch_ir(module: Any) -> Any:
    """The graph, and those of its loops, as ops of the torch dialect."""
    fx = importer()
    last: list[Any] = []
    context = new_context()
    made = fx.FxImporter(
        context=context, graph_node_importer_cls=_naming(fx.GraphNodeImporter, last)
    )
    try:
        made.import_graph_module(module, func_name=ENTRY)
    except Exception as error:
        # The importer raises whatever it meets: NotImplementedError, KeyError, AssertionError, ...
        node = last[-1].name if last else None
        text = str(error).strip().partition("\n")[0]
        reason = f"torch-mlir's importer does not know it: {type(error).__name__}: {text[:200]}"
        raise Refused(node, reason) from error
    _say_that_sizes_agree(made.module)
    return made.module


def _say_that_sizes_agree(module: ir.Module) -> None:
    """Say of all functions that no open size is 1 where another one is meant.

    PyTorch has decided while it traced what is broadcast, and the sizes of a call are checked
    against that. Without this, torch-mlir has each element ask for it again.
    """
    with module.context:
        for function in functions(module.operation):
            function.attributes["torch.assume_strict_symbolic_shapes"] = ir.UnitAttr.get()


def _naming(base: Any, last: list[Any]) -> Any:
    """The importer's class for nodes, as one that puts their names into locations.

    Args:
        base: its own class, which is made to be derived from.
        last: gets the node that is at hand.
    """

    class Naming(base):  # type: ignore[misc]
        def _import_torch_op_overload(self, loc: Any, node: Any, target: Any = None) -> None:
            last[:] = [node]
            super()._import_torch_op_overload(ir.Location.name(node.name, loc), node, target)

        def _import_hop(self, loc: Any, node: Any, hop: Any) -> None:
            last[:] = [node]
            super()._import_hop(ir.Location.name(node.name, loc), node, hop)

    return Naming


def _refuse_what_would_differ(graph: Any) -> None:
    """Refuse what torch-mlir makes something else of than PyTorch does, without a word."""
    seeded = torch().Tag.nondeterministic_seeded
    unsigned = {getattr(torch(), f"uint{bits}", None) for bits in (8, 16, 32, 64)}
    for node in graphs.calls(graph):
        if seeded in getattr(node.target, "tags", ()):
            raise Refused(
                node.name,
                "the random numbers would not be those of torch.manual_seed; dropout is off "
                "after model.eval()",
            )
        if _base(graphs.op_of(node)) in _KEEPING or graphs.is_free(node):
            continue
        given = [each.meta.get("val") for each in node.all_input_nodes]
        if any(each.dtype in unsigned for val in given for each in graphs.tensors_of(val)):
            raise Refused(
                node.name, "torch-mlir computes with unsigned integers as with signed ones"
            )
