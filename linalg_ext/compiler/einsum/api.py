"""`einsum`: the public function.

A call that is known, in this process or on disk, goes straight to its kernel. Reading subscripts,
finding a path and putting labels on axes takes longer than a sum over a few elements: where no
kernel would ever come of a call, it is NumPy's own from the start. The modules that all others need
are loaded with the first of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from linalg_ext.compiler.einsum.algebra import tell_numpy_computes
from linalg_ext.compiler.einsum.memo import repeat
from linalg_ext.runtime import backends
from linalg_ext.runtime.threads import checked
from linalg_ext.utils.vectorcall import quick_function

if TYPE_CHECKING:
    from linalg_ext.notations.einsum import Semiring


@quick_function
def einsum(
    *operands: Any,
    out: Any = None,
    dtype: Any = None,
    casting: str = "safe",
    order: str = "K",
    optimize: Any = "auto",
    compute_type: Any = None,
    kind: str | Semiring = "+*",
    outs: Any = None,
    threads: int | None = None,
    tune: Any = False,
    backend: str | None = None,
) -> Any:
    """Return sums of products of arrays, by NumPy's subscripts.

        c = einsum("mk,kn->mn", a, b)
        c = einsum("...ij,...jk,kl", a, b, w)                       # any number of operands
        c = einsum(a, [0, 1], b, [1, 2], [0, 2])                    # interleaved
        shortest = einsum("ij,jk->ik", d, d, kind="min+")
        c = einsum("mk,kn->mn", a16, b16, compute_type=np.float32)

    On traced values inside `jit` it records, on MLIR values inside an insertion point it builds.

    A single operand that nothing is summed of gives a view of it: a diagonal, a transpose. Where
    the shape of the result is `()` and there is no `out`, the result is a NumPy scalar. Of arrays
    that all come from one other library (PyTorch, JAX) the result is an array of that library.

    Args:
        *operands: the subscripts and an array for each of their terms; or each array followed by
            the list of its labels, integers from 0 to 51 and `Ellipsis`, and last, if it is wanted,
            the list of the result's. Numbers count as arrays of their own dtype, as in NumPy.
        out: where the result goes: an array of NumPy's or of another library, or a writable buffer.
            It may share memory with an operand.
        dtype: the dtype of the result, to which the operands are cast. By default the dtype in
            which the operands and `out` meet.
        casting: NumPy's rule for these casts and for the one into `out`: `"no"`, `"equiv"`,
            `"safe"`, `"same_kind"` or `"unsafe"`. Where `optimize` names an order of contraction,
            NumPy does not ask it for `out`; then a result that `out` holds exactly is accepted.
        order: of the result in memory: `"C"`, `"F"`, `"A"` or `"K"`.
        optimize: in which order operands are contracted, two at a time: `"auto"` or True; False,
            from left to right; `"greedy"`, `"optimal"`, ...; a pair of a name and a limit on the
            elements of an intermediate; or a path that `numpy.einsum_path` gives.
        compute_type: the type of products and sums, to which operands are cast; the result is cast
            to its dtype once, at the end. By default the dtype of the operands, in which integers
            wrap around, and float32 for narrower floats.
        kind: the semiring: `"+*"`, `"max+"`, `"min+"`, `"max*"` or `"or and"`. A reduction over
            nothing gives the neutral element: 0, the lowest or the greatest number, False.
        outs: on MLIR values, the destination; a tensor of neutral elements by default.
        threads: how many may work on it where it is large; by default `lx.threads.current()`.
        tune: seconds in which plans are measured when these shapes come first (True: 10); the
            fastest is used, now and later: see `lx.tuning`. `out` must then have memory of
            its own.
        backend: `"kernel"` to have a kernel compute it, compiled for these shapes when they come
            first, and NumPy nothing; `"auto"` chooses as said below. By default that of
            `lx.options(backend=...)`, or `"auto"`.

    Raises:
        NotationError: the subscripts cannot be read; with the column.
        ArityError: too many or too few operands.
        ShapeError: an operand or `out` does not fit the subscripts.
        DTypeError: a dtype that MLIR lacks (longdouble, object), or a cast that `casting` forbids.
        PathError: `optimize` is a path that does not lead to one result.
        ArgumentError: another argument is wrong.

    Where it runs: by `"auto"`, NumPy computes until calls have cost about as much as compiling
    would. Then loop nests do that all shapes share, one for each semiring, dtype and form; and once
    sums of products of the same shapes have come often enough, a kernel for just these. NumPy alone
    computes products that are not summed, einsums of a few elements that are not contractions, and
    many inner products at a time. The log `linalg_ext.fallbacks` tells of all that NumPy computes.
    NumPy, the nests and the kernel add in orders of their own: the last bits of a sum of floats may
    change from one call to the next. By `"kernel"` they do not.
    """
    if threads is not None:
        checked(threads)
    backend = backends.current() if backend is None else backends.checked(backend)
    is_plain = (
        len(operands) >= 2
        and dtype is None
        and compute_type is None
        and outs is None
        and tune is False
        and backend == backends.AUTO
        and (casting, order, optimize, kind) == ("safe", "K", "auto", "+*")
    )
    is_usual = is_plain and len(operands) == 3 and isinstance(operands[0], str)
    if is_usual:
        known = repeat(einsum, operands[0], operands[1], operands[2], out, threads)
        if known is not None:
            return known
    if is_plain and out is None and (result := in_numpy(operands)) is not NotImplemented:
        return result
    # Imported only here, for it takes long to load.
    from linalg_ext.compiler.einsum.general import evaluated

    return evaluated(
        einsum,
        operands,
        is_usual=is_usual,
        out=out,
        dtype=dtype,
        casting=casting,
        order=order,
        optimize=optimize,
        compute_type=compute_type,
        kind=kind,
        outs=outs,
        threads=threads,
        tune=tune,
        backend=backend,
    )


_MOST_PRODUCTS = 4096
"""More than this are worth a closer look."""

_FLOATS = frozenset("fd")
_DTYPES = _FLOATS | frozenset("ilqILQ")
"""Characters of the dtypes in which NumPy sums as we do."""


def in_numpy(operands: Sequence[Any]) -> Any:
    """Return the einsum of small arrays of one dtype, or NotImplemented where it is more than that.

    Nothing else was said than the `operands`: the subscripts and the arrays.
    """
    text, *arrays = operands
    if type(text) is not str or not 1 <= len(arrays) <= 2:
        return NotImplemented
    products = 1
    for array in arrays:
        if type(array) is not np.ndarray:
            return NotImplemented
        products *= array.size
    dtype = arrays[0].dtype
    if products > _MOST_PRODUCTS or dtype.char not in _DTYPES or not dtype.isnative:
        return NotImplemented
    if arrays[-1].dtype != dtype or not _has_no_kernel(text, len(arrays), dtype.char in _FLOATS):
        return NotImplemented
    tell_numpy_computes("%r: of so few elements no kernel would come", text)
    try:
        return np.einsum(text, *arrays)
    except ValueError:  # to be told by an error of ours
        return NotImplemented


@lru_cache(maxsize=4096)
def _has_no_kernel(text: str, count: int, is_float: bool) -> bool:
    """Return whether an einsum is never compiled for its sizes, however often it is called."""
    inputs, arrow, output = text.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if not arrow or len(terms) != count or not "".join([*terms, output]).isalpha():
        return False
    if count == 1 or not is_float:
        return True
    return set(terms[0]) & set(terms[1]) <= set(output)
