"""Random ops with transposes, broadcasts and reshapes around them, as IR and as NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

Arrays = list[np.ndarray[Any, Any]]
MARK = "test.mark"
"""An attribute of the op in the middle, by which it is found again."""


@dataclass
class ArrangedOp:
    """A function of one op, with what is around it.

    Attributes:
        text: the module; its entry is `f`.
        arrays: arguments for it.
        expected: what it gives.
    """

    text: str
    arrays: Arrays
    expected: np.ndarray[Any, Any]

    def __repr__(self) -> str:
        return self.text


@dataclass
class _Writer:
    draw: Any
    element: str
    dynamic: bool
    lines: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    arrays: Arrays = field(default_factory=list)
    count: int = 0

    def fresh(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def type(self, shape: tuple[int, ...], element: str | None = None) -> str:
        dims = "".join("?x" if self.dynamic and n != 1 else f"{n}x" for n in shape)
        return f"tensor<{dims}{element or self.element}>"

    def argument(self, shape: tuple[int, ...]) -> tuple[str, np.ndarray[Any, Any]]:
        name = f"%a{len(self.arguments)}"
        self.arguments.append(f"{name}: {self.type(shape)}")
        # Small whole numbers: sums of products of them are exact in every order.
        count = int(np.prod(shape))
        numbers = (np.arange(count) * 7 + len(self.arrays) * 3) % 11 - 4
        array = numbers.astype(np.float32 if self.element == "f32" else np.int32).reshape(shape)
        self.arrays.append(array)
        return name, array

    def empty(self, shape: tuple[int, ...]) -> str:
        sizes = []
        for size in shape if self.dynamic else ():
            if size != 1:
                name = self.fresh()
                self.lines.append(f"{name} = arith.constant {size} : index")
                sizes.append(name)
        name = self.fresh()
        self.lines.append(f"{name} = tensor.empty({', '.join(sizes)}) : {self.type(shape)}")
        return name

    def zeros(self, shape: tuple[int, ...]) -> str:
        zero, name, empty = self.fresh(), self.fresh(), self.empty(shape)
        number = "0.0" if self.element == "f32" else "0"
        type_ = self.type(shape)
        self.lines += [
            f"{zero} = arith.constant {number} : {self.element}",
            f"{name} = linalg.fill ins({zero} : {self.element}) outs({empty} : {type_}) -> {type_}",
        ]
        return name

    def operand(self, shape: tuple[int, ...], depth: int) -> tuple[str, np.ndarray[Any, Any]]:
        """A value of a shape: an argument, behind up to `depth` arrangements of elements."""
        ways = ["plain"]
        if depth:
            ways += ["transpose", "broadcast", "fill"] if shape else []
            ways += ["generic"] if shape else []
            ways += ["expand"] if 1 in shape and not self.dynamic else []
        way = self.draw(st.sampled_from(ways))
        if way == "plain":
            return self.argument(shape)
        if way == "fill":
            return self.filled(shape)
        if way == "expand":
            return self.expanded(shape, depth)
        if way == "transpose":
            return self.transposed(shape, depth)
        dims = sorted(self.draw(st.sets(st.integers(0, len(shape) - 1))))
        kept = tuple(n for axis, n in enumerate(shape) if axis not in dims)
        if way == "broadcast":
            source, array = self.operand(kept, depth - 1)
            return self.broadcast(source, array, shape, dims)
        units = tuple(1 if axis in dims else n for axis, n in enumerate(shape))
        source, array = self.operand(units, depth - 1)
        return self.copied(source, array, shape, dims)

    def filled(self, shape: tuple[int, ...]) -> tuple[str, np.ndarray[Any, Any]]:
        scalar, name, empty = self.fresh(), self.fresh(), self.empty(shape)
        number = "3.0" if self.element == "f32" else "3"
        type_ = self.type(shape)
        self.lines += [
            f"{scalar} = arith.constant {number} : {self.element}",
            f"{name} = linalg.fill ins({scalar} : {self.element}) outs({empty} : {type_}) "
            f"-> {type_}",
        ]
        return name, np.full(shape, 3, self.argument_dtype())

    def argument_dtype(self) -> Any:
        return np.float32 if self.element == "f32" else np.int32

    def expanded(self, shape: tuple[int, ...], depth: int) -> tuple[str, np.ndarray[Any, Any]]:
        short = tuple(n for n in shape if n != 1)
        source, array = self.operand(short, depth - 1)
        groups: list[list[int]] = []
        for axis, size in enumerate(shape):
            if groups and (size == 1 or all(shape[a] == 1 for a in groups[-1])):
                groups[-1].append(axis)
            elif short:
                groups.append([axis])
        name = self.fresh()
        self.lines.append(
            f"{name} = tensor.expand_shape {source} {groups} output_shape {list(shape)} : "
            f"{self.type(short)} into {self.type(shape)}"
        )
        return name, array.reshape(shape)

    def transposed(self, shape: tuple[int, ...], depth: int) -> tuple[str, np.ndarray[Any, Any]]:
        order = self.draw(st.permutations(range(len(shape))))
        before = [0] * len(shape)
        for axis, source_axis in enumerate(order):
            before[source_axis] = shape[axis]
        source, array = self.operand(tuple(before), depth - 1)
        return self.transpose(source, array, order)

    def transpose(
        self, source: str, array: np.ndarray[Any, Any], order: list[int]
    ) -> tuple[str, np.ndarray[Any, Any]]:
        result = array.transpose(order)
        name, empty = self.fresh(), self.empty(result.shape)
        self.lines.append(
            f"{name} = linalg.transpose ins({source} : {self.type(array.shape)}) "
            f"outs({empty} : {self.type(result.shape)}) permutation = {list(order)}"
        )
        return name, result

    def broadcast(
        self, source: str, array: np.ndarray[Any, Any], shape: tuple[int, ...], dims: list[int]
    ) -> tuple[str, np.ndarray[Any, Any]]:
        name, empty = self.fresh(), self.empty(shape)
        self.lines.append(
            f"{name} = linalg.broadcast ins({source} : {self.type(array.shape)}) "
            f"outs({empty} : {self.type(shape)}) dimensions = {dims}"
        )
        return name, np.broadcast_to(np.expand_dims(array, tuple(dims)), shape)

    def copied(
        self, source: str, array: np.ndarray[Any, Any], shape: tuple[int, ...], dims: list[int]
    ) -> tuple[str, np.ndarray[Any, Any]]:
        """A broadcast along dimensions of one element, as exporters write it."""
        name, empty = self.fresh(), self.empty(shape)
        all_ = ", ".join(f"d{axis}" for axis in range(len(shape)))
        read = ", ".join("0" if axis in dims else f"d{axis}" for axis in range(len(shape)))
        parallel = ", ".join(['"parallel"'] * len(shape))
        type_ = self.type(shape)
        self.lines.append(
            f"{name} = linalg.generic {{indexing_maps = [affine_map<({all_}) -> ({read})>, "
            f"affine_map<({all_}) -> ({all_})>], iterator_types = [{parallel}]}} "
            f"ins({source} : {self.type(array.shape)}) outs({empty} : {type_}) {{\n"
            f"^bb0(%x: {self.element}, %y: {self.element}):\n"
            f"linalg.yield %x : {self.element}\n}} -> {type_}"
        )
        return name, np.broadcast_to(array, shape)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "abs": np.abs,
    "square": np.square,
}
CONTRACTIONS = {
    "linalg.matmul": "mk,kn->mn",
    "linalg.batch_matmul": "bmk,bkn->bmn",
    "linalg.batch_reduce_matmul": "bmk,bkn->mn",
    "linalg.contract": "mbk,kbn->nmb",
    "linalg_ext.contract": "bmk,kn,m->nb",
    "linalg.generic": "bmk,kn->nm",
}


@st.composite
def arranged_ops(draw: st.DrawFn, *, elementwise: bool) -> ArrangedOp:
    """An op of the kinds that maps are folded into, its operands and its result arranged."""
    writer = _Writer(draw, draw(st.sampled_from(["f32", "i32"])), draw(st.booleans()))
    result, array = _elementwise(writer) if elementwise else _contraction(writer)
    way = draw(st.sampled_from(["plain", "transpose", "transpose", "broadcast"]))
    # Upstream's parser dies on a transpose of rank 0.
    if way == "transpose" and array.ndim:
        result, array = writer.transpose(result, array, draw(st.permutations(range(array.ndim))))
    elif way == "broadcast" and not writer.dynamic:
        result, array = writer.broadcast(result, array, (*array.shape, 3), [array.ndim])
    lines = "\n".join(writer.lines)
    text = (
        f"func.func @f({', '.join(writer.arguments)}) -> {writer.type(array.shape)} {{\n{lines}\n"
        f"return {result} : {writer.type(array.shape)}\n}}"
    )
    return ArrangedOp(text, writer.arrays, np.array(array))


def _elementwise(writer: _Writer) -> tuple[str, np.ndarray[Any, Any]]:
    # Upstream has neither the absolute value nor the square of integers as a named op.
    names = sorted({*FUNCTIONS} - ({"abs", "square"} if writer.element == "i32" else set()))
    name = writer.draw(st.sampled_from(names))
    function = FUNCTIONS[name]
    shape = tuple(writer.draw(st.lists(st.sampled_from([1, 2, 3]), min_size=0, max_size=3)))
    operands = [writer.operand(shape, 3) for _ in range(1 if name in ("abs", "square") else 2)]
    if len(operands) == 2 and writer.draw(st.booleans()):
        operands[1] = operands[0]
    result, empty, type_ = writer.fresh(), writer.empty(shape), writer.type(shape)
    writer.lines.append(
        f"{result} = linalg.{name} {{{MARK}}} ins({', '.join(value for value, _ in operands)} : "
        f"{', '.join([type_] * len(operands))}) outs({empty} : {type_}) -> {type_}"
    )
    return result, function(*(array for _, array in operands))


def _contraction(writer: _Writer) -> tuple[str, np.ndarray[Any, Any]]:
    name = writer.draw(st.sampled_from(sorted(CONTRACTIONS)))
    einsum = CONTRACTIONS[name]
    sizes = {label: writer.draw(st.sampled_from([1, 2, 3])) for label in "bmkn"}
    read, _, written = einsum.partition("->")
    operands = [
        writer.operand(tuple(sizes[label] for label in term), 2) for term in read.split(",")
    ]
    shape = tuple(sizes[label] for label in written)
    reads = writer.draw(st.booleans())
    if reads:
        init, before = writer.argument(shape)
    else:
        init, before = writer.zeros(shape), np.zeros(shape, writer.argument_dtype())
    result = writer.fresh()
    values = [*(value for value, _ in operands), init]
    types = [*(writer.type(array.shape) for _, array in operands), writer.type(shape)]
    terms = [*read.split(","), written]
    dims = dict.fromkeys("".join([written, *read.split(",")]))
    maps = ", ".join(f"affine_map<({', '.join(dims)}) -> ({', '.join(term)})>" for term in terms)
    given = {"ins": ", ".join(values[:-1]), "types": ", ".join(types[:-1])}
    tail = f"ins({given['ins']} : {given['types']}) outs({init} : {types[-1]})"
    if name == "linalg_ext.contract":
        segments = [1] * len(operands) + [0] * (25 - len(operands))
        writer.lines.append(
            f'{result} = "linalg_ext.contract"({", ".join(values)}) {{{MARK}, kind = "+*", '
            f"indexing_maps = [{maps}], operandSegmentSizes = array<i32: "
            f"{', '.join(map(str, [*segments, 1]))}>}} : ({', '.join(types)}) -> {types[-1]}"
        )
    elif name == "linalg.generic":
        writer.lines.append(_generic(result, writer.element, maps, dims, written, tail, types[-1]))
    else:
        carried = f"indexing_maps = [{maps}] " if name == "linalg.contract" else ""
        writer.lines.append(f"{result} = {name} {carried}{{{MARK}}} {tail} -> {types[-1]}")
    product = np.einsum(einsum, *(array for _, array in operands))
    return result, (product + before).astype(writer.argument_dtype())


def _generic(
    result: str, element: str, maps: str, dims: dict[str, None], written: str, tail: str, type_: str
) -> str:
    kinds = ", ".join('"parallel"' if dim in written else '"reduction"' for dim in dims)
    suffix = "f" if element == "f32" else "i"
    return (
        f"{result} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} "
        f"{tail} attrs = {{{MARK}}} {{\n^bb0(%x: {element}, %y: {element}, %z: {element}):\n"
        f"%p = arith.mul{suffix} %x, %y : {element}\n%s = arith.add{suffix} %z, %p : {element}\n"
        f"linalg.yield %s : {element}\n}} -> {type_}"
    )
