"""Structured ops of live IR as definitions: the way back from `linalg.generic`.

Every function is emitted once for an element type; the emitted ops are its pattern. A function that
the payload learns to emit is therefore recognised without a change here.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from linalg_ext.bindings import func, ir, linalg
from linalg_ext.definition.attributes import CallAttributes
from linalg_ext.definition.checks import check
from linalg_ext.definition.functions import (
    BINARY,
    FUNCTIONS,
    TERNARY,
    TYPE,
    UNARY,
    Function,
    FunctionKind,
)
from linalg_ext.definition.model import (
    Assignment,
    OpDefinition,
    Operand,
    OperandKind,
    Reduction,
    accumulation,
    class_name,
    run_together,
)
from linalg_ext.definition.scalar import (
    Access,
    Apply,
    Const,
    Index,
    Lookup,
    ScalarExpr,
    ScalarOperand,
    type_of,
)
from linalg_ext.definition.specialization import specialized
from linalg_ext.definition.types import PREDEFINED_ELEMENTS, TypeVar
from linalg_ext.errors import ArgumentError, DefinitionError, DTypeError, RecognitionError
from linalg_ext.ir.context import new_context
from linalg_ext.structured.constants import is_bool, number_of
from linalg_ext.structured.extension import NAMES as EXTENSION_OPS
from linalg_ext.structured.extension import OVERWRITE, extension_definition
from linalg_ext.structured.maps import (
    has_payload,
    indexing_maps,
    place_of,
    split_operands,
)
from linalg_ext.structured.operands import bind, element_of, producer
from linalg_ext.structured.payload import PayloadScope, emit_expression
from linalg_ext.symbolic.affine import AffineConst, AffineDim, AffineExpr, AffineSymbol
from linalg_ext.utils.recent import CallCache

_PERMISSIONS = frozenset({"fastmath", "overflowFlags"})
"""Attributes that allow a result to differ: without them an op means no less."""

_COMMUTATIVE = frozenset(
    (
        *("arith.addf", "arith.mulf", "arith.maximumf", "arith.minimumf"),
        *("arith.addi", "arith.muli", "arith.andi", "arith.ori", "arith.xori"),
        *("arith.maxsi", "arith.minsi", "arith.maxui", "arith.minui"),
        *("complex.add", "complex.mul"),
    )
)


@dataclass(frozen=True)
class Node:
    """An op of a pattern.

    Attributes:
        op: its name.
        attributes: its attributes, but for permissions.
        operands: nodes, or positions of arguments.
    """

    op: str
    attributes: tuple[tuple[str, str], ...]
    operands: tuple[Node | int, ...]

    @property
    def size(self) -> int:
        """The number of ops."""
        return 1 + sum(o.size for o in self.operands if isinstance(o, Node))


@dataclass(frozen=True)
class Pattern:
    """A function and the form in which it is emitted."""

    function: Function
    root: Node


@functools.cache
def patterns(element: str) -> Mapping[str, tuple[Pattern, ...]]:
    """The patterns on an element type, by the op at their root, the largest first."""
    emitted: list[Pattern] = []
    with new_context(), ir.Location.unknown():
        for kind, table in FUNCTIONS.items():
            if kind is not FunctionKind.TYPE:
                emitted += [p for f in table.values() if (p := _pattern(f, element))]
    single = {pattern.root.op for pattern in emitted if pattern.root.size == 1}
    by_root: dict[str, list[Pattern]] = {}
    for pattern in sorted(emitted, key=lambda pattern: -pattern.root.size):
        if pattern.root.op in single and _is_composed(pattern.root):
            continue  # `clamp` is read as the minimum of a maximum, which it is emitted as
        by_root.setdefault(pattern.root.op, []).append(pattern)
    return {op: tuple(same) for op, same in by_root.items()}


@functools.cache
def has_meaning(kind: FunctionKind, name: str, element: str) -> bool:
    """Return whether a function can be computed on an element type, as MLIR spells it."""
    with new_context(), ir.Location.unknown():
        return _pattern(FUNCTIONS[kind][name], element) is not None


def match(node: Node | int, value: ir.Value, bound: dict[int, ir.Value]) -> bool:
    """Return whether a value is computed as a pattern says; fills in the arguments."""
    if isinstance(node, int):
        return bound.setdefault(node, value) == value
    op = producer(value)
    if op is None or op.name != node.op or attributes_of(op) != node.attributes:
        return False
    operands = list(op.operands)
    if len(operands) != len(node.operands):
        return False
    orders = [operands]
    if node.op in _COMMUTATIVE:
        orders.append(operands[::-1])
    for order in orders:
        attempt = dict(bound)
        if all(match(n, v, attempt) for n, v in zip(node.operands, order, strict=True)):
            bound.update(attempt)
            return True
    return False


def attributes_of(op: ir.Operation) -> tuple[tuple[str, str], ...]:
    """Return the attributes of an op as sorted text, except those that permit inexact results."""
    return tuple(
        sorted((name, str(a)) for name, a in op.attributes.items() if name not in _PERMISSIONS)
    )


def _is_composed(node: Node) -> bool:
    """Return whether a pattern is several functions, one inside the other, and no constant."""
    inner = [operand for operand in node.operands if isinstance(operand, Node)]
    has_constant = any(not operand.operands for operand in inner)
    return (
        bool(inner)
        and not has_constant
        and all(_is_composed(n) or all(isinstance(o, int) for o in n.operands) for n in inner)
    )


def _pattern(function: Function, element: str) -> Pattern | None:
    types = [ir.Type.parse(element)] * function.kind.arity
    if function.name == "select":
        types[0] = ir.IntegerType.get_signless(1)
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        block = func.FuncOp("pattern", (types, [])).add_entry_block()
    arguments = tuple(ScalarOperand(f"x{i}", TypeVar(f"T{i}")) for i in range(len(types)))
    scope = PayloadScope(
        definition=OpDefinition(function.name, "", "", (), (), ()),
        types={f"T{i}": type for i, type in enumerate(types)},
        unsigned=frozenset(),
        functions={},
        elements={},
        scalars={f"x{i}": value for i, value in enumerate(block.arguments)},
        sizes={},
    )
    with ir.InsertionPoint(block):
        try:
            value = emit_expression(Apply(function, arguments), scope)
        except DTypeError:
            return None  # no meaning for the type
        root = _node(value)
    return Pattern(function, root) if isinstance(root, Node) else None


def _node(value: ir.Value) -> Node | int:
    op = producer(value)
    if op is None:
        return ir.BlockArgument(value).arg_number
    return Node(op.name, attributes_of(op), tuple(_node(operand) for operand in op.operands))


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


def refusal(
    op: ir.Operation, message: str, reason: str, hint: str | None = None
) -> RecognitionError:
    """The error for an op, with its line of IR."""
    return RecognitionError(message, reason=reason, where=place_of(op), hint=hint)


@dataclass
class BodyReader:
    """Reads the values of one body.

    Attributes:
        op: the structured op.
        leaves: the expression that each argument of the body stands for.
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
        self._exprs: dict[ir.Value, ScalarExpr] = {}
        self._body = self.op.regions[0].blocks[0]

    def outputs(self) -> list[ScalarExpr]:
        """The values that the body yields."""
        *ops, yielded = self._body.operations
        for view in ops:
            inner = view.operation
            if len(inner.results) == 0 or len(inner.regions) > 0:
                raise refusal(
                    inner,
                    f"{inner.name} in the body of {self.op.name} is not a scalar function",
                    f"{inner.name} in the body",
                )
        if len(ops) > _LONGEST:
            raise refusal(
                self.op,
                f"the body of {self.op.name} has more than {_LONGEST} operations",
                "the expression is too large",
            )
        if len(ops) > _DEEP:
            for view in ops:
                self.value(view.operation.results[0])
        return [self.value(operand) for operand in yielded.operands]

    def value(self, value: ir.Value) -> ScalarExpr:
        """The expression of a value; a RecognitionError where definitions cannot say it."""
        if value not in self._exprs:
            expr = self._read(value)
            self._exprs[value] = expr
            if sum(1 for _ in islice(expr.walk(), _LARGEST + 1)) > _LARGEST:
                raise refusal(
                    self.op,
                    f"the body of {self.op.name} is an expression of more than {_LARGEST} parts",
                    "the expression is too large",
                )
        return self._exprs[value]

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
            reason = f"{_spelling(op)} is not a function that definitions know"
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
        """Read an index, without the clamp that moves it into range."""
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
            element = "i64"  # a position, once it is a number
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
                f"the body of {self.op.name} uses a {value.type} that is not an operand",
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
    """The comparison that a comparison which is true for NaN negates; None for other values."""
    op = producer(value)
    if op is None or op.name != "arith.cmpf":
        return None
    predicate = ir.IntegerAttr(op.attributes["predicate"]).value
    return BINARY.get(_OPPOSITES.get(predicate, ""))


