"""A model as a graph of ATen ops: its state, what its inputs may be, what it writes to."""

from __future__ import annotations

import functools
import inspect
import types
import warnings
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.errors import (
    ArgumentError,
    ArgumentTypeError,
    DTypeError,
    ModelError,
    ShapeError,
    caller_location,
)
from linalg_ext.frameworks.torch import graphs
from linalg_ext.frameworks.torch.decompositions import decompositions
from linalg_ext.frameworks.torch.requirements import torch


@dataclass(frozen=True)
class Held:
    """A tensor that a model holds: a parameter, a buffer, a constant.

    Attributes:
        name: as in `model.state_dict()`.
        owner: what it is looked up in at each call, for a model may be given another one.
        key: its name there.
    """

    name: str
    owner: Mapping[str, Any]
    key: str

    @property
    def tensor(self) -> Any:
        """The tensor, as it is now.

        Raises:
            ModelError: the model has it no longer.
        """
        found = self.owner.get(self.key)
        if found is None:
            raise ModelError(
                f"{self.name} is gone from the model",
                where=caller_location(),
                cure="put it back, or compile the model anew",
            )
        return found


@dataclass(frozen=True)
class Expected:
    """An input of a model.

    Attributes:
        name: as the caller knows it.
        like: a tensor without elements, or the value that the model was exported with.
    """

    name: str
    like: Any

    @property
    def is_tensor(self) -> bool:
        """Whether it is a tensor."""
        return isinstance(self.like, torch().Tensor)


