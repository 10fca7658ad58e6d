"""Fingerprints of weights: all of the memory is read, so that no change goes unseen.

Of every 256 bytes, each word of 32 bits goes into a sum of its own, `sum = sum * factor + word`, so
that places count as well as values. A change of one word always shows; of two in places that meet
in one sum, in all but one case of four thousand million.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from linalg_ext.compiler.compilation import compile
from linalg_ext.runtime.written_pages import bytes_of
from linalg_ext.target import host, using

Array = np.ndarray[Any, Any]

_VECTORS, _LANES = 4, 16
_SUMS = _VECTORS * _LANES
_FACTOR = 0x9E3779B1


def fingerprint(array: Array) -> bytes:
    """A text of all that lies in an array, in the order of its memory."""
    flat = bytes_of(array)
    if flat is None:  # with gaps
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    whole = flat.size // (4 * _SUMS) * (4 * _SUMS)
    sums = np.empty(_SUMS, np.int32)
    _summing()(flat[:whole].view(np.int32), sums)
    return sums.tobytes() + flat[whole:].tobytes()


@functools.cache
def _summing() -> Callable[[Array, Array], object]:
    """The kernel that sums: it is kept on disk, as all are."""
    vector, numbers = f"vector<{_LANES}xi32>", range(_VECTORS)
    types = ", ".join([vector] * _VECTORS)
    starts = ", ".join(f"%sum{n} = %zero" for n in numbers)
    steps = "\n".join(
        f"""
        %at{n} = arith.addi %i, %offset{n} : index
        %word{n} = vector.load %memory[%at{n}] : memref<?xi32>, {vector}
        %scaled{n} = arith.muli %sum{n}, %factor : {vector}
        %next{n} = arith.addi %scaled{n}, %word{n} : {vector}"""
        for n in numbers
    )
    stores = "\n".join(
        f"vector.store %all#{n}, %sums[%offset{n}] : memref<{_SUMS}xi32>, {vector}" for n in numbers
    )
    offsets = "\n".join(f"%offset{n} = arith.constant {n * _LANES} : index" for n in numbers)
    text = f"""
    func.func @fingerprint(%memory: memref<?xi32>, %sums: memref<{_SUMS}xi32>) {{
      {offsets}
      %step = arith.constant {_SUMS} : index
      %zero = arith.constant dense<0> : {vector}
      %factor = arith.constant dense<{_FACTOR}> : {vector}
      %size = memref.dim %memory, %offset0 : memref<?xi32>
      %all:{_VECTORS} = scf.for %i = %offset0 to %size step %step
          iter_args({starts}) -> ({types}) {{
        {steps}
        scf.yield {", ".join(f"%next{n}" for n in numbers)} : {types}
      }}
      {stores}
      return
    }}"""
    with using(host()):
        kernel: Callable[[Array, Array], object] = compile(text, trusted=True, checked=False)
        return kernel