def _tested_for_zero(value: ir.Value) -> ir.Value | None:
    """x, where a value is `x != 0`: the form of a cast to a boolean."""
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


def _spelling(op: ir.Operation) -> str:
    """The name of an op with its attributes: `arith.cmpf ogt` differs from `arith.cmpf ugt`."""
    if "predicate" not in op.attributes:
        return str(op.name)
    word = str(op).partition(op.name)[2].split()[0].rstrip(",")
    return f"{op.name} {word}"


WITH_OWN_BODY = frozenset(("linalg.generic", "linalg.map", "linalg.reduce"))
"""Ops whose body their author writes; the body of any other op of linalg follows from the rest."""


def fingerprint(op: ir.Operation) -> tuple[object, ...] | None:
    """The name, types, indexing maps and body of an op with a region, discardable attributes not.

    None where the body uses a value from outside that is not a constant: which one it is would not
    be said.
    """
    types = tuple(str(operand.type) for operand in op.operands)
    if op.name not in WITH_OWN_BODY:
        # Its maps and body follow from these; an attribute with a dot is discardable.
        own = ((name, str(value)) for name, value in op.attributes.items() if "." not in name)
        return (op.name, types, *own)
    body = body_key(op.regions[0].blocks[0])
    if body is None:
        return None
    maps, kinds = str(linalg.get_indexing_maps(op)), None
    if "iterator_types" in op.attributes:
        kinds = str(op.attributes["iterator_types"])
    return (op.name, types, maps, kinds, body)


