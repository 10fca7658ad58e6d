"""Products of matrices by OpenBLAS, however they lie in memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import LibraryError
from linalg_ext.executable.libraries import Library, gemm
from resources import skip_absent

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module", autouse=True)
def openblas() -> Iterator[Library]:
    try:
        library = lx.libraries.openblas()
    except LibraryError:
        skip_absent("OpenBLAS, as NumPy's wheel has it (or the package scipy-openblas64)")
    with library:
        yield library


LAYOUT = "strided<[?, ?], offset: ?>"


def layouts(x: np.ndarray) -> Iterator[np.ndarray]:
    """The matrix in memory: by rows, by columns, a part of another, every other element."""
    rows, columns = x.shape
    wide = np.zeros((rows + 2, columns + 3), x.dtype)
    sparse = np.zeros((2 * rows, 3 * columns), x.dtype)
    for view in (wide[1:-1, 1:-2], sparse[::2, ::3]):
        view[...] = x
        yield view
    yield np.array(x, order="C")
    yield np.array(x, order="F")


@pytest.mark.parametrize("turned", [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)])
def test_matrices_of_every_layout(turned: tuple[int, int, int]) -> None:
    element = "f32" if turned[0] else "f64"
    pairs = (("m", "k"), ("k", "n"), ("m", "n"))
    maps = [
        f"affine_map<(m, n, k) -> ({', '.join(reversed(pair) if turn else pair)})>"
        for pair, turn in zip(pairs, turned, strict=True)
    ]
    kind = f"memref<?x?x{element}, {LAYOUT}>"
    kernel = lx.compile(f"""
    func.func @f(%a: {kind}, %b: {kind}, %c: {kind}) {{
      linalg.contract indexing_maps = [{", ".join(maps)}]
        ins(%a, %b : {kind}, {kind}) outs(%c : {kind})
      return
    }}""")
    assert f"cblas_{'s' if element == 'f32' else 'd'}gemm" in str(kernel.explain())
    dtype = np.dtype(element.replace("f32", "float32").replace("f64", "float64"))
    for m, n, k in ((5, 6, 7), (1, 4, 3), (4, 1, 1), (0, 3, 2), (3, 2, 0)):
        a, b, c = (RNG.integers(-4, 5, s).astype(dtype) for s in ((m, k), (k, n), (m, n)))
        x, y, z = (x.T if turn else x for x, turn in zip((a, b, c), turned, strict=True))
        expected = (c + a @ b).T if turned[2] else c + a @ b
        for first, second, way in itertools.product([*layouts(x)], [*layouts(y)], range(4)):
            out = [*layouts(z)][way]
            kernel(first, second, out)
            np.testing.assert_array_equal(out, expected)


def test_a_product_overwrites_what_was_never_written() -> None:
    a, b = RNG.standard_normal((2, 17, 17))
    out = np.full((17, 17), np.nan)
    assert lx.ops.matmul(a, b, out=out) is out
    np.testing.assert_allclose(out, a @ b)
    kernel = lx.jit(lambda a, b: np.maximum(a @ b, 0)).lower(a, b).compile()
    assert "linalg.fill" not in kernel.as_text("buffers")
    np.testing.assert_allclose(kernel(a, b), np.maximum(a @ b, 0))


def test_a_product_in_place_of_what_it_adds_to() -> None:
    a, b, c = RNG.standard_normal((3, 9, 9))
    np.testing.assert_allclose(lx.ops.matmul(a, b, init=c), c + a @ b)


@pytest.mark.parametrize(
    ("checked", "message"),
    [
        (True, r"linalg.matmul: dimension #\d of input/output operand #\d is incompatible"),
        (False, r"axis \d of operand \d of `.*gemm"),  # the library is not trusted with any sizes
    ],
)
def test_sizes_are_checked_before_the_call(checked: bool, message: str) -> None:
    text = """
    func.func @f(%a: memref<?x?xf64>, %b: memref<?x?xf64>, %c: memref<?x?xf64>) {
      linalg.matmul ins(%a, %b : memref<?x?xf64>, memref<?x?xf64>) outs(%c : memref<?x?xf64>)
      return
    }"""
    kernel = lx.compile(text, checked=checked)
    a = np.ones((4, 4))
    for shapes in (((4, 5), (4, 4)), ((4, 4), (3, 4)), ((0, 4), (4, 4))):
        with pytest.raises(lx.errors.ExecutionError, match=message):
            kernel(*map(np.ones, shapes), a)


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (lambda a, b: a @ b, ((3, 4, 5), (3, 5, 6))),  # a batch
        (lambda a, b: np.einsum("ij,jk->ijk", a, b), ((3, 4), (4, 5))),  # nothing is summed
        (lambda a, b: np.einsum("ij,jk->k", a, b), ((3, 4), (4, 5))),  # and this is not a product
    ],
)
def test_what_is_no_product_of_matrices_is_left(function, shapes) -> None:
    a, b = (RNG.integers(-4, 5, shape).astype("f4") for shape in shapes)
    traced = lx.jit(function)
    assert "library call" not in str(traced.explain(a, b))
    np.testing.assert_array_equal(traced(a, b), function(a, b))


def test_other_elements_are_left_and_why_is_told() -> None:
    a = np.ones((8, 8), np.int32)
    traced = lx.jit(lambda a, b: a @ b)
    np.testing.assert_array_equal(traced(a, a), a @ a)
    told = str(traced.explain(a, a))
    assert "library call" not in told
    assert "the elements are i32, and the function takes f32" in told


def test_what_follows_the_product_is_fused_without_it() -> None:
    a, b = RNG.standard_normal((2, 32, 32)).astype("f4")
    traced = lx.jit(lambda a, b: np.exp(-(a @ b + 1) * 2))
    told = str(traced.explain(a, b))
    assert told.count("library call") == 1
    assert "computes  addf" in told
    np.testing.assert_allclose(traced(a, b), np.exp(-(a @ b + 1) * 2), rtol=1e-4)


@pytest.mark.parametrize(("element", "bits"), [("f16", 32), ("f32", 16)])
def test_a_product_that_cblas_has_not(element, bits) -> None:
    with pytest.raises(LibraryError, match=f"no matrix product of {element} with {bits}-bit"):
        gemm("gemm", element, integer_bits=bits)
