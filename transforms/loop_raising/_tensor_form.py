"""Structured ops on private buffers, written as ops on tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linalg_ext.bindings import ir, linalg, tensor
from linalg_ext.rewriting import MatchFailure
from linalg_ext.structured.indices import IndexReader
from linalg_ext.structured.mixed import mixed, segments
from linalg_ext.structured.sizes import by_origin, sizes_of
from linalg_ext.symbolic.integers import is_eq
from linalg_ext.transforms.ir_utils.walking import replace_operands, select

_PLACES = ("static_offsets", "static_sizes", "static_strides")
_KNOWN = frozenset(f"memref.{name}" for name in ["subview", "alloca", "load", "store", "dim"])


def why_not_on_tensors(block: ir.Block) -> MatchFailure | None:
    """Return the reason that the ops of a block have no form on tensors; None where they have."""
    for each in block.operations:
        op = each.operation
        for inner in (op, *select(op, lambda _: True)):
            if inner.name not in _KNOWN and inner.name.startswith(("memref.", "scf.for")):
                return MatchFailure(f"a {inner.name} is left of it")
    return None


class TensorForm:
    """The current tensor of each buffer."""

    def __init__(self, known: Mapping[ir.Value, ir.Value]) -> None:
        """Args: known: values of the block that are there already, and which they are."""
        self._tensors: dict[ir.Value, ir.Value] = {}
        self._views: dict[ir.Value, ir.Operation] = {}
        self._values: dict[ir.Value, ir.Value] = dict(known)

    def begin(self, argument: ir.Value, value: ir.Value | None) -> None:
        """Set the value of an argument of the block; for a memref, its first tensor.

        Args:
            argument: an argument of the block.
            value: the value; None for a memref that is written before it is read.
        """
        if value is None:
            self._tensors[argument] = _empty(argument, [])
        elif isinstance(argument.type, ir.MemRefType):
            self._tensors[argument] = value
        else:
            self._values[argument] = value

    def write(self, block: ir.Block) -> None:
        """Write all ops but the last at the insertion point."""
        *ops, _ = [each.operation for each in block.operations]
        for op in ops:
            if not len(op.results) or not all(result in self._values for result in op.results):
                with op.location:
                    self._op(op)

    def tensor(self, buffer: ir.Value) -> ir.Value:
        """Return the current tensor of a buffer, or of a view of one."""
        view = self._views.get(buffer)
        if view is None:
            return self._tensors[buffer]
        whole = self.tensor(view.operands[0])
        if self._is_all(view, whole):
            return whole
        type_ = ir.MemRefType(buffer.type)
        part = ir.RankedTensorType.get(type_.shape, type_.element_type)
        dynamic, known = self._dynamic(view), _known(view)
        return tensor.ExtractSliceOp(part, whole, *dynamic, *known).result

    def element(self, buffer: ir.Value) -> ir.Value:
        """The one element of a buffer of rank 0."""
        return tensor.ExtractOp(self.tensor(buffer), []).result

    def _op(self, op: ir.Operation) -> None:
        operands = list(op.operands)
        match op.name:
            case "linalg.generic":
                self._generic(op)
            case "memref.subview":
                self._views[op.results[0]] = op
            case "memref.alloca":
                self._tensors[op.results[0]] = _empty(op.results[0], self._given(operands))
            case "memref.load":
                at = self._given(operands[1:])
                read = tensor.ExtractOp(self.tensor(operands[0]), at)
                self._values[op.results[0]] = read.result
            case "memref.store":
                (value,), at = self._given(operands[:1]), self._given(operands[2:])
                held = tensor.InsertOp(value, self.tensor(operands[1]), at)
                self._hold(operands[1], held.result)
            case "memref.dim":
                size = tensor.DimOp(self.tensor(operands[0]), *self._given(operands[1:]))
                self._values[op.results[0]] = size.result
            case _:
                clone = op.clone().operation
                replace_operands(clone, self._values)
                self._values.update(zip(op.results, clone.results, strict=True))

    def _generic(self, op: ir.Operation) -> None:
        inputs, outputs = segments(op, 2)
        read = [self._read(value) for value in inputs]
        held = [self._read(value) for value in outputs]
        made = linalg.GenericOp(
            result_tensors=[value.type for value in held if _is_tensor(value)],
            inputs=read,
            outputs=held,
            indexing_maps=op.attributes["indexing_maps"],
            iterator_types=op.attributes["iterator_types"],
        ).operation
        body = op.regions[0].blocks[0]
        block = made.regions[0].blocks.append(*(argument.type for argument in body.arguments))
        given = self._values | dict(zip(body.arguments, block.arguments, strict=True))
        with ir.InsertionPoint(block):
            for each in body.operations:
                clone = each.operation.clone().operation
                replace_operands(clone, given)
                given.update(zip(each.operation.results, clone.results, strict=True))
        for buffer, result in zip(outputs, made.results, strict=True):
            self._hold(buffer, result)

    def _read(self, value: ir.Value) -> ir.Value:
        if isinstance(value.type, ir.MemRefType):
            return self.tensor(value)
        return self._values.get(value, value)

    def _hold(self, buffer: ir.Value, value: ir.Value) -> None:
        """Set the current tensor of a buffer, or of a view of one."""
        view = self._views.get(buffer)
        if view is None:
            self._tensors[buffer] = value
            return
        whole = self.tensor(view.operands[0])
        if not self._is_all(view, whole):
            dynamic, known = self._dynamic(view), _known(view)
            value = tensor.InsertSliceOp(value, whole, *dynamic, *known).result
        self._hold(view.operands[0], value)

    def _dynamic(self, view: ir.Operation) -> tuple[list[ir.Value], list[ir.Value], list[ir.Value]]:
        """Offsets, sizes and strides that are known at run time only."""
        _, offsets, sizes, strides = segments(view, 4)
        return self._given(offsets), self._given(sizes), self._given(strides)

    def _is_all(self, view: ir.Operation, whole: ir.Value) -> bool:
        """Return whether a view is known by its sizes to be all of a tensor."""
        if ir.ShapedType(view.results[0].type).rank != ir.ShapedType(whole.type).rank:
            return False
        read = IndexReader()
        offsets, sizes, strides = (
            [read(each) for each in mixed(view, name, name, given)]
            for name, given in zip(_PLACES, self._dynamic(view), strict=True)
        )
        lengths = zip(map(by_origin, sizes), map(by_origin, sizes_of(whole)), strict=True)
        return (
            all(is_eq(offset, 0) is True for offset in offsets)
            and all(is_eq(stride, 1) is True for stride in strides)
            and all(is_eq(one, other) is True for one, other in lengths)
        )

    def _given(self, values: Sequence[ir.Value]) -> list[ir.Value]:
        return [self._values.get(value, value) for value in values]


def _known(
    view: ir.Operation,
) -> tuple[ir.DenseI64ArrayAttr, ir.DenseI64ArrayAttr, ir.DenseI64ArrayAttr]:
    """Offsets, sizes and strides, with gaps for those that are not known."""
    offsets, sizes, strides = (ir.DenseI64ArrayAttr(view.attributes[name]) for name in _PLACES)
    return offsets, sizes, strides


def _is_tensor(value: ir.Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType)


def _empty(buffer: ir.Value, dynamic: Sequence[ir.Value]) -> ir.Value:
    type_, given = ir.MemRefType(buffer.type), iter(dynamic)
    sizes = [
        next(given) if type_.is_dynamic_dim(axis) else size for axis, size in enumerate(type_.shape)
    ]
    return tensor.EmptyOp(sizes, type_.element_type).result
