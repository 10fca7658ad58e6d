"""Machines that code is planned for in tests, whatever the one at hand has."""

from __future__ import annotations

from linalg_ext.transforms.codegen.base.machine import Machine

AVX512 = Machine(vector_bytes=64, vector_registers=32)
AVX2 = Machine(vector_bytes=32, vector_registers=16)
BASELINE = Machine(vector_bytes=16, vector_registers=16)
WITHOUT_FMA = Machine(vector_bytes=16, vector_registers=16, has_fma=False)
