"""A shared library of C, compiled for the tests: what somebody would register."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

from resources import skip_absent

SOURCE = """
#include <stdint.h>
typedef struct { float *allocated, *aligned; int64_t offset, sizes[1], strides[1]; } vector;
typedef struct { float *allocated, *aligned; int64_t offset, sizes[2], strides[2]; } matrix;
static float *at(matrix *m, int64_t i, int64_t j) {
  return m->aligned + m->offset + i * m->strides[0] + j * m->strides[1];
}

int add_calls = 0, scaled_calls = 0, product_calls = 0;
int64_t last_strides[2];

// a + b, whatever the strides.
void add(matrix *a, matrix *b, matrix *c) {
  __atomic_add_fetch(&add_calls, 1, __ATOMIC_RELAXED);
  last_strides[0] = a->strides[0], last_strides[1] = a->strides[1];
  for (int64_t i = 0; i < c->sizes[0]; i++)
    for (int64_t j = 0; j < c->sizes[1]; j++)
      *at(c, i, j) = *at(a, i, j) + *at(b, i, j);
}

// s a, for those who pass a scalar; under the name that upstream calls.
void _mlir_ciface_scaled(vector *a, float s, vector *c) {
  scaled_calls++;
  for (int64_t i = 0; i < c->sizes[0]; i++)
    c->aligned[c->offset + i * c->strides[0]] = s * a->aligned[a->offset + i * a->strides[0]];
}
// Not to be called: it takes what a function without that name takes.
void scaled(void *allocated, void *aligned) { scaled_calls = -1000; }

// c += a b, for dense matrices alone.
void product(matrix *a, matrix *b, matrix *c) {
  product_calls++;
  int64_t m = c->sizes[0], n = c->sizes[1], k = a->sizes[1];
  float *x = a->aligned + a->offset, *y = b->aligned + b->offset, *z = c->aligned + c->offset;
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++)
      for (int64_t l = 0; l < k; l++) z[i * n + j] += x[i * k + l] * y[l * n + j];
}

// c += the correlation of a with k, for dense vectors.
void correlate(vector *a, vector *k, vector *c) {
  for (int64_t i = 0; i < c->sizes[0]; i++)
    for (int64_t j = 0; j < k->sizes[0]; j++)
      (c->aligned + c->offset)[i] += (a->aligned + a->offset)[i + j] * (k->aligned + k->offset)[j];
}

// c = a, for elements of which all that is known is their size.
#define COPY(BYTES)                                                                              \\
  typedef struct { char x[BYTES]; } element_##BYTES;                                             \\
  typedef struct {                                                                               \\
    element_##BYTES *allocated, *aligned;                                                        \\
    int64_t offset, sizes[1], strides[1];                                                        \\
  } vector_##BYTES;                                                                              \\
  void copy_##BYTES(vector_##BYTES *a, vector_##BYTES *c) {                                      \\
    for (int64_t i = 0; i < c->sizes[0]; i++)                                                    \\
      c->aligned[c->offset + i] = a->aligned[a->offset + i];                                     \\
  }
COPY(1) COPY(2) COPY(8) COPY(16)

float thrice(float x) { return 3 * x; }
"""

ANY = "memref<?x?xf32, strided<[?, ?], offset: ?>>"
DENSE = "memref<?x?xf32>"
ADD = f"add({ANY}, {ANY}, {ANY})"
PRODUCT = f"product({DENSE}, {DENSE}, {DENSE})"
SCALED = "scaled(memref<?xf32>, f32, memref<?xf32>)"


def shared_library(source: str, folder: Path, *flags: str) -> Path:
    """Compile C into a shared library of its own; skips where there is no compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        skip_absent("cc (Debian packages gcc, libc6-dev)")
    (folder / "native.c").write_text(source)
    path = folder / "libnative.so"
    subprocess.run(
        [compiler, "-O1", "-shared", "-fPIC", *flags, "-o", path, folder / "native.c", "-lc"],
        check=True,
    )
    return path


def count(path: Path, name: str) -> int:
    """A counter of `SOURCE`."""
    return ctypes.c_int.in_dll(ctypes.CDLL(str(path)), f"{name}_calls").value