def body_key(block: ir.Block) -> tuple[object, ...] | None:
    """The ops of a body; None where one has a region, or uses a value from outside."""
    numbers: dict[ir.Value, object] = {a: i for i, a in enumerate(block.arguments)}
    ops: list[object] = []
    for view in block.operations:
        op = view.operation
        if len(op.regions):
            return None
        operands = [numbers.get(operand) for operand in op.operands]
        if None in operands:
            operands = [_numbered(value, numbers) for value in op.operands]
            if None in operands:
                return None
        attributes = tuple((name, str(value)) for name, value in op.attributes.items())
        results = tuple(str(result.type) for result in op.results)
        ops.append((op.name, tuple(operands), attributes, results))
        for result in op.results:
            numbers[result] = len(numbers)
    return tuple(ops)


def _numbered(value: ir.Value, numbers: dict[ir.Value, object]) -> object:
    """The number of a value of the body, or the value of a constant from outside."""
    if value in numbers:
        return numbers[value]
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "arith.constant":
        return None
    return str(owner.operation.attributes["value"])


@dataclass(frozen=True)
class RecognizedOp:
    """A definition, and its operands in the IR that it was read from.

    Attributes:
        definition: the op's computation, at the types that it has.
        inputs: the value of each input: those of the op, then scalars that its body uses from
            outside.
        outputs: the value of each output: the op's destinations.
        types: the element type of each type variable, as MLIR spells it.
    """

    definition: OpDefinition
    inputs: tuple[ir.Value, ...]
    outputs: tuple[ir.Value, ...]
    types: Mapping[str, str]

    @property
    def is_uniform(self) -> bool:
        """Return whether the operands are tensors alone, or memrefs alone, but for scalars."""
        types = [value.type for value in (*self.inputs, *self.outputs)]
        return len({type(type_) for type_ in types if isinstance(type_, ir.ShapedType)}) == 1


