"""Random definitions of one to four statements: all ways to run or to write one agree.

Statements read inputs, what earlier statements have finished, what later ones will write over, and
themselves; they range over different dimensions, reduce and fold. The formula is evaluated by
Python's own loops, which know nothing of structured ops.
"""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import linalg_ext as lx
from linalg_ext.bindings import func, ir
from linalg_ext.compiler import compile
from linalg_ext.definition import (
    Access,
    AffineDim,
    AffineSymbol,
    Apply,
    Assignment,
    Const,
    OpDefinition,
    Operand,
    OperandKind,
    Reduction,
    ScalarExpr,
    TypeVar,
    check,
)
from linalg_ext.definition.functions import BINARY, TERNARY, TYPE, UNARY, Function
from linalg_ext.definition.model import is_one_fold, steps
from linalg_ext.errors import ArgumentError, NotationError
from linalg_ext.ir.context import new_context
from linalg_ext.notations import from_yaml, to_yaml
from linalg_ext.opdsl import StructuredOp
from linalg_ext.runtime.dtypes import by_dtype
from linalg_ext.structured import recognize
from linalg_ext.structured.op_builders import results_of
from resources import THOROUGH

Array = np.ndarray[Any, Any]

# An example compiles up to five kernels.
RUN = settings(
    max_examples=300 if THOROUGH else 12,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=not THOROUGH,
)

U = TypeVar("U")
DIMS = ("i", "j", "k")
REDUCTIONS = ("add", "max_signed", "min_signed")
DTYPES = [np.dtype(kind) for kind in (np.float32, np.float64, np.int32, np.int64, np.int16)]


@dataclass(frozen=True)
class Call:
    """A definition, and what it is called with.

    Attributes:
        inits: what each output starts from; None where the call does not say.
    """

    definition: OpDefinition
    arrays: tuple[Array, ...]
    inits: tuple[Array | None, ...]
    dtype: np.dtype[Any]

    def init(self) -> Any:
        """The keyword."""
        given = self.inits
        if all(each is None for each in given):
            return None
        return given if len(given) > 1 else given[0]


@st.composite
def values(draw: st.DrawFn, leaves: Sequence[ScalarExpr], depth: int) -> ScalarExpr:
    """A tree of functions over values of type U."""
    if depth == 0 or draw(st.integers(0, 2)) == 0:
        return draw(st.sampled_from(leaves))
    kind = draw(st.sampled_from(["negf", "add", "sub", "mul", "max_signed", "min_signed"]))
    count = 1 if kind == "negf" else 2
    args = tuple(draw(values(leaves, depth - 1)) for _ in range(count))
    return Apply(UNARY[kind] if count == 1 else BINARY[kind], args)


def is_readable(access: Access, domain: Sequence[str]) -> bool:
    """Return whether a statement over some dimensions can read an element."""
    return all(set(index.dims) <= set(domain) for index in access.indices)


def of_dims(name: str, dims: Sequence[str]) -> Access:
    """The element of an operand at some dimensions."""
    return Access(name, tuple(AffineDim(dim) for dim in dims), U)


@st.composite
def statements(draw: st.DrawFn, target: Access, domain: list[str], leaves: list[Any]) -> Assignment:
    """A statement that writes an element, over some dimensions."""
    reduced = tuple(dim for dim in domain if AffineDim(dim) not in target.indices)
    one = Apply(TYPE["cast_signed"], (Const(1),), U)
    value = draw(values([leaf for leaf in leaves if is_readable(leaf, domain)] or [one], 2))
    # Every dimension that is reduced is read.
    for leaf in leaves:
        if any(AffineDim(dim) in leaf.indices for dim in reduced) and is_readable(leaf, domain):
            value = Apply(BINARY[draw(st.sampled_from(["add", "sub"]))], (value, leaf))
    if not reduced:
        if draw(st.integers(0, 5)) == 0:
            value = Apply(BINARY["sub"], (value, target))
        return Assignment(target, value)
    kind = draw(st.sampled_from([*REDUCTIONS, "fold", "fold"]))
    if kind != "fold":
        function = BINARY[kind]
        return Assignment(target, Apply(function, (target, value)), Reduction(function, reduced))
    starts: list[Function | float] = [0, 1, BINARY["max_signed"]]
    start = draw(st.sampled_from(starts))
    forms: list[ScalarExpr] = [
        Apply(BINARY["sub"], (value, target)),
        Apply(TERNARY["select"], (Apply(BINARY["lt"], (target, value)), value, target)),
    ]
    return Assignment(target, draw(st.sampled_from(forms)), Reduction(None, reduced, None, start))


