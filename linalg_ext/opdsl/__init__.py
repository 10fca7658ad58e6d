"""OpDSL: operations declared in Python.

`from linalg_ext.opdsl import *` brings all that a definition needs, by upstream's names.
"""

from linalg_ext.definition.affine import AffineDim as DimDef
from linalg_ext.definition.affine import AffineExpr as AffineExprDef
from linalg_ext.definition.affine import AffineSymbol as SymbolDef
from linalg_ext.definition.types import TV, TypeVar
from linalg_ext.opdsl.builder import (
    Canonicalizer,
    ContractionOpInterface,
    ConvolutionOpInterface,
    FillOpInterface,
    defines,
    domain,
    implements,
)
from linalg_ext.opdsl.names import D, S
from linalg_ext.opdsl.op import StructuredOp, linalg_structured_op, structured_op
from linalg_ext.opdsl.operands import (
    BinaryFnAttrDef,
    IndexAttrDef,
    ScalarDef,
    TensorDef,
    TernaryFnAttrDef,
    TypeFnAttrDef,
    UnaryFnAttrDef,
)
from linalg_ext.opdsl.scalar_functions import (
    BinaryFn,
    ReduceFn,
    TernaryFn,
    TypeFn,
    UnaryFn,
    const,
    fold,
    index,
    size,
)

I32, I64, F32, F64 = TV.I32, TV.I64, TV.F32, TV.F64
T, T1, T2, U, V = TV.T, TV.T1, TV.T2, TV.U, TV.V

__all__ = [
    "F32",
    "F64",
    "I32",
    "I64",
    "T1",
    "T2",
    "TV",
    "AffineExprDef",
    "BinaryFn",
    "BinaryFnAttrDef",
    "Canonicalizer",
    "ContractionOpInterface",
    "ConvolutionOpInterface",
    "D",
    "DimDef",
    "FillOpInterface",
    "IndexAttrDef",
    "ReduceFn",
    "S",
    "ScalarDef",
    "StructuredOp",
    "SymbolDef",
    "T",
    "TensorDef",
    "TernaryFn",
    "TernaryFnAttrDef",
    "TypeFn",
    "TypeFnAttrDef",
    "TypeVar",
    "U",
    "UnaryFn",
    "UnaryFnAttrDef",
    "V",
    "const",
    "defines",
    "domain",
    "fold",
    "implements",
    "index",
    "linalg_structured_op",
    "size",
    "structured_op",
]
