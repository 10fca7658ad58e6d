"""Calls of einsum that have been made before: straight to their kernel.

Reading the subscripts, finding a path and putting labels on axes takes longer than a product of
small matrices. For the most common call, two arrays and no word about dtypes, the answer is kept
under the string and the sizes, strides and dtypes of the arrays: in this process, and on disk for
others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from linalg_ext.executable import disk_cache
from linalg_ext.executable.arguments import share_memory
from linalg_ext.executable.kernel import Kernel
from linalg_ext.executable.known_calls import record_of, sharing_key
from linalg_ext.runtime import backends, kernel_cache
from linalg_ext.runtime.calling_convention import contiguous_strides
from linalg_ext.runtime.dtypes import DType
from linalg_ext.runtime.libraries import in_force
from linalg_ext.runtime.pool import SMALLEST, memory
from linalg_ext.runtime.vectorcall import Records, caller
from linalg_ext.runtime.vectorcall_record import ArrayEntry, ConstantEntry, Expected, Record
from linalg_ext.target import override, setting
from linalg_ext.utils.recent import CallCache

if TYPE_CHECKING:
    from linalg_ext.notations.einsum import Contraction

Array = np.ndarray[Any, DType]

_MOST_CALLS = 2048


@dataclass(slots=True)
class _Known:
    """A resolved call: its kernel, and how operands and result are passed to it.

    Attributes:
        kernel: the kernel that computes it.
        inner: the shapes that both operands and the result have for the kernel: without axes of
            size 1.
        shape: of the result as it is written.
        dtype: of the result.
        back: the permutation that transposes a result that the call allocates; empty for none.
        records: by which native code answers such calls.
    """

    kernel: Kernel
    inner: tuple[tuple[int, ...], ...]
    shape: tuple[int, ...]
    dtype: DType
    back: tuple[int, ...]
    records: Records = field(default_factory=Records)


_Key = tuple[object, ...]

_calls: CallCache[_Key, _Known] = CallCache(_MOST_CALLS)

_sought: CallCache[_Key, None] = CallCache(_MOST_CALLS)
"""Calls that were looked for on disk, in vain."""


def repeat(
    function: Any, text: object, a: object, b: object, out: Any, threads: int | None = None
) -> Any:
    """Return the result of a call that is known, else None.

    The next one like it is answered by native code, as a call of `function`.
    """
    if type(a) is not np.ndarray or type(b) is not np.ndarray or type(text) is not str:
        return None
    libraries = in_force()
    key = _key(text, a, b, makes_result=out is None)
    answer = _calls.get(key)
    if answer is None:
        answer = _read_from_disk(key)
    if answer is None or not (a.flags.aligned and b.flags.aligned):
        return None
    if threads is None and (native := caller()) is not None:
        made_of = partial(_record, answer=answer, text=text, a=a, b=b, makes=out is None)
        answer.records.install(
            native, function, sharing_key(answer.kernel.callee), made_of, libraries
        )
    if out is None:
        result = memory.empty(answer.shape, answer.dtype)
        _run(answer, (a, b, result), threads)
        if not answer.shape:
            return result[()]
        return result.transpose(answer.back) if answer.back else result
    if not _is_written_as_it_is(out, answer, (a, b)):
        return None
    _run(answer, (a, b, out), threads)
    return out


def _empty(answer: _Known) -> Array:
    array = memory.empty(answer.shape, answer.dtype)
    return array.transpose(answer.back) if answer.back else array


def _run(answer: _Known, arrays: Sequence[Array], threads: int | None) -> None:
    kernel_arrays = [
        array if array.shape == shape else array.reshape(shape)
        for array, shape in zip(arrays, answer.inner, strict=True)
    ]
    answer.kernel(*kernel_arrays, threads=threads)


def remember(
    text: str,
    contraction: Contraction,
    operands: Sequence[Array],
    out: Array | None,
    result: Array,
    back: tuple[int, ...] = (),
) -> None:
    """Keep the answer to a call that one kernel computed.

    Args:
        text, contraction, operands: the subscripts, and their meaning for two arrays.
        out: where the result was wanted, if that was said.
        result: the array that was computed.
        back: the axes by which it is transposed for the caller.
    """
    from linalg_ext.compiler.einsum.evaluation import diagonal
    from linalg_ext.compiler.einsum.kernels import compiled_for, kept_key

    a, b = operands
    if any(len(set(labels)) < len(labels) for labels in contraction.inputs):
        return
    left, right = map(diagonal, operands, contraction.inputs)  # views, as the kernel got them
    labelled = (left.array, left.labels), (right.array, right.labels)
    output = tuple(label for label in contraction.output if contraction.sizes[label] != 1)
    kernel = compiled_for(*labelled, output)
    if kernel is None:
        return
    key = _key(text, a, b, makes_result=out is None)
    if key in _calls or not result.flags.c_contiguous:
        return
    is_turned = back != tuple(range(len(back)))
    inner = left.array.shape, right.array.shape, tuple(contraction.sizes[x] for x in output)
    known = _Known(kernel, inner, contraction.shape, a.dtype, back if is_turned else ())
    _calls.remember(key, known)
    record = {
        "kernel": kept_key(*labelled, output, a.dtype),
        "inner": known.inner,
        "shape": known.shape,
        "dtype": known.dtype.str,
        "back": known.back,
    }
    kernel_cache.write(_kept_key(key), f"einsum {text}", record, {})


def _read_from_disk(key: _Key) -> _Known | None:
    """Read the resolved call of a key from the disk cache; None where no process has stored it."""
    if key in _sought:
        return None
    entry = kernel_cache.read(_kept_key(key))
    if entry is not None:
        record = entry.record
        kernel = disk_cache.find(record["kernel"])
        if kernel is not None:
            inner, shape, back = map(tuple, (record["inner"], record["shape"], record["back"]))
            sizes = tuple(map(tuple, inner))
            known = _Known(kernel, sizes, shape, np.dtype(record["dtype"]), back)
            return _calls.remember(key, known)
    return _sought.remember(key, None)


def _kept_key(key: _Key) -> str | None:
    # The target and the libraries are in every key that is kept.
    *parts, _, _, makes_result = key
    plain = [part.str if isinstance(part, np.dtype) else part for part in parts]
    return kernel_cache.key_of("call of einsum", *plain, makes_result)


def _key(text: str, a: Array, b: Array, *, makes_result: bool) -> _Key:
    return (
        text, a.shape, a.strides, a.dtype, b.shape, b.strides, b.dtype,
        override(), in_force(), makes_result
    )  # fmt: skip


def _record(
    world: int, answer: _Known, text: str, a: Array, b: Array, *, makes: bool
) -> Record | None:
    """Return the record of a call, whose result is the last argument of the kernel."""
    *arguments, last = answer.kernel.callee.arguments
    shape, axes = answer.shape, answer.back or range(len(answer.shape))
    steps = [answer.dtype.itemsize * stride for stride in contiguous_strides(shape)]
    result = ArrayEntry(
        last.word,
        (answer.dtype,),
        tuple(shape[axis] for axis in axes),
        tuple(steps[axis] for axis in axes) if makes and answer.back else None,
        is_written=True,
    )
    if result.nbytes >= SMALLEST:
        result = replace(result, make=partial(_empty, answer))
    entries: list[Expected] = [ConstantEntry(text)]
    entries += [
        ArrayEntry(argument.word, (array.dtype,), array.shape, array.strides)
        for argument, array in zip(arguments, (a, b), strict=True)
    ]
    return record_of(
        answer.kernel.callee,
        world,
        entries,
        [result],
        makes=makes,
        takes=not makes,
        settings=(setting(), backends.setting()),
        as_number=not shape,
    )


def _is_written_as_it_is(out: Any, answer: _Known, operands: Sequence[Array]) -> bool:
    if type(out) is not np.ndarray or out.shape != answer.shape or out.dtype != answer.dtype:
        return False
    flags = out.flags
    if not (flags.c_contiguous and flags.aligned and flags.writeable):
        return False
    return not any(share_memory(out, operand) for operand in operands)
