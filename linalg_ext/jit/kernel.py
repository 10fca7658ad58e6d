"""Kernel (first version)."""
from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from linalg_ext.runtime.descriptors import Descriptor, address_of, describe, word_count
from linalg_ext.runtime.frame import FrameLayout
from linalg_ext.jit.signature import ArrayType
from linalg_ext.errors import *


class Kernel:
    def __init__(self, signature, entry, engine, assertions) -> None:
        self.signature = signature
        self._entry = entry
        self._engine = engine
        self._function = engine.function(entry.symbol)
        ranks = [p.type.rank if isinstance(p.type, ArrayType) else None for p in signature.parameters]
        ranks += [getattr(signature.results[i].type, "rank", 0) for i in entry.destinations]
        self._layout = FrameLayout([*ranks, 1], [signature.results[i].type.rank for i in entry.returned])
        self._assertions = assertions

    def __call__(self, *args: Any, out: Any = None) -> Any:
        sig = self.signature
        if len(args) != len(sig.parameters):
            raise ArityError("arity")
        lay = self._layout
        frame = lay.take()
        keep = []
        n = 0
        for p, a, slot in zip(sig.parameters, args, lay.slots):
            if isinstance(p.type, ArrayType):
                a = np.asarray(a)
                if p.type.kind == "tensor": a = np.ascontiguousarray(a)
                if a.ndim != len(p.type.shape) or any(s not in (None, t) for s, t in zip(p.type.shape, a.shape)):
                    raise ShapeError(f"{p}: shape {a.shape}")
                if a.dtype not in p.type.element.dtypes:
                    raise DTypeError(f"{p}: dtype {a.dtype}")
                keep.append(a)
                w = describe(a, inner_rank=len(p.type.vector)).words()
                frame[slot:slot+len(w)] = w
            else:
                b = np.asarray(a, p.type.element.dtype).tobytes().ljust(16, b"\0")
                frame[slot] = int.from_bytes(b[:8], "little", signed=True)
                frame[slot+1] = int.from_bytes(b[8:], "little", signed=True)
            n += 1
        results = [None] * len(sig.results)
        outs = (out,) if isinstance(out, np.ndarray) else out
        for k, i in enumerate(self._entry.destinations):
            r = sig.results[i]
            a = outs[i] if outs is not None else np.empty(r.shape, r.dtype)
            results[i] = a
            w = describe(a).words()
            frame[lay.slots[n]:lay.slots[n]+len(w)] = w
            n += 1
        status = np.zeros(1, np.int64)
        w = describe(status).words()
        frame[lay.slots[n]:lay.slots[n]+len(w)] = w
        self._function(ctypes.addressof(frame))
        if status[0]:
            raise ExecutionError(self._assertions[int(status[0]) - 1])
        libc = ctypes.CDLL(None); libc.free.argtypes = [ctypes.c_void_p]
        for word, i in zip(lay.results, self._entry.returned):
            r = sig.results[i]
            d = Descriptor.from_words(frame[word:word+word_count(r.type.rank)], r.type.rank)
            results[i] = d.copy(r.dtype, r.type.vector)
            if r.type.kind == "tensor": libc.free(d.allocated)
        lay.give_back(frame)
        if not results: return None
        return results[0] if len(results) == 1 else tuple(results)
