"""A model exported by PyTorch, as a graph of ATen ops and its calling convention."""

from __future__ import annotations

import functools
import logging
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from typing import Any

from linalg_ext.errors import ModelError, caller_location, warn
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

    A tensor that the model assigns to an attribute of its own, or changes there, is made a buffer,
    which `state_dict()` leaves out: its next value is a result of the graph.

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
        with torch().no_grad(), quiet(), warnings.catch_warnings(), _exporting(model):
            # Modules of PyTorch warn about each other.
            warnings.simplefilter("ignore", FutureWarning)
            warnings.filterwarnings("error", "The tensor attributes? .* assigned during export")
            # Recurrent layers refresh a list of their own weights, which has no effect.
            warnings.filterwarnings(
                "ignore", rf"The tensor attributes? {_FLAT_WEIGHTS}+w\S+ assigned"
            )
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
        if _registers_state(model, str(error)):
            return exported(model, arguments, keywords, dynamic_shapes, strict)
        raise untraceable(error) from error
    return program.graph_module, _program(program, model)


@contextmanager
def _exporting(model: Any) -> Iterator[None]:
    """Leave a model as it is, and export its state and recurrent layers, in a `with` block."""
    if not isinstance(model, torch().nn.Module):
        yield
        return
    attributes = vars(model)
    own = attributes.get("forward")
    attributes["forward"] = _writing(model)
    try:
        with shapes_by_one_step(), same_tensors(model):
            yield
    finally:
        del attributes["forward"]
        if own is not None:
            attributes["forward"] = own


def _writing(model: Any) -> Callable[..., Any]:
    """Return the function of a model that writes into buffers the tensors that it assigns to them.

    The exporter sees assignments to buffers of the outermost module alone, and none to numbers.
    """
    forward = model.forward

    @functools.wraps(forward)
    def writing(*arguments: Any, **keywords: Any) -> Any:
        modules = dict(model.named_modules())
        buffers = [(module._buffers, dict(module._buffers)) for module in modules.values()]
        numbers = [(path, vars(module), _numbers(module)) for path, module in modules.items()]
        result = forward(*arguments, **keywords)
        for now, before in buffers:
            for name, buffer in before.items():
                new = now.get(name)
                if new is buffer or buffer is None or new is None:
                    continue
                if (new.shape, new.dtype) != (buffer.shape, buffer.dtype):
                    raise ModelError(
                        f"the model changes its buffer {name} from {_form(buffer)} to {_form(new)}",
                        expected="a state of one shape and dtype, as a kernel holds it",
                    )
                buffer.copy_(new)
                now[name] = buffer
        for path, now, before in numbers:
            for name, number in before.items():
                if now.get(name) is not number and now.get(name) != number:
                    place = f"{path}.{name}".strip(".")
                    warn(
                        f"the model changes self.{place}, a number: all calls of the kernel find "
                        f"{number!r} there; register_buffer makes a tensor that each call changes"
                    )
        return result

    return writing


def _form(tensor: Any) -> str:
    return f"{tensor.dtype} {tuple(tensor.shape)}"


def _numbers(module: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(module).items() if isinstance(value, int | float)}


@contextmanager
def same_tensors(model: Any) -> Iterator[list[str]]:
    """Restore tensors that are attributes, not buffers, and their elements after the `with` block.

    The list receives the names of those that were changed.
    """
    state = [
        (vars(module), name, value, value._version, value.clone())
        for module in model.modules()
        for name, value in vars(module).items()
        if isinstance(value, torch().Tensor) and not value.is_inference()
    ]
    changed: list[str] = []
    try:
        yield changed
    finally:
        for attributes, name, tensor, version, elements in state:
            is_written = tensor._version != version
            if is_written or attributes.get(name) is not tensor:
                changed.append(name)
                attributes[name] = tensor
            if is_written:
                tensor.detach().copy_(elements)


_FLAT_WEIGHTS = r"(?:self\.(?:\w+\.)*_flat_weights\[\d+\],? )"
_STATE = re.compile(
    r"The tensor attributes? (?P<assigned>.*) (?:was|were) assigned during export"
    r"|Constant (?P<changed>\S+) is mutated in the forward method"
)


def _registers_state(model: Any, error: str) -> bool:
    """Make tensors that an error of the exporter's names buffers; return whether there are such."""
    match = _STATE.search(error)
    if match is None or not isinstance(model, torch().nn.Module):
        return False
    names = (match["assigned"] or match["changed"]).replace("self.", "").split(", ")
    state = [
        (module, name)
        for prefix, module in model.named_modules()
        for name, value in vars(module).items()
        if isinstance(value, torch().Tensor)
        and f"{prefix}.{name}".strip(".").replace(".", "_") in {n.replace(".", "_") for n in names}
    ]
    for module, name in state:
        module.register_buffer(name, vars(module).pop(name), persistent=False)
    return bool(state)


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
