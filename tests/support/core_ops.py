"""Upstream's own op library, read through this library's language, and problems to run ops on."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from linalg_ext.bindings import func, ir, provider
from linalg_ext.compiler import compile as compile_module
from linalg_ext.definition import OpDefinition, OperandKind
from linalg_ext.definition.attributes import CallAttributes, resolve_attributes
from linalg_ext.definition.reference import evaluate
from linalg_ext.ir.context import new_context
from linalg_ext.opdsl import StructuredOp
from linalg_ext.runtime.dtypes import by_dtype
from linalg_ext.symbolic.affine import AffineDim, AffineExpr, AffineSymbol

Array = np.ndarray[Any, np.dtype[Any]]

_CHUNK = 8
"""Ops in one compiled function: LLVM's time grows with the square of a function's size."""

_LIBRARY = "dialects.linalg.opdsl.ops.core_named_ops"
_LANGUAGE = "dialects.linalg.opdsl.lang"
_UPSTREAM_IMPORT = "from ..lang import *"
_OUR_IMPORT = "from linalg_ext.opdsl import *"


@functools.cache
def core_ops() -> Mapping[str, StructuredOp]:
    """Every op of upstream's library, declared by this library's language, in order."""
    spec = importlib.util.find_spec(f"{provider()}.{_LIBRARY}")
    assert spec is not None
    assert spec.origin is not None
    source = Path(spec.origin).read_text()
    assert source.count(_UPSTREAM_IMPORT) == 1
    namespace: dict[str, Any] = {}
    with warnings.catch_warnings():
        # A few of them index an output more often than it has sizes.
        warnings.simplefilter("ignore", UserWarning)
        exec(compile(source.replace(_UPSTREAM_IMPORT, _OUR_IMPORT), spec.origin, "exec"), namespace)
    ops = [value for value in namespace.values() if isinstance(value, StructuredOp)]
    return {op.op_name: op for op in ops}


@functools.cache
def upstream_yaml() -> Mapping[str, str]:
    """The YAML document that upstream's OpDSL gives for each op of its library."""
    library = importlib.import_module(f"{provider()}.{_LIBRARY}")
    language = importlib.import_module(f"{provider()}.{_LANGUAGE}")
    config = importlib.import_module(f"{provider()}.{_LANGUAGE}.config").LinalgOpConfig
    dump = importlib.import_module(f"{provider()}.{_LANGUAGE}.yaml_helper").yaml_dump_all
    ops = [op for op in vars(library).values() if isinstance(op, language.DefinedOpCallable)]
    return {op.op_name: dump(config.from_linalg_op_def(op.op_def)) for op in ops}


@dataclass(frozen=True)
class Problem:
    """An op with arrays to run it on: tight sizes, so that the last element is reached.

    Attributes:
        op: the op.
        arrays: an array for each input and output; a 0-d one for a scalar.
        extents: the size of each dimension of the iteration space.
        dtypes: the dtype of each type variable.
        attributes: what is given for the attributes.
    """

    op: StructuredOp
    arrays: Mapping[str, Array]
    extents: Mapping[str, int]
    dtypes: Mapping[str, np.dtype[Any]]
    attributes: Mapping[str, Any]

    @property
    def definition(self) -> OpDefinition:
        return self.op.definition

    @property
    def resolved(self) -> CallAttributes:
        return resolve_attributes(self.definition, self.attributes)

    def reference(self, definition: OpDefinition | None = None) -> list[Array]:
        """The outputs by the oracle; of another definition over the same operands, if given."""
        definition = definition or self.definition
        if not definition.is_rank_polymorphic:
            return evaluate(definition, self.arrays, self.extents, self.dtypes, self.resolved)
        outputs = {o.name: self.arrays[o.name].copy() for o in definition.outputs}
        shape = next(iter(outputs.values())).shape
        for point in np.ndindex(*shape):
            element = {k: np.asarray(v[point] if v.ndim else v) for k, v in self.arrays.items()}
            values = evaluate(definition, element, {}, self.dtypes, self.resolved)
            for name, value in zip(outputs, values, strict=True):
                outputs[name][point] = value
        return list(outputs.values())


