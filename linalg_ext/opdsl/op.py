"""`structured_op`: the decorator that turns a function into an operation."""

from __future__ import annotations

import inspect
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, overload

from linalg_ext.definition.attributes import resolve_attributes
from linalg_ext.definition.calls import split_inputs
from linalg_ext.definition.functions import TYPE, Function
from linalg_ext.definition.model import OpDefinition, Operand, OperandKind, class_name
from linalg_ext.definition.renaming import rewrite_expression
from linalg_ext.definition.scalar import (
    Access,
    Apply,
    Carried,
    Index,
    Lookup,
    ScalarExpr,
    ScalarOperand,
    Size,
    as_operand,
    type_of,
)
from linalg_ext.definition.types import PREDEFINED, TypeVar
from linalg_ext.errors import DefinitionError, LinalgExtError, caller_location
from linalg_ext.opdsl.builder import OpBuilder, building, refuse_nesting
from linalg_ext.opdsl.operands import OperandDef
from linalg_ext.symbolic.affine import AffineDim
from linalg_ext.utils import hooks
from linalg_ext.utils.hooks import is_dask
from linalg_ext.utils.recent import Arrivals
from linalg_ext.utils.vectorcall import quickly_called

ON_ARRAYS: tuple[tuple[str, str], ...] = (
    ("out", "the array that the result is written to; a tuple of several results."),
    ("init", "the start of an accumulation; by default the neutral element."),
    ("dtype", "the element type of the result; by default NumPy's `result_type` of the inputs."),
    ("compute_type", "the element type to compute in; by default that of the result."),
    (
        "threads",
        "the number of threads that may work on the call; by default `lx.threads.current()`.",
    ),
)
"""Keywords of every op on arrays besides its own operands; None by default."""


@quickly_called
class StructuredOp:
    """An operation declared in Python.

    Call it on NumPy arrays to run it, and on dask arrays to run it on their blocks. Call it on MLIR
    values (inside an insertion point, with `outs=[...]`) to build IR, and on traced values inside
    `jit` to record it. An element-wise op is a function of elements in the body of another op.

    Attributes:
        definition: the model of the op.
        known_calls: where the compiler put one, a function that is asked first: called with the
            operands and the keywords, it gives the result, or NotImplemented.
    """

    def __init__(self, definition: OpDefinition, function: Callable[..., object] | None = None):
        self.definition = definition
        self.known_calls: Callable[[tuple[Any, ...], dict[str, Any]], Any] | None = None
        self.__name__ = definition.name
        self.__doc__ = _help_text(definition, self.__signature__)
        if function is not None:
            self.__module__ = function.__module__
            self.__qualname__ = function.__qualname__
            self.__wrapped__ = function

    @property
    def op_name(self) -> str:
        """The op's name, without a dialect prefix."""
        return self.definition.name

    def __call__(self, *operands: Any, **keywords: Any) -> Any:
        """Run, build or record the op.

        Args:
            operands: the inputs, in the order of the definition; keywords by their names work too.
            keywords: attributes by their names, and, on arrays, `out=`, `init=`, `dtype=`,
                `threads=`; on MLIR values, `outs=`, `emit_generic=`.

        Returns:
            On arrays, the result (a tuple where the op has several outputs); on values, the results
            of the op that was built.

        Raises:
            ArgumentError: an operand, attribute or keyword does not fit the definition.
        """
        if self.known_calls is not None:
            result = self.known_calls(operands, keywords)
            if result is not NotImplemented:
                return result
        kind = kind_of_call(operands, keywords)
        if kind == "elements":
            return _on_elements(self, operands, keywords)
        return getattr(hooks.facade("calls"), f"call_on_{kind}")(self, operands, keywords)

    @property
    def __signature__(self) -> inspect.Signature:
        """The signature of a call of the op on arrays, for `help()` and editors."""
        inputs = [
            inspect.Parameter(operand.name, inspect.Parameter.POSITIONAL_OR_KEYWORD)
            for operand in self.definition.inputs
        ]
        attributes = [(o.name, _plain_default(o.default)) for o in self.definition.attributes]
        keywords = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
            for name, default in [*((name, None) for name, _ in ON_ARRAYS), *attributes]
        ]
        return inspect.Signature([*inputs, *keywords])

    def __reduce__(self) -> Any:
        """An op of the library travels by its name, any other as its definition, which is data.

        No code travels, and no module of the user's is imported on arrival. Where one that is
        there already has the op under its name, that op is meant; else an op that arrives twice is
        made once.
        """
        if self.__module__.startswith(_LIBRARY):
            return self.__qualname__
        path = (self.__module__, self.__qualname__) if "__qualname__" in vars(self) else None
        return _arrived, (self.definition, path)

    def __copy__(self) -> StructuredOp:
        return self  # as of functions, there is no second one

    def __deepcopy__(self, memo: object) -> StructuredOp:
        return self

    def __repr__(self) -> str:
        return self.definition.header

    def _repr_latex_(self) -> str:
        """The op's formula, as a notebook shows it."""
        return self.definition._repr_latex_()


