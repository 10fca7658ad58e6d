"""Axes of a function's arguments and results that can be split among blocks, by its IR.

Axes that ops tie together, element for element, are one dimension. In `tanh(x @ w + b)` the rows of
`x` and of the result are one; the columns of `w`, `b` and the result are another. A dimension must
be whole where an op needs more than the elements at one position along it. Such an op sums over
them, slices, joins or reshapes them, or reads the position; an unknown op counts as one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.structured.maps import groups_of, indexing_maps, split_operands
from linalg_ext.structured.operands import ops_inside
from linalg_ext.symbolic.affine import AffineConst, AffineDim

Node = tuple[int, int]
"""An axis: the number of a value, and the place among its axes."""


@dataclass(frozen=True)
class FunctionAxes:
    """The dimensions of a function.

    Attributes:
        arguments, results: for each of them the dimension of each axis; () if it is not a tensor.
        whole: the dimensions that must be whole, and why.
    """

    arguments: tuple[tuple[str, ...], ...]
    results: tuple[tuple[str, ...], ...]
    whole: Mapping[str, str]


def axes_of(function: ir.Operation) -> FunctionAxes:
    """Return the dimensions of a `func.func` with one block, of tensors."""
    return _Reader(function).axes()


class _Reader:
    def __init__(self, function: ir.Operation) -> None:
        self._parents: dict[Node, Node] = {}
        self._whole: dict[Node, str] = {}
        self._numbers: dict[ir.Value, int] = {}
        blocks = list(function.regions[0].blocks)
        self._arguments = list(blocks[0].arguments)
        self._returned: list[ir.Value] = []
        for op in blocks[0].operations:
            self._read(op.operation)
        if len(blocks) > 1:
            self._keep_all_whole(self._arguments, "the function has branches")

    def axes(self) -> FunctionAxes:
        names: dict[Node, str] = {}

        def named(values: Sequence[ir.Value]) -> tuple[tuple[str, ...], ...]:
            roots = [[self._root(node) for node in self._axes(value)] for value in values]
            return tuple(
                tuple(names.setdefault(root, f"d{len(names)}") for root in own) for own in roots
            )

        self._check_repeated()
        arguments, results = named(self._arguments), named(self._returned)
        whole: dict[str, str] = {}
        for node, why in self._whole.items():
            if (name := names.get(self._root(node))) is not None:
                whole.setdefault(name, why)
        return FunctionAxes(arguments, tuple(map(_distinct, results)), whole)

    def _check_repeated(self) -> None:
        """Keep whole a dimension that a tensor has twice: blocks off the diagonal would be lost."""
        for value in list(self._numbers):
            nodes = self._axes(value)
            roots = [self._root(node) for node in nodes]
            self._keep_whole(
                (r for r in roots if roots.count(r) > 1),
                "two axes of an array run along the dimension",
            )

    def _axes(self, value: ir.Value) -> list[Node]:
        if not isinstance(value.type, ir.RankedTensorType):
            return []
        number = self._numbers.setdefault(value, len(self._numbers))
        return [(number, axis) for axis in range(ir.ShapedType(value.type).rank)]

    def _root(self, node: Node) -> Node:
        while (parent := self._parents.get(node, node)) != node:
            node = parent
        return node

    def _tie(self, first: Node, second: Node) -> None:
        first, second = self._root(first), self._root(second)
        if first != second:
            self._parents[second] = first

    def _tie_values(self, first: ir.Value, second: ir.Value) -> None:
        for first_axis, second_axis in zip(self._axes(first), self._axes(second), strict=True):
            self._tie(first_axis, second_axis)

    def _keep_whole(self, nodes: Iterable[Node], why: str) -> None:
        for node in nodes:
            self._whole.setdefault(node, why)

    def _keep_all_whole(self, values: Iterable[ir.Value], why: str) -> None:
        for value in values:
            self._keep_whole(self._axes(value), why)

    def _read(self, op: ir.Operation) -> None:
        self._check_elements(op)
        if (reader := _READERS.get(op.name)) is not None:
            reader(self, op)
        elif op.name.startswith("linalg.") and len(op.regions) == 1 and (maps := _maps(op)):
            self._read_structured(op, maps)
        elif op.name.startswith(("arith.", "math.", "complex.")) and not op.regions:
            self._read_elementwise(op)
        else:
            values = [*op.operands, *op.results]
            self._keep_all_whole(values, f"{op.name} may need all of it")

    def _read_return(self, op: ir.Operation) -> None:
        self._returned = list(op.operands)

    def _check_elements(self, op: ir.Operation) -> None:
        """Keep whole the axes that the body of an op reads anywhere, or reads the position along.

        A gather, for example, reads its operand anywhere.
        """
        for inner in ops_inside(op, pre_order=True):
            self._keep_all_whole(inner.operands, f"{inner.name} in {op.name} reads it anywhere")
            if inner.name == "linalg.index" and (maps := _maps(op)):
                dim = AffineDim(f"d{ir.IntegerAttr(inner.attributes['dim']).value}")
                for value, map in zip(op.operands, maps, strict=False):
                    nodes = zip(self._axes(value), map.results, strict=False)
                    self._keep_whole(
                        (n for n, i in nodes if i == dim),
                        "an op counts positions along the dimension",
                    )

    def _read_dim(self, op: ir.Operation) -> None:
        users = {use.owner.operation.name for use in op.results[0].uses}
        if users - {"tensor.empty"}:
            self._keep_all_whole([op.operands[0]], "the function computes with the size")

    def _read_constant(self, op: ir.Operation) -> None:
        value = op.attributes["value"]
        if not (isinstance(value, ir.DenseElementsAttr) and value.is_splat):
            self._keep_all_whole(op.results, "the dimension meets an array of constants")

    def _read_slice(self, op: ir.Operation) -> None:
        """Tie axes of which the slice has all; keep the others whole."""
        is_insert = op.name == "tensor.insert_slice"
        large = op.operands[1] if is_insert else op.operands[0]
        small = op.operands[0] if is_insert else op.results[0]
        if is_insert:
            self._tie_values(large, op.results[0])
        offsets, sizes, strides = (
            list(ir.DenseI64ArrayAttr(op.attributes[name]))
            for name in ("static_offsets", "static_sizes", "static_strides")
        )
        shape = ir.ShapedType(large.type).shape
        inner = self._axes(small)
        is_whole = [
            (offset, stride) == (0, 1) and size == extent and extent >= 0
            for offset, size, stride, extent in zip(offsets, sizes, strides, shape, strict=True)
        ]
        if len(inner) == len(is_whole):
            for outer_axis, axis, is_all in zip(self._axes(large), inner, is_whole, strict=True):
                if is_all:
                    self._tie(outer_axis, axis)
                else:
                    reason = "a part of the dimension is taken, or put in"
                    self._keep_whole((outer_axis, axis), reason)
        else:
            self._keep_all_whole([large, small], "a part of the dimension is taken, or put in")

    def _read_reshape(self, op: ir.Operation) -> None:
        """Tie axes that only gain or lose axes of size 1; keep the others whole."""
        is_collapse = op.name == "tensor.collapse_shape"
        wide, narrow = op.operands[0], op.results[0]
        if not is_collapse:
            wide, narrow = narrow, wide
        shape = ir.ShapedType(wide.type).shape
        wide_axes, narrow_axes = self._axes(wide), self._axes(narrow)
        for node, group in zip(narrow_axes, groups_of(op), strict=False):
            longer = [axis for axis in group if shape[axis] != 1]
            if len(longer) == 1:
                self._tie(wide_axes[longer[0]], node)
            elif longer:
                self._keep_whole(
                    (node, *(wide_axes[axis] for axis in group)), "the dimension is reshaped"
                )

    def _read_structured(self, op: ir.Operation, maps: Sequence[Any]) -> None:
        _, destinations = split_operands(op)
        written = [
            {index.name for index in map.results if isinstance(index, AffineDim)}
            for map in maps[-len(destinations) :]
        ]
        values = list(op.operands)
        owner: dict[str, Node] = {}
        for value, map in zip(values, maps, strict=True):
            for node, index in zip(self._axes(value), map.results, strict=False):
                if isinstance(index, AffineDim):
                    self._tie(owner.setdefault(index.name, node), node)
                    if not all(index.name in dims for dims in written):
                        self._keep_whole((node,), f"{op.name} reduces over the dimension")
        for value, map in zip(values, maps, strict=True):
            for node, index in zip(self._axes(value), map.results, strict=False):
                if not isinstance(index, AffineDim | AffineConst):
                    loops = [owner[dim] for dim in index.dims if dim in owner]
                    self._keep_whole((node, *loops), f"{op.name} reads the dimension at {index}")
        for destination, result in zip(destinations, op.results, strict=False):
            self._tie_values(destination, result)

    def _read_elementwise(self, op: ir.Operation) -> None:
        values = [value for value in (*op.operands, *op.results) if self._axes(value)]
        shapes = {tuple(ir.ShapedType(value.type).shape) for value in values}
        if len(shapes) > 1:
            self._keep_all_whole(values, f"{op.name} has operands of several shapes")
            return
        for value in values[1:]:
            self._tie_values(values[0], value)


_READERS: Mapping[str, Callable[[_Reader, ir.Operation], None]] = {
    "arith.constant": _Reader._read_constant,
    "func.return": _Reader._read_return,
    "tensor.collapse_shape": _Reader._read_reshape,
    "tensor.dim": _Reader._read_dim,
    "tensor.empty": lambda *_: None,  # the axes of its result are new
    "tensor.expand_shape": _Reader._read_reshape,
    "tensor.extract_slice": _Reader._read_slice,
    "tensor.insert_slice": _Reader._read_slice,
}


def _distinct(dims: tuple[str, ...]) -> tuple[str, ...]:
    """Return the dimensions of a result, with other names for repeated ones, which are whole."""
    return tuple(
        dim if dim not in dims[:axis] else f"{dim}, axis {axis}" for axis, dim in enumerate(dims)
    )


def _maps(op: ir.Operation) -> list[Any]:
    return indexing_maps(op) if op.name.startswith("linalg.") else []


def same_but_for_sizes(
    left: ir.Operation, right: ir.Operation, *, ignore_maps: bool = False
) -> bool:
    """Return whether two functions are the same, apart from the sizes of their tensors.

    A size that a function computes with is a constant in it, which differs at other sizes.

    Args:
        ignore_maps: whether indexing maps may differ.
    """
    ignored = _SIZES | {"indexing_maps"} if ignore_maps else _SIZES
    left_ops, right_ops = (ops_inside(op, pre_order=True) for op in (left, right))
    return len(left_ops) == len(right_ops) and all(
        _is_alike(*pair, ignored) for pair in zip(left_ops, right_ops, strict=True)
    )


_SIZES = frozenset({"static_sizes", "static_output_shape"})
"""Attributes that state the sizes of a result, and nothing else."""


def _is_alike(left: ir.Operation, right: ir.Operation, ignored: frozenset[str]) -> bool:
    left_attributes, right_attributes = (dict(op.attributes.items()) for op in (left, right))
    if left.name != right.name or left_attributes.keys() != right_attributes.keys():
        return False
    for name, attribute in left_attributes.items():
        if name in ignored or str(attribute) == str(right_attributes[name]):
            continue
        splat = [_splat(value) for value in (attribute, right_attributes[name])]
        if splat[0] is None or splat[0] != splat[1]:
            return False
    return len(left.operands) == len(right.operands)


def _splat(attribute: ir.Attribute) -> str | None:
    if isinstance(attribute, ir.DenseElementsAttr) and attribute.is_splat:
        return str(attribute.get_splat_value())
    return None
