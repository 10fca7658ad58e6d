"""C programs that include a kernel's header and are linked with it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.target import host
from resources import c_compiler, skip_absent, skip_machine

if host().architecture != "x86_64":
    skip_machine("an x86-64 processor")

LAYER = """
func.func @layer(%x: tensor<2x3xf32>, %w: tensor<3x?xf32>, %scale: f32)
    -> (tensor<2x?xf32>, tensor<2x3xf32>, f32) {
  %one = arith.constant 1 : index
  %n = tensor.dim %w, %one : tensor<3x?xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<2x?xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<2x?xf32>) -> tensor<2x?xf32>
  %y = linalg.matmul ins(%x, %w : tensor<2x3xf32>, tensor<3x?xf32>)
                     outs(%i : tensor<2x?xf32>) -> tensor<2x?xf32>
  %z = tensor.empty() : tensor<2x3xf32>
  %s = linalg.map { arith.mulf } ins(%x, %x : tensor<2x3xf32>, tensor<2x3xf32>)
                                 outs(%z : tensor<2x3xf32>)
  %d = arith.addf %scale, %scale : f32
  return %y, %s, %d : tensor<2x?xf32>, tensor<2x3xf32>, f32
}
"""
# The names are C's own words, and a comment's end: none may get into the way.
INT = """
func.func @int(%m: memref<?xi64, strided<[2], offset: 1>>, %c: complex<f64>, %h: bf16, %b: i1,
               %p: memref<i32>) -> (complex<f64>, bf16, i1) {
  %o = arith.constant 1 : index
  %v = memref.load %m[%o] : memref<?xi64, strided<[2], offset: 1>>
  %t = arith.trunci %v : i64 to i32
  memref.store %t, %p[] : memref<i32>
  %s = complex.add %c, %c : complex<f64>
  %f = arith.constant true
  %n = arith.xori %b, %f : i1
  cf.assert %b, "no \\"b\\" */ ??/"
  return %s, %h, %n : complex<f64>, bf16, i1
}
"""
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "layer/lx_layer.h"
#include "int/lx_int.h"

#define CHECK(condition) \
  do { if (!(condition)) { printf("line %d: %s\n", __LINE__, #condition); return 1; } } while (0)

int main(void) {
  float x[6] = {1, 2, 3, 4, 5, 6}, w[12], squares[6], twice;
  for (int i = 0; i < 12; ++i) w[i] = (float)i;
  lx_memref_f32_2 in0 = lx_row_major_f32_2(x, 2, 3), in1 = lx_row_major_f32_2(w, 3, 4), y;
  lx_memref_f32_2 s = lx_row_major_f32_2(squares, 2, 3);
  CHECK(lx_layer(&in0, &in1, 1.5f, &y, &s, &twice) == 0);
  CHECK(y.sizes[0] == 2 && y.sizes[1] == 4 && y.strides[0] == 4);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j) {
      float sum = 0;
      for (int k = 0; k < 3; ++k) sum += x[3 * i + k] * w[4 * k + j];
      CHECK(y.aligned[y.offset + i * y.strides[0] + j * y.strides[1]] == sum);
    }
  free(y.allocated);
  CHECK(squares[5] == 36 && twice == 3);

  lx_memref_f32_2 turned = {w, w, 0, {3, 4}, {1, 3}}, small = lx_row_major_f32_2(w, 2, 4);
  lx_memref_f32_2 shifted = in0;
  shifted.offset = 1;
  CHECK(lx_layer(&in0, &turned, 1, &y, &s, &twice) == -2);
  CHECK(lx_layer(&in0, &small, 1, &y, &s, &twice) == -2);
  CHECK(lx_layer(&shifted, &in1, 1, &y, &s, &twice) == -1);
  CHECK(lx_layer(&in0, &in1, 1, &y, &small, &twice) == -5);

  int64_t numbers[] = {1, 2, 3, 4, 5};
  int32_t picked = 0;
  lx_memref_i64_1 m = {numbers, numbers, 1, {2}, {2}};
  lx_complex128 c = {1, -2}, sum;
  uint16_t half = 0x3fc0, same = 0;
  bool not_b = true;
  CHECK(lx_int(&m, c, half, true, &picked, &sum, &same, &not_b) == 0);
  CHECK(picked == 4 && sum.real == 2 && sum.imag == -4 && same == half && !not_b);
  int64_t status = lx_int(&m, c, half, false, &picked, &sum, &same, &not_b);
  CHECK(status > 0 && strcmp(lx_int_failure(status), "no \"b\" */ ?\?/") == 0);
  m.strides[0] = 1;
  CHECK(lx_int(&m, c, half, true, &picked, &sum, &same, &not_b) == -1);
  puts("right");
  return 0;
}
"""
STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic", "-O1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    c_compiler()
    folder = tmp_path_factory.mktemp("c")
    for text, name in ((LAYER, "layer"), (INT, "int")):
        lx.compile(text).export(folder / name, library=True)
    (folder / "main.c").write_text(PROGRAM)
    return folder


@pytest.mark.parametrize(
    "files",
    [
        ("layer/lx_layer.o", "int/lx_int.o", "-lm", "-Wl,--fatal-warnings"),
        ("layer/liblx_layer.so", "int/liblx_int.so"),
    ],
    ids=["objects", "libraries"],
)
def test_a_program_calls_two_kernels(files: tuple[str, ...], folder: Path) -> None:
    for command in (
        [c_compiler(), "-std=c99", *STRICT, "main.c", *files, "-o", "main", "-Wl,-rpath,."],
        ["./main"],
    ):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "right\n"


def test_the_headers_are_c_plus_plus_too(folder: Path) -> None:
    text = '#include "layer/lx_layer.h"\n#include "int/lx_int.h"\n#include "int/lx_int.h"\n'
    done = subprocess.run(
        [c_compiler(), "-x", "c++", "-fsyntax-only", *STRICT, "-"],
        cwd=folder,
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    if "cc1plus" in done.stderr:
        skip_absent("a compiler of C++ (Debian package g++)")
    assert done.returncode == 0, done.stderr


def test_every_element_type_has_a_struct(tmp_path: Path) -> None:
    elements = [
        *("f64", "f32", "f16", "bf16", "f8E4M3FN", "i1", "i4", "i8", "i16", "i32", "i64"),
        *("index", "complex<f32>", "complex<f64>", "vector<4xf32>"),
    ]
    types = [f"memref<?x2x{element}>" for element in elements]
    inputs = ", ".join(f"%a{index}: {type_}" for index, type_ in enumerate(types))
    text = f"func.func @every({inputs}) -> tensor<3xi16> {{\n"
    text += "  %c = arith.constant dense<1> : tensor<3xi16>\n  return %c : tensor<3xi16>\n}"
    kernel = lx.compile(text, result_dtypes=[np.uint16])
    header = kernel.export(tmp_path / "x", library=False) / "lx_every.h"
    done = subprocess.run(
        [c_compiler(), "-std=c99", "-fsyntax-only", *STRICT, "-include", "stdio.h", header],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for said in ("lx_memref_u16_1 *out0", "lx_memref_4xf32_2 *in14", "uint16_t *allocated"):
        assert said in header.read_text()
