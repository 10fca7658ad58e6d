"""Ops travel: those of the library by name, others as definitions, to processes that lack them."""

from __future__ import annotations

import copy
import io
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext import errors
from linalg_ext.definition.functions import FUNCTIONS
from linalg_ext.notations.einsum import KINDS
from linalg_ext.opdsl import D, S, T, TensorDef, UnaryFn, structured_op


def local_op(factor: float) -> Any:
    @structured_op
    def scaled_sum(A=TensorDef(T, S.M, S.N), C=TensorDef(T, S.M, output=True)):
        """Sums of rows, scaled."""
        C[D.m] += UnaryFn.exp(A[D.m, D.n]) * factor

    return scaled_sum


def test_an_op_of_the_library_is_a_name() -> None:
    data = pickle.dumps(lx.ops.matmul)
    assert pickle.loads(data) is lx.ops.matmul
    assert len(data) < 100


def test_another_process_needs_no_module_of_the_users() -> None:
    program = (
        "import pickle, sys; op = pickle.load(sys.stdin.buffer)\n"
        "assert 'torch_mlir' not in sys.modules and 'tests' not in sys.modules\n"
        "import numpy as np; print(op(np.zeros((2, 3))).tolist(), op.definition.doc)\n"
        "assert pickle.loads(pickle.dumps(op)) is op"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=pickle.dumps(local_op(2.0)),
        capture_output=True,
        check=True,
    )
    assert done.stdout.decode() == "[6.0, 6.0] Sums of rows, scaled.\n"


class OnlyData(pickle.Unpickler):
    """Notes all that is imported."""

    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data))
        self.found: set[str] = set()

    def find_class(self, module: str, name: str) -> Any:
        self.found.add(module)
        return super().find_class(module, name)


def test_no_code_travels() -> None:
    reader = OnlyData(pickle.dumps(local_op(2.0)))
    reader.load()
    assert {module.partition(".")[0] for module in reader.found} == {"linalg_ext"}


def test_what_arrives_twice_is_one_op_and_what_differs_is_another() -> None:
    first = pickle.dumps(local_op(2.0))
    assert pickle.loads(first) is pickle.loads(first)
    # As constants 2 and 2.0 are equal, and do not mean the same.
    whole = pickle.loads(pickle.dumps(local_op(2)))
    assert whole is not pickle.loads(first)
    assert str(whole.definition) != str(pickle.loads(first).definition)


def test_copies_are_the_op_itself() -> None:
    op = local_op(3.0)
    assert copy.copy(op) is op
    assert copy.deepcopy([op])[0] is op


def test_there_is_one_of_each_function_and_of_each_semiring() -> None:
    for table in FUNCTIONS.values():
        for function in table.values():
            assert pickle.loads(pickle.dumps(function)) is function
    for kind in KINDS.values():
        assert pickle.loads(pickle.dumps(kind)) is kind


def test_a_definition_leaves_its_hash_behind() -> None:
    """Hashes of texts differ between processes: one that came along would find nothing."""
    definition = lx.ops.matmul.definition
    hash(definition)
    arrived = pickle.loads(pickle.dumps(definition))
    assert arrived == definition
    assert "_hash" not in vars(arrived)


@pytest.mark.parametrize(
    "kind",
    [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.LinalgExtError)
    ],
)
def test_errors_arrive_with_all_they_say(kind: Any) -> None:
    more = {"reason": "so"} if kind is errors.RecognitionError else {}
    error = kind("what", where="here", expected="that", hint="do it", **more)
    arrived = pickle.loads(pickle.dumps(error))
    assert type(arrived) is kind
    assert str(arrived) == str(error)
    assert vars(arrived) == vars(error)
    assert arrived.args == error.args


def test_an_op_of_arrays_that_arrived_works() -> None:
    op = pickle.loads(pickle.dumps(local_op(0.5)))
    np.testing.assert_allclose(op(np.zeros((2, 4))), [2.0, 2.0])
