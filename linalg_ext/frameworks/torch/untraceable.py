"""Errors of PyTorch's exporter, as one error at the line of the model that they come from."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from linalg_ext.errors import ModelError, caller_location
from linalg_ext.frameworks.lines import line_of_error
from linalg_ext.frameworks.torch.requirements import torch

_OTHERWISE = (
    "see that model(*example_inputs) runs, and where the error that this one comes from points; "
    'torch.compile(model, backend="linalg_ext") compiles what lies between places that cannot be '
    "traced"
)
_BY_SIZES = (
    "leave sizes that the model fixes out of dynamic_shapes, give sizes that are equal the same "
    "Dim, and open no size that is 1 in the examples; torch.export.Dim.AUTO opens what can be open"
)
_BY_INPUTS = (
    "dynamic_shapes says of each input, in order or by its name, which axes are open, or None: "
    '({0: torch.export.Dim("batch")}, None)'
)
_BY_VALUES = (
    "the model asks for a value while it is traced: choose by torch.where or torch.cond, or call "
    'torch.compile(model, backend="linalg_ext"), which compiles what lies before and after'
)
_LOUD = ("torch._subclasses.fake_tensor", "torch.fx.experimental.symbolic_shapes")
"""Loggers that write a traceback of an error that is then raised."""


def untraceable(error: Exception) -> ModelError:
    """An error of the exporter's, or of the model's own, as one of this library's."""
    text = str(error).strip()
    first, _, more = text.partition("\n")
    found = [" ".join(line[4:].split()) for line in more.splitlines() if line[:4] == "  - "]
    return ModelError(
        f"torch.export cannot trace the model: {type(error).__name__}: {first}",
        where=line_of_error(error, [torch()]) or caller_location(),
        hint=_cure_of(error, first),
        notes=list(dict.fromkeys(found))[:2],
    )


@contextmanager
def quiet() -> Iterator[None]:
    """A scope in which PyTorch does not log what it raises as well."""
    loggers = [logging.getLogger(name) for name in _LOUD]
    was = [each.disabled for each in loggers]
    for each in loggers:
        each.disabled = True
    try:
        yield
    finally:
        for each, disabled in zip(loggers, was, strict=True):
            each.disabled = disabled


def _cure_of(error: Exception, text: str) -> str:
    if text.startswith("Constraints violated"):
        return _BY_SIZES
    if "`dynamic_shapes`" in text:
        return _BY_INPUTS
    if "data-dependent" in text or "DataDependent" in type(error).__name__:
        return _BY_VALUES
    return _OTHERWISE