def problem(
    op: StructuredOp,
    dtype: np.typing.DTypeLike,
    *,
    seed: int = 0,
    attributes: Mapping[str, Any] | None = None,
    dtypes: Mapping[str, np.typing.DTypeLike] | None = None,
    extents: Mapping[str, int] | None = None,
) -> Problem:
    """Small random operands for an op, of one dtype unless `dtypes` names others."""
    definition = op.definition
    attributes = attributes or {}
    bound: dict[str, np.dtype[Any]] = {"I32": np.dtype(np.int32), "I64": np.dtype(np.int64)}
    bound |= {"F32": np.dtype(np.float32), "F64": np.dtype(np.float64)}
    for type_var in definition.type_vars:
        bound.setdefault(type_var.name, np.dtype((dtypes or {}).get(type_var.name, dtype)))
    extents = extents or {dim: 2 + index % 2 for index, dim in enumerate(definition.dims)}
    last: dict[AffineExpr, int] = {AffineDim(d): size - 1 for d, size in extents.items()}
    symbols = resolve_attributes(definition, attributes).symbols
    last.update((AffineSymbol(name), value) for name, value in symbols.items())
    random = np.random.default_rng(seed)
    arrays = {}
    for operand in (*definition.inputs, *definition.outputs):
        shape: tuple[int, ...] = ()
        if definition.is_rank_polymorphic and operand.kind is not OperandKind.SCALAR:
            shape = (2, 3)
        elif operand.kind is not OperandKind.SCALAR:
            reached = [
                [int(i.evaluate(last)) for i in a] for a in definition.accesses[operand.name]
            ]
            shape = tuple(max(axis) + 1 for axis in zip(*reached, strict=True))
        arrays[operand.name] = _values(random, bound[str(operand.type_var)], shape)
    return Problem(op, arrays, extents, bound, attributes)


def _values(random: np.random.Generator, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    if dtype == np.bool_:
        return np.asarray(random.integers(0, 2, shape).astype(bool))
    if dtype.kind in "iu":
        # Not zero: they are divisors too.
        return np.asarray(random.integers(1, 6, shape).astype(dtype))
    values = np.asarray(random.uniform(0.5, 2.0, shape))
    return values.astype(dtype)


def types_of(case: Problem, *, memref: bool) -> list[ir.Type]:
    """The IR types of the inputs and outputs; call inside a context."""
    kind = "memref" if memref else "tensor"
    types = []
    for operand in (*case.definition.inputs, *case.definition.outputs):
        array = case.arrays[operand.name]
        element = by_dtype(array.dtype).mlir
        shape = "".join(f"{size}x" for size in array.shape)
        is_scalar = operand.kind is OperandKind.SCALAR
        types.append(ir.Type.parse(element if is_scalar else f"{kind}<{shape}{element}>"))
    return types


def build(
    cases: Sequence[Problem], *, emit_generic: bool = False, memref: bool = False
) -> ir.Module:
    """A module whose `main` applies each op to arguments of its own; verified."""
    context = new_context()
    with context, ir.Location.unknown():
        module = ir.Module.create()
        types = [types_of(case, memref=memref) for case in cases]
        results = [
            [] if memref else t[len(c.definition.inputs) :]
            for c, t in zip(cases, types, strict=True)
        ]
        with ir.InsertionPoint(module.body):
            flat = [t for group in types for t in group]
            main = func.FuncOp("main", (flat, [t for group in results for t in group]))
        with ir.InsertionPoint(main.add_entry_block()):
            arguments = iter(main.arguments)
            returned: list[ir.Value] = []
            for case in cases:
                returned += _call(case, arguments, emit_generic=emit_generic)
            func.ReturnOp(returned)
        assert module.operation.verify()
    return module


def _call(
    case: Problem, arguments: Iterator[ir.Value], *, emit_generic: bool
) -> Sequence[ir.Value]:
    inputs = [next(arguments) for _ in case.definition.inputs]
    outs = [next(arguments) for _ in case.definition.outputs]
    result = case.op(*inputs, outs=outs, emit_generic=emit_generic, **case.attributes)
    if isinstance(result, ir.Value):
        return [result]
    return [] if isinstance(result, (ir.Operation, ir.OpView)) else list(result)


def run(
    cases: Sequence[Problem], *, emit_generic: bool = False, memref: bool = False
) -> list[list[Array]]:
    """What compiled code gives for each problem."""
    outcomes = []
    for start in range(0, len(cases), _CHUNK):
        chunk = cases[start : start + _CHUNK]
        outcomes += _run_together(chunk, emit_generic=emit_generic, memref=memref)
    return outcomes


def _run_together(
    cases: Sequence[Problem], *, emit_generic: bool, memref: bool
) -> list[list[Array]]:
    module = build(cases, emit_generic=emit_generic, memref=memref)
    kernel = compile_module(module, "main")
    groups = [
        [case.arrays[o.name].copy() for o in (*case.definition.inputs, *case.definition.outputs)]
        for case in cases
    ]
    got = kernel(*(array for group in groups for array in group))
    if memref:
        return [g[len(c.definition.inputs) :] for c, g in zip(cases, groups, strict=True)]
    flat = iter(got if isinstance(got, tuple) else (got,))
    return [[next(flat) for _ in case.definition.outputs] for case in cases]


def assert_same(got: Sequence[Array], expected: Sequence[Array], what: str) -> None:
    """Equal for integers, close for floats, and of the same dtypes and shapes."""
    assert len(got) == len(expected), what
    for x, y in zip(got, expected, strict=True):
        assert x.dtype == y.dtype, what
        assert x.shape == y.shape, what
        if y.dtype.kind in "iub":
            np.testing.assert_array_equal(x, y, err_msg=what)
        else:
            np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6, err_msg=what)
