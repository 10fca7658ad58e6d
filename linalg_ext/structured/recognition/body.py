"""The body of a structured op read back: arith, math and complex ops as scalar expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from linalg_ext.bindings import ir
from linalg_ext.definition.affine import AffineConst, AffineDim, AffineExpr, AffineSymbol
from linalg_ext.definition.functions import BINARY, TERNARY, TYPE, UNARY, Function
from linalg_ext.definition.model import Operand, OperandKind
from linalg_ext.definition.scalar import (
    Apply,
    Const,
    Index,
    Lookup,
    ScalarExpr,
    ScalarOperand,
    type_of,
)
from linalg_ext.definition.types import PREDEFINED_ELEMENTS, TypeVar
from linalg_ext.errors import RecognitionError
from linalg_ext.structured.recognition.patterns import attributes_of, match, patterns
from linalg_ext.structured.utils.constants import is_bool
from linalg_ext.structured.utils.place import place_of
from linalg_ext.structured.utils.values import producer

_CASTS: Mapping[str, Function] = {
    **dict.fromkeys(
        (
            *("arith.extf", "arith.truncf", "arith.sitofp", "arith.fptosi"),
            *("arith.extsi", "arith.trunci", "arith.index_cast"),
        ),
        TYPE["cast_signed"],
    ),
    **dict.fromkeys(
        ("arith.uitofp", "arith.fptoui", "arith.extui", "arith.index_castui"),
        TYPE["cast_unsigned"],
    ),
}
_SIGNED_CASTS = tuple(op for op, function in _CASTS.items() if function == TYPE["cast_signed"])
_LARGEST = 2000
"""Nodes of an expression: one value that is used twice is written out twice."""

_LONGEST = 256
_DEEP = 32
"""The number of ops in a body above which they are read in order.

