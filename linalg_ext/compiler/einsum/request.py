"""The parameters of a call of `einsum`, its dtypes, and the casts that NumPy's rules allow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from linalg_ext.compiler.einsum.algebra import Array
from linalg_ext.definition.calls import common_dtype
from linalg_ext.errors import ArgumentError, DTypeError
from linalg_ext.notations.einsum import Semiring, Subscripts, semiring
from linalg_ext.runtime.dtypes import DType, by_dtype, cure_for, describe_dtype, dtype_named


@dataclass(frozen=True)
class Request:
    """The parameters of a call of `einsum`, without its operands. `einsum` documents them."""

    subscripts: Subscripts
    kind: Semiring
    dtype: DType | None
    compute_type: DType | None
    casting: str
    optimize: Any

    @classmethod
    def of(
        cls,
        subscripts: Subscripts,
        *,
        kind: str | Semiring,
        dtype: Any,
        compute_type: Any,
        casting: str,
        optimize: Any,
    ) -> Request:
        """Return the request of a call; `optimize` is checked when a path is sought."""
        if casting not in CASTINGS:
            raise ArgumentError(
                f"einsum: casting={casting!r}", expected="one of " + ", ".join(map(repr, CASTINGS))
            )
        return cls(
            subscripts,
            semiring(kind),
            _as_dtype("dtype", dtype),
            _as_dtype("compute_type", compute_type),
            casting,
            optimize,
        )

    def dtypes_for(
        self, arrays: Iterable[Any], out: DType | None = None, *, out_is_cast: bool = True
    ) -> Dtypes:
        """Return the dtypes of the einsum for operands; see `_resolve`."""
        return _resolve(
            tuple(array.dtype for array in arrays),
            self.kind,
            self.dtype,
            self.compute_type,
            self.casting,
            out,
            out_is_cast,
        )


CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")


@dataclass(frozen=True)
class Dtypes:
    """The dtypes of one einsum: of the operands, of sums and products, of the result."""

    operands: DType
    compute: DType
    result: DType

    def converted(self, array: Array) -> Array:
        """Return an operand in the dtype of the computation; itself where it has it."""
        return array.astype(self.operands, copy=False).astype(self.compute, copy=False)


def _as_dtype(keyword: str, value: Any) -> DType | None:
    """`dtype=` or `compute_type=`; a DTypeError where it is none that MLIR knows."""
    if value is None:
        return None
    try:
        dtype = dtype_named(value)
    except TypeError as error:
        raise DTypeError(
            f"einsum: {keyword}={value!r} is not a dtype",
            hint="give np.float32, 'f32', ...",
            notes=[str(error)],
        ) from None
    _require_known(dtype, f"{keyword}=")
    return dtype


@lru_cache(maxsize=1024)
def _resolve(
    dtypes: tuple[DType, ...],
    kind: Semiring,
    dtype: DType | None,
    compute_type: DType | None,
    casting: str,
    out: DType | None,
    out_is_cast: bool,
) -> Dtypes:
    """Return the dtypes of an einsum.

    Args:
        dtypes: of the operands.
        kind: the semiring.
        dtype: the dtype of the result, and of the operands once cast; by default the dtype in which
            the operands (and `out`) meet.
        compute_type: the type of products and sums; by default that dtype, and float32 for narrower
            floats.
        casting: NumPy's rule for the casts of the operands and of the result into `out`.
        out: the dtype of `out=`.
        out_is_cast: whether `casting` governs `out` as well.

    Raises:
        DTypeError: no common dtype, a cast that the rule forbids, or a semiring that has no
            meaning for the dtype.
    """
    if kind.is_boolean:
        operands = np.dtype(np.bool_)
        result = dtype or operands
        compute_type = compute_type or operands
        if compute_type != operands:
            raise DTypeError(
                f"einsum: kind {kind.name!r} with compute_type={compute_type}",
                expected="no compute_type: it reads the truth of the elements",
            )
    else:
        deciding = [*dtypes, *([out] if out is not None and not out_is_cast else [])]
        if dtype is None and out is not None and out_is_cast:
            deciding.append(out)
        operands = dtype or _common(deciding)
        result = operands
        for number, own in enumerate(dtypes):
            _check_cast(own, operands, casting, f"operand {number}")
    if dtype is None:
        _require_known(operands, "the operands'")
    if out is not None and out_is_cast:
        _check_cast(result, out, casting, "the result", into="out=")
    compute = compute_type or _wide(operands)
    _check_meaning(kind, compute)
    if compute.kind == "c" and result.kind != "c":
        raise DTypeError(
            f"einsum: compute_type={compute} is complex and the result is {result}",
            hint=f"give dtype={compute}",
        )
    return Dtypes(operands if compute_type is None else compute, compute, result)


def _common(dtypes: Sequence[DType]) -> DType:
    native = [d if d.isnative else d.newbyteorder("=") for d in dtypes]
    for number, dtype in enumerate(native):
        _require_known(dtype, f"operand {number}:")
    return common_dtype("einsum", native)


def _wide(dtype: DType) -> DType:
    """Narrow floats are summed in float32, as NumPy sums float16, and 4-bit integers in int8."""
    element = by_dtype(dtype)
    if element.kind == "float" and element.width < 32:
        return np.dtype(np.float32)
    if element.kind == "integer" and element.is_sub_byte:
        return np.dtype(np.uint8 if element.unsigned == dtype else np.int8)
    return dtype


def is_known(dtype: DType) -> bool:
    """Return whether MLIR has a type for elements like these, in this byte order."""
    try:
        by_dtype(dtype)
    except DTypeError:
        return False
    return True


def _require_known(dtype: DType, whose: str) -> None:
    if not is_known(dtype):
        raise DTypeError(
            f"einsum: {whose} dtype is {describe_dtype(dtype)}, which MLIR has not",
            expected="booleans, integers, floats or complex numbers of 64 bits a part at most",
            hint=cure_for(dtype),
        )


def _check_cast(
    source: DType, target: DType, casting: Any, value: str, into: str | None = None
) -> None:
    if np.can_cast(source, target, casting):
        return
    into = into or "the dtype of the computation"
    raise DTypeError(
        f"einsum: {value} is {describe_dtype(source)} and {into} is {describe_dtype(target)}",
        expected=f"a cast that casting={casting!r} allows",
        hint="give casting='unsafe' if the loss is meant, or another dtype",
    )


def _check_meaning(kind: Semiring, dtype: DType) -> None:
    if kind.is_ordered and dtype.kind == "c":
        raise DTypeError(
            f"einsum: kind {kind.name!r} of {dtype}: complex numbers have no order",
            expected="real numbers",
        )
    if kind.is_ordered and not kind.needs_non_negative and dtype == np.bool_:
        raise DTypeError(
            f"einsum: kind {kind.name!r} of booleans, which have no sum",
            hint="give dtype=np.int64 to count, or kind='or and'",
        )
