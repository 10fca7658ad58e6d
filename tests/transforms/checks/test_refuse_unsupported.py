"""What has no way down is refused by name, with its place and a hint."""

from __future__ import annotations

import pytest

from linalg_ext import compile, errors, parse

CASES = {
    "shape": (
        "%0 = shape.shape_of %t : tensor<4xf32> -> tensor<1xindex>",
        r"shape\.shape_of",
        "tensor.dim",
    ),
    "gpu": ("%0 = gpu.thread_id x", r"gpu\.thread_id", "device code"),
    "sparse": (
        "%0 = sparse_tensor.convert %t : tensor<4xf32> to tensor<4xf32, #sparse>",
        r"sparse_tensor\.convert",
        "sparsifier",
    ),
    "async": ("%0 = async.execute { async.yield }", r"async\.execute", "asynchrony"),
    "omp": ("omp.barrier", r"omp\.barrier", r"scf\.for"),
    "quant": (
        "%0 = quant.qcast %t : tensor<4xf32> to tensor<4x!quant.uniform<i8:f32, 0.5>>",
        r"quant\.qcast",
        "linalg.generic",
    ),
    "print": ("vector.print %x : f32", r"vector\.print", "result"),
    "type_cast": (
        "%0 = vector.type_cast %m : memref<4xf32> to memref<vector<4xf32>>",
        r"vector\.type_cast",
        "transfer_read",
    ),
    "vscale": ("%0 = vector.vscale", r"vector\.vscale", "fixed size"),
    "scalable": (
        "%0 = vector.broadcast %x : f32 to vector<[4]xf32>",
        r"scalable vectors.*vector<\[4\]xf32>",
        "fixed size",
    ),
    "atomic": (
        """%0 = memref.generic_atomic_rmw %m[%c0] : memref<4xf32> {
           ^bb0(%o: f32): memref.atomic_yield %o : f32 }""",
        r"memref\.generic_atomic_rmw",
        "atomic_rmw",
    ),
    "complex": (
        "%z = complex.create %x, %x : complex<f32>\n%0 = complex.bitcast %z : complex<f32> to i64",
        r"complex\.bitcast",
        r"complex\.re",
    ),
    "memory space": ("%0 = memref.alloc() : memref<4xf32, 3>", "memory space", "drop"),
    "to_tensor": (
        "%0 = bufferization.to_tensor %m : memref<4xf32> to tensor<4xf32>",
        "only name",
        "restrict",
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("checked", [True, False])
def test_refused(case: str, checked: bool) -> None:
    body, name, hint = CASES[case]
    text = f"""#sparse = #sparse_tensor.encoding<{{map = (d0) -> (d0 : compressed)}}>
    func.func @f(%t: tensor<4xf32>, %m: memref<4xf32>, %x: f32) {{
      %c0 = arith.constant 0 : index
      {body}
      return
    }}"""
    with pytest.raises(errors.LoweringError, match=rf"(?s){name}.*:\d+:\d+.*{hint}"):
        compile(text, trusted=True, checked=checked)


def test_what_was_left_as_the_exporter_wrote_it() -> None:
    text = """func.func @f(%t: tensor<4xf32>) -> tensor<4xf32> {
      %0 = tosa.tanh %t : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }"""
    with pytest.raises(errors.LoweringError, match=r"(?s)tosa\.tanh.*lx\.parse"):
        parse(text, legalize=False).run("linalg-ext-refuse-unsupported")


def test_a_vector_that_would_keep_llvm_busy_is_refused() -> None:
    text = """
    func.func @f(%m: memref<100000xf32>) -> f32 {
      %c0 = arith.constant 0 : index
      %v = vector.load %m[%c0] : memref<100000xf32>, vector<100000xf32>
      %r = vector.reduction <add>, %v : vector<100000xf32> into f32
      return %r : f32
    }"""
    with pytest.raises(
        errors.LoweringError, match=r"100000 elements(.|\n)*:4:12(.|\n)*16384"
    ) as said:
        compile(text)
    assert "loop over shorter vectors" in str(said.value)