@st.composite
def definitions(draw: st.DrawFn) -> OpDefinition:
    """One to three inputs, and one to four outputs, each written by a statement."""
    dims = DIMS[: draw(st.integers(1, 3))]
    reads = [of_dims("X0", draw(st.permutations(dims)))]
    for number in range(1, draw(st.integers(1, 3))):
        own = draw(st.lists(st.sampled_from(dims), unique=True, max_size=2))
        reads.append(of_dims(f"X{number}", own))
    count = draw(st.integers(1, 4))
    domains = [draw(st.lists(st.sampled_from(dims), unique=True, min_size=1)) for _ in range(count)]
    # Neighbours are often over the same points, as the statements that may share an op are.
    for number in range(1, count):
        if draw(st.booleans()):
            domains[number] = domains[number - 1]
    targets: list[Access] = []
    for number, domain in enumerate(domains):
        kept = draw(st.lists(st.sampled_from(domain), unique=True))
        if number and domain == domains[number - 1] and draw(st.booleans()):
            kept = [str(index) for index in targets[-1].indices]
        targets.append(of_dims(f"O{number}", kept))
    leaves: list[Any] = [*reads, *targets]
    made = [
        draw(
            statements(
                target,
                domain,
                [leaf for leaf in leaves if leaf is not target],
            )
        )
        for target, domain in zip(targets, domains, strict=True)
    ]
    read = {e.operand for each in made for e in each.value.walk() if isinstance(e, Access)}
    used = [access for access in reads if access.operand in read]
    every = [*used, *targets]
    operands = [
        Operand(
            access.operand,
            OperandKind.OUTPUT_TENSOR if access in targets else OperandKind.INPUT_TENSOR,
            U,
            tuple(AffineSymbol(str(index).upper()) for index in access.indices),
        )
        for access in every
    ]
    ranged = {dim for each in made for dim in (*each.target.indices,)} | {
        AffineDim(dim) for each in made if each.reduction for dim in each.reduction.dims
    }
    order = tuple(dim for dim in dims if AffineDim(dim) in ranged)
    assume(all(any(AffineDim(dim) in access.indices for access in every) for dim in order))
    return check(OpDefinition("drawn", "DrawnOp", "", tuple(operands), order, tuple(made)))


@st.composite
def calls(draw: st.DrawFn) -> Call:
    """A definition that its operands say the sizes of, and arrays for them."""
    definition = draw(definitions())
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    extents = {dim: draw(st.sampled_from([1, 2, 3, 5, 9])) for dim in DIMS}
    dtype = draw(st.sampled_from(DTYPES))

    def array(operand: Operand) -> Array:
        shape = [extents[str(size).lower()] for size in operand.shape]
        return generator.integers(-2, 3, shape).astype(dtype)

    is_said = draw(st.booleans())
    inits = tuple(
        array(output) if is_said or draw(st.integers(0, 3)) == 0 else None
        for output in definition.outputs
    )
    return Call(definition, tuple(map(array, definition.inputs)), inits, dtype)


def outcome(run: Callable[[], Any]) -> list[Array] | type[Exception]:
    """The result of a way to run an op, or the kind of its refusal."""
    try:
        found = run()
    except ArgumentError as error:
        return type(error)
    return [np.asarray(each) for each in (found if isinstance(found, (tuple, list)) else [found])]


def check_same(way: str, call: Call, found: Any, expected: Any) -> None:
    """Assert that two outcomes are the same."""
    shown = f"{way}\n{call.definition}"
    if isinstance(expected, type) or isinstance(found, type):
        assert found == expected, f"{shown}\n{found} {expected}"
        return
    assert len(found) == len(expected), shown
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-3, err_msg=shown)


_STATEMENT = re.compile(r"(\w+)(?:\[(.*?)\])? = (?:(Σ|max|min|fold)_\{([^}]*)\} )?(.*)")
_COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "Σ": lambda x, y: x + y,
    "max": max,
    "min": min,
}


def by_formula(call: Call, inits: Sequence[Array]) -> list[Array]:
    """The formula, read as a person reads it: statement by statement, point by point."""
    definition = call.definition
    names = [o.name for o in (*definition.inputs, *definition.outputs)]
    arrays: dict[str, Any] = dict(
        zip(names, [*call.arrays, *(np.array(each) for each in inits)], strict=True)
    )
    sizes = {
        str(size).lower(): length
        for name in names
        for size, length in zip(definition.operand(name).shape, arrays[name].shape, strict=True)
    }
    texts = definition.formula().split("; ")
    pairs = list(zip(texts, definition.assignments, strict=True))
    while pairs:
        # A fold runs together with its neighbours over the same dimensions.
        first = pairs[0][1]
        others = [not is_one_fold(first, assignment) for _, assignment in pairs]
        together = pairs[: max(1, (*others, True).index(True))]
        pairs = pairs[len(together) :]
        parsed = [_STATEMENT.fullmatch(text).groups() for text, _ in together]  # type: ignore[union-attr]
        for point in _points(parsed[0][1] or "", sizes):
            for inner in _points(parsed[0][3] or "", sizes):
                place = {**point, **inner}
                before = {name: np.array(array) for name, array in arrays.items()}
                for target, indices, kind, _, right in parsed:
                    at = tuple(place[dim] for dim in _names(indices or ""))
                    value = _evaluated(right, {**before, **place})
                    if kind in _COMBINE:
                        value = _COMBINE[kind](before[target][at], value)
                    arrays[target][at] = value
    return [arrays[output.name] for output in definition.outputs]


