"""Ops that become calls: what the function gets, what is left around it, and what is refused."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ExecutionError, LibraryError
from linalg_ext.executable.libraries import in_force
from linalg_ext.transforms.rewrites import call_libraries as file
from native_library import ADD, DENSE, PRODUCT, SCALED, SOURCE, count, shared_library
from rewrite_texts import function, parsed, sections

RNG = np.random.default_rng(0)
A, B, C = RNG.standard_normal((3, 4, 8)).astype("f4")


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared_library(SOURCE, tmp_path_factory.mktemp("native"))


@pytest.fixture(autouse=True)
def registered(native: Path) -> Iterator[None]:
    table = {"pointwise_add": ADD, "scale": SCALED, "linalg.matmul": PRODUCT}
    with lx.library("native", native, table):
        yield
    assert in_force() == ()


def add(
    kind: str, *, call: str = "pointwise_add", operands: str = "%a, %b", out: str = "%c"
) -> str:
    """The op of the document, `operands` of one type; its result is %r where it has one."""
    result = f"-> {kind}" if kind.startswith("tensor") else ""
    element = kind.rstrip(">").split(",")[0].rpartition("x")[2]
    maps = ", ".join(["affine_map<(i, j) -> (i, j)>"] * 3)
    return f"""{"%r = " if result else ""}linalg.generic {{indexing_maps = [{maps}],
      iterator_types = ["parallel", "parallel"], library_call = "{call}"}}
      ins({operands} : {kind}, {kind}) outs({out} : {kind}) {{
    ^bb0(%x: {element}, %y: {element}, %z: {element}):
      %d = arith.addf %x, %y : {element}
      linalg.yield %d : {element}
    }} {result}"""


def main(kind: str, body: str) -> str:
    result = kind if kind.startswith("tensor") else None
    return function(f"%a: {kind}, %b: {kind}, %c: {kind}", body, result)


def test_the_example() -> None:
    said = sections(file.call_libraries)
    before, after = (
        main("memref<4x8xf32>", said[name].replace("pointwise_add(", "")) for name in said
    )
    module = parsed(before)
    report = lx.transforms.call_libraries(module)
    assert report.changed == {"linalg.generic": 1}
    wanted = str(parsed(after + "\nfunc.func private @lx.library.call0(memref<4x8xf32>, "
                        "memref<4x8xf32>, memref<4x8xf32>)"))  # fmt: skip
    body, _, _ = wanted.partition("func.func private")
    assert str(module).startswith(body.rstrip())


@pytest.mark.parametrize("kind", ["memref<4x8xf32>", "memref<?x?xf32>", "tensor<4x8xf32>",
                                  "tensor<?x?xf32>"])  # fmt: skip
def test_a_call_gives_what_the_op_gives(kind: str, native: Path) -> None:
    kernel = lx.compile(main(kind, add(kind)))
    assert str(kernel.explain()).count("library call @") == 1
    before, c = count(native, "add"), C.copy()
    result = kernel(A, B, c)
    np.testing.assert_array_equal(c if result is None else result, A + B)
    assert count(native, "add") == before + 1


def test_neighbours_are_not_fused_into_it(native: Path) -> None:
    kind = "tensor<4x8xf32>"
    exp = f"linalg.exp ins({{}} : {kind}) outs(%c : {kind}) -> {kind}"
    text = main(kind, "\n".join([
        f"%e = {exp.format('%a')}",
        add(kind, operands="%e, %e").replace("%r", "%s"),
        f"%r = {exp.format('%s')}",
    ]))  # fmt: skip
    before = count(native, "add")
    kernel = lx.compile(text)
    np.testing.assert_allclose(kernel(A, B, C), np.exp(2 * np.exp(A)), rtol=1e-5)
    assert count(native, "add") == before + 1
    for stage in ("linalg", "buffers"):
        assert kernel.as_text(stage).count("math.exp") == 2


def test_values_that_are_read_later_are_kept() -> None:
    kind = "tensor<4x8xf32>"
    body = add(kind, out="%a").replace("%r", "%s") + "\n" + add(kind, operands="%s, %a")
    np.testing.assert_array_equal(lx.compile(main(kind, body))(A, B, C), A + B + A)


def loop(kind: str, body: str) -> str:
    """Five times `body`, which makes %t of %s, beginning with %a."""
    return main(
        kind,
        f"""
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c5 = arith.constant 5 : index
      %r = scf.for %i = %c0 to %c5 step %c1 iter_args(%s = %a) -> {kind} {{
        {body}
        scf.yield %t : {kind}
      }}""",
    )


def test_in_a_loop_the_result_is_written_in_place() -> None:
    kind = "tensor<4x4xf32>"
    product = f"linalg.matmul ins(%b, %c : {kind}, {kind}) outs(%s : {kind}) -> {kind}"
    kernel = lx.compile(loop(kind, f"%t = {product}"))
    inside = kernel.as_text("buffers").partition("scf.for")[2].partition("}")[0]
    assert "call @lx.library.call0" in inside
    assert "memref.copy" not in inside
    a, b, c = RNG.integers(-4, 5, (3, 4, 4)).astype("f4")
    np.testing.assert_array_equal(kernel(a, b, c), a + 5 * (b @ c))


def test_what_is_read_and_written_at_once_is_copied() -> None:
    kind = "tensor<?x?xf32>"
    kernel = lx.compile(loop(kind, add(kind, operands="%s, %b", out="%s").replace("%r", "%t")))
    before_the_call = kernel.as_text("buffers").partition("scf.for")[2].partition("call @")[0]
    assert "memref.copy" in before_the_call
    np.testing.assert_allclose(kernel(A, B, C), A + 5 * B, rtol=1e-5)


def test_a_slice_is_passed_where_it_lies(native: Path) -> None:
    text = """
    func.func @main(%a: tensor<8x16xf32>, %b: tensor<4x8xf32>, %c: tensor<4x8xf32>)
        -> tensor<4x8xf32> {
      %s = tensor.extract_slice %a[1, 2] [4, 8] [1, 1] : tensor<8x16xf32> to tensor<4x8xf32>
      OP
      return %r : tensor<4x8xf32>
    }""".replace("OP", add("tensor<4x8xf32>", operands="%s, %b"))
    x = RNG.standard_normal((8, 16)).astype("f4")
    np.testing.assert_array_equal(lx.compile(text)(x, B, C), x[1:5, 2:10] + B)
    strides = (ctypes.c_int64 * 2).in_dll(ctypes.CDLL(str(native)), "last_strides")
    assert [*strides] == [16, 1]


@pytest.mark.parametrize("out", ["memref<?x?xf32>", "memref<?x?xf32, strided<[?, ?], offset: ?>>"])
def test_strides_that_it_does_not_take_are_copied(out: str, native: Path) -> None:
    loose = "memref<?x?xf32, strided<[?, ?], offset: ?>>"
    kernel = lx.compile(f"""
    func.func @main(%a: {loose}, %b: {DENSE}, %c: {out}) {{
      linalg.matmul ins(%a, %b : {loose}, {DENSE}) outs(%c : {out})
      return
    }}""")
    copied = "operand 0, operand 2" if out == loose else "operand 0"
    assert f"copied    {copied}\n" in str(kernel.explain())
    wide = RNG.integers(-4, 5, (2, 3, 18)).astype("f4")
    b = RNG.integers(-4, 5, (9, 5)).astype("f4")
    c = np.zeros((3, 10) if out == loose else (3, 5), np.float32)
    before = count(native, "product")
    kernel(wide[1, :, ::2], b, c[:, ::2] if out == loose else c)
    np.testing.assert_array_equal(c[:, ::2] if out == loose else c, wide[1, :, ::2] @ b)
    assert not (out == loose and c[:, 1::2].any())
    assert count(native, "product") == before + 1


def test_one_function_takes_several_sizes() -> None:
    text = """
    func.func @main(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>) -> tensor<4x4xf32> {
      %z = arith.constant dense<0.0> : tensor<4x4xf32>
      %s = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x4xf32>)
        outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
      %r = linalg.matmul ins(%s, %s : tensor<4x4xf32>, tensor<4x4xf32>)
        outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
      return %r : tensor<4x4xf32>
    }"""
    kernel = lx.compile(text)
    assert str(kernel.explain()).count("library call @") == 2
    x = RNG.integers(-2, 3, (4, 8)).astype("f4")
    np.testing.assert_array_equal(kernel(x, x.T), x @ x.T @ x @ x.T)


def test_scalars_are_passed_by_value(native: Path) -> None:
    text = """
    func.func @main(%a: tensor<?xf32>, %s: f32) -> tensor<?xf32> {
      %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>,
                                            affine_map<(i) -> (i)>],
                           iterator_types = ["parallel"], library_call = "scale"}
        ins(%a, %s : tensor<?xf32>, f32) outs(%a : tensor<?xf32>) {
      ^bb0(%x: f32, %y: f32, %z: f32):
        %d = arith.mulf %x, %y : f32
        linalg.yield %d : f32
      } -> tensor<?xf32>
      return %r : tensor<?xf32>
    }"""
    before = count(native, "scaled")
    np.testing.assert_array_equal(lx.compile(text)(A[0], np.float32(3)), 3 * A[0])
    assert count(native, "scaled") == before + 1


@pytest.mark.parametrize(
    ("element", "kind_of_number"),
    [
        ("i1", np.bool_),
        ("bf16", ml_dtypes.bfloat16),
        ("f8E5M2", ml_dtypes.float8_e5m2),
        ("complex<f64>", np.complex128),
        ("index", np.int64),
    ],
)
def test_elements_of_every_kind(element: str, kind_of_number: type, native: Path) -> None:
    dtype = np.dtype(kind_of_number)
    kind = f"tensor<?x{element}>"
    vector = f"memref<?x{element}>"
    text = f"""
    func.func @main(%a: {kind}, %c: {kind}) -> {kind} {{
      %r = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                            iterator_types = ["parallel"], library_call = "copied"}}
        ins(%a : {kind}) outs(%c : {kind}) {{
      ^bb0(%x: {element}, %y: {element}):
        linalg.yield %x : {element}
      }} -> {kind}
      return %r : {kind}
    }}"""
    with lx.library("other", native, {"copied": f"copy_{dtype.itemsize}({vector}, {vector})"}):
        kernel = lx.compile(text)
    assert "library call" in str(kernel.explain())
    x = np.array([0, 1, 1, 0, 1]).astype(dtype)
    np.testing.assert_array_equal(kernel(x, np.zeros_like(x)), x)


def test_sizes_of_windows_are_checked(native: Path) -> None:
    text = """
    func.func @main(%a: tensor<?xf32>, %k: tensor<?xf32>, %c: tensor<?xf32>) -> tensor<?xf32> {
      %r = linalg.conv_1d ins(%a, %k : tensor<?xf32>, tensor<?xf32>)
        outs(%c : tensor<?xf32>) -> tensor<?xf32>
      return %r : tensor<?xf32>
    }"""
    function = "correlate(memref<?xf32>, memref<?xf32>, memref<?xf32>)"
    with lx.library("other", native, {lx.ops.conv_1d: function}):
        kernel = lx.compile(text, checked=False)
    assert "library call" in str(kernel.explain())
    a, k = np.arange(10, dtype="f4"), np.array([1, 2, 3], "f4")
    np.testing.assert_array_equal(kernel(a, k, np.zeros(8, "f4")), np.correlate(a, k))
    with pytest.raises(ExecutionError, match="operand #0 is incompatible"):
        kernel(a, k, np.zeros(9, "f4"))


@pytest.mark.parametrize("shapes", [((3, 8), (4, 8), (4, 8)), ((4, 8), (4, 8), (4, 9)),
                                    ((0, 8), (4, 8), (4, 8))])  # fmt: skip
def test_sizes_are_checked_even_where_checks_are_not_wanted(shapes, native: Path) -> None:
    kernel = lx.compile(main(DENSE, add(DENSE)), checked=False)
    before = count(native, "add")
    with pytest.raises(ExecutionError, match=r"axis \d of operand \d of `add` is not as long"):
        kernel(*(np.zeros(shape, "f4") for shape in shapes))
    assert count(native, "add") == before


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("tensor<4x8xf64>", "operand 0: the elements are f64, and the function takes f32"),
        ("memref<?x?xbf16>", "operand 0: the elements are bf16, and the function takes f32"),
    ],
)
def test_a_function_that_does_not_take_the_operands(kind: str, message: str) -> None:
    with pytest.raises(LibraryError) as found:
        lx.compile(main(kind, add(kind)))
    assert message in str(found.value)
    assert f"asks for the library function `pointwise_add` and has the operands {kind}" in str(
        found.value
    )
    assert "linalg.generic" in str(found.value.where)


def test_an_op_whose_function_no_library_has_runs_as_ever() -> None:
    kernel = lx.compile(main(DENSE, add(DENSE, call="nobody_has_it")))
    c = C.copy()
    kernel(A, B, c)
    np.testing.assert_array_equal(c, A + B)
    assert "no registered library has `nobody_has_it`" in str(kernel.explain())


@pytest.mark.parametrize(
    "body",
    [
        "%r = linalg.softmax dimension(1) ins(%a : K) outs(%c : K) -> K",
        "%r = linalg.exp {library_call = 3 : i32} ins(%a : K) outs(%c : K) -> K",
        "%m = memref.alloc() : memref<4x8xf32, 1>\n%r = arith.addf %a, %a : K\n"
        'linalg.fill {library_call = "scale"} ins(%z : f32) outs(%m : memref<4x8xf32, 1>)',
    ],
)
def test_what_no_library_could_be_given_is_left(body: str) -> None:
    kind = "tensor<4x8xf32>"
    text = main(kind, "%z = arith.constant 0.0 : f32\n" + body.replace("K", kind))
    module = lx.parse(text)
    before = str(module)
    assert not lx.transforms.call_libraries(module)
    assert str(module) == before


@pytest.mark.parametrize(
    "name",
    [
        "add_sxsxf32_sxsxf32",
        "add_viewsxsxf32_viewsxsxf32_viewsxsxf32",
        "add_4x8xf32_4x8xf32",
        "add_sxsxf32_sxsxf32_sxsxf32",
    ],
)
def test_functions_with_types_in_their_names(name: str, native: Path) -> None:
    kind = "tensor<4x8xf32>"
    with lx.library("other", native, {name: ADD, "add": "product(memref<?xf32>)"}):
        kernel = lx.compile(main(kind, add(kind, call="add")))
    assert f"function  {ADD}" in str(kernel.explain())
    np.testing.assert_array_equal(kernel(A, B, C), A + B)


def test_a_named_op_by_the_name_that_upstream_gives_it(native: Path) -> None:
    kind = "tensor<4x8xf32>"
    name = "linalg_add_view4x8xf32_view4x8xf32_view4x8xf32"
    body = f"%r = linalg.add ins(%a, %b : {kind}, {kind}) outs(%c : {kind}) -> {kind}"
    with lx.library("other", native, {name: ADD}):
        kernel = lx.compile(main(kind, body))
    assert "library call" in str(kernel.explain())
    np.testing.assert_array_equal(kernel(A, B, C), A + B)


def test_an_op_by_what_it_computes() -> None:
    maps = ", ".join(
        f"affine_map<(m, n, k) -> ({operand})>" for operand in ("m, k", "k, n", "m, n")
    )
    text = f"""
    func.func @main(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>, %c: tensor<4x4xf32>)
        -> tensor<4x4xf32> {{
      %r = linalg.generic {{indexing_maps = [{maps}],
          iterator_types = ["parallel", "parallel", "reduction"]}}
        ins(%a, %b : tensor<4x8xf32>, tensor<8x4xf32>) outs(%c : tensor<4x4xf32>) {{
      ^bb0(%x: f32, %y: f32, %z: f32):
        %p = arith.mulf %x, %y : f32
        %s = arith.addf %z, %p : f32
        linalg.yield %s : f32
      }} -> tensor<4x4xf32>
      return %r : tensor<4x4xf32>
    }}"""
    x = RNG.integers(-2, 3, (4, 8)).astype("f4")
    kernel = lx.compile(text)
    assert "library call" in str(kernel.explain())
    np.testing.assert_array_equal(kernel(x, x.T, x[:, :4]), x @ x.T + x[:, :4])
    # Transposed, or a maximum of products, it is another op.
    for other in (text.replace("(k, n)", "(n, k)").replace("8x4", "4x8"),
                  text.replace("arith.addf", "arith.maximumf")):  # fmt: skip
        assert "library call" not in str(lx.compile(other).explain())


def test_large_work_around_a_call_is_right_on_several_threads() -> None:
    kind = "tensor<512x1024xf32>"
    text = main(kind, f"{add(kind).replace('%r', '%s')}\n"
                f"%r = linalg.exp ins(%s : {kind}) outs(%c : {kind}) -> {kind}")  # fmt: skip
    x, y = RNG.standard_normal((2, 512, 1024)).astype("f4")
    result = lx.compile(text)(x, y, np.zeros_like(x), threads=2)
    np.testing.assert_allclose(result, np.exp(x + y), rtol=1e-5)
