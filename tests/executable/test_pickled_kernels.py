"""Kernels travel as what they were made from."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from typing import Any

import cloudpickle
import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.cache.store import FOLDER
from linalg_ext.errors import ExecutionError, ShapeError, UntrustedError
from linalg_ext.executable import kernel as recipes
from resources import skip_machine

X = np.arange(12, dtype=np.float32).reshape(3, 4)

DOUBLED = """
func.func @doubled(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %y = arith.addf %x, %x : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
func.func @tripled(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %d = call @doubled(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %y = arith.addf %x, %d : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
"""

REACHING = """
func.func private @getpid() -> i32
func.func @own_number() -> i32 {
  %p = call @getpid() : () -> i32
  return %p : i32
}
"""


@pytest.fixture(scope="module")
def tripled() -> lx.Kernel:
    return lx.compile(DOUBLED, "tripled", checked=True, opt_level=1)


def test_it_computes_the_same_and_is_compiled_once(tripled: lx.Kernel) -> None:
    data = pickle.dumps(tripled)
    arrived = pickle.loads(data)
    assert arrived is not tripled
    assert pickle.loads(data) is arrived
    np.testing.assert_array_equal(arrived(X), 3 * X)
    assert arrived.opt_level == 1
    assert "checks" in arrived.stages
    assert str(arrived.signature) == str(tripled.signature)


def test_copies_are_the_kernel_itself(tripled: lx.Kernel) -> None:
    assert copy.copy(tripled) is tripled
    assert copy.deepcopy({"k": tripled})["k"] is tripled


def test_unsigned_results_stay_so() -> None:
    text = "func.func @f(%x: tensor<2xi8>) -> tensor<2xi8> { return %x : tensor<2xi8> }"
    kernel = lx.compile(text, result_dtypes=[np.uint8])
    made = pickle.loads(pickle.dumps(kernel))(np.array([255, 1], np.uint8))
    assert made.dtype == np.uint8


def test_a_target_that_was_named_is_the_target_there() -> None:
    with lx.target.using("generic-x86-64") as target:
        kernel = lx.compile(DOUBLED, "doubled")
    arrived = pickle.loads(pickle.dumps(kernel))
    assert arrived.target == target
    assert lx.compile(DOUBLED, "doubled").recipe.target is None  # type: ignore[union-attr]


def test_large_constants_come_along() -> None:
    large = np.arange(1 << 18, dtype=np.float64) ** 2
    kernel = lx.jit(lambda x: x + large).lower(large).compile().kernel
    arrived = pickle.loads(pickle.dumps(kernel))
    np.testing.assert_array_equal(arrived(large), 2 * large)


def test_trust_is_asked_for_again() -> None:
    """Whoever vouched for the module vouches for the kernel; nobody else does."""
    kernel = lx.compile(REACHING, trusted=True)
    arrived = pickle.loads(pickle.dumps(kernel))
    assert arrived() == kernel()
    assert kernel.recipe is not None
    with pytest.raises(UntrustedError, match="getpid"):
        recipes.interned(kernel.recipe._replace(trusted=False))
    plain = lx.compile(DOUBLED, "doubled").recipe
    assert plain is not None
    assert not plain.trusted


def test_one_from_the_disk_knows_what_it_was_made_from(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path / "kernels"))
    made, kept = (lx.compile(DOUBLED, "tripled") for _ in range(2))
    if not kept.is_kept:
        skip_machine("an x86-64 processor")
    assert kept.recipe == made.recipe
    # The module that somebody vouched for is the same; that it was so is not.
    module = lx.parse(DOUBLED)
    trusted, checked = (lx.compile(module, "tripled", trusted=t) for t in (True, False))
    assert checked.is_kept
    assert [kernel.recipe.trusted for kernel in (trusted, checked)] == [True, False]  # type: ignore[union-attr]


def test_assertions_come_along() -> None:
    text = """
      func.func @f(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
        %z = arith.addf %x, %y : tensor<?xf32>
        return %z : tensor<?xf32>
      }
    """
    arrived = pickle.loads(pickle.dumps(lx.compile(text)))
    with pytest.raises(ExecutionError):
        arrived(np.ones(3, np.float32), np.ones(4, np.float32))


def test_compiled_functions_come_with_their_containers_and_checks() -> None:
    n = lx.Dim("n")
    specs = [lx.ShapeDtype((2 * n,), "f4"), lx.ShapeDtype((n,), "f4")]
    halves = lx.jit(lambda x, y: {"a": x[:n] + y, "b": (x,)}, signature=specs).lower().compile()
    arrived = pickle.loads(pickle.dumps(halves))
    made = arrived(np.ones(6, np.float32), np.ones(3, np.float32))
    assert made["a"].tolist() == [2, 2, 2]
    assert made["b"][0].shape == (6,)
    with pytest.raises(ShapeError, match=r"expected 2\*n = 8"):
        arrived(np.ones(6, np.float32), np.ones(4, np.float32))


def test_another_process_makes_them_anew(tripled: lx.Kernel) -> None:
    scale = np.float32(2)

    @lx.jit(static_argnames="times")
    def scaled(x: Any, times: int) -> Any:
        return x * scale * times

    data = cloudpickle.dumps((tripled, scaled))
    assert cloudpickle.loads(data)[1] is scaled
    assert copy.deepcopy(scaled) is scaled
    program = (
        "import pickle, sys, numpy as np; data = sys.stdin.buffer.read()\n"
        "kernel, scaled = pickle.loads(data); x = np.ones((1, 4), np.float32)\n"
        "print(kernel(x).tolist(), scaled(x, times=3).tolist())\n"
        "assert pickle.loads(data)[0] is kernel and pickle.loads(data)[1] is scaled"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], input=data, capture_output=True, check=True
    )
    assert done.stdout.decode() == f"{[[3.0] * 4]} {[[6.0] * 4]}\n"


def test_one_that_a_module_has_goes_by_its_name(tmp_path: Any, monkeypatch: Any) -> None:
    text = "import linalg_ext as lx\n\n@lx.jit\ndef twice(x):\n    return x + x\n"
    (tmp_path / "my_layers.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    twice = __import__("my_layers").twice
    assert b"my_layers" in pickle.dumps(twice)
    assert pickle.loads(pickle.dumps(twice)) is twice


SCRIPT = """
import multiprocessing
import numpy as np
import linalg_ext as lx

@lx.jit
def doubled(x):
    return x + x

class Layer:
    @lx.jit
    def tripled(x):
        return 3 * x

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(doubled, [np.ones(2)] * 2)[1], pool.apply(Layer.tripled, [np.ones(2)]))
"""


def test_those_of_a_script_go_to_the_processes_that_it_starts(tmp_path: Any) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[2. 2.] [3. 3.]\n"


def test_what_no_pickler_can_send_is_refused_by_it() -> None:
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(lx.jit(lambda x: x))
    jitted = pickle.loads(pickle.dumps(lx.jit(np.tanh)))
    np.testing.assert_allclose(jitted(X), np.tanh(X), rtol=1e-6)