def kind_of_call(operands: tuple[Any, ...], keywords: Mapping[str, Any]) -> str:
    """`"arrays"`, `"dask"`, `"values"`, `"traced"` or `"elements"`, by the operands of a call.

    The code for each kind but the last lives above the language, and needs MLIR, which the language
    does not: no kind is told by importing the class of its operands.
    """
    everything = [*operands, *_flattened(keywords.values())]
    if any(isinstance(value, ScalarExpr | OperandDef) for value in everything):
        return "elements"
    if any(getattr(value, "__linalg_ext_traced__", False) for value in everything):
        return "traced"
    if any(is_dask(value) for value in everything):
        return "dask"
    if "outs" in keywords or any(_is_ir(value) for value in everything):
        return "values"
    return "arrays"


def _is_ir(value: object) -> bool:
    """Return whether this is a value or an op of MLIR."""
    return any(cls.__name__ in ("Value", "_OperationBase", "OpView") for cls in type(value).__mro__)


def _flattened(values: Iterable[object]) -> Iterable[object]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from value
        else:
            yield value


def _on_elements(
    op: StructuredOp, operands: tuple[Any, ...], keywords: dict[str, Any]
) -> ScalarExpr | tuple[ScalarExpr, ...]:
    """An element-wise op as a function of elements, in the body of another op.

    Raises:
        DefinitionError: the op is not element-wise, or the types of its operands differ.
        ArgumentError: an operand or attribute does not fit the definition.
    """
    definition, keywords = op.definition, dict(keywords)
    try:
        values = split_inputs(definition, operands, keywords)
        attributes = resolve_attributes(definition, keywords)
    except LinalgExtError as error:
        error.where = error.where or caller_location()
        raise
    if not _is_function_of_elements(definition):
        raise DefinitionError(
            f"{definition.name} is used in the body of an op, and is not element-wise: "
            f"`{definition.assignments[0]}`",
            where=caller_location(),
            expected="an op each of whose results is a function of one element of each operand",
            hint="call it on the arrays before, or write its formula as a statement of this op",
        )
    types, elements = _bound_elements(definition, values)

    def replaced(expr: ScalarExpr) -> ScalarExpr:
        if isinstance(expr, Access | ScalarOperand):
            return elements[expr.operand]
        if not isinstance(expr, Apply):
            return expr
        function = attributes.functions.get(expr.attribute or "", expr.function)
        if expr.type_var is None:
            return replace(expr, function=function, attribute=None)
        target = types[expr.type_var.name]
        if type_of(expr.args[0]) == target:
            return expr.args[0]
        return Apply(function, expr.args, target)

    for assignment in definition.assignments:
        elements[assignment.target.operand] = rewrite_expression(assignment.value, replaced)
    results = tuple(elements[output.name] for output in definition.outputs)
    return results if len(results) > 1 else results[0]


def _is_function_of_elements(definition: OpDefinition) -> bool:
    """Return whether each result is computed of one element of each operand, and nothing else."""
    subscripts = {indices for accesses in definition.accesses.values() for indices in accesses} - {
        ()
    }
    outputs = {output.name for output in definition.outputs}
    written: set[str] = set()
    for assignment in definition.assignments:
        for part in assignment.value.walk():
            if isinstance(part, Index | Size | Lookup | Carried):
                return False
            if isinstance(part, Access) and part.operand in outputs - written:
                return False
        written.add(assignment.target.operand)
    is_plain = all(isinstance(index, AffineDim) for indices in subscripts for index in indices)
    return len(subscripts) <= 1 and is_plain and not definition.reduction_dims


