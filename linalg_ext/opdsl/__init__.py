"""OpDSL: operations declared in Python.

`from linalg_ext.opdsl import *` brings all that a definition needs, by upstream's names.
"""

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
from linalg_ext.opdsl.op import StructuredOp, linalg_structured_op, structured_op
from linalg_ext.opdsl.operands import (
    BinaryFnAttrDef,
    D,
    IndexAttrDef,
    S,
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
from linalg_ext.symbolic.affine import AffineDim as DimDef
from linalg_ext.symbolic.affine import AffineExpr as AffineExprDef
from linalg_ext.symbolic.affine import AffineSymbol as SymbolDef

I1, I8, I16, I32, I64 = TV.I1, TV.I8, TV.I16, TV.I32, TV.I64
U8, U16, U32, U64 = TV.U8, TV.U16, TV.U32, TV.U64
F16, BF16, F32, F64 = TV.F16, TV.BF16, TV.F32, TV.F64
C64, C128 = TV.C64, TV.C128
T, T1, T2, U, V = TV.T, TV.T1, TV.T2, TV.U, TV.V

__all__ = [
    "BF16",
    "C64",
    "C128",
    "F16",
    "F32",
    "F64",
    "I1",
    "I8",
    "I16",
    "I32",
    "I64",
    "T1",
    "T2",
    "TV",
    "U8",
    "U16",
    "U32",
    "U64",
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
