"""A model as it is called: its state, what its inputs may be, what it writes to."""

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
)
from linalg_ext.frameworks.requirements import torch


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
        """Return the tensor, as it is now.

        Raises:
            ModelError: the model has it no longer.
        """
        found = self.owner.get(self.key)
        if found is None:
            raise ModelError(
                f"{self.name} is gone from the model",
                where=caller_location(),
                hint="put it back, or compile the model again",
            )
        return found


def state_of(holder: Any, name: str) -> Held | None:
    """A parameter or a buffer of a module by its name in `state_dict()`; None if it is not one."""
    if not isinstance(holder, torch().nn.Module):
        return None
    path, _, key = name.rpartition(".")
    try:
        module = holder.get_submodule(path)
    except AttributeError:
        return None
    owners = (module._parameters, module._buffers)
    return next((Held(name, owner, key) for owner in owners if owner.get(key) is not None), None)


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
        """Return whether it is a tensor."""
        return isinstance(self.like, torch().Tensor)


@dataclass(frozen=True)
class Program:
    """A model that was exported.

    The placeholders of its graph are `held`, then the tensors among `inputs`.

    Attributes:
        held: what the model holds.
        inputs: what it takes, constants included, in the order of `in_spec`.
        written: for each of the first results, the place among the placeholders of what it is to
            be written to; the others are what the model gives.
        in_spec, out_spec: how inputs and results are contained.
        ranges: the least and greatest size for each open dimension.
    """

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
        if self._is_plain(arguments, keywords):
            return list(arguments)
        leaves = self._leaves(arguments, keywords)
        sizes: dict[Any, int] = {}
        for expected, given in zip(self.inputs, leaves, strict=True):
            self._check(expected, given, sizes)
        self._check_sizes(leaves, sizes)
        return [
            given for expected, given in zip(self.inputs, leaves, strict=True) if expected.is_tensor
        ]

    @cached_property
    def _takes_tensors_alone(self) -> bool:
        """Return whether a call has positional tensors and nothing else."""
        positional, named = self.in_spec.child(0), self.in_spec.child(1)
        return (
            not named.num_leaves
            and all(each.is_leaf() for each in positional.children())
            and all(each.is_tensor for each in self.inputs)
        )

    @cached_property
    def _plain(self) -> tuple[tuple[Any, Any], ...] | None:
        """Shapes and dtypes, where a call has positional tensors of known sizes; else None."""
        if not self._takes_tensors_alone:
            return None
        found = tuple((tuple(each.like.shape), each.like.dtype) for each in self.inputs)
        is_known = all(type(size) is int for shape, _ in found for size in shape)
        return found if is_known else None

    def _is_plain(self, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> bool:
        """Return whether a call needs no further checks. The test costs a microsecond."""
        expected = self._plain
        if expected is None or keywords or len(arguments) != len(expected):
            return False
        tensor = torch().Tensor
        for given, (shape, dtype) in zip(arguments, expected, strict=True):
            if type(given) is not tensor or given.shape != shape or given.dtype is not dtype:
                return False
            if given.requires_grad:
                return False
        return True

    def _leaves(self, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Sequence[Any]:
        """Return the flat contents of the arguments of a call, in the order of `inputs`."""
        tensor = torch().Tensor
        is_flat = self._takes_tensors_alone and not keywords and len(arguments) == len(self.inputs)
        if is_flat and all(type(given) is tensor for given in arguments):
            return arguments  # to look into containers takes longer than all else
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
                    hint="make it a tensor, or export the model for each value",
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
                hint=f"convert it, tensor.to({like.dtype}), or export the model for it",
            )
        if given.requires_grad and torch().is_grad_enabled():
            raise ArgumentError(
                f"{expected.name} requires a gradient, which this function has none of",
                where=caller_location(),
                hint="call it under torch.no_grad(), or train the model with "
                'torch.compile(model, backend="linalg_ext")',
            )
        if given.ndim != like.ndim:
            self._refuse_shape(expected, given)
        for size, own in zip(given.shape, like.shape, strict=True):
            if isinstance(own, int):
                if size != own:
                    self._refuse_shape(expected, given)
            elif own.node.expr.is_Integer:
                if size != own.node.expr:
                    self._refuse_shape(expected, given, f"the model fixes {own.node.expr}")
            elif own.node.expr.is_Symbol and sizes.setdefault(own.node.expr, size) != size:
                self._refuse_shape(expected, given, f"{own} is {sizes[own.node.expr]} elsewhere")

    def _check_sizes(self, leaves: Sequence[Any], sizes: dict[Any, int]) -> None:
        """Open dimensions: within their bounds, and those that follow from others as they must."""
        if not self.ranges:
            return
        for expected, given in zip(self.inputs, leaves, strict=True):
            if not expected.is_tensor:
                continue
            for size, own in zip(given.shape, expected.like.shape, strict=True):
                if isinstance(own, int):
                    continue
                expression = own.node.expr
                if not expression.is_Symbol:
                    self._check_computed(expected, given, size, expression, sizes)
                self._check_range(expected, given, size, expression)

    def _check_computed(
        self, expected: Expected, given: Any, size: int, expression: Any, sizes: dict[Any, int]
    ) -> None:
        """A size that PyTorch knows as an expression: it can be all that tells of a symbol."""
        unknown = sorted(expression.free_symbols - sizes.keys(), key=str)
        if len(unknown) == 1:
            (symbol,) = unknown
            factor, rest = expression.coeff(symbol, 1), expression.coeff(symbol, 0).subs(sizes)
            found = (size - rest) / factor if factor.is_Integer else None
            if found is not None and (not found.is_Integer or found < 0):
                self._refuse_shape(expected, given, f"{expression} = {size} holds for no {symbol}")
            if found is not None:
                sizes[symbol] = int(found)
                self._check_range(expected, given, sizes[symbol], symbol)
        value = expression.subs(sizes)
        if not value.free_symbols and value != size:
            self._refuse_shape(expected, given, f"{expression} is {value}")

    def _check_range(self, expected: Expected, given: Any, size: int, expression: Any) -> None:
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
            hint="leave dimensions open with dynamic_shapes=, as of torch.export.export; what the "
            "model fixes, and what is 1 in the examples, stays as it is",
        )
