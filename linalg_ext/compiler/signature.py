"""The signature of a function, read from its types."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from linalg_ext.bindings import ir
from linalg_ext.errors import SignatureError
from linalg_ext.executable.signature import (
    ArrayType,
    Parameter,
    Result,
    ScalarType,
    Signature,
    ValueType,
)
from linalg_ext.runtime import dtypes
from linalg_ext.runtime.dtypes import DType
from linalg_ext.transforms.ir_utils.walking import function_type, name_of

_MOST_DIMENSIONS = 64
"""The highest rank of a NumPy array."""


def read_signature(
    function: Any,
    *,
    written: frozenset[int],
    result_dtypes: Sequence[np.typing.DTypeLike | None] | None,
) -> Signature:
    """Return the signature of a `func.func`.

    Args:
        function: the op.
        written: which arguments' memory the function may write.
        result_dtypes: for each result the dtype to hand it back as, or None for the usual one;
            an integer is signed unless this says otherwise.

    Raises:
        SignatureError: a type that no array can stand for; the message names the argument.
    """
    name, kind = name_of(function), function_type(function)
    parameters = tuple(
        Parameter(index, read_type(type_, f"argument {index} of `{name}`"), index in written)
        for index, type_ in enumerate(kind.inputs)
    )
    types = [
        read_type(type_, f"result {index} of `{name}`") for index, type_ in enumerate(kind.results)
    ]
    if result_dtypes is not None and not isinstance(result_dtypes, list | tuple):
        raise SignatureError(
            f"result_dtypes is {result_dtypes!r}",
            expected="a list with one dtype, or None, for each result",
        )
    requested = list(result_dtypes) if result_dtypes is not None else [None] * len(types)
    if len(requested) != len(types):
        raise SignatureError(
            f"result_dtypes has {len(requested)} entries, `{name}` has {len(types)} results",
            hint="give one for each result; None keeps the usual one",
        )
    results = tuple(
        Result(index, type_, _result_dtype(type_, dtype, f"result {index} of `{name}`"))
        for index, (type_, dtype) in enumerate(zip(types, requested, strict=True))
    )
    return Signature(name, parameters, results)


def read_type(type_: ir.Type, where: str) -> ValueType:
    """Return the description of `type_` as a NumPy array or scalar.

    Raises:
        SignatureError: NumPy has no counterpart of the type.
    """
    text = str(type_)
    if isinstance(type_, ir.RankedTensorType):
        if type_.encoding is not None:
            raise _unsupported(text, where, "the tensor has an encoding", "a dense tensor")
        return _array(type_, text, "tensor", where)
    if isinstance(type_, ir.MemRefType):
        return _memref(type_, text, where)
    if isinstance(type_, ir.UnrankedTensorType | ir.UnrankedMemRefType):
        raise _unsupported(
            text, where, "the type has no rank", "a ranked type such as tensor<?x?xf32>"
        )
    element = dtypes.by_mlir(text)
    if element is None:
        raise _unsupported(
            text,
            where,
            "arrays and numbers have no such type",
            "ranked tensors, ranked memrefs, and scalars of "
            + ", ".join(known.mlir for known in dtypes.element_types()),
        )
    return ScalarType(text, element)


def _memref(type_: Any, text: str, where: str) -> ArrayType:
    if type_.memory_space is not None:
        raise _unsupported(text, where, "the memref has a memory space", "a memref without one")
    if type_.affine_map == ir.AffineMap.get_identity(type_.rank, type_.context):
        return _array(type_, text, "memref", where)
    try:
        strides, offset = type_.get_strides_and_offset()
    except RuntimeError:
        raise _unsupported(
            text, where, "the layout is not one of strides", "strided<[...], offset: ...>"
        ) from None
    plain = _array(type_, text, "memref", where)
    return ArrayType(
        text,
        "memref",
        plain.shape,
        plain.element,
        plain.vector,
        tuple(None if stride == _OPEN_STRIDE else stride for stride in strides),
        None if offset == _OPEN_STRIDE else offset,
    )


def _array(type_: Any, text: str, kind: Literal["tensor", "memref"], where: str) -> ArrayType:
    shape = tuple(
        None if type_.is_dynamic_dim(axis) else type_.get_dim_size(axis)
        for axis in range(type_.rank)
    )
    vector: tuple[int, ...] = ()
    inner = type_.element_type
    if isinstance(inner, ir.VectorType):
        vector = _vector_shape(inner, text, where)
        inner = inner.element_type
    element = dtypes.by_mlir(str(inner))
    if element is None:
        raise _unsupported(
            text,
            where,
            f"elements of {inner} have no dtype",
            "elements of " + ", ".join(known.mlir for known in dtypes.element_types()),
        )
    if vector and element.is_sub_byte:
        # LLVM packs these bits; every other vector lies in memory as an array does.
        raise _unsupported(
            text, where, f"a vector of {element} is packed into bits", "vectors of whole bytes"
        )
    sizes = [size for size in (*shape, *vector) if size is not None]
    # An array counts its bytes so: those of the dimensions that are not 0.
    if math.prod(filter(None, sizes)) * element.storage > sys.maxsize:
        raise _unsupported(text, where, "the array is larger than any memory", "fewer elements")
    if len(shape) + len(vector) > _MOST_DIMENSIONS:
        raise _unsupported(
            text,
            where,
            "the rank is beyond that of any array",
            f"a rank of {_MOST_DIMENSIONS} at most",
        )
    return ArrayType(text, kind, (*shape, *vector), element, vector)


def _vector_shape(type_: Any, text: str, where: str) -> tuple[int, ...]:
    if type_.scalable:
        raise _unsupported(text, where, "the vectors are scalable", "vectors of a fixed size")
    shape = tuple(type_.shape)
    # LLVM rounds a vector's size up to a power of two: others have gaps that arrays lack.
    if not shape or shape[-1] & (shape[-1] - 1):
        raise _unsupported(
            text, where, "the vectors are padded in memory", "vectors of 2, 4, 8, ... elements"
        )
    return shape


def _result_dtype(type_: ValueType, requested: np.typing.DTypeLike | None, where: str) -> DType:
    allowed = type_.element.dtypes
    if requested is None:
        return allowed[0]
    try:
        dtype = np.dtype(requested)
    except TypeError:
        shown = repr(requested)
    else:
        if dtype in allowed:
            return dtype
        shown = dtypes.describe_dtype(dtype)
    raise SignatureError(
        f"{where} ({type_}) cannot be handed back as {shown}",
        expected=" or ".join(str(known) for known in allowed),
    )


def _unsupported(text: str, where: str, why: str, expected: str) -> SignatureError:
    return SignatureError(
        f"{where} has type {text}, which cannot be passed: {why}", expected=expected
    )


_OPEN_STRIDE = -(1 << 63)