def definition_of(
    op: ir.Operation | ir.OpView,
    *,
    name: str | None = None,
    merge_inputs: bool = False,
    look_ups: bool = False,
) -> OpDefinition:
    """The definition of a structured op; see `recognize`, which tells its operands too."""
    return recognize(op, name=name, merge_inputs=merge_inputs, look_ups=look_ups).definition


def recognize(
    op: ir.Operation | ir.OpView,
    *,
    name: str | None = None,
    merge_inputs: bool = False,
    look_ups: bool = False,
) -> RecognizedOp:
    """Read a structured op (`linalg.generic`, or a named one) back into a definition.

    Its dimensions are d0, d1, ...; its operands are A, B, ... and the outputs O (or O0, O1, ...);
    there is one type variable for each element type. Constants are part of it wherever they are
    made; any other scalar from outside the body becomes a scalar operand. `fastmath` and overflow
    flags are left out.

    Args:
        op: the op, on tensors or on memrefs; it is not changed.
        name: the definition's name; that of a named op, or `anonymous`, if not given.
        merge_inputs: whether inputs that are one value become one operand, read in several ways;
            else `matmul(x, x)` is a matmul of two operands.
        look_ups: whether a tensor from outside, of which the body takes elements at computed
            indices, becomes an operand; else such a body is refused.

    Raises:
        ArgumentError: this is not a structured op.
        RecognitionError: no definition describes the op; names the op of the body that is in the
            way.
    """
    operation = op.operation if isinstance(op, ir.OpView) else op
    if isinstance(operation, ir.Operation) and operation.name in EXTENSION_OPS:
        with operation.context:
            return _recognize_extension(operation, name)
    if not isinstance(operation, ir.Operation) or not has_payload(operation):
        named = operation.name if isinstance(operation, ir.Operation) else repr(op)
        raise ArgumentError(
            f"{named} is not a structured op",
            expected="linalg.generic, a named op of linalg with a body, such as linalg.matmul, or "
            "an op of linalg_ext",
        )
    with operation.context:
        return _recognize(operation, name, merge_inputs, look_ups)


_definitions = CallCache[tuple[object, ...], tuple[OpDefinition, Mapping[str, str]]](most=4096)
"""The memo of definitions and types by the fingerprint of an op: a module repeats its ops."""


def _recognize(
    op: ir.Operation, name: str | None, merge_inputs: bool, look_ups: bool
) -> RecognizedOp:
    op_key = None if merge_inputs else fingerprint(op)
    if op_key is None:
        return _Reader(op, merge_inputs, look_ups).recognized(name)
    key = (name, *op_key)
    entry = _definitions.get(key)
    if entry is None:
        read = _Reader(op, merge_inputs, look_ups).recognized(name)
        _definitions.remember(key, (read.definition, read.types))
        return read
    definition, types = entry
    values = tuple(op.operands)
    count = len(definition.inputs)
    return RecognizedOp(definition, values[:count], values[count:], types)


def _recognize_extension(op: ir.Operation, name: str | None) -> RecognizedOp:
    """Read an op of our own dialect, which has no body, from its kind and its maps."""
    try:
        definition = extension_definition(op)
        *inputs, output = op.operands
        bound = bind(definition, inputs, [output], CallAttributes())
    except ArgumentError as error:
        raise refusal(op, error.what, "the attributes define no op", error.hint) from None
    if OVERWRITE in op.attributes and definition.reduction_dims:
        raise refusal(
            op,
            f"{op.name} overwrites a destination that a definition with a reduction adds to",
            "the op overwrites its destination",
            "run linalg-ext-lower-contract first",
        )
    types = {str(t): str(bound.types[str(t)]) for t in definition.type_vars}
    usual, named = specialized(replace(definition, name=name or definition.name), types)
    return RecognizedOp(usual, tuple(inputs), (output,), named)


