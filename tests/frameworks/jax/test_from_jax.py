"""`lx.from_jax`: what it gives beside what JAX gives, trees, static arguments, and errors."""

from __future__ import annotations

import gc
import pickle
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext import errors
from resources import package

jax: Any = package("jax", "pip install 'linalg-ext[jax]'")

from jax_functions import FAMILIES  # noqa: E402

jnp = jax.numpy

# One worker imports JAX, and no other.
pytestmark = pytest.mark.xdist_group("jax")


@pytest.mark.parametrize("family", FAMILIES)
def test_like_jax(family: str) -> None:
    arguments, functions = FAMILIES[family]

    def every(*given: Any) -> Any:
        return {name: function(*given) for name, function in functions.items()}

    found = lx.from_jax(every, *arguments, opt_level=0)(*arguments)
    expected = jax.jit(every)(*arguments)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        pairs = zip(jax.tree.leaves(found[name]), jax.tree.leaves(value), strict=True)
        for ours, theirs in pairs:
            assert ours.dtype == theirs.dtype, name
            exact = theirs.dtype.kind in "iub"
            # One bit of bfloat16: in which order a sum is taken is nobody's word.
            tolerance = 0.0 if exact else 1e-2 if theirs.dtype.itemsize == 2 else 3e-5
            wide = np.complex128 if theirs.dtype.kind == "c" else np.float64
            np.testing.assert_allclose(
                np.asarray(ours, wide),
                np.asarray(theirs, wide),
                rtol=tolerance,
                atol=0 if exact else 1e-5,
                err_msg=name,
            )


def test_trees_and_kinds_of_arrays() -> None:
    def fn(tree: Any, *, bias: Any) -> Any:
        return {"sum": tree["x"] + bias, "rest": (tree["y"][0] * 2, None)}

    x = np.ones((2, 3), np.float32)
    compiled = lx.from_jax(
        fn,
        {"x": jax.ShapeDtypeStruct((2, 3), np.float32), "y": [lx.ShapeDtype((), np.int32)]},
        keywords={"bias": 0.5},
    )
    plain = compiled({"x": x, "y": [3]}, bias=1.5)
    assert type(plain["sum"]) is np.ndarray
    np.testing.assert_array_equal(plain["sum"], x + 1.5)
    assert plain["rest"] == (6, None)
    ours = compiled({"x": jnp.asarray(x), "y": [3]}, bias=1.5)
    assert isinstance(ours["sum"], jax.Array)
    np.testing.assert_array_equal(ours["sum"], x + 1.5)
    with pytest.raises(errors.ShapeError, match=r"argument 0\['x'\] is of shape \(3, 2\)"):
        compiled({"x": x.T, "y": [3]}, bias=1.5)
    with pytest.raises(errors.DTypeError, match=r"y.*is of int8"):
        compiled({"x": x, "y": [np.int8(3)]}, bias=1.5)
    with pytest.raises(errors.ArgumentError, match="of another structure"):
        compiled({"x": x}, bias=1.5)
    with pytest.raises(errors.UnpicklableError):
        pickle.dumps(compiled)


def test_static_arguments_are_part_of_the_code() -> None:
    x = np.arange(3, dtype=np.float32)
    compiled = lx.from_jax(lambda x, power: x**power, x, 3, static_argnums=1)
    np.testing.assert_array_equal(compiled(x, 3), x**3)
    with pytest.raises(errors.ArgumentError, match=r"argument 1 .* is static, and was 3"):
        compiled(x, 2)
    with pytest.raises(errors.ArgumentError, match="static_argnums has 4"):
        lx.from_jax(lambda x: x, x, static_argnums=4)


def test_what_does_not_come_through_names_its_line() -> None:
    def called_back(x: Any) -> Any:
        y = x * 2
        return jax.pure_callback(np.sin, y, y)

    line = called_back.__code__.co_firstlineno + 2
    refusal = rf"(?s)custom_call to .*callback.*py, line {line}, in called_b.*compute it with other"
    with pytest.raises(errors.ModelError, match=refusal):
        lx.from_jax(called_back, np.ones(8, np.float32))


def test_decompositions_are_computed_whatever_jax_does_by_then() -> None:
    x = np.array([[2.0, 1.0], [1.0, 3.0]])
    with jax.enable_x64(True):
        inverse = lx.from_jax(jnp.linalg.inv, x)
    gc.collect()  # the kernel alone has the functions of Python that it calls
    np.testing.assert_allclose(inverse(x), np.linalg.inv(x), rtol=1e-14)
    within = jax.jit(lambda y: y + inverse(x).astype(np.float32))  # JAX is tracing
    np.testing.assert_allclose(within(np.float32(1)), 1 + np.linalg.inv(x), rtol=1e-6)
    with pytest.raises(errors.ExportError, match="calls functions of Python"):
        inverse.kernel.export("never")


def test_what_jax_itself_refuses() -> None:
    with pytest.raises(errors.ModelError, match=r"give examples of the arguments.*from_jax\(fn, x"):
        lx.from_jax(lambda x: x + 1)
    with pytest.raises(errors.ModelError, match=r"JAX cannot trace .*: TypeError.*\n.*dot\(x, x\["):
        lx.from_jax(lambda x: jnp.dot(x, x[:2]), np.ones(3, np.float32))
    with pytest.raises(errors.ModelError, match=r"(?s)-x.*choose by jnp\.where"):
        lx.from_jax(lambda x: x if x.sum() > 0 else -x, np.ones(3, np.float32))
    with pytest.raises(errors.ModelError, match=r"missing.*\n.*test_from_jax\.py"):
        lx.from_jax(lambda x: x)
    with pytest.raises(errors.ArgumentError, match="an int is not a function"):
        lx.from_jax(3)  # type: ignore[arg-type]
    with pytest.raises(errors.ModelError, match=r"(?s)takes a key of jax\.random.*key_data"):
        lx.from_jax(lambda key: jax.random.uniform(key), jax.random.key(0))
