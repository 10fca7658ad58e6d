"""A compiled kernel for Python with NumPy alone. This file is a part of the kernel's folder.

    from load_layer import load
    layer = load()                      # of the folder that this file is in
    y = layer(x, w, b)                  # arrays in, arrays out; out=y writes there

It needs the folder's shared library, and NumPy. With ml_dtypes, bfloat16, floats of 8 bits and
integers of 4 have its dtypes; without it they are integers that hold their bits.
The code in the folder is run: load folders that you trust as programs.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

FORMAT = "linalg_ext exported kernel"
VERSION = 1
"""The version of the record and of its files. Those of another version are not read."""

RECORD = "kernel.json"

Array = np.ndarray[Any, Any]

_CONSTANT = 0xDEADBEEF
_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}


def load(folder: Any = None) -> Kernel:
    """Load the kernel in a folder, by default in that of this file.

    Raises:
        OSError: the folder has no kernel, or no shared library.
        ValueError: it is damaged, or of another version; or it is for another processor.
    """
    return Kernel(Path(__file__).resolve().parent if folder is None else Path(folder))


class Kernel:
    """A compiled function: call it on arrays."""

    def __init__(self, folder: Path) -> None:
        """Made by `load`."""
        record = _record(folder)
        self.signature = record["signature"]
        self.name = self.signature["name"]
        self._failures = record["failures"]
        self._destinations = record["entry"]["destinations"]
        self._returned = record["entry"]["returned"]
        self._parameters = self.signature["parameters"]
        self._results = self.signature["results"]
        for type_ in (*self._parameters, *self._results):
            type_["dtypes"] = _dtypes(type_)
        self._returned_words = sum(3 + 2 * self._rank(index) for index in self._returned)
        _check_processor(record)
        name = record["files"].get("library")
        if name is None:
            raise FileNotFoundError(
                f"{folder} has no shared library: there was no linker when it was exported. "
                f"Link {record['files']['object']} yourself, or use linalg_ext.load"
            )
        library = (folder / name).read_bytes()
        if _checksum(library) != record["checksums"][name]:
            raise ValueError(f"{folder / name} is not as it was written")
        for needed in ("libm.so.6", *record["libraries"]):
            try:
                ctypes.CDLL(needed, mode=ctypes.RTLD_GLOBAL)
            except OSError:
                if needed in record["libraries"]:
                    raise
        self._library = _loaded(library, (folder / name).resolve())
        self._run = self._library[record["symbol"]]
        self._run.argtypes, self._run.restype = [ctypes.c_void_p], None

    def __call__(self, *args: Any, out: Any = None) -> Any:
        """Run the kernel.

        Args:
            *args: arrays and numbers, of the dtypes and shapes of the signature.
            out: an array for the result, or a tuple with an array or None for each.

        Returns:
            The result, or a tuple of them, or None if absent.

        Raises:
            TypeError: a wrong number of arguments, or a wrong dtype.
            ValueError: a wrong shape, or memory that cannot be used as it lies.
            RuntimeError: a check in the compiled code failed.
        """
        if len(args) != len(self._parameters):
            raise TypeError(f"{self.name} takes {len(self._parameters)} arguments, got {len(args)}")
        inputs = [
            _prepared(f"argument {index}", value, type_)
            for index, (value, type_) in enumerate(zip(args, self._parameters, strict=True))
        ]
        for index, type_ in enumerate(self._parameters):
            if type_["is_written"]:
                _check_memory(
                    f"argument {index}", inputs[index], inputs[:index] + inputs[index + 1 :]
                )
        single = len(self._results) == 1
        outs = [out] if single and not isinstance(out, tuple) else list(out or ())
        outs += [None] * (len(self._results) - len(outs) if out is None else 0)
        if len(outs) != len(self._results):
            raise TypeError(f"out has {len(outs)} arrays, expected {len(self._results)}")
        for index, (own, type_) in enumerate(zip(outs, self._results, strict=True)):
            if own is not None:
                _checked(f"out {index}", own, {**type_, "is_written": True})
                earlier = [other for other in outs[:index] if other is not None]
                _check_memory(f"out {index}", own, inputs + earlier)
        results: list[Any] = [None] * len(self._results)
        for index in self._destinations:
            own, type_ = outs[index], self._results[index]
            is_ready = own is not None and _fits(own, type_)
            results[index] = own if is_ready else _empty(_shape(type_), _result_dtype(type_), type_)
        self._call(inputs, results)
        for index, (own, type_) in enumerate(zip(outs, self._results, strict=True)):
            if own is None:
                results[index] = results[index][()] if type_["kind"] == "scalar" else results[index]
            elif own is not results[index]:
                if own.shape != results[index].shape:
                    raise ValueError(
                        f"out {index} has shape {own.shape}, expected {results[index].shape}"
                    )
                np.copyto(own, results[index].view(own.dtype))
                results[index] = own
        return (results[0] if single else tuple(results)) if results else None

    def _call(self, inputs: list[Array], results: list[Any]) -> None:
        """Call compiled code: it takes a table of pointers to pointers to memrefs, or to numbers.

        All of it is in one block: the table, then the pointers, then the memrefs.
        """
        status = np.zeros(1, np.int64)
        memrefs: list[Any] = [[0] * self._returned_words] if self._returned else []
        for array, type_ in zip(inputs, self._parameters, strict=True):
            is_number = type_["kind"] == "scalar"
            memrefs.append(_address(array) if is_number else _descriptor(array, type_))
        memrefs += [
            _descriptor(results[index], self._results[index]) for index in self._destinations
        ]
        memrefs.append([_address(status), _address(status), 0, 1, 1])
        count = len(memrefs)
        size = 2 * count + sum(len(type_) for type_ in memrefs if isinstance(type_, list))
        block = (ctypes.c_int64 * size)()
        start = ctypes.addressof(block)
        words: list[ctypes.c_int64 | int] = [0] * (2 * count)
        for index, memref in enumerate(memrefs):
            if isinstance(memref, int):
                words[index] = memref
                continue
            words[index], words[count + index] = start + 8 * (count + index), start + 8 * len(words)
            words += memref
        block[:] = words
        self._run(start)
        if status[0]:
            number = int(status[0])
            known = 0 < number <= len(self._failures)
            why = self._failures[number - 1] if known else f"status {number}"
            raise RuntimeError(f"{self.name} stopped: {why}")
        if self._returned:
            self._collect(block[2 * count : 2 * count + self._returned_words], inputs, results)

    def _collect(self, words: list[int], inputs: list[Array], results: list[Any]) -> None:
        """Copy the returned results, and free their memory."""
        borrowed = {_address(array) for array in inputs} | {0, _CONSTANT}
        allocated = set()
        start = 0
        for index in self._returned:
            rank = self._rank(index)
            results[index] = _copied(words[start:], self._results[index], rank)
            allocated.add(words[start] & (1 << 64) - 1)
            start += 3 + 2 * rank
        for address in allocated - borrowed:
            _free(ctypes.c_void_p(address))

    def _rank(self, index: int) -> int:
        result = self._results[index]
        return len(result["shape"]) - len(result["vector"])

    def __repr__(self) -> str:
        inputs = ", ".join(type_["text"] for type_ in self._parameters)
        outputs = ", ".join(type_["text"] for type_ in self._results)
        return f"kernel {self.name}({inputs}) -> ({outputs})"


def _record(folder: Path) -> Any:
    path = folder / RECORD
    try:
        whole = json.loads(path.read_bytes())
        kind, version, kernel = whole["format"], whole["version"], whole["kernel"]
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{path} is not a record of an exported kernel") from error
    if kind != FORMAT or version != VERSION:
        raise ValueError(f"{path} is {kind!r}, version {version!r}; expected version {VERSION}")
    if whole.get("checksum") != _checksum(canonical(kernel)):
        raise ValueError(f"{path} is not as it was written")
    return kernel


def canonical(kernel: Any) -> bytes:
    """Return the text of a record's data under its checksum."""
    return json.dumps(kernel, sort_keys=True, separators=(",", ":")).encode()


