"""Recurrent layers in the graphs of TorchDynamo: kept whole, whatever the number of their steps.

PyTorch traces none of `nn.LSTM`, `nn.GRU` and `nn.RNN` unless it is told to, for it would then
write down each step of a sequence. Here a layer is a loop in a kernel, and so is its gradient.
"""

from __future__ import annotations

import functools
from typing import Any

from linalg_ext.frameworks.torch.cells import CELLS, PROJECTED
from linalg_ext.frameworks.torch.recurrent import layers
from linalg_ext.frameworks.torch.requirements import torch

_HAS_BIASES = 3
"""The place of that word among the arguments; where packed sequences are given, it is another."""


def trace_recurrent_layers() -> None:
    """Have TorchDynamo trace recurrent layers, in this process."""
    from torch._dynamo import config

    config.allow_rnn = True


def keep_whole(graph_module: Any) -> None:
    """Have each recurrent layer of a graph be the ops of `recurrent`.

    Args:
        graph_module: as TorchDynamo traced it; is changed.
    """
    aten = torch().ops.aten
    kinds = {getattr(torch(), name): name for name in CELLS if name != PROJECTED}
    for node in graph_module.graph.nodes:
        name = kinds.get(node.target) if node.op == "call_function" else None
        if name is not None and _is_of_tensors(node):
            node.target = functools.partial(layers, name, getattr(aten, name).input)
    graph_module.recompile()


def _is_of_tensors(node: Any) -> bool:
    return len(node.args) > _HAS_BIASES and isinstance(node.args[_HAS_BIASES], bool)
