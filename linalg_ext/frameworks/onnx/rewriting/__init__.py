"""Nodes of ONNX written as others, where torch-mlir has no way for them.

The rewrites run until nothing changes. Values that are known are computed, functions and branches
that are known become their nodes, and loops of known lengths are unrolled. Other ops that
torch-mlir lacks are written by ops of ONNX that every opset since 13 has.

versions      models of older opsets
rounds        the rounds over a model
writing       nodes that stand for another one
constants     what is known of values before the model runs
inlining      the nodes of a function, a branch or a loop's body, under names of their own
functions     functions of the model, and those that ONNX defines ops by
control       If, Loop and Scan
elements      functions of elements
integers      unsigned integers as wider ones
quantized     products and convolutions of bytes, scales along an axis
recurrent     LSTM, GRU and RNN, step after step
resizing      Resize, by the places that each element is made of
windows       pools and transposed convolutions
"""

from __future__ import annotations

from linalg_ext.frameworks.onnx.rewriting.rounds import rewritten as rewritten
from linalg_ext.frameworks.onnx.rewriting.versions import newer as newer
