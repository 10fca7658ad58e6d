"""`structured_op`: the decorator that turns a function into an operation."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any, overload

from linalg_ext.definition.functions import Function
from linalg_ext.definition.model import OpDefinition
from linalg_ext.errors import DefinitionError, caller_location
from linalg_ext.opdsl.builder import OpBuilder, building, refuse_nesting
from linalg_ext.opdsl.calls import kind_of_call
from linalg_ext.opdsl.help_text import ON_ARRAYS, help_text
from linalg_ext.opdsl.operands import OperandDef
from linalg_ext.utils import hooks
from linalg_ext.utils.recent import Arrivals
from linalg_ext.utils.vectorcall import quickly_called


@quickly_called
class StructuredOp:
    """An operation declared in Python.

    Call it on NumPy arrays to run it, and on dask arrays to run it on their blocks. Call it on MLIR
    values (inside an insertion point, with `outs=[...]`) to build IR, and on traced values inside
    `jit` to record it.

    Attributes:
        definition: what the op is.
        known_calls: where the compiler put one, what is asked first: called with the operands and
            the keywords, it gives the result, or NotImplemented.
    """

    def __init__(self, definition: OpDefinition, function: Callable[..., object] | None = None):
        self.definition = definition
        self.known_calls: Callable[[tuple[Any, ...], dict[str, Any]], Any] | None = None
        self.__name__ = definition.name
        self.__doc__ = help_text(definition, self.__signature__)
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
        handle = getattr(hooks.facade("calls"), f"call_on_{kind_of_call(operands, keywords)}")
        return handle(self, operands, keywords)

    @property
    def __signature__(self) -> inspect.Signature:
        """The signature of a call of the op on arrays, for `help()` and editors."""
        inputs = [
            inspect.Parameter(operand.name, inspect.Parameter.POSITIONAL_OR_KEYWORD)
            for operand in self.definition.inputs
        ]
        attributes = [(o.name, _shown(o.default)) for o in self.definition.attributes]
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
        place = (self.__module__, self.__qualname__) if "__qualname__" in vars(self) else None
        return _arrived, (self.definition, place)

    def __copy__(self) -> StructuredOp:
        return self  # as of functions, there is no second one

    def __deepcopy__(self, memo: object) -> StructuredOp:
        return self

    def __repr__(self) -> str:
        return self.definition.header

    def _repr_latex_(self) -> str:
        """The op's formula, as a notebook shows it."""
        return self.definition._repr_latex_()


_LIBRARY = "linalg_ext.opdsl_defs."

_arrivals: Arrivals[StructuredOp] = Arrivals(most=256)


def _arrived(definition: OpDefinition, place: tuple[str, str] | None) -> StructuredOp:
    """The op of a definition that came from elsewhere.

    Args:
        definition: of the op.
        place: the module and the qualified name that its function had, if it had one.
    """

    def make() -> StructuredOp:
        op = StructuredOp(definition)
        if place is not None:
            op.__module__, op.__qualname__ = place
        return op

    # 1 and 1.0 are equal as constants, and not the same: the text tells them apart.
    key = (definition, str(definition))
    if place is not None:
        found: Any = sys.modules.get(place[0])
        for name in place[1].split("."):
            found = getattr(found, name, None)
        if isinstance(found, StructuredOp) and (found.definition, str(found.definition)) == key:
            return found
    return _arrivals.get((key, place), make)


def op_of(definition: OpDefinition) -> StructuredOp:
    """The op of a definition that no module has: one for each, so that its kernels are kept."""
    return _arrived(definition, None)


def _shown(default: object) -> object:
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
        return _define(function, op_name, op_class_name, upstream=upstream)

    return decorate if function is None else decorate(function)


def _define(
    function: Callable[..., object],
    op_name: str | None,
    op_class_name: str | None,
    *,
    upstream: bool,
) -> StructuredOp:
    name = op_name or function.__name__
    class_name = op_class_name or f"{''.join(part.title() for part in name.split('_'))}Op"
    refuse_nesting()
    builder = OpBuilder(function.__code__, upstream=upstream)
    bound = _bind_parameters(function, builder)
    with building(builder):
        function(*bound)
    return StructuredOp(builder.finish(name, class_name, inspect.getdoc(function) or ""), function)


def _bind_parameters(function: Callable[..., object], builder: OpBuilder) -> list[object]:
    bound = []
    for name, parameter in inspect.signature(function).parameters.items():
        declaration = parameter.default
        if not isinstance(declaration, OperandDef):
            found = "nothing" if declaration is parameter.empty else repr(declaration)
            raise DefinitionError(
                f"parameter {name} of {function.__name__} declares no operand: "
                f"its default is {found}",
                where=builder.location,
                expected=f"{name}=TensorDef(...), ScalarDef(...), IndexAttrDef(...), "
                "UnaryFnAttrDef(...), BinaryFnAttrDef(...), TernaryFnAttrDef(...) or "
                "TypeFnAttrDef(...)",
            )
        builder.declare(declaration.operand(name), declaration.location)
        bound.append(declaration.bind(name, builder))
    return bound
