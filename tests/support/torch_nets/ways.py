"""The ways from a model of PyTorch to a kernel, and what becomes of a model on each."""

from __future__ import annotations

import inspect
import tempfile
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

import linalg_ext as lx
from linalg_ext.errors import LinalgExtError
from linalg_ext.frameworks.torch import backend
from torch_nets.subject import Subject

RIGHT, REFUSED, WRONG, LEFT = "right", "refused", "wrong", "left to PyTorch"
FAILED = "failed"
"""An exception that is none of the library's errors."""

NOT_EXPORTED = "not exported by torch-mlir"

_EXPORTED_WRONG = frozenset({"padded, then spread", "cut and padded", "shifted back"})
"""Models of which torch-mlir's text is another model.

It drops pads that cut off as much as they add, and takes pads before a transposed convolution for
pads between its strides.
"""


def outcome(subject: Subject, way: str) -> tuple[str, str]:
    """What becomes of a model on a way: a word, and what there is to say."""
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return RIGHT, WAYS[way](subject)
        except _Left as error:
            return LEFT, str(error)
        except _NotExported as error:
            return NOT_EXPORTED, _shown(error.__cause__)
        except LinalgExtError as error:
            return REFUSED, f"{type(error).__name__}: {error.what}"
        except AssertionError as error:
            return WRONG, " ".join(str(error).split())[:300]
        except Exception as error:
            inner = getattr(error, "inner_exception", None)  # dynamo wraps what a backend raises
            if isinstance(inner, LinalgExtError):
                return REFUSED, f"{type(inner).__name__}: {inner.what}"
            return FAILED, _shown(error)


def _shown(error: BaseException | None) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


class _Left(Exception):
    """Something was left to PyTorch."""


class _NotExported(Exception):
    """The exporter of torch-mlir, which is called without the library, failed."""


def _exported(subject: Subject) -> str:
    """`lx.from_torch`."""
    _compare(
        lx.from_torch(subject.model, subject.inputs, allow_fallback=False),
        subject.model,
        subject.inputs,
    )
    return ""


def _open(subject: Subject) -> str:
    """`lx.from_torch` with an open batch, where the model lets it be; called with two others."""
    if not subject.batch or subject.inputs[0].shape[0] == 1:
        return "no batch"
    count = subject.inputs[0].shape[0]
    is_batch = [each.dim() > 0 and each.shape[0] == count for each in subject.inputs]
    auto = torch.export.Dim.AUTO
    shapes: Any = tuple({0: auto} if each else {} for each in is_batch)
    net = lx.from_torch(
        subject.model, subject.inputs, dynamic_shapes=_nested(subject, shapes), allow_fallback=False
    )
    _compare(net, subject.model, subject.inputs)
    said = []
    for rows in (count + 3, max(2, count - 1)):
        pairs = zip(subject.inputs, is_batch, strict=True)
        others = [torch.cat([x] * 3)[:rows].contiguous() if grows else x for x, grows in pairs]
        try:
            subject.model(*others)
        except (RuntimeError, ValueError, IndexError):
            said.append(f"PyTorch refuses {rows}")
            continue
        _compare(net, subject.model, others)
    return ", ".join(said)


def _nested(subject: Subject, shapes: tuple[Any, ...]) -> Any:
    """What says which dimensions are open, in the form of the parameters of `forward`."""
    kinds = [each.kind for each in inspect.signature(subject.model.forward).parameters.values()]
    named = len(kinds) - 1
    if kinds[-1] is not inspect.Parameter.VAR_POSITIONAL or len(shapes) <= named:
        return shapes
    return (*shapes[:named], shapes[named:])


def _traced(subject: Subject) -> str:
    """`torch.compile`, of which nothing may be left to PyTorch."""
    torch._dynamo.reset()
    backend.report(clear=True)
    _compare(torch.compile(subject.model, backend="linalg_ext"), subject.model, subject.inputs)
    report = backend.report()
    if report.left or report.breaks:
        raise _Left(str(report))
    return f"{report.nodes} ops"


def _as_text(subject: Subject) -> str:
    """A text that torch-mlir's own front door exports, compiled from its file."""
    from torch_mlir import fx

    if subject.name in _EXPORTED_WRONG:
        raise _NotExported from ValueError("the text is another model")
    try:
        found = fx.export_and_import(
            subject.model, *subject.inputs, output_type="linalg-on-tensors"
        )
    except Exception as error:
        raise _NotExported from error
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "exported.mlir")
        file.write_text(str(found))
        kernel = lx.compile(file.read_text())

    def call(*inputs: Any) -> Any:
        given = kernel(*(_array(each) for each in pytree.tree_leaves(inputs)))
        results = given if isinstance(given, tuple) else (given,)
        return [_tensor(each) for each in results]

    _compare(call, lambda *inputs: pytree.tree_leaves(subject.model(*inputs)), subject.inputs)
    return ""


def _array(tensor: Any) -> Any:
    import ml_dtypes

    if tensor.dtype is torch.bfloat16:
        return tensor.float().numpy().astype(ml_dtypes.bfloat16)
    return tensor.numpy()


def _tensor(array: Any) -> Any:
    narrow = np.asarray(array)
    if narrow.dtype.name == "bfloat16":
        return torch.from_numpy(narrow.astype(np.float32)).to(torch.bfloat16)
    return torch.from_numpy(narrow)


def _compare(call: Callable[..., Any], model: Callable[..., Any], inputs: Any) -> None:
    wanted = pytree.tree_leaves(model(*inputs))
    found = pytree.tree_leaves(call(*inputs))
    is_narrow = any(each.dtype.itemsize == 2 for each in wanted)
    torch.testing.assert_close(
        [each.reshape(like.shape) for each, like in zip(found, wanted, strict=True)],
        wanted,
        rtol=0.1 if is_narrow else 2e-4,
        atol=2e-2 if is_narrow else 2e-5,
        equal_nan=True,
    )


WAYS: Mapping[str, Callable[[Subject], str]] = MappingProxyType(
    {"from_torch": _exported, "open": _open, "torch.compile": _traced, "text": _as_text}
)
"""By the names that the command knows them by."""
