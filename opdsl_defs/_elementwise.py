"""Element-wise ops of one function: an op is its name, a sentence about it, and that function.

An op has the name of its function among those of the language, unless another function is given.
"""

from collections.abc import Callable

from linalg_ext.opdsl import T1, BinaryFn, StructuredOp, TensorDef, UnaryFn

from ._values import declared

NUMBERS = "any number"
FLOATS = "any float"
FLOATS_AND_COMPLEX = "any float or complex number"
FLOATS_AND_INTEGERS = "floats and integers"

UPSTREAM = "upstream's `linalg.{}`"
NUMPY = "this library; NumPy's `numpy.{}`"


def unary(
    module: str,
    name: str,
    summary: str,
    *,
    formula: str | None = None,
    dtypes: str = FLOATS,
    remark: str = "",
    source: str = NUMPY,
    op_class_name: str | None = None,
) -> StructuredOp:
    """Declare the op on one tensor `I` that `UnaryFn` has a function for.

    Args:
        module: the `__name__` of the family.
        name: of the op.
        summary: the first sentence of its documentation.
        formula: of the result, in terms of `I`; by default the name applied to it.
        dtypes: the element types of `I`.
        remark: a sentence about element types or special numbers.
        source: the source of the op; `{}` stands for the name.
        op_class_name: of C++, if it is not the name in camel case.
    """

    def op(I=TensorDef(T1), O=TensorDef(T1, output=True)):
        O[None] = getattr(UnaryFn, name)(I[None])

    types = f"{dtypes}; I and O alike. {remark}"
    formula = formula or f"{name}(I)"
    words = documentation(summary, formula, "any; I and O alike.", types, source.format(name))
    return declared(op, module, name, words, op_class_name)


def binary(
    module: str,
    name: str,
    summary: str,
    function: Callable[..., object] | None = None,
    *,
    formula: str,
    dtypes: str = FLOATS,
    remark: str = "",
    result=T1,
    source: str = NUMPY,
    op_class_name: str | None = None,
) -> StructuredOp:
    """Declare an op on two tensors `lhs` and `rhs`; its other parameters are those of `unary`.

    Args:
        function: of two elements; by default `BinaryFn` has it under the name.
        result: the element type of the result.
    """
    apply = function or getattr(BinaryFn, name)

    def op(lhs=TensorDef(T1), rhs=TensorDef(T1), O=TensorDef(result, output=True)):
        O[None] = apply(lhs[None], rhs[None])

    operands = "; lhs, rhs and O alike" if result is T1 else ", lhs and rhs alike; O boolean"
    shapes = "any; lhs, rhs and O alike (nothing is broadcast)."
    types = f"{dtypes}{operands}. {remark}"
    words = documentation(summary, formula, shapes, types, source.format(name))
    return declared(op, module, name, words, op_class_name)


def documentation(summary: str, formula: str, shapes: str, dtypes: str, source: str) -> str:
    """Return the documentation of an element-wise op."""
    return f"""\
{summary}

    O = {formula}

Shapes: {shapes}
Dtypes: {dtypes.rstrip()}
Source: {source}."""