@dataclass(frozen=True)
class Program:
    """A model that was exported.

    Attributes:
        graph_module: its placeholders are `held`, then the tensors among `inputs`.
        held: what the model holds.
        inputs: what it takes, constants included, in the order of `in_spec`.
        written: for each of the first results, the place among the placeholders of what it is to
            be written to; the others are what the model gives.
        in_spec, out_spec: how inputs and results are contained.
        ranges: the least and greatest size for each open dimension.
    """

    graph_module: Any
    held: tuple[Held, ...]
    inputs: tuple[Expected, ...]
    written: tuple[int, ...]
    in_spec: Any
    out_spec: Any
    ranges: Mapping[Any, tuple[int, int | None]]

    def flat(self, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> list[Any]:
        """The tensors of a call, in the order of the graph's inputs.

        Raises:
            ArgumentError: of the kind that tells what is wrong.
        """
        pytree = torch().utils._pytree
        order = self.in_spec.child(1).context
        if keywords and set(order) == set(keywords):
            keywords = {key: keywords[key] for key in order}
        leaves, spec = pytree.tree_flatten((tuple(arguments), dict(keywords)))
        if spec != self.in_spec:
            self._refuse_structure(arguments, keywords)
        sizes: dict[Any, int] = {}
        for expected, given in zip(self.inputs, leaves, strict=True):
            self._check(expected, given, sizes)
        self._check_sizes(leaves, sizes)
        return [
            given for expected, given in zip(self.inputs, leaves, strict=True) if expected.is_tensor
        ]

    def _refuse_structure(self, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> None:
        names = ", ".join(expected.name for expected in self.inputs)
        given = [type(each).__name__ for each in arguments]
        given += [f"{key}={type(each).__name__}" for key, each in keywords.items()]
        raise ArgumentTypeError(
            f"the model is called with ({', '.join(given)})",
            where=caller_location(),
            expected=f"what it was exported with: {names or 'nothing'}",
        )

    def _check(self, expected: Expected, given: Any, sizes: dict[Any, int]) -> None:
        like = expected.like
        if not expected.is_tensor:
            if type(given) is not type(like) or given != like:
                raise ArgumentError(
                    f"{expected.name} is {given!r}",
                    where=caller_location(),
                    expected=f"{like!r}, which is part of the code since the model was exported",
                    cure="make it a tensor, or export the model for each value",
                )
            return
        if not isinstance(given, torch().Tensor):
            raise ArgumentTypeError(
                f"{expected.name} is a {type(given).__name__}",
                where=caller_location(),
                expected="a tensor of PyTorch",
            )
        if given.dtype != like.dtype:
            raise DTypeError(
                f"{expected.name} is a tensor of {given.dtype}",
                where=caller_location(),
                expected=str(like.dtype),
                cure=f"convert it, tensor.to({like.dtype}), or export the model for it",
            )
        if given.requires_grad and torch().is_grad_enabled():
            raise ArgumentError(
                f"{expected.name} requires a gradient, which this function has none of",
                where=caller_location(),
                cure="call it under torch.no_grad(), or train the model with "
                'torch.compile(model, backend="linalg_ext")',
            )
        if given.ndim != like.ndim:
            self._refuse_shape(expected, given)
        for size, own in zip(given.shape, like.shape, strict=True):
            if isinstance(own, int):
                if size != own:
                    self._refuse_shape(expected, given)
            elif own.node.expr.is_Symbol and sizes.setdefault(own.node.expr, size) != size:
                self._refuse_shape(expected, given, f"{own} is {sizes[own.node.expr]} elsewhere")

    def _check_sizes(self, leaves: Sequence[Any], sizes: Mapping[Any, int]) -> None:
        """Open dimensions: within their bounds, and those that follow from others as they must."""
        if not sizes:
            return
        for expected, given in zip(self.inputs, leaves, strict=True):
            if not expected.is_tensor:
                continue
            for size, own in zip(given.shape, expected.like.shape, strict=True):
                if isinstance(own, int):
                    continue
                expression = own.node.expr
                if not expression.is_Symbol and expression.subs(sizes) != size:
                    self._refuse_shape(expected, given, f"{expression} is {expression.subs(sizes)}")
                low, high = self.ranges.get(expression, (0, None))
                if size < low or (high is not None and size > high):
                    bounds = f"{low} to {'any' if high is None else high}"
                    self._refuse_shape(expected, given, f"{expression} is {bounds}")

    def _refuse_shape(self, expected: Expected, given: Any, why: str = "") -> None:
        shape = ", ".join(map(str, expected.like.shape))
        raise ShapeError(
            f"{expected.name} has shape {tuple(given.shape)}",
            where=caller_location(),
            expected=f"({shape}){', where ' + why if why else ''}",
            cure="leave dimensions open with dynamic_shapes=, as of torch.export.export",
        )


def exported(
    model: Any,
    arguments: Sequence[Any],
    keywords: Mapping[str, Any],
    dynamic_shapes: Any,
    strict: bool,
) -> Program:
    """Export a model.

    Raises:
        ModelError: PyTorch cannot trace it.
    """
    export = torch().export
    holder = model
    try:
        with torch().no_grad(), warnings.catch_warnings():
            # Of PyTorch's modules about each other.
            warnings.simplefilter("ignore", FutureWarning)
            # Recurrent layers refresh a list of their own weights, to no effect here.
            warnings.filterwarnings("ignore", "The tensor attributes .* were assigned during")
            if isinstance(model, export.ExportedProgram):
                traced = model
            else:
                holder = model if isinstance(model, torch().nn.Module) else _as_module(model)
                arguments, keywords = _told_apart(holder, arguments, keywords)
                traced = export.export(
                    holder,
                    arguments,
                    keywords,
                    dynamic_shapes=dynamic_shapes,
                    strict=strict,
                )
            program = traced.run_decompositions(decompositions())
    except Exception as error:
        # The exporter raises whatever it, or the model, meets.
        text = str(error).strip().partition("\n")[0]
        raise ModelError(
            f"torch.export cannot trace the model: {type(error).__name__}: {text}",
            cure="see that model(*example_inputs) runs, and where the error that this one comes "
            'from points; torch.compile(model, backend="linalg_ext") compiles what lies between '
            "places that cannot be traced",
        ) from error
    return _program(program, holder)


def _told_apart(
    model: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """Examples of which none is given twice, nor held by the model.

    torch.export takes inputs for one where their examples are the same tensor.
    """
    known = {id(each) for each in (*model.parameters(), *model.buffers())}

    def as_new(tensor: Any) -> Any:
        if id(tensor) in known:
            return tensor.detach().clone()
        known.add(id(tensor))
        return tensor

    pytree = torch().utils._pytree
    found: tuple[Sequence[Any], Mapping[str, Any]] = pytree.tree_map_only(
        torch().Tensor, as_new, (tuple(arguments), dict(keywords))
    )
    return found


def _as_module(function: Any) -> Any:
    """A function as a module that takes the same, by the same names."""
    module = torch().nn.Module()
    try:
        inspect.signature(function)
        module.forward = _as_forward(function)
    except ValueError:
        # A function of C's may have none to tell names by.
        module.forward = lambda *arguments: function(*arguments)
    return module


def _as_forward(function: Any) -> Any:
    """A function whose frames are called `forward`: the exporter tells lines of no others."""
    if not isinstance(function, types.FunctionType):
        return function
    code = function.__code__.replace(co_name="forward")
    twin = types.FunctionType(
        code, function.__globals__, "forward", function.__defaults__, function.__closure__
    )
    twin.__kwdefaults__ = function.__kwdefaults__
    return functools.update_wrapper(twin, function)


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
                cure='torch.compile(model, backend="linalg_ext") leaves such ops to PyTorch',
            )
    places = {name: place for place, name in enumerate(order)}
    targets = {own.target: own.arg.name for own in spec.input_specs if own.target}
    written = []
    for own in spec.output_specs:
        if own.kind.name.endswith("_MUTATION"):
            written.append(places[targets.get(own.target, own.target)])
    _mark_parameters(program.graph, zip(order, held, strict=False), written)
    return Program(
        graph_module=program.graph_module,
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
            cure="make it a tensor, or export the model for each value",
        )
    if node is not None:
        node.graph.erase_node(node)
    return Expected(name, getattr(argument, "value", None))


def _first_effect(graph: Any) -> Any:
    found = (node for node in graphs.calls(graph) if "with_effects" in graphs.op_of(node))
    return next(map(graphs.line_of, found), None)


def _bound(value: Any) -> int | None:
    """A bound of a size as a number; None where there is none to speak of."""
    return int(value) if value.is_Integer and abs(int(value)) < 1 << 31 else None


def _names(program: Any) -> list[str]:
    """What the caller knows each of the flat inputs by."""
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
    """Where a tensor of the model is found."""
    path, _, key = own.target.rpartition(".")
    if isinstance(holder, torch().nn.Module):
        try:
            module = holder.get_submodule(path)
        except AttributeError:
            module = None
        for owner in () if module is None else (module._parameters, module._buffers):
            if owner.get(key) is not None:
                return Held(own.target, owner, key)
    stores: list[MutableMapping[str, Any]] = [program.state_dict, program.constants]
    owner = next(store for store in stores if own.target in store)
    return Held(own.target, owner, own.target)