def _points(dims: str, sizes: dict[str, int]) -> list[dict[str, int]]:
    names = _names(dims)
    return [
        dict(zip(names, point, strict=True))
        for point in itertools.product(*(range(sizes[dim]) for dim in names))
    ]


def _names(dims: str) -> list[str]:
    return re.findall(r"[ijk]", dims)


def _evaluated(text: str, scope: dict[str, Any]) -> Any:
    # Scalars are written without brackets or with none inside.
    text = re.sub(r"\b([XO]\d)\b(?!\[)", r"\1[()]", text).replace("[]", "[()]")
    text = text.replace("²", "**2")
    functions = {"max": max, "min": min, "select": lambda c, x, y: x if c else y}
    return eval(text, {"__builtins__": {}}, {**scope, **functions})


def built(call: Call, inits: Sequence[Array]) -> list[Array]:
    """IR built of the op on tensors, read back op by op, and compiled."""
    with new_context(), ir.Location.unknown():
        module = ir.Module.create()
        types = [
            ir.RankedTensorType.get(a.shape, ir.Type.parse(by_dtype(a.dtype).mlir))
            for a in (*call.arrays, *inits)
        ]
        count = len(call.arrays)
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("f", (types, types[count:]))
        with ir.InsertionPoint(function.add_entry_block()):
            arguments = list(function.arguments)
            made = StructuredOp(call.definition)(*arguments[:count], outs=arguments[count:])
            func.ReturnOp(results_of(made))
        check_read_back(function, call, inits)
        results = compile(module, "f", trusted=True, checked=False)(*call.arrays, *inits)
    return list(results) if isinstance(results, tuple) else [results]


def check_read_back(function: Any, call: Call, inits: Sequence[Array]) -> None:
    """The definitions that the ops are read back into, evaluated one after the other."""
    known: dict[Any, Array] = dict(zip(function.arguments, [*call.arrays, *inits], strict=True))
    expected = outcome(lambda: call.definition.reference(*call.arrays, init=one_or_all(inits)))
    for op in function.entry_block.operations:
        if op.operation.name == "func.return":
            check_same("read back", call, [known[value] for value in op.operands], expected)
            return
        if op.operation.name == "tensor.empty":
            known[op.result] = np.zeros(op.result.type.shape, call.dtype)
            continue
        read = recognize(op.operation)
        given = [known[value] for value in read.inputs]
        starts = tuple(known[value] for value in read.outputs)
        results = outcome(
            lambda read=read, given=given, starts=starts: read.definition.reference(  # type: ignore[misc]
                *given, init=one_or_all(starts)
            )
        )
        assert isinstance(results, list), results
        known.update(zip(op.results, results, strict=True))
    raise AssertionError("nothing is returned")


def one_or_all(arrays: Sequence[Any]) -> Any:
    """An array for `init=`."""
    return tuple(arrays) if len(arrays) > 1 else arrays[0]


@RUN
@given(calls())
def test_statements_mean_one_thing(call: Call) -> None:
    definition, dtype = call.definition, call.dtype
    expected = outcome(lambda: definition.reference(*call.arrays, init=call.init(), dtype=dtype))
    op = StructuredOp(definition)
    found = outcome(lambda: op(*call.arrays, init=call.init(), dtype=dtype))
    check_same("called", call, found, expected)
    if isinstance(expected, type):
        return
    inits = tuple(
        np.zeros(result.shape, dtype) + 1 if init is None else init
        for init, result in zip(call.inits, expected, strict=True)
    )
    inits = tuple(np.asarray(each, dtype) for each in inits)
    expected = outcome(lambda: definition.reference(*call.arrays, init=one_or_all(inits)))
    check_same("formula", call, by_formula(call, inits), expected)
    count = len(call.arrays)
    jitted = lx.jit(lambda *a: op(*a[:count], init=one_or_all(a[count:])))
    check_same("jit", call, outcome(lambda: jitted(*call.arrays, *inits)), expected)
    check_same("built", call, built(call, inits), expected)
    for way, text in [("yaml", through_yaml), ("tc", through_tc)]:
        try:
            back = text(definition, dtype)
        except NotationError:
            continue
        again = outcome(
            lambda back=back: back(*call.arrays, init=one_or_all(inits), dtype=dtype)  # type: ignore[misc]
        )
        check_same(way, call, again, expected)


def through_yaml(definition: OpDefinition, dtype: np.dtype[Any]) -> StructuredOp:
    """The op that the YAML of a definition is read as."""
    back = from_yaml(to_yaml(definition))
    assert isinstance(back, StructuredOp)
    assert len(steps(back.definition, by_reductions=False)) == 1
    return back


def through_tc(definition: OpDefinition, dtype: np.dtype[Any]) -> StructuredOp:
    """The op that the TC of a definition is read as."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found: Any = lx.tc(lx.to_tc(definition, by_dtype(dtype).mlir))
    assert isinstance(found, StructuredOp)
    return found
