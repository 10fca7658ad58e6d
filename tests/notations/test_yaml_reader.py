"""YAML read back: the same definitions, and ops that run."""

from __future__ import annotations

import subprocess
import warnings
from collections.abc import Iterator

import numpy as np
import pytest
import yaml

import linalg_ext as lx
from core_ops import core_ops
from linalg_ext.definition.equivalence import equivalent
from linalg_ext.errors import NotationError
from linalg_ext.notations import from_yaml_all
from linalg_ext.notations.yaml import beyond_yaml, writer
from linalg_ext.opdsl import BinaryFn, D, S, StructuredOp, T, TensorDef, structured_op
from resources import upstream_tool


@pytest.fixture(autouse=True)
def _upstream_ranks() -> Iterator[None]:
    """A few of upstream's ops index their output more often than it has sizes: a warning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="`.*ind(ex|ices)", category=UserWarning)
        yield


def _library() -> dict[str, StructuredOp]:
    ops = {name: getattr(lx.ops, name) for name in dir(lx.ops)}
    beyond = beyond_yaml(ops.values())
    return {name: op for name, op in ops.items() if name not in beyond}


def test_the_library_is_read_back_up_to_names_of_dimensions_and_symbols() -> None:
    ops = _library()
    text = lx.to_yaml(*ops.values())
    back = from_yaml_all(text)
    differing = [
        op.op_name
        for op, read in zip(ops.values(), back, strict=True)
        if not equivalent(op.definition, read.definition)
    ]
    assert differing == []
    assert lx.to_yaml(*back) == text


def test_upstreams_ops_are_read_back() -> None:
    ops = core_ops()
    back = from_yaml_all(lx.to_yaml(*ops.values()))
    assert len(back) == 81
    for op, read in zip(ops.values(), back, strict=True):
        assert equivalent(op.definition, read.definition), op.op_name


def test_both_writers_of_pyyaml_give_the_same_bytes() -> None:
    documents = [writer._document(op.definition) for op in _library().values()]

    class Slow(yaml.SafeDumper):
        def ignore_aliases(self, data: object) -> bool:
            return True

    Slow.add_representer(writer._Tagged, writer._represent_tagged)
    Slow.add_representer(str, writer._represent_text)
    slow = yaml.dump_all(documents, Dumper=Slow, sort_keys=False, explicit_start=True)
    assert slow == lx.to_yaml(*_library().values())


BY_HAND = """\
# Somebody's own op: untagged, names of their own, flow style, no doc.
metadata: {name: weighted_rows, cpp_class_name: WeightedRowsOp}
structured_op:
  args:
  - {name: A, kind: input_tensor, type_var: T, shape_map: "affine_map<()[M, N] -> (M, N)>"}
  - {name: w, kind: scalar, type_var: T}
  - {name: O, kind: output_tensor, type_var: T, shape_map: "affine_map<()[M, N] -> (M)>"}
  indexing_maps:
    static_indexing_maps:
    - affine_map<(m, n)[M, N] -> (m, n)>
    - affine_map<(m, n)[M, N] -> ()>
    - affine_map<(m, n)[M, N] -> (m)>
  iterator_types: [parallel, reduction]
  assignments:
  - arg: O
    value:
      scalar_fn:
        kind: binary
        fn_name: add
        operands:
        - scalar_fn:
            kind: binary
            fn_name: mul
            operands: [{scalar_arg: A}, {scalar_arg: w}]
        - scalar_arg: O
"""


def test_a_document_written_by_hand_is_an_op_that_runs() -> None:
    op = lx.from_yaml(BY_HAND, filename="mine.yaml")
    assert op.definition.dims == ("m", "n")
    assert op.definition.symbols == ("M", "N")
    assert op.definition.formula() == "O[m] = Σ_{n} A[m, n] * w"
    a = np.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(op(a, 2.0), 2 * a.sum(1))
    np.testing.assert_allclose(op(a, 2.0, init=np.ones(2)), 2 * a.sum(1) + 1)


def test_several_documents_are_a_tuple_of_ops() -> None:
    ops = lx.from_yaml(lx.to_yaml(lx.ops.matmul, lx.ops.exp))
    assert [op.op_name for op in ops] == ["matmul", "exp"]
    (only,) = from_yaml_all(lx.to_yaml(lx.ops.exp))
    np.testing.assert_allclose(only(np.zeros(2)), 1)


def test_what_is_written_again_is_accepted_by_the_generator() -> None:
    generator = upstream_tool("mlir-linalg-ods-yaml-gen-22")
    text = lx.to_yaml(lx.from_yaml(BY_HAND))
    done = subprocess.run(
        [generator, "-", "-o-ods-decl=-", "-o-impl=/dev/null"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "WeightedRowsOp" in done.stdout


def test_constants_and_positions_are_read_back() -> None:
    text = lx.to_yaml(lx.ops.fill_rng_2d)
    assert lx.to_yaml(lx.from_yaml(text)) == text


def test_a_tensor_read_in_two_ways_is_beyond_yaml() -> None:
    @structured_op
    def neighbours(A=TensorDef(T, S.N + 1), C=TensorDef(T, S.N, output=True)):
        C[D.n] = BinaryFn.add(A[D.n], A[D.n + 1])

    assert list(beyond_yaml([neighbours, lx.ops.exp])) == ["neighbours"]
    with pytest.raises(NotationError, match="two indexing maps"):
        lx.to_yaml(neighbours)
