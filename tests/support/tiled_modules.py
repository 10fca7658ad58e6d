"""Programs of whole-tensor ops for tests of tiling and fusion: written by hand, and at random."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import linalg_ext as lx
from linalg_ext.module import Module

Array = Any
Shape = tuple[int, ...]


def short(module: object) -> str:
    """The text of a module without what counts operands, and with `?` for a dynamic number."""
    text = re.sub(r"(operand|result)SegmentSizes = array<i32: [0-9, ]*>,? ?", "", str(module))
    return text.replace("-9223372036854775808", "?")


def outcome(module: Module | str, arrays: Sequence[Array]) -> list[Array]:
    """What a program gives, on copies of some arrays."""
    parsed = Module.parse(module) if isinstance(module, str) else module
    got = lx.compile(parsed, opt_level=0)(*[array.copy() for array in arrays])
    return list(got) if isinstance(got, tuple) else [got]


def tensor(shape: Shape, *, is_open: bool = False) -> str:
    """The type of a tensor of f32."""
    return "tensor<" + "".join("?x" if is_open else f"{size}x" for size in shape) + "f32>"


@dataclass
class Program:
    """A program that grows op by op.

    Attributes:
        inputs: the shapes of its arguments.
        is_open: whether all of its sizes are known at run time alone.
        lines: its ops.
        values: the name of each value and its shape.
    """

    inputs: Sequence[Shape]
    is_open: bool = False
    lines: list[str] = field(default_factory=list)
    values: list[tuple[str, Shape]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.values += [(f"%x{at}", shape) for at, shape in enumerate(self.inputs)]
        self.lines += ["%zero = arith.constant 0.0 : f32"]

    def add(self, shape: Shape, line: str) -> tuple[str, Shape]:
        """One more value: `{r}` in its line is its name, `{t}` its type, `{e}` an empty tensor."""
        name = f"%v{len(self.values)}"
        if "{e}" in line:
            self.lines.append(f"{name}_e = {self._empty(shape)}")
        self.lines.append(line.format(r=name, t=self.type(shape), e=f"{name}_e"))
        self.values.append((name, shape))
        return self.values[-1]

    def type(self, shape: Shape) -> str:
        """The type of a value of some shape."""
        return tensor(shape, is_open=self.is_open)

    def unary(self, op: str, x: tuple[str, Shape]) -> tuple[str, Shape]:
        """An element-wise op."""
        line = f"{{r}} = linalg.{op} ins({x[0]} : {{t}}) outs({{e}} : {{t}}) -> {{t}}"
        return self.add(x[1], line)

    def binary(self, op: str, x: tuple[str, Shape], y: tuple[str, Shape]) -> tuple[str, Shape]:
        """An element-wise op of two operands of one shape."""
        ins = f"{x[0]}, {y[0]} : {{t}}, {{t}}"
        return self.add(x[1], f"{{r}} = linalg.{op} ins({ins}) outs({{e}} : {{t}}) -> {{t}}")

    def transpose(self, x: tuple[str, Shape]) -> tuple[str, Shape]:
        """A transpose."""
        line = f"{{r}} = linalg.transpose ins({x[0]} : {self.type(x[1])}) outs({{e}} : {{t}})"
        return self.add(x[1][::-1], f"{line} permutation = [1, 0]")

    def sums(self, x: tuple[str, Shape], axis: int) -> tuple[str, Shape]:
        """Sums over an axis."""
        shape = tuple(size for at, size in enumerate(x[1]) if at != axis)
        start = self.add(shape, "{r} = linalg.fill ins(%zero : f32) outs({e} : {t}) -> {t}")
        line = f"{{r}} = linalg.reduce {{{{arith.addf}}}} ins({x[0]} : {self.type(x[1])})"
        return self.add(shape, f"{line} outs({start[0]} : {{t}}) dimensions = [{axis}]")

    def broadcast(self, x: tuple[str, Shape], shape: Shape, axis: int) -> tuple[str, Shape]:
        """A vector along a new axis."""
        line = f"{{r}} = linalg.broadcast ins({x[0]} : {self.type(x[1])}) outs({{e}} : {{t}})"
        return self.add(shape, f"{line} dimensions = [{axis}]")

    def concat(self, parts: Sequence[tuple[str, Shape]], axis: int) -> tuple[str, Shape]:
        """Several side by side."""
        sizes = list(parts[0][1])
        sizes[axis] = sum(shape[axis] for _, shape in parts)
        names = ", ".join(name for name, _ in parts)
        types = ", ".join(self.type(shape) for _, shape in parts)
        line = f"{{r}} = tensor.concat dim({axis}) {names} : ({types}) -> {{t}}"
        return self.add(tuple(sizes), line)

    def pad(self, x: tuple[str, Shape], low: Shape, high: Shape) -> tuple[str, Shape]:
        """Zeros around it."""
        shape = tuple(a + b + c for a, b, c in zip(x[1], low, high, strict=True))
        ends = f"low[{', '.join(map(str, low))}] high[{', '.join(map(str, high))}]"
        arguments = ", ".join(f"%p{at}: index" for at in range(len(shape)))
        body = f"{{{{ ^bb0({arguments}): tensor.yield %zero : f32 }}}}"
        line = f"{{r}} = tensor.pad {x[0]} {ends} {body} : {self.type(x[1])} to {{t}}"
        return self.add(shape, line)

    def slice(
        self, x: tuple[str, Shape], offsets: Shape, sizes: Shape, strides: Shape
    ) -> tuple[str, Shape]:
        """A slice; its sizes are static."""
        lists = "".join(str(list(each)) for each in (offsets, sizes, strides))
        line = f"tensor.extract_slice {x[0]}{lists} : {self.type(x[1])} to {tensor(sizes)}"
        return self._cast(sizes, line, tensor(sizes))

    def gather(self, x: tuple[str, Shape], rows: Sequence[int]) -> tuple[str, Shape]:
        """Rows by their numbers."""
        shape = (len(rows), *x[1][1:])
        count = f"%i{len(self.values)}"
        table = ", ".join(f"[{row}]" for row in rows)
        self.lines.append(
            f"{count} = arith.constant dense<[{table}]> : tensor<{len(rows)}x1xindex>"
        )
        static = (len(rows), *x[1][1:])
        type_ = "tensor<" + f"{len(rows)}x" + ("?x" if self.is_open else f"{static[1]}x") + "f32>"
        line = (
            f"tensor.gather {x[0]}[{count}] gather_dims([0]) : "
            f"({self.type(x[1])}, tensor<{len(rows)}x1xindex>) -> {type_}"
        )
        return self._cast(shape, line, type_)

    def _cast(self, shape: Shape, line: str, type_: str) -> tuple[str, Shape]:
        """A value of an op that gives some static sizes, with none of them where sizes are open."""
        if not self.is_open:
            return self.add(shape, f"{{r}} = {line}")
        self.lines.append(f"%v{len(self.values)}_s = {line}")
        return self.add(shape, f"{{r}} = tensor.cast {{r}}_s : {type_} to {{t}}")

    def text(self, results: Sequence[tuple[str, Shape]]) -> str:
        """The program that gives some of its values."""
        arguments = ", ".join(f"%x{at}: {self.type(shape)}" for at, shape in enumerate(self.inputs))
        types = ", ".join(self.type(shape) for _, shape in results)
        names = ", ".join(name for name, _ in results)
        body = "\n  ".join(self.lines)
        return (
            f"func.func @f({arguments}) -> ({types}) {{\n  {body}\n  return {names} : {types}\n}}"
        )

    def arrays(self, seed: int = 0) -> list[Array]:
        """Whole numbers for its arguments: sums of them are exact in any order."""
        rng = np.random.default_rng(seed)
        return [rng.integers(-9, 9, shape).astype(np.float32) for shape in self.inputs]

    def _empty(self, shape: Shape) -> str:
        if not self.is_open:
            return f"tensor.empty() : {tensor(shape)}"
        sizes: list[str] = []
        for size in shape:
            name = f"%s{len(self.lines)}_{len(sizes)}"
            self.lines.append(self._size(name, size))
            sizes.append(name)
        return f"tensor.empty({', '.join(sizes)}) : {tensor(shape, is_open=True)}"

    def _size(self, name: str, size: int) -> str:
        """A size that only the run knows: that of a value that has it, where there is one."""
        for value, shape in self.values:
            if size in shape:
                axis = shape.index(size)
                self.lines.append(f"{name}_a = arith.constant {axis} : index")
                return f"{name} = tensor.dim {value}, {name}_a : {self.type(shape)}"
        return f"{name} = arith.constant {size} : index"


Build = Callable[[Program], Sequence[tuple[str, Shape]]]
