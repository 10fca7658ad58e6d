"""The calling convention of an exported model: its state, its inputs, the tensors it writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from linalg_ext.errors import (
    ArgumentError,
    ArgumentTypeError,
    DTypeError,
    ModelError,
    ShapeError,
    caller_location,
    kind_of,
    located,
)
from linalg_ext.frameworks.requirements import torch


@dataclass(frozen=True)
class ModelTensor:
    """A tensor that a model holds: a parameter, a buffer, a constant.

    Attributes:
        name: as in `model.state_dict()`.
        owner: the mapping that has it at each call, as a model may get another tensor.
        key: its key in the mapping.
    """

    name: str
    owner: Mapping[str, Any]
    key: str

    @property
    def tensor(self) -> Any:
        """Return the tensor, as it is now.

        Raises:
            ModelError: the model has lost it.
        """
        tensor = self.owner.get(self.key)
        if tensor is None:
            raise ModelError(
                f"{self.name} is gone from the model",
                where=caller_location(),
                hint="put it back, or compile the model again",
            )
        return tensor


def state_of(holder: Any, name: str) -> ModelTensor | None:
    """Return a parameter or a buffer of a module by its name in `state_dict()`, or None."""
    if not isinstance(holder, torch().nn.Module):
        return None
    path, _, key = name.rpartition(".")
    try:
        module = holder.get_submodule(path)
    except AttributeError:
        return None
    owners = (module._parameters, module._buffers)
    return next(
        (ModelTensor(name, owner, key) for owner in owners if owner.get(key) is not None), None
    )


@dataclass(frozen=True)
class ModelInput:
    """An input of a model.

    Attributes:
        name: its name for the caller.
        like: a tensor without elements, or the value that the model was exported with.
    """

    name: str
    like: Any

    @property
    def is_tensor(self) -> bool:
        """Return whether it is a tensor."""
        return isinstance(self.like, torch().Tensor)


@dataclass(frozen=True)
class Program:
    """A model that was exported.

    The placeholders of its graph are `tensors`, then the tensors among `inputs`.

    Attributes:
        tensors: the tensors of the model.
        inputs: its inputs, constants included, in the order of `in_spec`.
        written: for each of the first results, the number of the placeholder that it is written
            to; the others are the results of the model.
        in_spec, out_spec: the tree structure of inputs and results.
        ranges: the least and greatest size for each open dimension.
    """

    tensors: tuple[ModelTensor, ...]
    inputs: tuple[ModelInput, ...]
    written: tuple[int, ...]
    in_spec: Any
    out_spec: Any
    ranges: Mapping[Any, tuple[int, int | None]]

    def flat(self, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> list[Any]:
        """Return the tensors of a call, in the order of the graph's inputs.

        Raises:
            ArgumentError: an argument does not fit; its class tells the mistake.
        """
        if self._is_plain(arguments, keywords):
            return list(arguments)
        return self._checked(arguments, keywords)

    @located
    def _checked(self, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> list[Any]:
        leaves = self._leaves(arguments, keywords)
        sizes: dict[Any, int] = {}
        for model_input, value in zip(self.inputs, leaves, strict=True):
            self._check(model_input, value, sizes)
        self._check_sizes(leaves, sizes)
        return [
            value
            for model_input, value in zip(self.inputs, leaves, strict=True)
            if model_input.is_tensor
        ]

    @cached_property
    def _takes_tensors_alone(self) -> bool:
        """Return whether a call has positional tensors and nothing else."""
        positional, named = self.in_spec.child(0), self.in_spec.child(1)
        return (
            not named.num_leaves
            and all(item.is_leaf() for item in positional.children())
            and all(item.is_tensor for item in self.inputs)
        )

    @cached_property
    def _plain(self) -> tuple[tuple[Any, Any], ...] | None:
        """Return shapes and dtypes, if a call has positional tensors of known sizes; else None."""
        if not self._takes_tensors_alone:
            return None
        plain = tuple(
            (tuple(model_input.like.shape), model_input.like.dtype) for model_input in self.inputs
        )
        is_known = all(type(size) is int for shape, _ in plain for size in shape)
        return plain if is_known else None

    def _is_plain(self, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> bool:
        """Return whether a call needs no further checks. The test costs a microsecond."""
        expected = self._plain
        if expected is None or keywords or len(arguments) != len(expected):
            return False
        tensor = torch().Tensor
        for value, (shape, dtype) in zip(arguments, expected, strict=True):
            if type(value) is not tensor or value.shape != shape or value.dtype is not dtype:
                return False
            if value.requires_grad:
                return False
        return True

    def _leaves(self, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Sequence[Any]:
        """Return the flat contents of the arguments of a call, in the order of `inputs`."""
        tensor = torch().Tensor
        is_flat = self._takes_tensors_alone and not keywords and len(arguments) == len(self.inputs)
        if is_flat and all(type(value) is tensor for value in arguments):
            return arguments  # flattening takes longer than all else
        order = self.in_spec.child(1).context
        if keywords and set(order) == set(keywords):
            keywords = {key: keywords[key] for key in order}
        both = (tuple(arguments), dict(keywords))
        leaves, spec = torch().utils._pytree.tree_flatten(both)
        if spec != self.in_spec:
            self._refuse_structure(arguments, keywords)
        return list(leaves)

    def _refuse_structure(self, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> None:
        names = ", ".join(expected.name for expected in self.inputs)
        types = [type(value).__name__ for value in arguments]
        types += [f"{key}={type(value).__name__}" for key, value in keywords.items()]
        raise ArgumentTypeError(
            f"the model is called with ({', '.join(types)})",
            expected=f"the shapes of its export: {names or 'nothing'}",
        )

    def _check(self, model_input: ModelInput, value: Any, sizes: dict[Any, int]) -> None:
        like = model_input.like
        if not model_input.is_tensor:
            if type(value) is not type(like) or value != like:
                raise ArgumentError(
                    f"{model_input.name} is {value!r}",
                    expected=f"{like!r}, which is part of the code since the model was exported",
                    hint="make it a tensor, or export the model for each value",
                )
            return
        if not isinstance(value, torch().Tensor):
            raise ArgumentTypeError(
                f"{model_input.name} is {kind_of(value)}",
                expected="a tensor of PyTorch",
                hint="torch.as_tensor(array) makes one of an array",
            )
        if value.dtype != like.dtype:
            raise DTypeError(
                f"{model_input.name} is a tensor of {value.dtype}",
                expected=str(like.dtype),
                hint=f"convert it, tensor.to({like.dtype}), or export the model for it",
            )
        if value.requires_grad and torch().is_grad_enabled():
            raise ArgumentError(
                f"{model_input.name} requires a gradient, which this function has none of",
                hint="call it under torch.no_grad(), or train the model with "
                'torch.compile(model, backend="linalg_ext")',
            )
        if value.ndim != like.ndim:
            self._refuse_shape(model_input, value)
        for size, own in zip(value.shape, like.shape, strict=True):
            if isinstance(own, int):
                if size != own:
                    self._refuse_shape(model_input, value)
            elif own.node.expr.is_Integer:
                if size != own.node.expr:
                    self._refuse_shape(model_input, value, f"the model fixes {own.node.expr}")
            elif own.node.expr.is_Symbol and sizes.setdefault(own.node.expr, size) != size:
                self._refuse_shape(model_input, value, f"{own} is {sizes[own.node.expr]} elsewhere")

    def _check_sizes(self, leaves: Sequence[Any], sizes: dict[Any, int]) -> None:
        """Check that open sizes are within bounds, and that computed ones follow from others."""
        if not self.ranges:
            return
        for model_input, value in zip(self.inputs, leaves, strict=True):
            if not model_input.is_tensor:
                continue
            for size, own in zip(value.shape, model_input.like.shape, strict=True):
                if isinstance(own, int):
                    continue
                expression = own.node.expr
                if not expression.is_Symbol:
                    self._check_computed(model_input, value, size, expression, sizes)
                self._check_range(model_input, value, size, expression)

    def _check_computed(
        self, model_input: ModelInput, value: Any, size: int, expression: Any, sizes: dict[Any, int]
    ) -> None:
        """Check a size that is an expression; it may determine one unknown symbol."""
        unknown = sorted(expression.free_symbols - sizes.keys(), key=str)
        if len(unknown) == 1:
            (symbol,) = unknown
            factor, rest = expression.coeff(symbol, 1), expression.coeff(symbol, 0).subs(sizes)
            solution = (size - rest) / factor if factor.is_Integer else None
            if solution is not None and (not solution.is_Integer or solution < 0):
                reason = f"{expression} = {size} holds for no {symbol}"
                self._refuse_shape(model_input, value, reason)
            if solution is not None:
                sizes[symbol] = int(solution)
                self._check_range(model_input, value, sizes[symbol], symbol)
        computed = expression.subs(sizes)
        if not computed.free_symbols and computed != size:
            self._refuse_shape(model_input, value, f"{expression} is {computed}")

    def _check_range(self, model_input: ModelInput, value: Any, size: int, expression: Any) -> None:
        low, high = self.ranges.get(expression, (0, None))
        if size < low or (high is not None and size > high):
            bounds = f"{low} to {'any' if high is None else high}"
            self._refuse_shape(model_input, value, f"{expression} is {bounds}")

    def _refuse_shape(self, model_input: ModelInput, value: Any, why: str = "") -> None:
        shape = ", ".join(map(str, model_input.like.shape))
        raise ShapeError(
            f"{model_input.name} has shape {tuple(value.shape)}",
            expected=f"({shape}){', where ' + why if why else ''}",
            hint="leave dimensions open with dynamic_shapes=, as in torch.export.export; a size "
            "that "
            "the model fixes, or that is 1 in the examples, cannot be open",
        )
