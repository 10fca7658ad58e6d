"""The waist of the library: one checked, immutable model of a tensor operation."""

from linalg_ext.definition.checks import check
from linalg_ext.definition.functions import Function, FunctionKind
from linalg_ext.definition.model import (
    Assignment,
    AttributeType,
    Interface,
    IteratorType,
    OpDefinition,
    Operand,
    OperandKind,
    OpMethod,
    Reduction,
)
from linalg_ext.definition.scalar import (
    Access,
    Apply,
    Const,
    Index,
    ScalarExpr,
    ScalarOperand,
    type_of,
)
from linalg_ext.definition.types import TV, TypeVar
from linalg_ext.symbolic.affine import AffineConst, AffineDim, AffineExpr, AffineMap, AffineSymbol

__all__ = [
    "TV",
    "Access",
    "AffineConst",
    "AffineDim",
    "AffineExpr",
    "AffineMap",
    "AffineSymbol",
    "Apply",
    "Assignment",
    "AttributeType",
    "Const",
    "Function",
    "FunctionKind",
    "Index",
    "Interface",
    "IteratorType",
    "OpDefinition",
    "OpMethod",
    "Operand",
    "OperandKind",
    "Reduction",
    "ScalarExpr",
    "ScalarOperand",
    "TypeVar",
    "check",
    "type_of",
]