def _bound_elements(
    definition: OpDefinition, values: Sequence[Any]
) -> tuple[dict[str, TypeVar], dict[str, ScalarExpr]]:
    """The type of each type variable of an op, and the expression of each input."""
    types = {name: TypeVar(name) for name in PREDEFINED}
    pairs = list(zip(definition.inputs, values, strict=True))
    type_of_input = {o.name: type_of(v) for o, v in pairs if isinstance(v, ScalarExpr)}
    for operand, _ in pairs:
        own, name = type_of_input.get(operand.name), str(operand.type_var)
        if own is not None and name not in PREDEFINED and types.setdefault(name, own) != own:
            raise DefinitionError(
                f"{definition.name}: {operand.name} is of {own}, and another operand of type "
                f"variable {name} of {types[name]}",
                where=caller_location(),
                hint=f"cast one of them: TypeFn.cast_signed({types[name]}, ...)",
            )
    free = [t for t in definition.all_type_vars if t.name not in types]
    element_types = {own for own in type_of_input.values() if own is not None}
    if free and len(element_types) != 1:
        raise DefinitionError(
            f"{definition.name}: no operand has the type {free[0]}",
            where=caller_location(),
            expected="operands of one type variable",
            hint="cast them: TypeFn.cast_signed(U, ...)",
        )
    types.update(dict.fromkeys((t.name for t in free), *element_types))
    elements: dict[str, ScalarExpr] = {}
    for operand, value in pairs:
        target = types[str(operand.type_var)]
        expr = as_operand(value, target, definition.name)
        if type_of(expr) != target:
            expr = Apply(TYPE["cast_signed"], (expr,), target)
        elements[operand.name] = expr
    return types, elements


_LIBRARY = "linalg_ext.opdsl_defs."

_arrivals: Arrivals[StructuredOp] = Arrivals(most=256)


def _arrived(definition: OpDefinition, path: tuple[str, str] | None) -> StructuredOp:
    """The op of a definition from elsewhere; `path` is the module and name of its function."""

    def make() -> StructuredOp:
        op = StructuredOp(definition)
        if path is not None:
            op.__module__, op.__qualname__ = path
        return op

    # 1 and 1.0 are equal as constants, and not the same: the text tells them apart.
    key = (definition, str(definition))
    if path is not None:
        op: Any = sys.modules.get(path[0])
        for name in path[1].split("."):
            op = getattr(op, name, None)
        if isinstance(op, StructuredOp) and (op.definition, str(op.definition)) == key:
            return op
    return _arrivals.get((key, path), make)


def op_of(definition: OpDefinition) -> StructuredOp:
    """The op of a definition that no module has: one for each, so that its kernels are kept."""
    return _arrived(definition, None)


def _plain_default(default: object) -> object:
    """The default of an attribute, as a call would give it."""
    return default.name if isinstance(default, Function) else default


@overload
def structured_op(function: Callable[..., object]) -> StructuredOp: ...
@overload
def structured_op(
    *, op_name: str | None = None, op_class_name: str | None = None
) -> Callable[[Callable[..., object]], StructuredOp]: ...
def structured_op(
    function: Callable[..., object] | None = None,
    *,
    op_name: str | None = None,
    op_class_name: str | None = None,
) -> StructuredOp | Callable[[Callable[..., object]], StructuredOp]:
    """Declare an operation by a function whose parameters are its operands.

    Source: upstream's OpDSL (`mlir.dialects.linalg.opdsl.lang`); a definition written for it works
    when only its import line changes.

    Args:
        function: its defaults are `TensorDef(...)`, `ScalarDef(...)`, `IndexAttrDef(...)` or
            function attributes, its docstring documents the op, its body assigns to the outputs.
        op_name: the op's name, where it is not the function's.
        op_class_name: the C++ class for generators, where it is not the name in camel case.

    Raises:
        DefinitionError: at the line that is wrong.

    Example:
        >>> @structured_op
        ... def row_sum(A=TensorDef(T, S.M, S.N), C=TensorDef(T, S.M, output=True)):
        ...     C[D.m] += A[D.m, D.n]
        >>> row_sum(np.ones((2, 3)))
        array([3., 3.])
    """
    return _decorator(function, op_name, op_class_name, upstream=False)


