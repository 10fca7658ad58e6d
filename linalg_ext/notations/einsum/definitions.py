"""Einsum strings as definitions of ops, and back, in a semiring.

+*      sum of products; on booleans, whether any product is true
max+    greatest sum: longest paths, the Viterbi algorithm on logarithms
min+    least sum: shortest paths
max*    greatest product: the most probable explanation
or and  whether any has all: reachability, joins of relations; on the truth of the elements
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import reduce
from typing import Any, NoReturn

from linalg_ext.definition.checks import check
from linalg_ext.definition.functions import BINARY, TYPE, Function, FunctionKind
from linalg_ext.definition.model import (
    Assignment,
    OpDefinition,
    Operand,
    OperandKind,
    Reduction,
    class_name,
)
from linalg_ext.definition.scalar import Access, Apply, ScalarExpr
from linalg_ext.definition.types import TypeVar
from linalg_ext.errors import ArgumentError, ArgumentTypeError, NotationError
from linalg_ext.notations.einsum.subscripts import LETTERS, parse
from linalg_ext.notations.registry import Notation, register
from linalg_ext.notations.registry import definition_of as subject_of
from linalg_ext.symbolic.affine import AffineConst, AffineDim, AffineExpr, AffineSymbol


@dataclass(frozen=True, slots=True, eq=False)
class Semiring:
    """A sum and a product by which an einsum combines elements; each is itself alone.

    Attributes:
        name: the value of `kind=`.
        add: combines the terms that fall on one element of the result.
        multiply: combines the elements of the operands into a term.
        is_boolean: works on the truth of the elements.
        is_ordered: needs an order of the elements: there is none on complex numbers.
    """

    name: str
    add: Function
    multiply: Function
    is_boolean: bool = False
    is_ordered: bool = False

    @property
    def needs_non_negative(self) -> bool:
        """Return whether `x * (a + b) = x * a + x * b` holds for no negative `x`."""
        return self.is_ordered and self.multiply is BINARY["mul"]

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> Any:
        return semiring, (self.name,)


_SUM, _PRODUCT = BINARY["add"], BINARY["mul"]
_MAX, _MIN = BINARY["max_signed"], BINARY["min_signed"]

KINDS = {
    kind.name: kind
    for kind in (
        Semiring("+*", _SUM, _PRODUCT),
        Semiring("max+", _MAX, _SUM, is_ordered=True),
        Semiring("min+", _MIN, _SUM, is_ordered=True),
        Semiring("max*", _MAX, _PRODUCT, is_ordered=True),
        Semiring("or and", _SUM, _PRODUCT, is_boolean=True),
    )
}
"""The semirings by name."""

_BY_SPELLING = {name.replace(" ", ""): kind for name, kind in KINDS.items()}


def semiring(kind: object) -> Semiring:
    """The semiring of a name; `"(max, +)"` and `"max +"` are `"max+"`."""
    if isinstance(kind, Semiring):
        return kind
    if not isinstance(kind, str):
        raise ArgumentTypeError(f"kind={kind!r}", expected=_choices())
    spelling = "".join(char for char in kind.lower() if char not in " (),")
    ring = _BY_SPELLING.get(spelling)
    if ring is None:
        near = get_close_matches(spelling, _BY_SPELLING, n=1)
        raise ArgumentError(
            f"einsum has no kind {kind!r}",
            expected=_choices(),
            hint=f"did you mean {_BY_SPELLING[near[0]].name!r}?" if near else None,
        )
    return ring


def _choices() -> str:
    return "one of " + ", ".join(repr(name) for name in KINDS)


Labels = Sequence[str]

BROADCAST = "1"
"""In the place of a label: a dimension of size 1 that is read at every point."""


def definition_of_einsum(
    text: str, *, kind: str | Semiring = "+*", name: str | None = None
) -> OpDefinition:
    """The op that an einsum string describes.

    Operands `A`, `B`, ... of types `T1`, `T2`, ..., cast to the type `U` of the result and combined
    in it; a dimension for each label, those of the result first.

        >>> definition_of_einsum("mk,kn->mn").header
        'einsum_mk_kn_to_mn(A: T1(M, K), B: T2(K, N)) -> C: U(M, N)'

    Args:
        text: the subscripts.
        kind: the semiring; the elements of an `or and` are booleans, or cast to them by a `U` that
            is one.
        name: of the op, where it is not made of the subscripts.

    Raises:
        NotationError: the text is not an einsum string, or has an ellipsis: the rank of an op is
            fixed.
    """
    subscripts = parse(text)
    for term in subscripts.inputs:
        if term.has_ellipsis:
            subscripts.refuse(
                "an op has no ellipsis: its rank is fixed",
                term.columns[term.labels.index("...")],
                hint="write a label for each dimension",
            )
    words = ["einsum", *map(str, subscripts.inputs), "to", str(subscripts.output)]
    return definition_of(
        [term.labels for term in subscripts.inputs],
        [label for label in subscripts.output.labels if label != "..."],
        kind=semiring(kind),
        name=name or "_".join(filter(None, words)).replace(".", ""),
        doc=f"{subscripts} in the semiring {semiring(kind)}.",
    )


def definition_of(
    inputs: Sequence[Labels],
    output: Labels,
    *,
    kind: Semiring,
    name: str = "einsum",
    doc: str = "",
    dims: Labels | None = None,
    types: Sequence[str] | None = None,
) -> OpDefinition:
    """The op for labels of operands, each dimension of which has the size of its label.

    Args:
        inputs: the labels of each operand, `BROADCAST` among them.
        dims: the iteration space, outermost first; by default the result's labels, then the others.
        types: the type variable of each operand, `U` for that of the result; `T1`, ... by default.
    """
    reduced = dict.fromkeys(
        label for labels in inputs for label in labels if label not in (*output, BROADCAST)
    )
    symbols = _symbols([*output, *reduced])
    names = [chr(ord("A") + n) if n < 26 else f"A{n}" for n in range(len(inputs) + 1)]
    types = types or [f"T{number + 1}" for number in range(len(inputs))]
    result = TypeVar("U")
    operands: list[Operand] = []
    terms: list[ScalarExpr] = []
    for operand, type_var, labels in zip(names, map(TypeVar, types), inputs, strict=False):
        shape = tuple(
            AffineConst(1) if x == BROADCAST else AffineSymbol(symbols[x]) for x in labels
        )
        operands.append(Operand(operand, OperandKind.INPUT_TENSOR, type_var, shape))
        terms.append(_cast(Access(operand, _indices(labels), type_var), result))
    result_shape = tuple(AffineSymbol(symbols[label]) for label in output)
    operands.append(Operand(names[-1], OperandKind.OUTPUT_TENSOR, result, result_shape))
    value = reduce(lambda x, y: Apply(kind.multiply, (x, y)), terms)
    target = Access(names[-1], _indices(output), result)
    reduction = None
    if reduced:
        value = Apply(kind.add, (target, value))
        reduction = Reduction(kind.add, tuple(reduced))
    return check(
        OpDefinition(
            name=name,
            cpp_class_name=class_name(name),
            doc=doc,
            operands=tuple(operands),
            dims=tuple(dims or (*output, *reduced)),
            assignments=(Assignment(target, value, reduction),),
        )
    )


def to_einsum(op: object, *, kind: str | Semiring = "+*") -> str:
    """The einsum string of an op that is one: `"mk,kn->mn"` of `lx.ops.matmul`.

    Args:
        op: an `OpDefinition`, or an op that has one as `.definition`.
        kind: the semiring in which the string is meant.

    Raises:
        NotationError: the op is not an einsum, or not in that semiring; says why.
    """
    definition = subject_of(op)
    ring = semiring(kind)
    if len(definition.outputs) != 1:
        _refuse(definition, f"the op has {len(definition.outputs)} outputs", "one result")
    if definition.is_rank_polymorphic and any(o.rank == 0 for o in definition.inputs):
        _refuse(definition, "the op applies to any rank", "a label for each dimension")
    (assignment,) = definition.assignments
    value = assignment.value
    reduction = assignment.reduction
    if reduction is not None:
        if reduction.function is None:
            _refuse(definition, f"`{assignment}` is a fold", "a reduction by one function")
        _require(definition, reduction.function, reduction.attribute, ring.add, ring)
        if not (isinstance(value, Apply) and value.args[0] == assignment.target):
            _refuse(definition, f"`{assignment}` is not a plain reduction", "C += a product")
        value = value.args[1]
    accesses = _factors(definition, value, ring)
    labels = _letters(definition)
    terms = [_term(definition, access, labels) for access in accesses]
    order = [access.operand for access in accesses]
    if order != [operand.name for operand in definition.inputs]:
        _refuse(
            definition,
            f"the op reads {', '.join(order)}, in this order",
            "each input once, in the order of the operands",
        )
    result = _term(definition, assignment.target, labels)
    if added := [
        dim for dim, label in labels.items() if label in set(result) - set("".join(terms))
    ]:
        _refuse(
            definition,
            f"dimension {', '.join(added)} of the result is of no input",
            "each dimension of the result in an input",
        )
    return f"{','.join(terms)}->{result}"


def _factors(definition: OpDefinition, value: ScalarExpr, kind: Semiring) -> list[Access]:
    """The elements whose product a value is, left to right."""
    if isinstance(value, Access):
        return [value]
    if isinstance(value, Apply) and value.function.kind is FunctionKind.TYPE:
        if value.attribute is None and value.function is not TYPE["cast_signed"]:
            _refuse(definition, f"`{value}` reads integers as unsigned", "signed casts")
        return _factors(definition, value.args[0], kind)
    if not (isinstance(value, Apply) and value.function.kind is FunctionKind.BINARY):
        _refuse(
            definition,
            f"the op computes `{value}`",
            "elements of the operands, and products of them",
        )
    _require(definition, value.function, value.attribute, kind.multiply, kind)
    return [access for arg in value.args for access in _factors(definition, arg, kind)]


def _require(
    definition: OpDefinition,
    function: Function,
    attribute: str | None,
    expected: Function,
    kind: Semiring,
) -> None:
    if attribute is not None:
        _refuse(definition, f"{attribute} is chosen at a call", "a fixed function")
    if function.name == expected.name:
        return
    fitting = [k for k in KINDS.values() if function.name in (k.add.name, k.multiply.name)]
    _refuse(
        definition,
        f"the op combines by {function}, and the kind {kind.name!r} by {kind.add} and "
        f"{kind.multiply}",
        "an op of that kind"
        + (f"; {function} is in {', '.join(repr(k.name) for k in fitting)}" if fitting else ""),
    )


def _refuse(definition: OpDefinition, why: str, expected: str) -> NoReturn:
    raise NotationError(
        f"{definition.name} is not an einsum: {why}", where=str(definition), expected=expected
    )


def _term(definition: OpDefinition, access: Access, labels: dict[str, str]) -> str:
    term = ""
    for index in access.indices:
        if not isinstance(index, AffineDim):
            _refuse(definition, f"`{access}` has the index {index}", "plain dimensions as indices")
        term += labels[index.name]
    return term


def _letters(definition: OpDefinition) -> dict[str, str]:
    """A letter for each dimension: its own name if it is one letter."""
    letters = {dim for dim in definition.dims if dim in LETTERS}
    spare = [letter for letter in LETTERS[26:] + LETTERS[:26] if letter not in letters]
    if len(definition.dims) > len(LETTERS):
        _refuse(
            definition, f"the op has {len(definition.dims)} dimensions", f"{len(LETTERS)} at most"
        )
    remaining = iter(spare)
    return {dim: dim if dim in letters else next(remaining) for dim in definition.dims}


def _indices(labels: Labels) -> tuple[AffineExpr, ...]:
    return tuple(AffineConst(0) if label == BROADCAST else AffineDim(label) for label in labels)


def _cast(access: Access, target: TypeVar) -> ScalarExpr:
    if access.type_var == target:
        return access
    return Apply(TYPE["cast_signed"], (access,), target)


def _symbols(labels: Labels) -> dict[str, str]:
    """The name of the size of each label: its capital, where no other label is that."""
    return {
        label: f"size_{label}" if label.swapcase() in labels else label.upper() for label in labels
    }


def _read(
    text: str, *, filename: str | None = None, kind: str | Semiring = "+*", name: str | None = None
) -> tuple[OpDefinition, ...]:
    """Read one definition; an einsum string is too short for its errors to name a file."""
    return (definition_of_einsum(text.strip(), kind=kind, name=name),)


register(Notation("einsum", "NumPy's subscript strings", read=_read, write=to_einsum))
