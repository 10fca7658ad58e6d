"""Declarations of operands, the defaults of an op's function; names of dimensions and symbols."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import NoReturn

from linalg_ext.definition.functions import REDUCTIONS, FunctionKind
from linalg_ext.definition.model import Operand, OperandKind
from linalg_ext.definition.scalar import (
    Access,
    Accumulation,
    Apply,
    Lookup,
    ScalarExpr,
    ScalarOperand,
    apply,
)
from linalg_ext.definition.types import PREDEFINED, Namespace, TypeVar
from linalg_ext.errors import DefinitionError, caller_location, counted
from linalg_ext.opdsl.builder import OpBuilder, as_place
from linalg_ext.opdsl.scalar_functions import OpFunction, Reducer, reduce_dims
from linalg_ext.symbolic.affine import AffineConst, AffineDim, AffineExpr, AffineSymbol

Subscript = AffineExpr | ScalarExpr | int | None | tuple[AffineExpr | ScalarExpr | int, ...]


class OperandDef:
    """Base of all operand declarations.

    A declaration knows neither its name nor its op: the decorator makes a bound copy for each op,
    so that one declaration may serve several.
    """

    _name: str = ""
    _builder: OpBuilder | None = None

    def __init__(self) -> None:
        self.location = caller_location()

    def operand(self, name: str) -> Operand:
        """The operand that this declares, under a name."""
        raise TypeError(f"{type(self).__name__} declares no operand")

    def bind(self, name: str, builder: OpBuilder) -> object:
        """Return the object that the op's function receives for this parameter."""
        bound = copy.copy(self)
        bound._name = name
        bound._builder = builder
        return bound

    def _require_builder(self) -> OpBuilder:
        if self._builder is None or not self._builder.is_open:
            raise DefinitionError(
                f"the {type(self).__name__} is used outside the definition of its op",
                where=caller_location(),
                hint="use it as a parameter's default under @structured_op, "
                "and index it in the body",
            )
        return self._builder

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self._name}".rstrip()


