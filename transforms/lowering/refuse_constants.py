"""Refuse constants that are larger than code can hold, and resources of another size than they say.

LLVM ends the process over both. A constant that was fused into what reads it is gone by then.

refused:
    memref.global "private" constant @large : memref<100000000000xf32> = dense<1.0>
"""

from __future__ import annotations

import math
import re
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import LoweringError
from linalg_ext.rewriting import module_pass

from ._sizes import element_bytes
from ._walk import operations, place

NAME = "linalg-ext-refuse-constants"

_VALUES = {"arith.constant": "value", "memref.global": "initial_value"}
_MOST_BYTES = 1 << 30
"""Of a constant of one value, which is written out in the code."""

_MOST_READ = 1 << 16
"""Resources of more bytes are left to LLVM, which compares sizes but that of no elements."""

_BLOB = re.compile(r'"0x([0-9A-Fa-f]*)"')
_ALIGNMENT_DIGITS = 8


@module_pass(NAME, on=_VALUES)
def refuse_constants(module: ir.Operation) -> None:
    """Refuse constants that LLVM cannot hold.

    Raises:
        LoweringError: there is one; names it, and its sizes.
    """
    for op in operations(module, _VALUES):
        name = _VALUES[op.name]
        value = op.attributes[name] if name in op.attributes else None
        if isinstance(value, ir.DenseResourceElementsAttr):
            _check_resource(op, ir.ShapedType(value.type))
        elif isinstance(value, ir.DenseElementsAttr) and value.is_splat:
            _check_splat(op, ir.ShapedType(value.type))


def _check_splat(op: Any, type_: Any) -> None:
    count = math.prod(type_.shape) * element_bytes(type_.element_type)
    if count > _MOST_BYTES:
        raise LoweringError(
            f"a constant of {count} bytes, of {type_}, is larger than code can hold",
            where=place(op),
            expected=f"{_MOST_BYTES} bytes at most",
            cure="make it when it runs: linalg.fill of a tensor.empty",
        )


def _check_resource(op: Any, type_: Any) -> None:
    count = math.prod(type_.shape) * element_bytes(type_.element_type)
    if count > _MOST_READ:
        return
    digits = 2 * count + _ALIGNMENT_DIGITS
    # One that is longer than it should be is left out of the text.
    text = op.get_asm(large_resource_limit=digits + len('"0x"'), assume_verified=True)
    blob = _BLOB.search(text)
    if blob is not None and len(blob[1]) == digits and count:
        return
    given = "more" if blob is None else str((len(blob[1]) - _ALIGNMENT_DIGITS) // 2)
    if count or given != "0":
        raise LoweringError(
            f"a resource of {type_} holds {given} bytes instead of {count}",
            where=place(op),
            expected=f"{count} bytes",
            cure="write the elements one behind the other, and the alignment before them",
        )
    op.attributes[_VALUES[op.name]] = ir.Attribute.parse(f"dense<> : {type_}")