def _loaded(library: bytes, path: Path) -> ctypes.CDLL:
    """Load the library that was read and checked, even if its file has changed since."""
    if not hasattr(os, "memfd_create"):
        return ctypes.CDLL(str(path))
    # The descriptor stays open: the system's loader takes libraries of the same path for the same.
    descriptor = os.memfd_create(path.name)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(library)
    return ctypes.CDLL(f"/proc/self/fd/{descriptor}")


def _checksum(content: bytes) -> str:
    import hashlib

    return hashlib.blake2b(content, digest_size=20).hexdigest()


def _check_processor(record: Any) -> None:
    import platform

    architecture = record["target"]["architecture"]
    machine = platform.machine().lower()
    if _MACHINES.get(machine, machine) != architecture:
        raise ValueError(f"the kernel is for {architecture}, this machine is {machine}")
    if sys.platform == "linux":
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
        cores = [
            set(line.partition(":")[2].split())
            for line in lines
            if line.startswith(("flags", "Features"))
        ]
        has = set.intersection(*cores) if cores else set()
        if missing := [flag for flag in record["flags"] if flag not in has]:
            raise ValueError(f"the kernel needs a processor with {', '.join(missing)}")
        if "amx_tile" in record["flags"]:
            # Linux grants tiles on demand: arch_prctl(ARCH_REQ_XCOMP_PERM, XTILEDATA).
            ctypes.CDLL(None).syscall(158, 0x1023, 18)


def _dtypes(type_: Any) -> list[Any]:
    """Return the dtypes of an argument or a result; without ml_dtypes integers for its bits."""
    if type_["bits"] is None:
        return [np.dtype(name) for name in type_["dtypes"]]
    try:
        import ml_dtypes
    except ImportError:
        return [np.dtype(name) for name in type_["bits"]]
    return [np.dtype(getattr(ml_dtypes, name)) for name in type_["dtypes"]]


