"""A model with inputs, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from torch_models import Function


@dataclass(frozen=True)
class Subject:
    """A model and what it is called on.

    Attributes:
        batch: whether the first dimension of its inputs, where it is that of the first, is one
            that may be left open.
    """

    name: str
    model: nn.Module
    inputs: tuple[Any, ...]
    batch: bool = True


def of(
    name: str, call: Callable[..., Any], *inputs: Tensor | list[Tensor], batch: bool = True
) -> Subject:
    """A model, or a function as one, for inference."""
    model = call if isinstance(call, nn.Module) else Function(call)
    return Subject(name, model.eval(), inputs, batch)
