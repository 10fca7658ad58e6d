"""A model exported by PyTorch, as a graph of ATen ops and its calling convention."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from typing import Any

from linalg_ext.errors import ModelError, caller_location
from linalg_ext.frameworks.kernels import line_of_error
from linalg_ext.frameworks.requirements import torch
from linalg_ext.frameworks.torch import graphs
from linalg_ext.frameworks.torch.decompositions import decompositions
from linalg_ext.frameworks.torch.program import ModelInput, ModelTensor, Program, state_of
from linalg_ext.frameworks.torch.recurrent import shapes_by_one_step


def exported(
    model: Any,
    arguments: Sequence[Any],
    keywords: Mapping[str, Any],
    dynamic_shapes: Any,
    strict: bool,
) -> tuple[Any, Program]:
    """Export a model: its graph, and its calling convention.

    Args:
        model: a module, or an ExportedProgram, which needs no other argument.
        arguments, keywords, dynamic_shapes, strict: as of `torch.export.export`.

    Returns:
        A graph whose placeholders are the tensors of the model, then those among its inputs; and
        the calling convention.

    Raises:
        ModelError: PyTorch cannot trace it.
    """
    export = torch().export
    try:
        with torch().no_grad(), quiet(), warnings.catch_warnings(), shapes_by_one_step():
            # Modules of PyTorch warn about each other.
            warnings.simplefilter("ignore", FutureWarning)
            # Recurrent layers refresh a list of their own weights, which has no effect.
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
            program = _without_tokens(traced.run_decompositions(decompositions()))
    except Exception as error:
        # The exporter, or the model, raises errors of all kinds.
        raise untraceable(error) from error
    return program.graph_module, _program(program, model)


def _program(program: Any, holder: Any) -> Program:
    kinds = torch().export.graph_signature.InputKind
    spec = program.graph_signature
    nodes = {node.name: node for node in graphs.placeholders(program.graph)}
    names = _names(program)
    tensors: list[ModelTensor] = []
    inputs: list[ModelInput] = []
    order: list[str] = []
    for own in spec.input_specs:
        if own.kind == kinds.USER_INPUT:
            inputs.append(_model_input(names[len(inputs)], own.arg, nodes.get(own.arg.name)))
            if inputs[-1].is_tensor:
                order.append(own.arg.name)
        else:
            order.append(own.arg.name)
            tensors.append(_model_tensor(own, program, holder))
    positions = {name: position for position, name in enumerate(order)}
    targets = {own.target: own.arg.name for own in spec.input_specs if own.target}
    mutated = []
    for own in spec.output_specs:
        if own.kind.name.endswith("_MUTATION"):
            mutated.append(positions[targets.get(own.target, own.target)])
    _mark_parameters(program.graph, zip(order, tensors, strict=False), mutated)
    return Program(
        tensors=tuple(tensors),
        inputs=tuple(inputs),
        written=tuple(mutated),
        in_spec=program.call_spec.in_spec,
        out_spec=program.call_spec.out_spec,
        ranges={
            symbol: (_bound(bounds.lower) or 0, _bound(bounds.upper))
            for symbol, bounds in program.range_constraints.items()
        },
    )


def _mark_parameters(
    graph: Any, tensors: Iterable[tuple[str, ModelTensor]], mutated: Sequence[int]
) -> None:
    """Mark the tensors of the model that it neither writes nor returns."""
    returned = {result.name for result in graphs.results(graph) if hasattr(result, "op")}
    marked = [
        name
        for index, (name, tensor) in enumerate(tensors)
        if index not in mutated and name not in returned and not tensor.tensor.is_inference()
    ]
    graphs.mark_parameters(graph, marked)


def _model_input(name: str, argument: Any, node: Any) -> ModelInput:
    """Return an input, by its placeholder, if it has one; that of a constant is removed."""
    like = None if node is None else node.meta.get("val")
    if graphs.holds_tensors(like):
        return ModelInput(name, like)
    if node is not None and node.users:
        raise ModelError(
            f"{name} is a number that is left open",
            expected="open sizes of tensors, and numbers that are known",
            hint="make it a tensor, or export the model for each value",
        )
    if node is not None:
        node.graph.erase_node(node)
    return ModelInput(name, getattr(argument, "value", None))


def _without_tokens(program: Any) -> Any:
    """Call ops with effects as they are: `torch.export` passes tokens along to order them."""
    from torch.export._remove_effect_tokens_pass import _remove_effect_tokens

    return _remove_effect_tokens(program)


def _bound(value: Any) -> int | None:
    """Return a bound of a size as a number; None if it is 2^31 or more."""
    return int(value) if value.is_Integer and abs(int(value)) < 1 << 31 else None


def _names(program: Any) -> list[str]:
    pytree = torch().utils._pytree
    spec = program.call_spec.in_spec
    order = program.module_call_graph[0].signature.forward_arg_names or ()
    numbers = pytree.tree_unflatten(list(range(spec.num_leaves)), spec)
    names = [""] * spec.num_leaves
    for path, number in pytree.tree_flatten_with_path(numbers)[0]:
        _, first, *rest = path
        name = str(getattr(first, "key", "")) or (
            order[first.idx] if first.idx < len(order) else f"argument {first.idx}"
        )
        names[number] = name + "".join(map(str, rest))
    return names


def _model_tensor(own: Any, program: Any, holder: Any) -> ModelTensor:
    tensor = state_of(holder, own.target)
    if tensor is not None:
        return tensor
    stores: list[MutableMapping[str, Any]] = [program.state_dict, program.constants]
    owner = next(store for store in stores if own.target in store)
    return ModelTensor(own.target, owner, own.target)


_BY_RUNNING = (
    "see that model(*example_inputs) runs, and where the error that this one comes from points; "
    'torch.compile(model, backend="linalg_ext") compiles the parts between places that '
    "cannot be traced"
)
_BY_SIZES = (
    "leave sizes that the model fixes out of dynamic_shapes, give sizes that are equal the same "
    "Dim, and open no size that is 1 in the examples; torch.export.Dim.AUTO opens all that can "
    "be open"
)
_BY_INPUTS = (
    "dynamic_shapes says of each input, in order or by its name, which axes are open, or None: "
    '({0: torch.export.Dim("batch")}, None)'
)
_BY_VALUES = (
    "the model asks for a value while it is traced: choose by torch.where or torch.cond, or call "
    'torch.compile(model, backend="linalg_ext"), which compiles the parts before and after'
)
_LOUD = ("torch._subclasses.fake_tensor", "torch.fx.experimental.symbolic_shapes")
"""Loggers that write the traceback of an error before it is raised."""


def untraceable(error: Exception) -> ModelError:
    """Return an error of the exporter's, or of the model's own, as one of this library's."""
    text = str(error).strip()
    first, _, more = text.partition("\n")
    suggestions = [" ".join(line[4:].split()) for line in more.splitlines() if line[:4] == "  - "]
    return ModelError(
        f"torch.export cannot trace the model: {type(error).__name__}: {first}",
        where=line_of_error(error, [torch()]) or caller_location(),
        hint=_hint_for(error, first),
        notes=list(dict.fromkeys(suggestions))[:2],
    )


@contextmanager
def quiet() -> Iterator[None]:
    """Keep PyTorch from logging errors that it raises, in a `with` block."""
    loggers = [logging.getLogger(name) for name in _LOUD]
    states = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loggers, states, strict=True):
            logger.disabled = disabled


def _hint_for(error: Exception, text: str) -> str:
    if text.startswith("Constraints violated"):
        return _BY_SIZES
    if "`dynamic_shapes`" in text:
        return _BY_INPUTS
    if "data-dependent" in text or "DataDependent" in type(error).__name__:
        return _BY_VALUES
    return _BY_RUNNING