class _NoElement(OperandDef):
    """An operand that is not a number: arithmetic with it raises an error."""

    _instead: str

    def _refuse(self, *operands: object) -> NoReturn:
        raise DefinitionError(
            f"{self!r} is used as if it were a number",
            where=caller_location(),
            hint=self._instead.format(self._name),
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __truediv__ = __rtruediv__ = __floordiv__ = __mod__ = __pow__ = __matmul__ = _refuse
    __neg__ = __abs__ = __lt__ = __gt__ = __le__ = __ge__ = __bool__ = _refuse


class TensorDef(_NoElement):
    """A tensor operand.

    Args:
        type_var: its element type.
        shape: its sizes, over symbols; none for rank 0 (and, if all operands are, for an op that
            applies element by element at any rank).
        index_dims: the dimensions of a tensor whose shape alone matters.
        output: whether it is written.
    """

    _instead = "index it, as in {0}[D.m, D.k], or {0}[None] for a tensor of rank 0"

    def __init__(
        self,
        type_var: TypeVar,
        *shape: AffineExpr | int,
        index_dims: Sequence[AffineDim] | None = None,
        output: bool = False,
    ) -> None:
        super().__init__()
        self.type_var = _type_var(type_var, "TensorDef")
        self.shape = tuple(_affine(size, "a size of a TensorDef") for size in shape)
        self.index_dims = None if index_dims is None else tuple(index_dims)
        self.output = output
        for dim in self.index_dims or ():
            if not isinstance(dim, AffineDim):
                raise DefinitionError(
                    f"{dim!r} is not a dimension",
                    where=caller_location(),
                    expected="index_dims=[D.x, ...]",
                )
        if self.index_dims is not None and len(self.index_dims) != len(self.shape):
            raise DefinitionError(
                f"{len(self.index_dims)} index_dims for a shape of rank {len(self.shape)}",
                where=caller_location(),
                expected="one dimension for each size",
            )

    def operand(self, name: str) -> Operand:
        """A tensor operand, input or output."""
        kind = OperandKind.OUTPUT_TENSOR if self.output else OperandKind.INPUT_TENSOR
        return Operand(name, kind, self.type_var, self.shape, self.index_dims)

    def __getitem__(self, subscript: Subscript) -> Access | Lookup:
        builder = self._require_builder()
        indices = _indices(subscript, self._name)
        affine = tuple(index for index in indices if isinstance(index, AffineExpr))
        builder.check_divisions(self._name, affine)
        builder.check_access(self.operand(self._name), indices)
        if len(affine) == len(indices):
            return Access(self._name, affine, self.type_var)
        indices_ = tuple(i if isinstance(i, AffineExpr) else as_place(i) for i in indices)
        return Lookup(self._name, indices_, self.type_var)

    def __setitem__(self, subscript: Subscript, value: ScalarExpr | Accumulation | float) -> None:
        builder, target = self._require_builder(), self[subscript]
        if self.output and (isinstance(target, Lookup) or self._is_computed(target.indices)):
            builder.scatter(target, value)
        elif isinstance(target, Lookup):
            raise DefinitionError(
                f"`{target}` is assigned, but {self._name} is an input",
                where=caller_location(),
                hint="declare it with TensorDef(..., output=True)",
            )
        else:
            builder.assign(target, value)

    def _is_computed(self, indices: tuple[AffineExpr, ...]) -> bool:
        """Return whether some index of an output is neither a dimension nor 0 of an axis of 1."""
        return any(
            not isinstance(index, AffineDim) and (index, size) != (AffineConst(0), AffineConst(1))
            for index, size in zip(indices, self.shape, strict=False)
        )

    def __iter__(self) -> NoReturn:
        raise TypeError("a TensorDef is indexed by dimensions (A[D.m]), not iterated over")


class ScalarDef(OperandDef, ScalarExpr):
    """A scalar operand: the same value at every point of the iteration space."""

    def __init__(self, type_var: TypeVar) -> None:
        super().__init__()
        self.type_var = _type_var(type_var, "ScalarDef")

    def operand(self, name: str) -> Operand:
        """A scalar operand."""
        return Operand(name, OperandKind.SCALAR, self.type_var)

    def bind(self, name: str, builder: OpBuilder) -> object:
        """The expression that stands for its value."""
        return ScalarOperand(name, self.type_var)


class IndexAttrDef(_NoElement):
    """An index attribute: integers, fixed when the op is built, for use in shapes and indices.

    Args:
        symbols: the symbols that stand for the values.
        default: their values where a call gives none.
        minimum: the least that a value may be: 0 for a padding; 1 for a stride, or any divisor.
    """

    _instead = "write the symbols that it binds, as in D.oh * S.SH"

    def __init__(self, *symbols: AffineSymbol, default: Sequence[int], minimum: int = 1) -> None:
        super().__init__()
        if minimum not in (0, 1):
            raise DefinitionError(
                f"the minimum of an IndexAttrDef is {minimum!r}",
                where=caller_location(),
                expected="0 or 1",
            )
        self.minimum = minimum
        self.symbols = tuple(_affine(symbol, "an IndexAttrDef") for symbol in symbols)
        if not isinstance(default, Sequence) or isinstance(default, str):
            raise DefinitionError(
                f"the default of an IndexAttrDef is {default!r}",
                where=caller_location(),
                expected="a list of integers, one for each symbol: default=[1, 1]",
            )
        self.default = tuple(default)
        for symbol in self.symbols:
            if not isinstance(symbol, AffineSymbol):
                raise DefinitionError(
                    f"IndexAttrDef binds `{symbol}`, which is not a symbol",
                    where=caller_location(),
                    expected="symbols such as S.SH",
                )
        if any(not isinstance(value, int) or isinstance(value, bool) for value in self.default):
            raise DefinitionError(
                f"the default {list(default)} of an IndexAttrDef is not all integers",
                where=caller_location(),
            )
        if any(value < minimum for value in self.default):
            raise DefinitionError(
                f"the default {list(default)} of an IndexAttrDef is "
                f"{'not positive' if minimum else 'negative'}",
                where=caller_location(),
                expected="integers of 1 or more, as strides and dilations are"
                if minimum
                else "integers of 0 or more",
                hint="minimum=0 lets a value be 0, as a padding may" if 0 in self.default else None,
            )
        if len(self.symbols) != len(self.default):
            raise DefinitionError(
                f"IndexAttrDef has {counted(len(self.symbols), 'symbol')} and "
                f"{counted(len(self.default), 'default value')}",
                where=caller_location(),
                expected="one default for each symbol",
            )

    def operand(self, name: str) -> Operand:
        """An index attribute."""
        return Operand(
            name,
            OperandKind.INDEX_ATTR,
            None,
            self.symbols,
            default=self.default,
            minimum=self.minimum,
        )


class _FunctionAttrDef(_NoElement):
    """An attribute that chooses a function when the op is built."""

    kind: FunctionKind
    _instead = "call it on elements, as in {0}(A[D.m])"

    def __init__(self, default: OpFunction) -> None:
        super().__init__()
        if not isinstance(default, OpFunction) or default.function.kind is not self.kind:
            namespace = f"{self.kind.value.capitalize()}Fn"
            raise DefinitionError(
                f"{default!r} is not a {self.kind.value} function",
                where=caller_location(),
                expected=f"{type(self).__name__}(default={namespace}.NAME)",
            )
        self.default = default.function

    def operand(self, name: str) -> Operand:
        """A function attribute."""
        return Operand(name, OperandKind(f"{self.kind.value}_fn_attr"), default=self.default)

    def _apply(
        self, args: tuple[ScalarExpr | float, ...], type_var: TypeVar | None = None
    ) -> Apply:
        self._require_builder()
        return apply(self.default, args, type_var=type_var, attribute=self._name)


class _ElementFnAttrDef(_FunctionAttrDef):
    """An attribute that chooses a function of elements."""

    def __call__(self, *args: ScalarExpr | float) -> Apply:
        """The chosen function of as many expressions as it takes."""
        return self._apply(args)


class UnaryFnAttrDef(_ElementFnAttrDef):
    """An attribute that chooses a unary function."""

    kind = FunctionKind.UNARY


class BinaryFnAttrDef(_ElementFnAttrDef):
    """An attribute that chooses a binary function, to apply or to reduce with."""

    kind = FunctionKind.BINARY

    def __getitem__(self, dims: AffineDim | Sequence[AffineDim]) -> Reducer:
        """A reduction over dimensions by the chosen function."""
        self._require_builder()
        if self.default not in REDUCTIONS:
            raise DefinitionError(
                f"{self!r} reduces, but its default {self.default} is not a reduction",
                where=caller_location(),
                expected=f"one of {', '.join(map(str, REDUCTIONS))}",
            )
        return Reducer(self.default, reduce_dims(dims), self._name)


class TernaryFnAttrDef(_ElementFnAttrDef):
    """An attribute that chooses a ternary function."""

    kind = FunctionKind.TERNARY


class TypeFnAttrDef(_FunctionAttrDef):
    """An attribute that chooses how values are cast."""

    kind = FunctionKind.TYPE

    def __call__(self, type_var: TypeVar, *args: ScalarExpr | float) -> Apply:
        """An expression cast to a type variable in the chosen way."""
        return self._apply(args, _type_var(type_var, self._name))


def _type_var(value: object, user: str) -> TypeVar:
    if isinstance(value, TypeVar):
        return value
    raise DefinitionError(
        f"{user} got {value!r} where a type variable belongs",
        where=caller_location(),
        expected=f"TV.T, one of T, U, V, or a fixed type: {', '.join(PREDEFINED)}",
    )


def _affine(value: object, user: str) -> AffineExpr:
    if isinstance(value, AffineExpr):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return AffineConst(value)
    raise DefinitionError(
        f"{value!r} cannot be {user}",
        where=caller_location(),
        expected="symbols (S.M), integers, or sums and products of them",
    )


def _indices(subscript: Subscript, name: str) -> tuple[AffineExpr | ScalarExpr, ...]:
    parts = subscript if isinstance(subscript, tuple) else (subscript,)
    if parts in ((), (None,)):
        return ()
    indices: list[AffineExpr | ScalarExpr] = []
    for part in parts:
        if isinstance(part, ScalarExpr):
            indices.append(part)
            continue
        if not isinstance(part, AffineExpr) and (not isinstance(part, int) or part is True):
            raise DefinitionError(
                f"{name}[{', '.join(map(repr, parts))}]: {part!r} is not an index",
                where=caller_location(),
                expected="dimensions (D.m) and sums, products and quotients with symbols and "
                "integers; elements of integers, as in W[I[D.n]]; [None] for rank 0",
                hint="a dimension stands for all of an axis: C[D.m] += A[D.m, D.k] for "
                "A[m, :].sum()"
                if isinstance(part, slice)
                else None,
            )
        indices.append(_affine(part, "an index"))
    return tuple(indices)


D = Namespace(AffineDim)
S = Namespace(AffineSymbol)