class _Reader:
    def __init__(self, op: ir.Operation, merge_inputs: bool, look_ups: bool) -> None:
        self._op = op
        self._look_ups = look_ups
        self._merge_inputs = merge_inputs
        maps = indexing_maps(op)
        self._dims = tuple(f"d{i}" for i in range(len(maps[0].dims)))
        self._indices = [map.results_over(self._dims) for map in maps]
        self._inputs, self._outputs = map(tuple, split_operands(op))
        self._type_vars = type_vars_of(list(op.operands))

    def recognized(self, name: str | None) -> RecognizedOp:
        names = self._names()
        values = (*self._inputs, *self._outputs)
        leaves = [self._leaf(*slot) for slot in zip(names, values, self._indices, strict=True)]
        captured: dict[ir.Value, Operand] = {}
        body = BodyReader(self._op, leaves, self._type_vars, self._dims, captured, self._look_ups)
        assigned = body.outputs()
        assignments = run_together(
            [
                self._assignment(target, value)
                for target, value in zip(leaves[len(self._inputs) :], assigned, strict=True)
            ]
        )
        if assignments is None:
            raise refusal(
                self._op,
                f"the body of {self._op.name} reads the partial reduction of another output",
                "an output reads a running reduction of another",
            )
        read = {e.operand for a in assignments for e in a.value.walk() if isinstance(e, Access)}
        operands = [
            self._operand(leaf, value, indices, position, leaf.operand in read)
            for position, (leaf, value, indices) in enumerate(
                zip(leaves, values, self._indices, strict=True)
            )
        ]
        first = {operand.name: i for i, operand in reversed(list(enumerate(operands)))}
        inputs = [i for i in sorted(first.values()) if i < len(self._inputs)]
        operands = [
            *(operands[i] for i in inputs),
            *captured.values(),
            *operands[len(self._inputs) :],
        ]
        title = name or str(self._op.name).removeprefix("linalg.")
        if title == "generic":
            title = "anonymous"
        definition = OpDefinition(
            name=title,
            cpp_class_name=class_name(title),
            doc="",
            operands=tuple(operands),
            dims=self._dims,
            assignments=assignments,
        )
        self._check(definition)
        types = {type_var.name: element for element, type_var in self._type_vars.items()}
        usual, named = specialized(definition, types)
        input_values = (*(self._inputs[i] for i in inputs), *captured)
        return RecognizedOp(usual, input_values, self._outputs, named)

    def _names(self) -> list[str]:
        """A name for each operand; on request, inputs that are one value share a name."""
        if not self._merge_inputs:
            return operand_names(len(self._inputs), len(self._outputs))
        values = list(dict.fromkeys(self._inputs))
        names = operand_names(len(values), len(self._outputs))
        merged = dict(zip(values, names, strict=False))
        return [*(merged[value] for value in self._inputs), *names[len(values) :]]

    def _leaf(
        self, name: str, value: ir.Value, indices: tuple[AffineExpr, ...]
    ) -> Access | ScalarOperand:
        type_var = self._type_vars[str(element_of(value))]
        if isinstance(value.type, ir.ShapedType):
            return Access(name, indices, type_var)
        return ScalarOperand(name, type_var)

    def _operand(
        self,
        leaf: Access | ScalarOperand,
        value: ir.Value,
        indices: tuple[AffineExpr, ...],
        position: int,
        is_read: bool,
    ) -> Operand:
        if isinstance(leaf, ScalarOperand):
            return Operand(leaf.operand, OperandKind.SCALAR, leaf.type_var)
        sizes: dict[AffineExpr, AffineExpr | int] = {
            AffineDim(dim): AffineSymbol(dim.upper()) for dim in self._dims
        }
        shape = tuple(
            _size(index, axis, value).substitute(sizes) for axis, index in enumerate(indices)
        )
        if position >= len(self._inputs):
            return Operand(leaf.operand, OperandKind.OUTPUT_TENSOR, leaf.type_var, shape)
        index_dims = None if is_read else indices
        return Operand(leaf.operand, OperandKind.INPUT_TENSOR, leaf.type_var, shape, index_dims)

    def _assignment(self, target: ScalarExpr, value: ScalarExpr) -> Assignment:
        if not isinstance(target, Access):
            raise refusal(self._op, "an output is not a tensor", "an output is not a tensor")
        written = {dim for index in target.indices for dim in index.dims}
        missing = tuple(dim for dim in self._dims if dim not in written)
        reduction = accumulation(target, value, missing)
        if missing and reduction is None:
            reduction = Reduction(None, missing)  # a fold, from the former value of the output
        return Assignment(target, value, reduction)

    def _check(self, definition: OpDefinition) -> None:
        try:
            check(definition)
        except DefinitionError as error:
            raise refusal(
                self._op, error.what, "an index of an output is not a plain dimension"
            ) from None
        if "iterator_types" not in self._op.attributes:
            return
        stated = [str(kind) for kind in ir.ArrayAttr(self._op.attributes["iterator_types"])]
        for dim, iterator_type, kind in zip(
            definition.dims, definition.iterator_types, stated, strict=True
        ):
            if f"<{iterator_type.value}>" not in kind:
                raise refusal(
                    self._op,
                    f"dimension {dim} is said to be {kind}, but its outputs make it "
                    f"{iterator_type.value}",
                    "a reduction dimension indexes an output",
                )