Each is then read before its users, since recursion has its limit.
"""


def refusal(op: ir.Operation, what: str, reason: str, hint: str | None = None) -> RecognitionError:
    """The error for an op, with its line of IR."""
    return RecognitionError(what, reason=reason, where=place_of(op), hint=hint)


@dataclass
class BodyReader:
    """Reads the values of one body.

    Attributes:
        op: the structured op.
        leaves: what each argument of the body stands for.
        type_vars: the type variable of each element type, as MLIR spells it; grows by predefined
            ones.
        dims: the iteration space.
        captured: operands for values from outside the body, and those values; grows.
        look_ups: whether `tensor.extract` of a tensor from outside is read, as a look-up.
    """

    op: ir.Operation
    leaves: Sequence[ScalarExpr]
    type_vars: dict[str, TypeVar]
    dims: tuple[str, ...]
    captured: dict[ir.Value, Operand]
    look_ups: bool = False

    def __post_init__(self) -> None:
        self._known: dict[ir.Value, ScalarExpr] = {}
        self._body = self.op.regions[0].blocks[0]

    def outputs(self) -> list[ScalarExpr]:
        """The values that the body yields."""
        *ops, yielded = self._body.operations
        for each in ops:
            inner = each.operation
            if len(inner.results) == 0 or len(inner.regions) > 0:
                raise refusal(
                    inner,
                    f"{inner.name} in the body of {self.op.name} is no scalar function",
                    f"{inner.name} in the body",
                )
        if len(ops) > _LONGEST:
            raise refusal(
                self.op,
                f"the body of {self.op.name} has more than {_LONGEST} operations",
                "the expression is too large",
            )
        if len(ops) > _DEEP:
            for each in ops:
                self.value(each.operation.results[0])
        return [self.value(operand) for operand in yielded.operands]

    def value(self, value: ir.Value) -> ScalarExpr:
        """The expression of a value.

        Raises:
            RecognitionError: something in it is beyond definitions.
        """
        if value not in self._known:
            expr = self._read(value)
            self._known[value] = expr
            if _size(expr) > _LARGEST:
                raise refusal(
                    self.op,
                    f"the body of {self.op.name} is an expression of more than {_LARGEST} parts",
                    "the expression is too large",
                )
        return self._known[value]

    def _read(self, value: ir.Value) -> ScalarExpr:
        op = producer(value)
        if op is None and value.owner == self._body:
            return self.leaves[ir.BlockArgument(value).arg_number]
        if op is not None:
            constant = number_of(value)
            if constant is not None:
                return self._cast(TYPE["cast_signed"], Const(constant), value)
            if op.block == self._body:
                return self._read_op(op, value)
        return self._capture(value)

    def _read_op(self, op: ir.Operation, value: ir.Value) -> ScalarExpr:
        if op.name == "tensor.extract" and self.look_ups:
            return self._looked_up(op)
        if op.name == "linalg.index":
            return Index(self.dims[ir.IntegerAttr(op.attributes["dim"]).value])
        if op.name in _CASTS and not attributes_of(op):
            # A complex number is cast by its real part.
            source = _through(op.operands[0], ("complex.re",))
            if is_bool(value.type):
                # A cast to a boolean asks for "not zero"; this one looks at the last bit.
                raise refusal(
                    op, f"{op.name} keeps one bit of a number", "the body keeps one bit of a number"
                )
            return self._cast(_CASTS[op.name], self.value(source), value)
        if (tested := _tested_for_zero(value)) is not None and "i1" in self.type_vars:
            return self._cast(TYPE["cast_signed"], self.value(tested), value)
        if (part := _complex_cast(value)) is not None:
            return self._cast(TYPE["cast_signed"], self.value(part), value)
        if (clamped := self._maximum(op)) is not None:
            return clamped
        if (opposite := _opposite(value)) is not None:
            return Apply(UNARY["not"], (self._compared(opposite, op),))
        compare = producer(op.operands[0]) if op.name == "arith.select" else None
        if compare is not None and (opposite := _opposite(op.operands[0])) is not None:
            condition = self._compared(opposite, compare)
            x, y = (self._argument(operand) for operand in list(op.operands)[1:])
            return Apply(TERNARY["select"], (condition, y, x))
        return self._read_function(op, value)

    def _read_function(self, op: ir.Operation, value: ir.Value) -> ScalarExpr:
        for element in dict.fromkeys(str(operand.type) for operand in reversed(op.operands)):
            for pattern in patterns(element).get(op.name, ()):
                bound: dict[int, ir.Value] = {}
                if match(pattern.root, value, bound):
                    is_choice = pattern.function.name == "select"
                    args = [
                        self._condition(bound[i])
                        if is_choice and i == 0
                        else self._argument(bound[i])
                        for i in range(len(bound))
                    ]
                    return Apply(pattern.function, tuple(args))
        if op.name == "tensor.extract":
            reason = "the index is computed"
        else:
            reason = f"{_spelling(op)} is no function that definitions know"
        raise refusal(op, f"the body of {self.op.name} has {_spelling(op)}: {reason}", reason)

    def _looked_up(self, op: ir.Operation) -> ScalarExpr:
        """Read an element of a tensor from outside, which becomes an operand."""
        table, *places = op.operands
        producing = producer(table)
        if producing is not None and producing.block == self._body:
            raise refusal(op, "the body looks up in a tensor of its own", "the index is computed")
        indices = tuple(map(self._place, places))
        type_var = self._type_var_of(str(ir.ShapedType(table.type).element_type))
        if table not in self.captured:
            name = f"table{len(self.captured)}"
            shape = tuple(
                AffineSymbol(str(index).upper() if isinstance(index, AffineDim) else f"{name}_{n}")
                for n, index in enumerate(indices)
            )
            self.captured[table] = Operand(name, OperandKind.INPUT_TENSOR, type_var, shape)
        return Lookup(self.captured[table].name, indices, type_var)

    def _place(self, value: ir.Value) -> AffineExpr | ScalarExpr:
        """Read an index; that it is moved into range goes without saying."""
        for name in ("arith.maxsi", "arith.minsi"):
            value = _through(value, (name,))
        op = producer(value)
        if op is not None and op.name == "linalg.index":
            return AffineDim(self.dims[ir.IntegerAttr(op.attributes["dim"]).value])
        number = number_of(value)
        if isinstance(number, int):
            return AffineConst(number)
        expr = self._argument(value)
        return self._cast(TYPE["cast_signed"], expr, value)

    def _compared(self, function: Function, op: ir.Operation) -> Apply:
        x, y = (self._argument(operand) for operand in op.operands)
        return Apply(function, (x, y))

    def _argument(self, value: ir.Value) -> ScalarExpr:
        """A value as the operand of a function: positions are integers there."""
        expr = self.value(value)
        if isinstance(expr, Index):
            return Apply(TYPE["cast_signed"], (expr,), self._type_var(value))
        return expr

    def _condition(self, value: ir.Value) -> ScalarExpr:
        """Read the condition of a `select`, which takes any number and tests it for zero."""
        tested = _tested_for_zero(value)
        return self._argument(value if tested is None else tested)

    def _maximum(self, op: ir.Operation) -> ScalarExpr | None:
        """`x > c ? x : c`, NaN kept, for a constant c: the same as `max(x, c)`, and `min` alike."""
        if op.name != "arith.select":
            return None
        condition, x, limit = op.operands
        number = number_of(limit)
        compare = producer(condition)
        if compare is None or compare.name != "arith.cmpf" or number is None:
            return None
        if list(compare.operands) != [x, limit]:
            return None
        predicate = ir.IntegerAttr(compare.attributes["predicate"]).value
        # A zero of the wrong sign would win over the other: max takes +0, min takes -0.
        sign = str(number)[0] == "-"
        name = {_UGT: "max_signed", _ULT: "min_signed"}.get(predicate)
        if name is None or (number == 0 and sign != (name == "min_signed")):
            return None
        return Apply(BINARY[name], (self.value(x), self.value(limit)))

    def _cast(self, function: Function, expr: ScalarExpr, value: ir.Value) -> ScalarExpr:
        target = self._type_var(value)
        if type_of(expr) == target:
            return expr
        if isinstance(expr, Apply) and expr.function == TYPE["cast_signed"]:
            (inner,) = expr.args
            exact = isinstance(inner, Const) and (
                function == TYPE["cast_signed"] or inner.value >= 0
            )
            if exact:
                return replace(expr, type_var=target)
        return Apply(function, (expr,), target)

    def _type_var(self, value: ir.Value) -> TypeVar:
        element = str(value.type)
        if element == "index" and element not in self.type_vars:
            element = "i64"  # what a position is, once it is a number
        if element not in self.type_vars:
            predefined: dict[str, str] = {}
            for name, text in PREDEFINED_ELEMENTS.items():
                predefined.setdefault(text, name)
            if element not in predefined:
                raise refusal(
                    producer(value) or self.op,
                    f"the body of {self.op.name} computes in {element}, which is the type of no "
                    "operand",
                    "the body computes in a type of no operand",
                )
            self.type_vars[element] = TypeVar(predefined[element])
        return self.type_vars[element]

    def _capture(self, value: ir.Value) -> ScalarExpr:
        """A value from outside the body becomes a scalar operand."""
        if isinstance(value.type, ir.ShapedType):
            raise refusal(
                self.op,
                f"the body of {self.op.name} uses a {value.type} that is no operand",
                "the body uses a tensor that is not an operand",
            )
        if value not in self.captured:
            name = f"scalar{len(self.captured)}"
            type_var = self._type_var_of(str(value.type))
            self.captured[value] = Operand(name, OperandKind.SCALAR, type_var)
        operand = self.captured[value]
        return ScalarOperand(operand.name, self.type_vars[str(value.type)])

    def _type_var_of(self, element: str) -> TypeVar:
        return self.type_vars.setdefault(element, TypeVar(f"T{len(self.type_vars) + 1}"))


_UGT, _ULT, _UNE = 9, 11, 13
"""`arith.CmpFPredicate`: unordered (true for NaN) or greater, less, unequal."""
_NE = 1
"""`arith.CmpIPredicate`: unequal."""


_OPPOSITES = {_UGT: "le", 10: "lt", _ULT: "ge", 12: "gt"}
"""Comparisons that are true for NaN, and those that are true where they are false."""


def _opposite(value: ir.Value) -> Function | None:
    """The comparison that a value is the opposite of, if it is one that is true for NaN."""
    op = producer(value)
    if op is None or op.name != "arith.cmpf":
        return None
    predicate = ir.IntegerAttr(op.attributes["predicate"]).value
    return BINARY.get(_OPPOSITES.get(predicate, ""))


def number_of(value: ir.Value) -> int | float | None:
    """The number that a value is; None where it is not `arith.constant` of a scalar."""
    op = producer(value)
    if op is None or op.name != "arith.constant":
        return None
    attribute = op.attributes["value"]
    if isinstance(attribute, ir.BoolAttr):
        return int(attribute.value)
    if isinstance(attribute, (ir.IntegerAttr, ir.FloatAttr)):
        return attribute.value
    return None


def _tested_for_zero(value: ir.Value) -> ir.Value | None:
    """x, where a value is `x != 0`: what a cast to a boolean is."""
    op = producer(value)
    if op is not None and op.name == "arith.ori":
        real, imaginary = (_tested_for_zero(operand) for operand in op.operands)
        return None if real is None or imaginary is None else _whole(real, imaginary)
    if op is None or op.name not in ("arith.cmpf", "arith.cmpi"):
        return None
    unequal = _UNE if op.name == "arith.cmpf" else _NE
    x, other = op.operands
    if ir.IntegerAttr(op.attributes["predicate"]).value != unequal or number_of(other) != 0:
        return None
    return x


def _whole(real: ir.Value, imaginary: ir.Value) -> ir.Value | None:
    """The complex number that two values are the parts of."""
    parts = (real, imaginary)
    sources = [_through(part, (name,)) for part, name in zip(parts, _PARTS, strict=True)]
    return sources[0] if sources[0] == sources[1] and real != sources[0] else None


def _complex_cast(value: ir.Value) -> ir.Value | None:
    """x, where a value is x cast to or from a complex type."""
    op = producer(value)
    if op is not None and op.name == "complex.re":
        return op.operands[0]
    if op is None or op.name != "complex.create":
        return None
    real, imaginary = op.operands
    if number_of(imaginary) == 0:
        # To the type of the parts first, where it is of another: one cast of the language.
        return _through(real, _SIGNED_CASTS)
    return _whole(*(_through(part, ("arith.extf", "arith.truncf")) for part in (real, imaginary)))


_PARTS = ("complex.re", "complex.im")


def _through(value: ir.Value, names: tuple[str, ...]) -> ir.Value:
    op = producer(value)
    return op.operands[0] if op is not None and op.name in names else value


def _size(expr: ScalarExpr) -> int:
    size = 0
    for _ in expr.walk():
        size += 1
        if size > _LARGEST:
            break
    return size


def _spelling(op: ir.Operation) -> str:
    """The op with what it is told: `arith.cmpf ogt` differs from `arith.cmpf ugt`."""
    if "predicate" not in op.attributes:
        return str(op.name)
    word = str(op).partition(op.name)[2].split()[0].rstrip(",")
    return f"{op.name} {word}"
