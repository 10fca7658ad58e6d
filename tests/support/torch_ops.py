"""PyTorch's own samples of its ops, each compiled and compared with what PyTorch gives.

    PYTHONPATH=tests/support python -m torch_ops                    # some twenty minutes
    PYTHONPATH=tests/support python -m torch_ops --every 10         # a tenth of the ops
    PYTHONPATH=tests/support python -m torch_ops softmax sort --samples 20 --dtype float64

Needs `pip install expecttest`, as PyTorch's list of samples does. Ops that hand out memory as it is
are left out, and random numbers are not compared.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

import torch
from torch.utils import _pytree as pytree

import linalg_ext as lx
from linalg_ext.errors import LinalgExtError

_UNDEFINED = ("empty", "new_empty", "jiterator", "resize", "to_sparse", "sparse", "as_strided_")
_TOLERANCES = {16: 2e-2, 32: 1e-5, 64: 1e-11}
"""By the bits of a float. Those of f64 show a constant of a few digits."""

_RIGHT, _LEFT, _REFUSED, _WRONG = "right", "run by PyTorch", "refused", "wrong"


def outcomes(op: Any, dtype: Any, count: int) -> Iterator[tuple[str, str]]:
    """What becomes of some samples of an op, spread over all: a word, and what there is to say."""
    samples = list(op.sample_inputs("cpu", dtype, requires_grad=False))
    for sample in samples[:: max(1, len(samples) // count)][:count]:
        leaves, spec = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
        places = [at for at, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

        def call(*tensors: Any, leaves: Any = leaves, spec: Any = spec, at: Any = places) -> Any:
            given = list(leaves)
            for place, tensor in zip(at, tensors, strict=True):
                given[place] = tensor
            first, others, named = pytree.tree_unflatten(given, spec)
            return op.op(first, *others, **named)

        tensors = tuple(leaves[at] for at in places)
        try:
            wanted = call(*deepcopy(tensors))  # of the same parts of their memory
        except Exception:
            continue  # what PyTorch itself refuses, on this machine
        yield _outcome(call, tensors, wanted)


def _outcome(call: Any, tensors: Sequence[Any], wanted: Any) -> tuple[str, str]:
    try:
        net = lx.from_torch(call, tensors)
        found = net(*tensors)
    except LinalgExtError as error:
        return _REFUSED, error.what
    left = [op.op for op in net.report.left]
    if any("random numbers" in op.reason for op in net.report.left):
        return _LEFT, ", ".join(left)
    shapes = [tuple(tensor.shape) for tensor in tensors]
    floats = {t.dtype for t in tensors if t.is_floating_point() or t.is_complex()}
    tolerance = max((_TOLERANCES[torch.finfo(dtype).bits] for dtype in floats), default=1e-11)
    try:
        torch.testing.assert_close(
            pytree.tree_leaves(found),
            pytree.tree_leaves(wanted),
            rtol=10 * tolerance,
            atol=tolerance,
            equal_nan=True,
        )
    except AssertionError as error:
        return _WRONG, f"{' '.join(str(error).split())} of {shapes}"
    return (_LEFT, ", ".join(left)) if left else (_RIGHT, "")


def _ops(names: Sequence[str], dtype: Any) -> list[Any]:
    from torch.testing._internal.common_methods_invocations import op_db

    known = [op for op in op_db if dtype in op.dtypes]
    if names:
        return [op for op in known if op.name in names]
    return [op for op in known if not op.name.startswith(_UNDEFINED)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the samples, and print the ops that are not compiled; 1 where something is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="of ops; all where none is given")
    parser.add_argument("--samples", type=int, default=4, help="of each op, at most")
    parser.add_argument("--every", type=int, default=1, help="take one of so many ops")
    parser.add_argument("--dtype", default="float32")
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    whole: Counter[str] = Counter()
    for op in _ops(given.names, getattr(torch, given.dtype))[:: given.every]:
        found = list(outcomes(op, getattr(torch, given.dtype), given.samples))
        counts = Counter(word for word, _ in found)
        whole.update(counts)
        said = dict.fromkeys(text for word, text in found if word != _RIGHT)
        name = f"{op.name} {op.variant_test_name}".strip()
        print(f"{name}: {counts[_RIGHT]} of {len(found)}", *said, sep="\n    ", flush=True)
    print(", ".join(f"{count} {word}" for word, count in whole.items()))
    return 1 if whole[_WRONG] else 0


if __name__ == "__main__":
    sys.exit(main())
