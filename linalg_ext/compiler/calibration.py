"""All figures of this machine, measured one after another."""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import ml_dtypes
import numpy as np

from linalg_ext import target
from linalg_ext.compiler import compile
from linalg_ext.compiler.tuning.timing import Call, seconds_of, seconds_together
from linalg_ext.runtime import threads
from linalg_ext.target import Level, Target, using
from linalg_ext.target.analytic import analytic
from linalg_ext.target.model import element_bits
from linalg_ext.target.performance import BESIDE_FUNCTIONS, FUNCTIONS, MEASURED, TYPES, Figures

SECONDS, LOAD = "calibration.seconds", "calibration.load"
"""Notes that are left: how long it took, and how many processes wanted a core meanwhile."""

_STEPS = 200_000
"""Multiply-adds of each accumulator in a call."""

_FORKED = 96
"""Size of the matrices whose product threads share: small, and worth waking them."""


def calibrate(machine: Target) -> Target:
    """Return a description of this machine with figures, measured on one thread by default.

    Rates of several threads are not measured on a machine of one core: they are those of one.
    """
    start = time.perf_counter()
    with using(machine), threads.using(1):
        functions = [(name, _function_rate(name)) for name in FUNCTIONS]
        call = call_seconds()
        figures = Figures(
            source=MEASURED,
            levels=tuple(levels(machine)),
            multiply_adds=tuple((dtype, _peak(dtype)) for dtype in TYPES),
            contractions=tuple((dtype, contraction_rate(dtype)) for dtype in TYPES),
            windows=tuple((dtype, window_rate(dtype)) for dtype in TYPES),
            functions=tuple(functions),
            crowding=crowding(dict(functions)),
            scalar=scalar_rate(),
            nest=nest_seconds(),
            loop=loop_seconds(),
            call=call,
            fork=_fork_seconds(machine),
            page=page_seconds(machine),
            page_bytes=machine.page_bytes,
            threads=machine.logical_cores,
        )
    described = replace(machine, figures=figures)
    described = described.with_note(SECONDS, round(time.perf_counter() - start, 2))
    return described.with_note(LOAD, round(os.getloadavg()[0], 2))


def _peak(dtype: str) -> float:
    kind = arithmetic()[dtype]
    count = accumulators()
    factors = aligned(2 * kind.lanes, dtype)
    work = partial(multiply_add_kernel(kind), factors, aligned(count * kind.lanes, dtype), _STEPS)
    return kind.flops * count * _STEPS / seconds_of(work)


def _fork_seconds(machine: Target) -> float:
    """Return the seconds of a product on all threads, less its share of the one-thread time."""
    count = machine.logical_cores
    if count == 1:
        return analytic(machine, is_here=True).fork
    array = np.ones((_FORKED, _FORKED), np.float32)
    work = _call(product(_FORKED, "f32"), [array, array])
    alone = seconds_of(work, clock=time.perf_counter)
    with threads.using(count):
        several = seconds_of(work, clock=time.perf_counter)
    return max(1e-6, several - alone / count)


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
        factors, sums: element types of factors and of sums, in MLIR.
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
        """Return the type of an operand with such elements."""
        return f"vector<{self.bits // element_bits(element)}x{element}>"

    @property
    def lanes(self) -> int:
        """Return the number of sums that one instruction updates."""
        return self.bits // element_bits(self.sums)

    @property
    def flops(self) -> int:
        """Additions and multiplications of one instruction."""
        return 2 * self.depth * self.lanes

    def step(self, total: str) -> str:
        """Return one instruction, in MLIR, that gives `total + %x * %y`."""
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
    machine = target.current()
    kinds = {dtype: Arithmetic(dtype, dtype, machine.vector_bits) for dtype in ("f32", "f64")}
    for dot in machine.dot_products:
        name = dot.left if dot.left == dot.right else f"{dot.left}.{dot.right}"
        if dot.intrinsic and dot.bits <= machine.vector_bits and name not in kinds:
            factors = dot.left if dot.left == "bf16" else f"i{element_bits(dot.left)}"
            kinds[name] = Arithmetic(factors, dot.accumulator, dot.bits, dot.depth, dot.intrinsic)
    return kinds


