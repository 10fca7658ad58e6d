"""Refuse constants that LLVM cannot hold, and write out resources of complex numbers.

LLVM ends the process over a constant that is too large for code, and over a resource whose size is
not that of its type. It has no resources of complex numbers. A constant that was fused into its
readers is gone by then.

refused:
    memref.global "private" constant @large : memref<100000000000xf32> = dense<1.0>
"""

from __future__ import annotations

import math
import re
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import LoweringError
from linalg_ext.ir.bytecode import CONSTANTS
from linalg_ext.rewriting import module_pass
from linalg_ext.transforms.analysis.buffers import element_bytes
from linalg_ext.transforms.ir_utils.walking import operations, place

NAME = "linalg-ext-legalize-constants"

_MOST_BYTES = 1 << 30
"""The most bytes of a constant of one value, which is written out in the code."""

_MOST_READ = 1 << 16
"""Resources of more bytes are left to LLVM, which compares sizes but that of no elements."""

_BLOB = re.compile(r'^ *("?[^\n]*?"?): "0x([0-9A-Fa-f]*)"', re.MULTILINE)
_ALIGNMENT_BYTES = 4


@module_pass(NAME, on=CONSTANTS)
def legalize_constants(module: ir.Operation) -> None:
    """Refuse constants that LLVM cannot hold; write out resources of complex numbers.

    Raises:
        LoweringError: there is one; names it, and its sizes.
    """
    resources: list[tuple[Any, str]] = []
    for op in operations(module, CONSTANTS):
        try:
            value = op.attributes.get(CONSTANTS[op.name])
        except TypeError:  # the bindings have no class for the attribute: complex numbers
            _check_splat(op, ir.ShapedType(_type_of(op)))
            continue
        if isinstance(value, ir.DenseElementsAttr):
            if value.is_splat:
                _check_splat(op, ir.ShapedType(value.type))
        elif value is not None and (name := _resource_of(value)):
            resources.append((op, name))
    if resources:
        sizes = _sizes_of_resources(module)
        for op, name in resources:
            attribute = CONSTANTS[op.name]
            type_: Any = ir.ShapedType(op.attributes[attribute].type)
            if isinstance(type_.element_type, ir.ComplexType):
                content = _content(op)
                _check_resource(op, type_, len(content))
                if content:
                    op.attributes[attribute] = ir.DenseElementsAttr.get(content, type=type_)
            else:
                _check_resource(op, type_, sizes.get(name))


def _type_of(op: Any) -> Any:
    return op.results[0].type if len(op.results) else ir.TypeAttr(op.attributes["type"]).value


def _check_splat(op: Any, type_: Any) -> None:
    count = math.prod(type_.shape) * element_bytes(type_.element_type)
    if count > _MOST_BYTES:
        raise LoweringError(
            f"a constant of {count} bytes, of {type_}, is larger than code can hold",
            where=place(op),
            expected=f"{_MOST_BYTES} bytes at most",
            hint="make it when it runs: linalg.fill of a tensor.empty",
        )


def _resource_of(value: Any) -> str:
    """Return the name of the resource that a constant's elements are; none where it has none."""
    try:
        text = str(ir.DenseResourceElementsAttr(value))
    except ValueError:
        return ""
    return text.partition("dense_resource<")[2].rpartition("> : ")[0]


def _sizes_of_resources(module: ir.Operation) -> dict[str, int]:
    """Return the bytes of each resource that is not too long to be read."""
    digits = 2 * (_MOST_READ + _ALIGNMENT_BYTES)
    text = module.get_asm(
        large_elements_limit=4, large_resource_limit=digits + len('"0x"'), assume_verified=True
    )
    _, _, section = text.rpartition("{-#")
    return {name: len(blob) // 2 - _ALIGNMENT_BYTES for name, blob in _BLOB.findall(section)}


def _check_resource(op: Any, type_: Any, size: int | None) -> None:
    """Check that a resource of `size` bytes, None if long, holds a constant's elements alone."""
    count = math.prod(type_.shape) * element_bytes(type_.element_type)
    is_packed = isinstance(type_.element_type, ir.IntegerType) and type_.element_type.width % 8
    if count and (size == count or is_packed or (size is None and count > _MOST_READ)):
        return
    if size != count:
        raise LoweringError(
            f"a resource holds {'more' if size is None else size} bytes, and the elements of "
            f"{type_} are {count}",
            where=place(op),
            expected=f"{count} bytes",
            hint="write the elements one behind the other, and the alignment before them",
        )
    # LLVM divides by the number of elements.
    op.attributes[CONSTANTS[op.name]] = ir.DenseElementsAttr.get(b"", type=type_)


def _content(op: Any) -> bytes:
    """Return the bytes of the resource that a constant's elements are."""
    # The text of an op without a parent ends with its resource.
    ((_, blob),) = _BLOB.findall(op.clone(ip=False).operation.get_asm())
    return bytes.fromhex(blob)[_ALIGNMENT_BYTES:]
