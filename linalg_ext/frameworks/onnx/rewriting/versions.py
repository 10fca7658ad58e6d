"""Models of older opsets as those of one in which torch-mlir knows most ops."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from linalg_ext.frameworks.onnx.rewriting.constants import known_of
from linalg_ext.frameworks.onnx.rewriting.writing import Writer
from linalg_ext.frameworks.requirements import onnx

_OLDEST = 13
"""Axes are inputs since then, and rewrites write them so."""
_WANTED = 17
"""The opset that older models are converted to: torch-mlir supports batch norms since 15."""


def newer(model: Any) -> Any:
    """A model in an opset that rewrites know; itself if in one, or if ONNX cannot convert it."""
    own = [each for each in model.opset_import if each.domain in ("", "ai.onnx")]
    if len(own) != 1 or own[0].version >= _OLDEST or model.functions:
        return model
    if any(node.op_type == "Scan" for node in model.graph.node) and own[0].version < 9:
        return model  # its batches are gone since then, and ONNX leaves it as it is
    converter = importlib.import_module("onnx.version_converter")
    try:
        found = converter.convert_version(_with_slopes(model, own[0].version), _WANTED)
        found = onnx().shape_inference.infer_shapes(found, data_prop=True)
        onnx().checker.check_model(found)
    except Exception:
        # Of ops that it has no way for it raises errors of all kinds: they may come through as is.
        return model
    return found if _has_same_signature(model, found) else model


def _with_slopes(model: Any, version: int) -> Any:
    """A model whose slopes of channels, of PRelu before opset 7, have the shape of channels.

    Raises:
        ValueError: the rank of what they belong to is not known.
    """
    nodes = [node for node in model.graph.node if node.op_type == "PRelu"]
    if version >= 7 or not nodes:
        return model
    found = onnx().ModelProto()
    found.CopyFrom(model)
    known = known_of(found)
    written = []
    for node in found.graph.node:
        if node.op_type == "PRelu":
            x, slope = node.input
            rank, sizes = len(known.shapes.get(x, ())), known.sizes(slope)
            if not rank or sizes is None or len(sizes) != 1:
                raise ValueError
            shape = np.array([*sizes, *[1] * (rank - 2)], np.int64)
            write = Writer(f"{node.output[0]}/slope", known)
            node.input[1] = write("Reshape", slope, write.constant(shape))
            written += write.nodes
        written.append(node)
    del found.graph.node[:]
    found.graph.node.extend(written)
    return found


def _has_same_signature(model: Any, found: Any) -> bool:
    pairs = (model.graph.input, found.graph.input), (model.graph.output, found.graph.output)
    return all([e.name for e in old] == [e.name for e in new] for old, new in pairs)
