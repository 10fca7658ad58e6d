"""Constants that LLVM cannot hold are refused with sizes and place, or written out."""

from __future__ import annotations

import numpy as np
import pytest

from isolated_kernels import isolated
from linalg_ext.compiler import compile
from linalg_ext.errors import LoweringError
from linalg_ext.module import Module
from linalg_ext.transforms.checks import legalize_constants as file

ONE = "0000803f"


def resource(type_: str, elements: str, alignment: str = "04000000") -> str:
    """A module whose function gives a resource."""
    return f"""
    func.func @f() -> {type_} {{
      %c = arith.constant dense_resource<r> : {type_}
      return %c : {type_}
    }}
    {{-# dialect_resources: {{ builtin: {{ r: "0x{alignment}{elements}" }} }} #-}}"""


@pytest.mark.parametrize(
    ("type_", "elements", "said"),
    [
        ("tensor<1x0xf32>", ONE, "holds 4 bytes, and the elements of tensor<1x0xf32> are 0"),
        ("tensor<4xf32>", ONE, "holds 4 bytes.*are 16"),
        ("tensor<1xf32>", ONE * 3, "holds 12 bytes.*are 4"),
        ("tensor<2xf32>", ONE + "00", "holds 5 bytes.*are 8"),
        ("tensor<2xf32>", ONE * 30_000, "holds more bytes.*are 8"),
    ],
)
def test_a_resource_of_another_size(type_: str, elements: str, said: str) -> None:
    with pytest.raises(LoweringError, match=rf"{said}\n.*:3:\d+: memref\.global"):
        isolated(resource(type_, elements))


@pytest.mark.parametrize(
    ("type_", "elements", "shape"),
    [
        ("tensor<2xf32>", ONE * 2, (2,)),
        ("tensor<20000xf32>", ONE * 20_000, (20_000,)),
    ],
)
def test_a_resource_of_its_size(type_: str, elements: str, shape: tuple[int, ...]) -> None:
    np.testing.assert_array_equal(compile(resource(type_, elements))(), np.ones(shape, "f4"))


@pytest.mark.parametrize(("kind", "element"), [("c8", "f32"), ("c16", "f64")])
@pytest.mark.parametrize("size", [0, 1, 3, 20_000])
def test_a_resource_of_complex_numbers(kind: str, element: str, size: int) -> None:
    numbers = (np.arange(size) - 1j).astype(kind)
    text = resource(f"tensor<{size}xcomplex<{element}>>", numbers.tobytes().hex())
    np.testing.assert_array_equal(compile(text)(), numbers)
    with pytest.raises(LoweringError, match=f"holds {numbers.nbytes + 4} bytes"):
        compile(resource(f"tensor<{size}xcomplex<{element}>>", numbers.tobytes().hex() + ONE))


@pytest.mark.parametrize(
    ("element", "value", "size"),
    [("f32", "1.0", 400000000000), ("complex<f32>", "(1.0, 2.0)", 800000000000)],
)
def test_a_constant_larger_than_code(element: str, value: str, size: int) -> None:
    type_ = f"tensor<100000000000x{element}>"
    text = f"""
    func.func @f() -> {type_} {{
      %c = arith.constant dense<{value}> : {type_}
      return %c : {type_}
    }}"""
    with pytest.raises(LoweringError, match=rf"{size} bytes.*\n.*:3:\d+(.|\n)*linalg\.fill"):
        isolated(text)


def test_one_that_is_fused_is_not_written_out() -> None:
    type_ = "tensor<100000000000xf32>"
    text = f"""
    func.func @f(%x: {type_}) -> {type_} {{
      %c = arith.constant dense<1.0> : {type_}
      %r = arith.addf %x, %c : {type_}
      return %r : {type_}
    }}"""
    isolated(text)


def test_what_is_refused() -> None:
    (example,) = [file.__doc__.partition("refused:")[2]] if file.__doc__ else [""]
    with pytest.raises(LoweringError):
        file.legalize_constants(Module.parse(example))


@pytest.mark.parametrize("element", ["f32", "complex<f64>"])
def test_a_resource_without_elements(element: str) -> None:
    """MLIR does not read what it writes of one in bytecode, in which stages are kept."""
    kernel = compile(resource(f"tensor<0x{element}>", ""))
    assert kernel().shape == (0,)
    assert "module 3 >" in repr(kernel)
    module = Module.parse(resource(f"tensor<0x{element}>", ""))
    assert "dense<>" in str(Module.parse(module.bytecode()))
