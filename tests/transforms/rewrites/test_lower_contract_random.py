"""Random contractions: every path and every lowering gives what NumPy gives in float64."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linalg_ext.bindings import func, ir
from linalg_ext.compiler import compile
from linalg_ext.definition.functions import TYPE
from linalg_ext.definition.initial import neutral_element
from linalg_ext.definition.numpy_functions import cast_values
from linalg_ext.dialects.linalg_ext import contract
from linalg_ext.ir.context import new_context
from linalg_ext.module import Module
from linalg_ext.notations.einsum import semiring
from linalg_ext.notations.einsum.plan import PATHS
from linalg_ext.runtime.dtypes import by_dtype
from linalg_ext.structured.extension import contract_definition
from linalg_ext.symbolic.affine import AffineDim, AffineMap
from linalg_ext.transforms import lower_contract, raise_to_contract

Array = np.ndarray[Any, Any]

RUN = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
SIZES = {"i": 1, "j": 2, "k": 3, "l": 2, "m": 3}
FLOATS = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(ml_dtypes.bfloat16)]
INTEGERS = [np.dtype(np.int8), np.dtype(np.int32)]
KINDS = ("+*", "max+", "min+", "max*", "or and")


@dataclass(frozen=True)
class Case:
    """A contraction, its operands, and what its destination holds."""

    terms: tuple[str, ...]
    output: str
    kind: str
    arrays: tuple[Array, ...]
    init: Array
    overwrite: bool
    compute: np.dtype[Any]
    cast: str
    dynamic: bool

    @property
    def maps(self) -> list[AffineMap]:
        dims = "".join(sorted({*"".join(self.terms), *self.output}))
        return [
            AffineMap(tuple(dims), (), tuple(map(AffineDim, term)))
            for term in (*self.terms, self.output)
        ]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """One to six operands of up to three dimensions, which may repeat or stand alone."""
    labels = st.sampled_from(sorted(SIZES))
    term = st.lists(labels, max_size=3).map("".join)
    terms = tuple(draw(st.lists(term, min_size=1, max_size=6)))
    used = sorted({*"".join(terms)})
    output = "".join(draw(st.permutations(used))[: draw(st.integers(0, min(3, len(used))))])
    if draw(st.integers(0, 4)) == 0:
        output += draw(st.sampled_from([x for x in SIZES if x not in output]))
    kind = draw(st.sampled_from(KINDS))
    dtypes = draw(st.sampled_from([FLOATS, INTEGERS, [np.dtype(np.bool_)]]))
    if kind == "or and":
        dtypes = [np.dtype(np.bool_)]
    stored = draw(st.sampled_from(dtypes))
    compute = draw(st.sampled_from([d for d in dtypes if d.itemsize >= stored.itemsize]))
    casts = ["cast_signed", "cast_unsigned"]
    if kind != "or and" and draw(st.integers(0, 3)) == 0:
        # bf16 x f32 -> i8: what is stored is not a float, what is computed in is one.
        dtypes, compute = [*FLOATS, *INTEGERS], np.dtype(np.float32)
        stored = draw(st.sampled_from([np.dtype(np.int32), np.dtype(ml_dtypes.bfloat16)]))
        casts = ["cast_signed"]
    if draw(st.integers(0, 5)) == 0:
        # Whether any product is of numbers that are not zero.
        dtypes, stored, compute = [*FLOATS, *INTEGERS], np.dtype(np.bool_), np.dtype(np.bool_)
        casts = ["cast_signed"]
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    def array(term: str) -> Array:
        shape = [SIZES[label] for label in term]
        dtype = draw(st.sampled_from(dtypes))
        return generator.integers(-2, 3, shape).astype(dtype)

    return Case(
        terms,
        output,
        kind,
        tuple(array(term) for term in terms),
        generator.integers(-2, 3, [SIZES[x] for x in output]).astype(stored),
        draw(st.booleans()),
        compute,
        draw(st.sampled_from(casts)),
        draw(st.booleans()),
    )


def expected(case: Case) -> Array:
    """The oracle's value: computed in the compute type, cast out once."""
    kind = semiring(case.kind)
    definition = contract_definition(
        case.maps, kind, cast=TYPE[case.cast], overwrite=case.overwrite
    )
    if case.overwrite:
        init = np.full(case.init.shape, neutral_element(kind.add.name, case.compute))
    else:
        init = cast_values(case.init, case.compute, case.cast)
    with np.errstate(all="ignore"):
        result = definition.reference(*case.arrays, init=init.astype(case.compute))
        return cast_values(np.asarray(result), case.init.dtype, case.cast)


def module_of(case: Case) -> Module:
    """A function of the operands and the destination that returns the contraction."""
    with new_context(), ir.Location.unknown():
        module = ir.Module.create()
        dynamic = ir.ShapedType.get_dynamic_size()
        types = [
            ir.RankedTensorType.get(
                [dynamic] * a.ndim if case.dynamic else a.shape,
                ir.Type.parse(by_dtype(a.dtype).mlir),
            )
            for a in (*case.arrays, case.init)
        ]
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("f", (types, types[-1:]))
        with ir.InsertionPoint(function.add_entry_block()):
            *inputs, output = function.arguments
            compute = None if case.compute == case.init.dtype else by_dtype(case.compute).mlir
            func.ReturnOp(
                [
                    contract(
                        *inputs,
                        outs=output,
                        maps=case.maps,
                        kind=case.kind,
                        overwrite=case.overwrite,
                        cast=case.cast,
                        compute_type=compute,
                    )
                ]
            )
        return Module.of(module)


@RUN
@given(cases(), st.sampled_from(PATHS), st.booleans())
def test_every_path_gives_what_the_oracle_gives(case: Case, path: str, named: bool) -> None:
    module = module_of(case)
    lower_contract(module, path=path, named=named)
    assert "linalg_ext.contract" not in str(module)
    assert "linalg_ext.compute_type" not in str(module)
    check(module, case)


@RUN
@given(cases(), st.sampled_from(PATHS))
def test_there_and_back(case: Case, path: str) -> None:
    """Lowered to generics, raised from them, merged, and lowered once more."""
    module = module_of(case)
    lower_contract(module, path="naive", named=False)
    raise_to_contract(module, elementwise=True, reductions=True, merge=True)
    assert "linalg_ext.contract" in str(module) or case.kind != "+*" or len(case.terms) == 1
    check(module, case)
    lower_contract(module, path=path)
    check(module, case)


def check(module: Module, case: Case) -> None:
    """A module gives what the oracle gives, within the error of the types in it."""
    result = compile(module, "f", trusted=True)(*case.arrays, case.init)
    wanted = expected(case)
    if wanted.dtype.kind in "fV":
        tolerance = float(ml_dtypes.finfo(case.compute).eps) * 8
        if case.init.dtype != case.compute:
            tolerance += float(ml_dtypes.finfo(case.init.dtype).eps)
        np.testing.assert_allclose(
            result.astype(np.float64), wanted.astype(np.float64), rtol=tolerance, atol=tolerance
        )
    else:
        np.testing.assert_array_equal(result, wanted)