def accumulators() -> int:
    """Enough to keep every unit busy, and no more than there are registers for."""
    machine = target.current()
    in_flight = machine.fma_units * machine.fma_latency
    return max(1, min(in_flight + in_flight // 2, machine.vector_registers - 3))


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


_ELEMENTS = 16384
"""Elements that functions are taken of: in the second cache with their results."""

_SHORT, _LONG = 8, 40
"""Lengths of two chains; the difference is of the operations alone."""

_OPS = {
    "divide": "arith.divf {x}, %c : f32",
    "simple": "arith.addf {x}, %c : f32",
    "pow": "math.powf {x}, %c : f32",
}
_CROWD = (*["simple"] * 2, "exp", "simple", "tanh", *["simple"] * 5, "sqrt", "simple")
"""The ops of a typical loop with several functions."""

_MAP = "affine_map<(i) -> (i)>"


def crowding(rates: Mapping[str, float]) -> float:
    """Return the factor by which functions take longer where one loop has several of them.

    The loop has simple ops too. The part of their time that stays visible is subtracted. `rates`
    are of each function by itself.
    """
    apart = {name: _ELEMENTS / rate for name, rate in rates.items()}
    simple = BESIDE_FUNCTIONS * _CROWD.count("simple") * apart["simple"]
    functions = sum(apart[name] for name in _CROWD if name != "simple")
    return max(1.0, (_own_seconds([_op(name) for name in _CROWD]) - simple) / functions)


def call_seconds() -> float:
    """Return the seconds of a call of a kernel that does next to nothing."""
    return _seconds(_chain(["arith.addf {x}, %c : f32"], 1), [np.ones(1, np.float32)])


def scalar_rate() -> float:
    """Return the elements a second of a scalar loop: a table that is read at indices."""
    read = "%v1 = tensor.extract %t[%v0] : tensor<1024xf32>"
    text = _elementwise("%t: tensor<1024xf32>, ", "index", _ELEMENTS, [read])
    places = np.arange(_ELEMENTS, dtype=np.int64) * 7 % 1024
    return _ELEMENTS / _seconds(text, [np.ones(1024, np.float32), places])


def loop_seconds() -> float:
    """To begin an innermost loop: many short sums beside few long ones."""
    times = []
    for rows, columns in ((2048, 16), (64, 512)):
        array = np.ones((rows, columns), np.float32)
        times.append((_seconds(_row_sums(rows, columns), [array]), rows))
    (many, most), (few, least) = times
    return max(1e-10, (many - few) / (most - least))


def nest_seconds() -> float:
    """To begin a nest: a long chain of small ones that cannot be fused beside a short chain."""
    array = np.ones((8, 8), np.float32)
    short, long = (_seconds(_small_nests(count), [array]) for count in (2, 34))
    return max(1e-9, (long - short) / 32)


def _function_rate(name: str) -> float:
    """Return the results a second of one of `FUNCTIONS`."""
    if name != "simple":
        return _ELEMENTS / _own_seconds([_op(name)])
    short, long = (_chain_seconds([_op(name)] * count) for count in (_SHORT, _LONG))
    return (_LONG - _SHORT) * _ELEMENTS / max(long - short, 1e-9)


def _op(name: str) -> str:
    return _OPS.get(name, f"math.{name} {{x}} : f32")


def _own_seconds(ops: Sequence[str]) -> float:
    """Return the seconds of the ops of a chain, less half the time of an empty loop.

    The other half overlaps with the ops.
    """
    return max(_chain_seconds(ops) - 0.5 * _chain_seconds(()), 1e-9)


def _chain_seconds(ops: Sequence[str]) -> float:
    array = np.linspace(0.5, 1.5, _ELEMENTS, dtype=np.float32)
    return _seconds(_chain(ops, _ELEMENTS), [array])


def _seconds(text: str, arrays: Sequence[Any]) -> float:
    return seconds_of(_call(text, arrays))


def _call(text: str, arrays: Sequence[Any]) -> Call:
    kernel = compile(text, trusted=True, checked=False)
    return partial(kernel, *arrays, out=kernel(*arrays))


def _chain(ops: Sequence[str], length: int) -> str:
    lines = [f"%v{at + 1} = " + op.format(x=f"%v{at}") for at, op in enumerate(ops)]
    return _elementwise("", "f32", length, lines)


def _elementwise(arguments: str, element: str, length: int, lines: Sequence[str]) -> str:
    """Return a function that makes an f32 of each element of a vector: `%v0`, then `%v1`, ..."""
    vector, results = f"tensor<{length}x{element}>", f"tensor<{length}xf32>"
    body = "\n".join(lines)
    return f"""
    func.func @f({arguments}%vector: {vector}) -> {results} {{
      %c = arith.constant 1.25 : f32
      %e = tensor.empty() : {results}
      %r = linalg.generic {{indexing_maps = [{_MAP}, {_MAP}], iterator_types = ["parallel"]}}
          ins(%vector : {vector}) outs(%e : {results}) {{
      ^bb0(%v0: {element}, %o: f32):
        {body}
        linalg.yield %v{len(lines)} : f32
      }} -> {results}
      return %r : {results}
    }}"""


def _row_sums(rows: int, columns: int) -> str:
    elements, sums = f"tensor<{rows}x{columns}xf32>", f"tensor<{rows}xf32>"
    op = f"linalg.reduce {{ arith.addf }} ins(%x : {elements}) outs(%z : {sums}) dimensions = [1]"
    return _accumulating(f"%x: {elements}", op, sums, "f32")


def _accumulating(arguments: str, op: str, result: str, dtype: str) -> str:
    """Return a function of an op that accumulates into zeros, which it calls `%z`."""
    return f"""
    func.func @f({arguments}) -> {result} {{
      %zero = arith.constant 0.0 : {dtype}
      %e = tensor.empty() : {result}
      %z = linalg.fill ins(%zero : {dtype}) outs(%e : {result}) -> {result}
      %r = {op}
      return %r : {result}
    }}"""


def _small_nests(count: int) -> str:
    """Return ops that each add a value and its transpose: two uses, which no fusion takes."""
    kind, same = "tensor<8x8xf32>", "affine_map<(i, j) -> (i, j)>"
    crossed = "affine_map<(i, j) -> (j, i)>"
    ops = "\n".join(
        f"""%v{at + 1} = linalg.generic {{
          indexing_maps = [{same}, {crossed}, {same}], iterator_types = ["parallel", "parallel"]}}
          ins(%v{at}, %v{at} : {kind}, {kind}) outs(%e : {kind}) {{
        ^bb0(%a: f32, %b: f32, %o: f32):
          %s = arith.addf %a, %b : f32
          linalg.yield %s : f32
        }} -> {kind}"""
        for at in range(count)
    )
    return f"""
    func.func @f(%v0: {kind}) -> {kind} {{
      %e = tensor.empty() : {kind}
      {ops}
      return %v{count} : {kind}
    }}"""


_SIZE = 192
"""The number of rows and of columns of the matrices: three of them fit the second cache."""

_CHANNELS, _IMAGE, _KERNEL = 32, 28, 3


def contraction_rate(dtype: str) -> float:
    """Additions and multiplications a second of a product of square matrices."""
    array = np.ones((_SIZE, _SIZE), _DTYPES[dtype])
    return 2 * _SIZE**3 / _seconds(product(_SIZE, dtype), [array, array])


def product(size: int, dtype: str) -> str:
    """Return a product of square matrices."""
    kind = f"tensor<{size}x{size}x{dtype}>"
    op = f"linalg.matmul ins(%a, %b : {kind}, {kind}) outs(%z : {kind}) -> {kind}"
    return _accumulating(f"%a: {kind}, %b: {kind}", op, kind, dtype)


def window_rate(dtype: str) -> float:
    """Return that rate of a convolution of images, channels first."""
    outer = _IMAGE + _KERNEL - 1
    image, kernel = (1, _CHANNELS, outer, outer), (_CHANNELS, _CHANNELS, _KERNEL, _KERNEL)
    images, kernels, results = (
        f"tensor<{'x'.join(map(str, shape))}x{dtype}>"
        for shape in (image, kernel, (1, _CHANNELS, _IMAGE, _IMAGE))
    )
    ins = f"ins(%x, %k : {images}, {kernels})"
    op = f"linalg.conv_2d_nchw_fchw {ins} outs(%z : {results}) -> {results}"
    text = _accumulating(f"%x: {images}, %k: {kernels}", op, results, dtype)
    flops = 2 * _CHANNELS**2 * _IMAGE**2 * _KERNEL**2
    return flops / _seconds(text, [np.ones(shape, _DTYPES[dtype]) for shape in (image, kernel)])


_UNROLL = 8
"""Registers that are moved in one turn of the loop."""

_MOVED = 8 << 20
"""Bytes of a call: some tenths of a millisecond."""

_FRESH = 4 << 20
"""Bytes of fresh pages that are written to."""


def levels(machine: Target) -> Iterator[Level]:
    """Yield each cache, with arrays of half its size, and memory, with four times the last."""
    sizes = [(f"L{cache.level}", cache.size, cache.size // 2) for cache in machine.caches]
    beyond = min(4 * machine.caches[-1].size, 256 << 20)
    for name, size, footprint in [*sizes, ("memory", 0, beyond)]:
        read = _rate("read", footprint)
        shared = _rate("read", footprint, machine.logical_cores)
        yield Level(name, size, read, _rate("write", footprint), max(read, shared))


def page_seconds(machine: Target) -> float:
    """Seconds to get a page, write to it and return it, without those of a second write."""
    fresh: list[float] = []
    second_writes: list[float] = []
    for _ in range(8):
        start = time.thread_time()
        with mmap.mmap(-1, _FRESH) as memory:
            array = np.frombuffer(memory, np.uint8)[:: machine.page_bytes]
            array[:] = 1
            between = time.thread_time()
            array[:] = 1
            second_writes.append(time.thread_time() - between)
            del array
        fresh.append(time.thread_time() - start - second_writes[-1])
    return max(1e-9, (min(fresh) - min(second_writes)) * machine.page_bytes / _FRESH)


def _rate(kind: str, footprint: int, threads: int = 1) -> float:
    """Return the bytes a second, every thread in a stretch of its own."""
    step = target.current().lanes("f32") * _UNROLL
    length = max(1, footprint // (4 * threads * step)) * step
    repeats = max(1, _MOVED // (4 * length * threads))
    kernel = _kernel(kind)
    works: list[Call] = [
        partial(kernel, aligned(length, "f32"), aligned(step, "f32"), repeats)
        for _ in range(threads)
    ]
    seconds = seconds_of(works[0], rounds=9) if threads == 1 else seconds_together(works)
    moved: float = 4 * length * threads * repeats
    return moved / seconds


@cache
def _kernel(kind: str) -> Any:
    """`f(array, register, repeats)`: all of the array is read, or written, again and again."""
    lanes = target.current().lanes("f32")
    vector, memory = f"vector<{lanes}xf32>", "memref<?xf32>"
    turns = range(_UNROLL)
    places = [f"%p{turn} = arith.addi %i, %o{turn} overflow<nsw> : index" for turn in turns]
    if kind == "read":
        moves = [
            f"%v{turn} = vector.load %array[%p{turn}] : {memory}, {vector}\n"
            f"%n{turn} = arith.addf %b{turn}, %v{turn} : {vector}"
            for turn in turns
        ]
    else:
        moves = [
            f"vector.store %b{turn}, %array[%p{turn}] : {memory}, {vector}\n"
            f"%n{turn} = arith.addf %b{turn}, %zero : {vector}"
            for turn in turns
        ]
    types = ", ".join([vector] * _UNROLL)
    initial = ", ".join(f"%a{turn} = %zero" for turn in turns)
    inner = ", ".join(f"%b{turn} = %a{turn}" for turn in turns)
    yields = ", ".join(f"%n{turn}" for turn in turns)
    offsets = [f"%o{turn} = arith.constant {turn * lanes} : index" for turn in turns]
    stores = [f"vector.store %r#{turn}, %register[%o{turn}] : {memory}, {vector}" for turn in turns]
    newline = "\n"
    text = f"""
    func.func @move(%array: {memory}, %register: {memory}, %repeats: index) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %step = arith.constant {lanes * _UNROLL} : index
      %zero = arith.constant dense<0.0> : {vector}
      {newline.join(offsets)}
      %length = memref.dim %array, %c0 : {memory}
      %r:{_UNROLL} = scf.for %again = %c0 to %repeats step %c1
          iter_args({initial}) -> ({types}) {{
        %s:{_UNROLL} = scf.for %i = %c0 to %length step %step
            iter_args({inner}) -> ({types}) {{
          {newline.join([*places, *moves])}
          scf.yield {yields} : {types}
        }}
        scf.yield {", ".join(f"%s#{turn}" for turn in turns)} : {types}
      }}
      {newline.join(stores)}
      return
    }}"""
    return compile(text, trusted=True, checked=False)
