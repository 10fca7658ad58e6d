"""A model exported by PyTorch, as a graph of ATen ops and what is to be known to call it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import Any

from linalg_ext.errors import ModelError
from linalg_ext.frameworks.torch import graphs
from linalg_ext.frameworks.torch.decompositions import decompositions
from linalg_ext.frameworks.torch.program import Expected, Held, Program, state_of
from linalg_ext.frameworks.torch.requirements import torch
from linalg_ext.frameworks.torch.untraceable import quiet, untraceable


def exported(
    model: Any,
    arguments: Sequence[Any],
    keywords: Mapping[str, Any],
    dynamic_shapes: Any,
    strict: bool,
) -> tuple[Any, Program]:
    """Export a model: its graph, and how that is called.

    Args:
        model: a module, or an ExportedProgram, which needs none of the others.
        arguments, keywords, dynamic_shapes, strict: as of `torch.export.export`.

    Returns:
        A graph whose placeholders are the tensors that the model holds, then those among its
        inputs; and what is to be known of them.

    Raises:
        ModelError: PyTorch cannot trace it.
    """
    export = torch().export
    try:
        with torch().no_grad(), quiet(), warnings.catch_warnings():
            # Of PyTorch's modules about each other.
            warnings.simplefilter("ignore", FutureWarning)
            # Recurrent layers refresh a list of their own weights, to no effect here.
            warnings.filterwarnings("ignore", "The tensor attributes .* were assigned during")
            if isinstance(model, export.ExportedProgram):
                traced = model
            else:
                traced = export.export(
                    model,
                    arguments,
                    keywords,
                    dynamic_shapes=dynamic_shapes,
                    strict=strict,
                )
            program = traced.run_decompositions(decompositions())
    except Exception as error:
        # The exporter raises whatever it, or the model, meets.
        raise untraceable(error) from error
    return program.graph_module, _program(program, model)


def _program(program: Any, holder: Any) -> Program:
    kinds = torch().export.graph_signature.InputKind
    spec = program.graph_signature
    nodes = {node.name: node for node in graphs.placeholders(program.graph)}
    names = _names(program)
    held: list[Held] = []
    inputs: list[Expected] = []
    order: list[str] = []
    for own in spec.input_specs:
        if own.kind == kinds.USER_INPUT:
            inputs.append(_expected(names[len(inputs)], own.arg, nodes.get(own.arg.name)))
            if inputs[-1].is_tensor:
                order.append(own.arg.name)
        elif own.target is not None:
            order.append(own.arg.name)
            held.append(_held(own, program, holder))
        else:
            raise ModelError(
                f"the model has effects that go by their order ({own.kind.name} inputs)",
                where=_first_effect(program.graph),
                hint='torch.compile(model, backend="linalg_ext") leaves such ops to PyTorch',
            )
    places = {name: place for place, name in enumerate(order)}
    targets = {own.target: own.arg.name for own in spec.input_specs if own.target}
    written = []
    for own in spec.output_specs:
        if own.kind.name.endswith("_MUTATION"):
            written.append(places[targets.get(own.target, own.target)])
    _mark_parameters(program.graph, zip(order, held, strict=False), written)
    return Program(
        held=tuple(held),
        inputs=tuple(inputs),
        written=tuple(written),
        in_spec=program.call_spec.in_spec,
        out_spec=program.call_spec.out_spec,
        ranges={
            symbol: (_bound(bounds.lower) or 0, _bound(bounds.upper))
            for symbol, bounds in program.range_constraints.items()
        },
    )


def _mark_parameters(graph: Any, held: Iterable[tuple[str, Held]], written: Sequence[int]) -> None:
    """Mark what the model holds and neither writes to nor hands out."""
    given = {result.name for result in graphs.results(graph) if hasattr(result, "op")}
    kept = [
        name
        for place, (name, own) in enumerate(held)
        if place not in written and name not in given and not own.tensor.is_inference()
    ]
    graphs.mark_parameters(graph, kept)


def _expected(name: str, argument: Any, node: Any) -> Expected:
    """An input, by its placeholder, if it has one; that of a constant is taken away."""
    like = None if node is None else node.meta.get("val")
    if graphs.holds_tensors(like):
        return Expected(name, like)
    if node is not None and node.users:
        raise ModelError(
            f"{name} is a number that is left open",
            expected="open sizes of tensors, and numbers that are known",
            hint="make it a tensor, or export the model for each value",
        )
    if node is not None:
        node.graph.erase_node(node)
    return Expected(name, getattr(argument, "value", None))


def _first_effect(graph: Any) -> Any:
    found = (node for node in graphs.calls(graph) if "with_effects" in graphs.op_of(node))
    return next(map(graphs.line_of, found), None)


def _bound(value: Any) -> int | None:
    """A bound of a size as a number; None if the size is as good as unbounded."""
    return int(value) if value.is_Integer and abs(int(value)) < 1 << 31 else None


def _names(program: Any) -> list[str]:
    """Return the caller's name of each flat input."""
    pytree = torch().utils._pytree
    spec = program.call_spec.in_spec
    order = program.module_call_graph[0].signature.forward_arg_names or ()
    numbers = pytree.tree_unflatten(list(range(spec.num_leaves)), spec)
    found = [""] * spec.num_leaves
    for path, number in pytree.tree_flatten_with_path(numbers)[0]:
        _, first, *rest = path
        name = str(getattr(first, "key", "")) or (
            order[first.idx] if first.idx < len(order) else f"argument {first.idx}"
        )
        found[number] = name + "".join(map(str, rest))
    return found


def _held(own: Any, program: Any, holder: Any) -> Held:
    """Return the place that holds a tensor of the model."""
    found = state_of(holder, own.target)
    if found is not None:
        return found
    stores: list[MutableMapping[str, Any]] = [program.state_dict, program.constants]
    owner = next(store for store in stores if own.target in store)
    return Held(own.target, owner, own.target)