def linalg_structured_op(
    dsl_func: Callable[..., object] | None = None,
    *,
    op_name: str | None = None,
    op_class_name: str | None = None,
) -> Any:
    """Upstream's name for the decorator, for definitions that were written for upstream.

    The same as `structured_op`, but for two mistakes that upstream accepts. An output whose shape
    has more or fewer sizes than indices, as in a few of upstream's own ops, is a warning and not an
    error. A function attribute need not be applied.
    """
    return _decorator(dsl_func, op_name, op_class_name, upstream=True)


def _decorator(
    function: Callable[..., object] | None,
    op_name: str | None,
    op_class_name: str | None,
    *,
    upstream: bool,
) -> StructuredOp | Callable[[Callable[..., object]], StructuredOp]:
    def decorate(function: Callable[..., object]) -> StructuredOp:
        if not inspect.isfunction(function):
            raise DefinitionError(
                f"structured_op decorates a function, not {function!r}",
                where=caller_location(),
                hint="write @structured_op above `def name(...)`",
            )
        name = op_name or function.__name__
        refuse_nesting(function.__code__)
        builder = OpBuilder(function.__code__, upstream=upstream)
        bound = _bind_parameters(function, builder)
        with building(builder):
            function(*bound.args, **bound.kwargs)
        cpp_class_name, doc = op_class_name or class_name(name), inspect.getdoc(function) or ""
        return StructuredOp(builder.finish(name, cpp_class_name, doc), function)

    return decorate if function is None else decorate(function)


def _bind_parameters(function: Callable[..., object], builder: OpBuilder) -> inspect.BoundArguments:
    signature = inspect.signature(function)
    bound = signature.bind_partial()
    for name, parameter in signature.parameters.items():
        declaration = parameter.default
        if not isinstance(declaration, OperandDef):
            default = "nothing" if declaration is parameter.empty else repr(declaration)
            raise DefinitionError(
                f"parameter {name} of {function.__name__} declares no operand: "
                f"its default is {default}",
                where=builder.location,
                expected=f"{name}=TensorDef(...), ScalarDef(...), IndexAttrDef(...), "
                "UnaryFnAttrDef(...), BinaryFnAttrDef(...), TernaryFnAttrDef(...) or "
                "TypeFnAttrDef(...)",
            )
        builder.declare(declaration.operand(name), declaration.location)
        bound.arguments[name] = declaration.bind(name, builder)
    return bound


def _help_text(definition: OpDefinition, signature: inspect.Signature) -> str:
    """The documentation of an op, in the sections of NumPy's."""
    inputs, results = (
        [f"{operand.name} : {_kind_of_operand(operand, definition)}" for operand in operands]
        for operands in (definition.inputs, definition.outputs)
    )
    attributes = [f"{operand.name} : {_attribute(operand)}" for operand in definition.attributes]
    common = [f"{name} : optional\n    {text}" for name, text in ON_ARRAYS]
    parts = [
        f"{definition.name}{signature}",
        definition.doc,
        _section("Parameters", [*inputs, *attributes, *common]),
        _section("Returns", results),
        "The call on values of MLIR builds IR (`outs=[...]` are its destinations); under `lx.jit` "
        "it is recorded.",
    ]
    return "\n\n".join(
        textwrap.fill(part, 88) if "\n" not in part and " " in part else part
        for part in parts
        if part
    )


def _section(title: str, entries: list[str]) -> str:
    return "\n".join([title, "-" * len(title), *entries]) if entries else ""


def _kind_of_operand(operand: Operand, definition: OpDefinition) -> str:
    if operand.kind is OperandKind.SCALAR:
        return f"scalar of {operand.type_var}"
    if definition.is_rank_polymorphic and operand.rank == 0:
        return f"array of {operand.type_var}, of any shape"
    sizes = ", ".join(map(str, operand.shape)) + ("," if operand.rank == 1 else "")
    return f"array of {operand.type_var}, shape ({sizes})"


def _attribute(operand: Operand) -> str:
    default = _plain_default(operand.default)
    return "required" if default is None else f"optional, {default!r} by default"
