"""Loops of multiply-adds on registers alone: no result of any code comes faster."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from linalg_ext import target
from linalg_ext.compiler import compile
from linalg_ext.target.model import element_bits

Array = np.ndarray[Any, np.dtype[Any]]

_DTYPES = {
    "f32": np.float32,
    "f64": np.float64,
    "bf16": ml_dtypes.bfloat16,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
}
_ALIGNMENT = 4096
"""In bytes: a page, so that arrays lie alike in every run."""


@dataclass(frozen=True)
class Arithmetic:
    """The instruction of a peak.

    Attributes:
        factors, sums: element types of what is multiplied and of what it is added to, in MLIR.
        bits: the width of its operands.
        depth: the number of products that are added to one sum.
        intrinsic: LLVM's name of it; empty for `vector.fma`.
    """

    factors: str
    sums: str
    bits: int
    depth: int = 1
    intrinsic: str = ""

    def vector(self, element: str) -> str:
        """The type of an operand with such elements."""
        return f"vector<{self.bits // element_bits(element)}x{element}>"

    @property
    def lanes(self) -> int:
        """The number of sums that one instruction updates."""
        return self.bits // element_bits(self.sums)

    @property
    def flops(self) -> int:
        """Additions and multiplications of one instruction."""
        return 2 * self.depth * self.lanes

    def step(self, total: str) -> str:
        """One instruction, in MLIR, that gives `total + %x * %y`."""
        factors, sums = self.vector(self.factors), self.vector(self.sums)
        if not self.intrinsic:
            return f"vector.fma %x, %y, {total} : {sums}"
        types = f"({sums}, {factors}, {factors}) -> {sums}"
        return f"func.call @{self.intrinsic}({total}, %x, %y) : {types}"

    def declaration(self) -> str:
        """Return the declaration that a module with the steps needs; empty for `vector.fma`."""
        factors, sums = self.vector(self.factors), self.vector(self.sums)
        if not self.intrinsic:
            return ""
        return f"func.func private @{self.intrinsic}({sums}, {factors}, {factors}) -> {sums}"


def arithmetic() -> dict[str, Arithmetic]:
    """Return the multiply-add instructions of the machine, by the element types of the factors."""
    here = target.current()
    kinds = {dtype: Arithmetic(dtype, dtype, here.vector_bits) for dtype in ("f32", "f64")}
    for dot in here.dot_products:
        name = dot.left if dot.left == dot.right else f"{dot.left}.{dot.right}"
        if dot.intrinsic and dot.bits <= here.vector_bits and name not in kinds:
            factors = dot.left if dot.left == "bf16" else f"i{element_bits(dot.left)}"
            kinds[name] = Arithmetic(factors, dot.accumulator, dot.bits, dot.depth, dot.intrinsic)
    return kinds


def accumulators() -> int:
    """Enough to keep every unit busy, and no more than there are registers for."""
    here = target.current()
    wanted = here.fma_units * here.fma_latency
    return max(1, min(wanted + wanted // 2, here.vector_registers - 3))


@cache
def multiply_add_kernel(kind: Arithmetic) -> Any:
    """`f(factors, result, steps)`: in each step one instruction on each accumulator."""
    count, factors, sums = accumulators(), kind.vector(kind.factors), kind.vector(kind.sums)
    factor_memory, sum_memory = f"memref<?x{kind.factors}>", f"memref<?x{kind.sums}>"
    zero = "0.0" if kind.sums.startswith("f") else "0"
    names = [f"%a{index}" for index in range(count)]
    initial = ", ".join(f"{name} = %zero" for name in names)
    types = ", ".join([sums] * count)
    body = "\n".join(f"%n{index} = {kind.step(name)}" for index, name in enumerate(names))
    stores = "\n".join(
        f"%o{index} = arith.constant {index * kind.lanes} : index\n"
        f"vector.store %r#{index}, %result[%o{index}] : {sum_memory}, {sums}"
        for index in range(count)
    )
    text = f"""
    {kind.declaration()}
    func.func @multiply_add(%factors: {factor_memory}, %result: {sum_memory}, %steps: index) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %second = arith.constant {kind.bits // element_bits(kind.factors)} : index
      %zero = arith.constant dense<{zero}> : {sums}
      %x = vector.load %factors[%c0] : {factor_memory}, {factors}
      %y = vector.load %factors[%second] : {factor_memory}, {factors}
      %r:{count} = scf.for %step = %c0 to %steps step %c1 iter_args({initial}) -> ({types}) {{
        {body}
        scf.yield {", ".join(f"%n{index}" for index in range(count))} : {types}
      }}
      {stores}
      return
    }}"""
    return compile(text, "multiply_add", trusted=True, checked=False)


def aligned(length: int, dtype: str) -> Array:
    """Zeros from the beginning of a page on, every page of them touched."""
    kind = np.dtype(_DTYPES[dtype])
    raw = np.empty(length * kind.itemsize + _ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % _ALIGNMENT
    array: Array = raw[start : start + length * kind.itemsize].view(kind)
    array[:] = 0
    return array