def _size(index: AffineExpr, axis: int, value: ir.Value) -> AffineExpr:
    """The size of an axis, in terms of dimensions that represent their own sizes."""
    shape = ir.ShapedType(value.type)
    if index == AffineConst(0) and not shape.is_dynamic_dim(axis) and shape.get_dim_size(axis) == 1:
        return AffineConst(1)
    return index


def type_vars_of(values: list[ir.Value]) -> dict[str, TypeVar]:
    """Return a type variable for each element type of the operands."""
    elements = dict.fromkeys(str(element_of(value)) for value in values)
    return {element: TypeVar(f"T{i + 1}") for i, element in enumerate(elements)}


_LETTERS = "ABCDEFGHIJKLMNPQRSTUVWXYZ"


def operand_names(inputs: int, outputs: int) -> list[str]:
    """Names of inputs, A, B, ..., and of outputs, O or O0, O1, ..."""
    letters = list(_LETTERS) if inputs <= len(_LETTERS) else [f"A{i}" for i in range(inputs)]
    results = ["O"] if outputs == 1 else [f"O{i}" for i in range(outputs)]
    return [*letters[:inputs], *results]


_verdicts: dict[tuple[object, ...], bool] = {}


def kept_if_same(
    built: ir.Operation, recognized: RecognizedOp, order: Sequence[int]
) -> ir.Operation | None:
    """An op that was just built, where it computes the same as another; else None, and no op.

    Args:
        built: the new op, which nothing uses yet; it has no discardable attributes.
        order: for each of its inputs, which input of the other op it is.
    """
    attributes = tuple((name, str(value)) for name, value in built.attributes.items())
    types = tuple(recognized.types.items())
    key = (built.name, attributes, recognized.definition, types, tuple(order))
    if key not in _verdicts:
        _verdicts[key] = _is_same(built, recognized, order)
    if _verdicts[key]:
        return built
    built.erase()
    return None


def _is_same(built: ir.Operation, recognized: RecognizedOp, order: Sequence[int]) -> bool:
    try:
        actual = recognize(built)
    except RecognitionError:
        return False
    definition = recognized.definition
    inputs = tuple(definition.inputs[position] for position in order)
    if len(set(order)) != len(order):
        # Inputs that are one value are merged, as in `x + x`.
        merged = recognize(built, merge_inputs=True)
        same_values = merged.inputs == recognized.inputs
        return same_values and merged.definition.equivalent(definition)
    expected = replace(definition, operands=(*inputs, *definition.outputs))
    return actual.definition.equivalent(expected)
