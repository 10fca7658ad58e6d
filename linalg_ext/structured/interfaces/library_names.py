"""The name of the library function that upstream calls for a structured op.

A `linalg.generic` says it in `library_call`; the named ops have names of one scheme: the op, the
functions that it is given, then the type of each operand, as in
`linalg_matmul_view4x8xf32_view8xsxf32_view4xsxf32`.
"""

from __future__ import annotations

import re

from linalg_ext.bindings import ir
from linalg_ext.structured.extension import attributes as extension_ops

_WITHOUT_NAME = frozenset({"generic", "map", "reduce", "transpose", "broadcast"})
_FUNCTION = re.compile(r"#linalg\.(?:unary|binary)_fn<(\w+)>")


def library_call_name(op: ir.Operation) -> str | None:
    """The name, that of the same op on buffers for one on tensors; None where it has none."""
    if "library_call" in op.attributes:
        return ir.StringAttr(op.attributes["library_call"]).value
    if op.name in extension_ops.NAMES or op.name.removeprefix("linalg.") in _WITHOUT_NAME:
        return None
    functions = (_FUNCTION.fullmatch(str(each)) for _, each in op.attributes.items())
    types = [_mangled(value.type) for value in op.operands]
    names = [type_ for type_ in types if type_ is not None]
    if len(names) != len(types):
        return None
    return "_".join(
        [op.name.replace(".", "_"), *(found[1] for found in functions if found), *names]
    )


def _mangled(type_: ir.Type) -> str | None:
    if isinstance(type_, ir.RankedTensorType | ir.MemRefType):
        shape = ir.ShapedType(type_)
        element = _mangled(shape.element_type)
        space = type_.memory_space if isinstance(type_, ir.MemRefType) else None
        if element is None or not (space is None or isinstance(space, ir.IntegerAttr)):
            return None
        sizes = (
            "s" if shape.is_dynamic_dim(axis) else str(shape.get_dim_size(axis))
            for axis in range(shape.rank)
        )
        return f"view{'x'.join([*sizes, element])}" + (f"as{space.value}" if space else "")
    if isinstance(type_, ir.VectorType):
        element = _mangled(type_.element_type)
        return None if element is None else f"vector{'x'.join(map(str, type_.shape))}{element}"
    text = str(type_)
    return text if re.fullmatch(r"i\d+|index|t?b?f\d+\w*", text) else None