def _result_dtype(type_: Any) -> Any:
    return type_["dtypes"][-1 if type_["is_unsigned"] else 0]


def _shape(type_: Any) -> Any:
    return type_.get("shape", [])


def _prepared(name: str, value: Any, type_: Any) -> Array:
    """Return the array to pass for `value`: itself, if possible."""
    is_written = type_["is_written"]
    array = _cleaned(_checked(name, value, type_), type_, is_written)
    if _fits(array, type_):
        return array
    if not is_written:
        copy = _empty(array.shape, array.dtype, type_)
        np.copyto(copy, array)
        if _fits(copy, type_):
            return copy
    raise ValueError(f"{name} has strides {array.strides}, which {type_['text']} does not allow")


def _checked(name: str, value: Any, type_: Any) -> Array:
    """Return `value` as an array of the right dtype and shape, writable if need be."""
    if type_["is_written"] and not isinstance(value, np.ndarray):
        raise TypeError(f"{name} is written: expected an array, got a {type(value).__name__}")
    is_array = isinstance(value, np.ndarray | np.generic)
    array = np.asarray(value) if is_array else np.asarray(value, type_["dtypes"][0])
    if array.dtype not in type_["dtypes"]:
        expected = " or ".join(map(str, type_["dtypes"]))
        raise TypeError(f"{name} has dtype {array.dtype}, expected {expected}")
    shape = _shape(type_)
    if array.ndim != len(shape) or any(
        size is not None and size != own for size, own in zip(shape, array.shape, strict=True)
    ):
        raise ValueError(f"{name} has shape {array.shape}, expected that of {type_['text']}")
    if type_["is_written"] and not array.flags.writeable:
        raise ValueError(f"{name} is read-only, and it is written")
    return array


def _cleaned(array: Array, type_: Any, is_written: bool) -> Array:
    """Return an array whose unused bits are zero."""
    bits: int = type_["width"]
    raw = array.view(np.uint8) if bits < 8 else None
    if raw is None or not raw.size or int(raw.max()) < 1 << bits:
        return array
    clean = (raw != 0 if bits == 1 else raw & (1 << bits) - 1).astype(np.uint8)
    if is_written:
        np.copyto(raw, clean)
        return array
    return clean.view(array.dtype)


def _fits(array: Array, type_: Any) -> bool:
    if not array.flags.aligned or _address(array) % type_["alignment"]:
        return False
    strides = type_.get("strides")
    if strides is None:
        return array.flags.c_contiguous
    vector = type_["vector"]
    outer = array.ndim - len(vector)
    step = array.itemsize * math.prod(vector)
    inner = [array.itemsize * math.prod(vector[axis + 1 :]) for axis in range(len(vector))]
    return list(array.strides[outer:]) == inner and all(
        own % step == 0 and (stride is None or own == stride * step or size < 2 or not array.size)
        for stride, own, size in zip(strides, array.strides, array.shape, strict=False)
    )


def _empty(shape: Any, dtype: Any, type_: Any) -> Array:
    alignment: int = type_["alignment"]
    size = int(dtype.itemsize * math.prod(shape))
    room = np.empty(size + alignment, np.uint8)
    start = -_address(room) % alignment
    array: Array = room[start : start + size].view(dtype).reshape(tuple(shape))
    return array


def _check_memory(name: str, array: Array, neighbours: list[Array]) -> None:
    reach = array.itemsize
    for stride, size in sorted(zip(map(abs, array.strides), array.shape, strict=True)):
        if size > 1 and array.size:
            if stride < reach:
                raise ValueError(f"{name} has elements that overlap one another")
            reach += stride * (size - 1)
    if any(np.may_share_memory(array, other) for other in neighbours):
        raise ValueError(f"{name} may share memory with another argument, and it is written")


def _descriptor(array: Array, type_: Any) -> list[int]:
    vector = type_.get("vector", [])
    rank = array.ndim - len(vector)
    step = array.itemsize * math.prod(vector)
    strides = [stride // step for stride in array.strides[:rank]]
    for axis, stride in enumerate(type_.get("strides") or ()):
        strides[axis] = strides[axis] if stride is None else stride
    offset = type_.get("offset") or 0
    start = _address(array)
    return [start, start - offset * step, offset, *array.shape[:rank], *strides]


def _address(array: Array) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def _copied(memref: list[int], type_: Any, rank: int) -> Array:
    dtype, vector = _result_dtype(type_), type_["vector"]
    shape = (*memref[3 : 3 + rank], *vector)
    size = dtype.itemsize * math.prod(shape)
    if not 0 <= size < 1 << 56:
        raise RuntimeError(f"the code returned an array of the impossible shape {shape}")
    if not size:
        return np.empty(shape, dtype)
    start = memref[1] + memref[2] * dtype.itemsize * math.prod(vector)
    raw = (ctypes.c_char * size).from_address(start & (1 << 64) - 1)
    array: Array = np.frombuffer(raw, dtype).reshape(shape).copy()
    return array


_free = ctypes.CDLL(None).free
_free.restype = None
