"""Every element type, end to end: identity, arithmetic, scalars, `out=`."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from linalg_ext import errors
from linalg_ext.compiler import compile
from linalg_ext.runtime.dtypes import element_types

BY_NAME = {element.mlir: element for element in element_types()}


def sample(element: Any, dtype: Any, shape: tuple[int, ...] = (3, 4)) -> Any:
    """Values that each dtype holds exactly, negative ones included."""
    count = int(np.prod(shape))
    if element.kind == "bool":
        values = np.arange(count) % 3 == 0
    elif element.mlir == "f8E8M0FNU":
        values = 2.0 ** (np.arange(count) % 5)
    elif element.kind == "complex":
        values = np.arange(count) - 1j * (np.arange(count) % 3)
    elif element.unsigned is not None and dtype == element.unsigned:
        values = np.arange(count, dtype=np.uint64) % 4 + np.uint64(2 ** (element.width - 1))
    else:
        values = np.arange(count) % 7 - 3
    return np.asarray(values).astype(dtype).reshape(shape)


CASES = [(e.mlir, str(d)) for e in element_types() for d in e.dtypes]


def identity(element: Any) -> Any:
    return compile(
        f"""
        func.func @identity(%a: tensor<?x4x{element}>, %s: {element})
            -> (tensor<?x4x{element}>, {element}, tensor<3x4x{element}>) {{
          %0 = tensor.cast %a : tensor<?x4x{element}> to tensor<3x4x{element}>
          return %a, %s, %0 : tensor<?x4x{element}>, {element}, tensor<3x4x{element}>
        }}
        """,
        trusted=True,
    )


@pytest.fixture(scope="module")
def identities() -> Any:
    made = {}

    def get(element: Any) -> Any:
        if element.mlir not in made:
            made[element.mlir] = identity(element)
        return made[element.mlir]

    return get


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_values_go_through_unchanged(identities: Any, name: str, dtype: Any) -> None:
    element = BY_NAME[name]
    dtype = next(d for d in element.dtypes if str(d) == dtype)
    kernel = identities(element)
    a = sample(element, dtype)
    for given in (a, a[::-1, ::-1][::-1, ::-1], np.asfortranarray(a)):
        outs = (np.zeros((3, 4), dtype), None, np.zeros((4, 3), dtype).T)
        y, s, z = kernel(given, a[1, 2], out=outs)
        assert y is outs[0]
        assert z is outs[2]
        np.testing.assert_array_equal(y, a)
        np.testing.assert_array_equal(z, a)
        assert s.dtype == element.dtype
        assert s == a.view(element.dtype)[1, 2]
    y, _, z = kernel(a, a[0, 0])
    assert y.dtype == z.dtype == element.dtype
    np.testing.assert_array_equal(y, a.view(element.dtype))
    np.testing.assert_array_equal(z, a.view(element.dtype))


ADDABLE = [
    (name, dtype)
    for name, dtype in CASES
    if BY_NAME[name].kind not in ("bool",) and "E8M0" not in name
]


@pytest.mark.parametrize(("name", "dtype"), ADDABLE)
def test_addition_is_numpys(name: str, dtype: Any) -> None:
    element = BY_NAME[name]
    dtype = next(d for d in element.dtypes if str(d) == dtype)
    op = {"float": "arith.addf", "complex": "complex.add"}.get(element.kind, "arith.addi")
    kernel = compile(
        f"""
        func.func @add(%a: tensor<3x4x{element}>, %b: tensor<3x4x{element}>)
            -> tensor<3x4x{element}> {{
          %e = tensor.empty() : tensor<3x4x{element}>
          %0 = linalg.map ins(%a, %b : tensor<3x4x{element}>, tensor<3x4x{element}>)
                          outs(%e : tensor<3x4x{element}>)
            (%x: {element}, %y: {element}, %o: {element}) {{
              %z = {op} %x, %y : {element}
              linalg.yield %z : {element}
            }}
          return %0 : tensor<3x4x{element}>
        }}
        """,
        trusted=True,
        result_dtypes=[dtype],
    )
    a = sample(element, dtype)
    b = a[::-1].copy()
    result = kernel(a, b)
    assert result.dtype == dtype
    with np.errstate(over="ignore"):
        expected = a + b
    np.testing.assert_array_equal(result.astype(np.complex128), expected.astype(np.complex128))


def test_a_bool_array_made_of_raw_bytes_is_read_as_numpy_reads_it() -> None:
    kernel = compile(
        """
        func.func @f(%a: tensor<4xi1>, %b: tensor<4xi1>) -> tensor<4xi1> {
          %0 = arith.andi %a, %b : tensor<4xi1>
          return %0 : tensor<4xi1>
        }
        """,
        trusted=True,
    )
    a = np.array([2, 4, 0, 255], np.uint8).view(np.bool_)
    assert kernel(a, np.ones(4, np.bool_)).tolist() == [True, True, False, True]
    assert kernel(a, np.ones(4, np.bool_)).tobytes() == b"\1\1\0\1"


def test_four_bit_integers_written_in_place() -> None:
    kernel = compile(
        """
        func.func @negate(%m: memref<4xi4>) {
          %c0 = arith.constant 0 : i4
          linalg.map ins(%m : memref<4xi4>) outs(%m : memref<4xi4>) (%x: i4, %o: i4) {
            %y = arith.subi %c0, %x : i4
            linalg.yield %y : i4
          }
          return
        }
        """,
        trusted=True,
    )
    memory = np.array([-7, -1, 0, 5], ml_dtypes.int4)
    kernel(memory)
    assert memory.astype(int).tolist() == [7, 1, 0, -5]
    kernel(memory)
    assert memory.astype(int).tolist() == [-7, -1, 0, 5]


def test_vectors_are_trailing_dimensions() -> None:
    kernel = compile(
        """
        func.func @scale(%a: memref<?xvector<4xf32>>, %s: f32) -> memref<?xvector<4xf32>> {
          %c0 = arith.constant 0 : index
          %n = memref.dim %a, %c0 : memref<?xvector<4xf32>>
          %r = memref.alloc(%n) : memref<?xvector<4xf32>>
          %v = vector.broadcast %s : f32 to vector<4xf32>
          linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                          iterator_types = ["parallel"]}
            ins(%a : memref<?xvector<4xf32>>) outs(%r : memref<?xvector<4xf32>>) {
          ^bb0(%x: vector<4xf32>, %o: vector<4xf32>):
            %y = arith.mulf %x, %v : vector<4xf32>
            linalg.yield %y : vector<4xf32>
          }
          return %r : memref<?xvector<4xf32>>
        }
        """,
        trusted=True,
    )
    room = np.arange(25, dtype=np.float32)
    for a in (room[:24].reshape(6, 4), room[1:].reshape(6, 4), room[:24].reshape(4, 6).T):
        np.testing.assert_array_equal(kernel(a, 2.0), 2 * a)
    with pytest.raises(errors.ShapeError, match=r"expected shape \(any, 4\)"):
        kernel(np.zeros((6, 3), np.float32), 2.0)
    with pytest.raises(errors.ShapeError, match="rank 1"):
        kernel(np.zeros(24, np.float32), 2.0)
