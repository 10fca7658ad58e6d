"""The vocabulary of upstream's format, in one place for the writer and the reader.

Source: `mlir-linalg-ods-yaml-gen.cpp`, and the enumerations of `LinalgEnums.td`. The generator
itself accepts any name of a function, but the C++ that it writes would not compile.
"""

from __future__ import annotations

from collections.abc import Mapping

from linalg_ext.definition.attributes import FUNCTION_KINDS
from linalg_ext.definition.functions import FUNCTIONS, Function, FunctionKind
from linalg_ext.definition.model import OperandKind

UPSTREAM_FUNCTIONS: Mapping[FunctionKind, Mapping[str, Function]] = {
    kind: {name: function for name, function in table.items() if function.is_upstream}
    for kind, table in FUNCTIONS.items()
}
"""The functions of upstream's enumerations; this library knows more."""

READ_FUNCTIONS: Mapping[FunctionKind, Mapping[str, Function]] = {
    **UPSTREAM_FUNCTIONS,
    FunctionKind.TYPE: {
        **UPSTREAM_FUNCTIONS[FunctionKind.TYPE],
        "cast": UPSTREAM_FUNCTIONS[FunctionKind.TYPE]["cast_signed"],
    },
}
"""With the names that older documents have for them: `cast` came to be `cast_signed`."""

OPERAND_FIELDS: Mapping[OperandKind, tuple[str, ...]] = {
    OperandKind.INPUT_TENSOR: ("type_var", "shape_map"),
    OperandKind.OUTPUT_TENSOR: ("type_var", "shape_map"),
    OperandKind.SCALAR: ("type_var",),
    OperandKind.INDEX_ATTR: ("index_attr_map", "default_indices"),
    **dict.fromkeys(FUNCTION_KINDS, ("default_fn",)),
}
"""The fields of an operand besides `name` and `kind`: all of them are needed."""
