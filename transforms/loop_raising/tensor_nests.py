"""Nests of loops that carry tensors, or read them element by element, raised to structured ops.

A nest becomes a function of loops on buffers, one buffer for each tensor:

    %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %init) -> (tensor<?xf32>) {
      %x = tensor.extract %a[%i] : tensor<?xf32>
      %y = math.exp %x : f32
      %u = tensor.insert %y into %t[%i] : tensor<?xf32>
      scf.yield %u : tensor<?xf32>
    }

is, of a buffer `%t` that begins as `%init`:

    scf.for %i = %c0 to %n step %c1 {
      %x = memref.load %a[%i] : memref<?xf32>
      %y = math.exp %x : f32
      memref.store %y, %t[%i] : memref<?xf32>
    }

That is the same where each tensor with an element put in takes the place of the one before, which
has no further readers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from linalg_ext.bindings import func, ir, linalg, memref, scf, tensor
from linalg_ext.dialects.gml_st.ir.sets import is_defined_inside
from linalg_ext.rewriting import MatchFailure, Report
from linalg_ext.structured.indices import IndexReader
from linalg_ext.structured.mixed import mixed, segments
from linalg_ext.structured.operands import producer
from linalg_ext.structured.sizes import by_origin, sizes_of
from linalg_ext.symbolic.integers import is_eq
from linalg_ext.transforms.ir_utils.walking import copied, is_unused, operations, replace_op

from ._bands import FOR, is_pure, nested, read_values
from .accumulate_in_memory import accumulate, expanded
from .distribute_loops import distribute_loops
from .raising import is_on_tensors, is_tensor, outermost, raise_nests, with_location


def raise_tensor_nests(root: ir.Operation, report: Report) -> None:
    """Raise the nests on tensors below an op, wherever they stand.

    A nest becomes one on buffers, in a module of its own. Where no loop of that is left, its ops
    come back on tensors.
    """
    for loop in outermost(root):
        _raise(loop, report)


def _raise(loop: ir.Operation, report: Report) -> None:
    if not is_on_tensors(loop):
        for inner in outermost(loop):
            _raise(inner, report)
        return
    loops = len(operations(loop, [FOR])) + 1
    report.matched[FOR] += 1
    failure = _raised(loop)
    if failure is None:
        report.changed[FOR] += loops
        return
    report.leave(FOR, failure.reason)
    for inner in outermost(loop):
        _raise(inner, report)


def _raised(loop: ir.Operation) -> MatchFailure | None:
    """Replace a nest by structured ops; return why not, if impossible."""
    form = buffer_form(loop)
    if isinstance(form, MatchFailure):
        return MatchFailure(with_location(loop, form.reason))
    module = form.module.operation
    accumulated, raised = Report(""), Report("")
    with module.context:
        accumulate(module, accumulated, expanded)
    reports = [accumulated, distribute_loops.apply(module), raised]
    raise_nests(module, raised)
    if operations(module, [FOR]):
        reasons = sorted({reason for report in reports for reason in report.left.get(FOR, ())})
        return MatchFailure("; ".join(reasons))
    failure = why_not_on_tensors(form.block)
    if failure is not None:
        return MatchFailure(with_location(loop, failure.reason))
    block = loop.block
    stood = {op.operation for op in block.operations}
    with loop.location, ir.InsertionPoint(loop):
        written = TensorForm(form.known)
        for argument, origin in zip(form.block.arguments, form.origins, strict=True):
            written.begin(argument, origin)
        written.write(form.block)
        results = [
            written.tensor(buffer) if is_tensor(result) else written.element(buffer)
            for result, buffer in zip(loop.results, form.results, strict=True)
        ]
    written_ops = [op.operation for op in block.operations if op.operation not in stood]
    for op in reversed(written_ops):
        if not any(result in results or not is_unused(result) for result in op.results):
            op.erase()
    replace_op(loop, *results)
    return None


_NAME = "linalg_ext.nest"


@dataclass
class _Buffer:
    """The buffer of a tensor, and of those that take its place.

    Attributes:
        value: a memref.
        is_carried: True where elements may be put in.
        version: the number of times that they were, or may have been.
    """

    value: ir.Value
    is_carried: bool
    version: int = 0


@dataclass
class BufferForm:
    """The function of a nest, and the values outside of it that its own stand for.

    Attributes:
        module: of one function.
        origins: the value outside of each argument of the function: a tensor, whose elements it
            begins with, or another value. None: it holds a result and begins as nothing.
        results: the arguments that hold the results of the nest, in order.
        known: the values that were recomputed, and the values outside that they equal.
    """

    module: ir.Module
    origins: list[ir.Value | None] = field(default_factory=list)
    results: list[ir.Value] = field(default_factory=list)
    known: dict[ir.Value, ir.Value] = field(default_factory=dict)

    @property
    def block(self) -> ir.Block:
        """The body of the function."""
        return self.module.body.operations[0].operation.regions[0].blocks[0]


def buffer_form(loop: ir.Operation) -> BufferForm | MatchFailure:
    """Return the nest of a loop on buffers, or why buffers would change the program."""
    with loop.context, loop.location:
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            function = func.FuncOp(_NAME, ([], []))
        function.add_entry_block()
        writer = _Writer(BufferForm(module), loop)
        try:
            writer.write()
        except _NotInPlaceError as error:
            return MatchFailure(error.reason)
        types = [argument.type for argument in writer.form.block.arguments]
        function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, []))
    return writer.form


class _NotInPlaceError(Exception):
    """A tensor of the nest is not one buffer."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class _Writer:
    def __init__(self, form: BufferForm, nest: ir.Operation) -> None:
        self.form = form
        self._block = form.block
        self._nest = nest
        self._made: ir.Operation | None = None
        self._beginnings: dict[ir.Value, _Buffer] = {}
        self._tensors: dict[ir.Value, tuple[_Buffer, int]] = {}
        self._values: dict[ir.Value, ir.Value] = {}

    def write(self) -> None:
        """Write the nest, and the stores of its scalar results."""
        inits = [value for value in list(self._nest.operands)[3:] if is_tensor(value)]
        buffers = [_Buffer(self._argument(_buffer_type(init), init), True) for init in inits]
        self._beginnings = dict(zip(inits, buffers, strict=True))
        with ir.InsertionPoint(self._block):
            self._loop(self._nest, buffers)
            for result in self._nest.results:
                if is_tensor(result):
                    self.form.results.append(self._tensors[result][0].value)
                    continue
                buffer = self._argument(ir.MemRefType.get([], result.type), None)
                memref.StoreOp(self._values[result], buffer, [])
                self.form.results.append(buffer)
            func.ReturnOp([])

    def _loop(self, loop: ir.Operation, buffers: Sequence[_Buffer]) -> None:
        lower, upper, step, *carried = loop.operands
        body = loop.regions[0].blocks[0]
        *ops, yielding = [op.operation for op in body.operations]
        iv, *arguments = body.arguments
        inits = [self._scalar(value) for value in carried if not is_tensor(value)]
        copy = scf.ForOp(self._scalar(lower), self._scalar(upper), self._scalar(step), inits)
        self._made = self._made or copy.operation
        for name in set(loop.attributes) - set(copy.operation.attributes):
            copy.operation.attributes[name] = loop.attributes[name]
        self._values[iv] = copy.induction_variable
        tensors = [value for value in arguments if is_tensor(value)]
        scalars = [value for value in arguments if not is_tensor(value)]
        self._values.update(zip(scalars, copy.inner_iter_args, strict=True))
        for argument, buffer in zip(tensors, buffers, strict=True):
            # The initial tensor is another one from the second iteration on.
            buffer.version += 1
            self._tensors[argument] = (buffer, buffer.version)
        with ir.InsertionPoint(copy.body):
            for op in ops:
                self._op(op)
            scf.YieldOp(
                [self._scalar(value) for value in yielding.operands if not is_tensor(value)]
            )
        handed = [self._tensors.get(value) for value in yielding.operands if is_tensor(value)]
        if handed != [(buffer, buffer.version) for buffer in buffers]:
            raise _NotInPlaceError("the loop yields another tensor than the one that it carries")
        self._tensors.update(
            (result, (buffer, buffer.version))
            for result, buffer in zip(filter(is_tensor, loop.results), buffers, strict=True)
        )
        scalar_results = [result for result in loop.results if not is_tensor(result)]
        self._values.update(zip(scalar_results, copy.operation.results, strict=True))

    def _op(self, op: ir.Operation) -> None:
        operands = list(op.operands)
        with op.location:
            match op.name:
                case "scf.for":
                    self._loop(
                        op, [self._carried_buffer(value) for value in operands if is_tensor(value)]
                    )
                case "tensor.extract":
                    indices = [self._scalar(value) for value in operands[1:]]
                    read = memref.LoadOp(self._current(operands[0]).value, indices)
                    self._values[op.results[0]] = read.result
                case "tensor.insert":
                    buffer = self._carried_buffer(operands[1])
                    indices = [self._scalar(value) for value in operands[2:]]
                    memref.StoreOp(self._scalar(operands[0]), buffer.value, indices)
                    buffer.version += 1
                    self._tensors[op.results[0]] = (buffer, buffer.version)
                case "tensor.dim":
                    self._values[op.results[0]] = self._size(op)
                case _:
                    self._clone(op)

    def _clone(self, op: ir.Operation) -> None:
        values = read_values([op])
        if any(map(is_tensor, [*values, *op.results])):
            raise _NotInPlaceError(f"{op.name} in it is about whole tensors")
        if not is_pure(op):
            raise _NotInPlaceError(f"{op.name} in it does more than compute")
        for value in values:
            if not any(
                is_defined_inside(value, block) for region in op.regions for block in region
            ):
                self._scalar(value)
        copied(op, self._values)

    def _carried_buffer(self, tensor: ir.Value) -> _Buffer:
        if tensor not in self._tensors or not self._tensors[tensor][0].is_carried:
            raise _NotInPlaceError(
                "the body inserts elements into a tensor that the loop does not carry"
            )
        return self._current(tensor)

    def _current(self, tensor: ir.Value) -> _Buffer:
        if tensor not in self._tensors:
            if is_defined_inside(tensor, self._nest.regions[0].blocks[0]):
                raise _NotInPlaceError("the body makes tensors of its own")
            buffer = _Buffer(self._argument(_buffer_type(tensor), tensor), False)
            self._tensors[tensor] = (buffer, 0)
        buffer, version = self._tensors[tensor]
        if version != buffer.version:
            raise _NotInPlaceError("the body reads a tensor as it was before an insertion")
        return buffer

    def _size(self, op: ir.Operation) -> ir.Value:
        """Return the size of a tensor: all that take its place are as large."""
        tensor, axis = op.operands
        if tensor in self._tensors:
            buffer, _ = self._tensors[tensor]
        else:
            buffer = self._beginnings.get(tensor) or self._current(tensor)
        return memref.DimOp(buffer.value, self._scalar(axis)).result

    def _scalar(self, value: ir.Value) -> ir.Value:
        """Return the replacement of a value that is not a tensor."""
        if value not in self._values:
            self._values[value] = self._from_outside(value)
        return self._values[value]

    def _from_outside(self, value: ir.Value) -> ir.Value:
        """Return a value from outside: recomputed, so that it is known, or an argument."""
        op = producer(value)
        ip = ir.InsertionPoint(self._made) if self._made else ir.InsertionPoint(self._block)
        if op is not None and op.name == "tensor.dim":
            with ip:
                size = self._size(op)
            self.form.known[size] = value
            return size
        if op is None or len(op.regions) or not is_pure(op) or any(map(is_tensor, op.operands)):
            return self._argument(value.type, value)
        for operand in op.operands:
            self._scalar(operand)
        with ip:
            clone = copied(op, self._values)
        self.form.known.update(zip(clone.results, op.results, strict=True))
        return self._values[value]

    def _argument(self, type_: ir.Type, origin: ir.Value | None) -> ir.Value:
        self.form.origins.append(origin)
        return self._block.add_argument(type_, ir.Location.unknown(type_.context))


def _buffer_type(tensor: ir.Value) -> ir.MemRefType:
    type_ = tensor.type
    if not isinstance(type_, ir.RankedTensorType) or type_.encoding is not None:
        raise _NotInPlaceError(f"a tensor of type {type_} is not a buffer")
    return ir.MemRefType.get(type_.shape, type_.element_type)


_PLACES = ("static_offsets", "static_sizes", "static_strides")
_KNOWN = frozenset(f"memref.{name}" for name in ["subview", "alloca", "load", "store", "dim"])


def why_not_on_tensors(block: ir.Block) -> MatchFailure | None:
    """Return the reason that the ops of a block have no form on tensors; None where they have."""
    for op in block.operations:
        for inner in nested(op.operation):
            if inner.name not in _KNOWN and inner.name.startswith(("memref.", "scf.for")):
                return MatchFailure(f"a {inner.name} is left of it")
    return None


class TensorForm:
    """The current tensor of each buffer."""

    def __init__(self, values: Mapping[ir.Value, ir.Value]) -> None:
        """
        Args:
            values: values of the block that exist already, each with its equal.
        """
        self._tensors: dict[ir.Value, ir.Value] = {}
        self._views: dict[ir.Value, ir.Operation] = {}
        self._values: dict[ir.Value, ir.Value] = dict(values)

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
        *ops, _ = [op.operation for op in block.operations]
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
        return tensor.ExtractSliceOp(part, whole, *self._geometry(view)).result

    def element(self, buffer: ir.Value) -> ir.Value:
        """Return the one element of a buffer of rank 0."""
        return tensor.ExtractOp(self.tensor(buffer), []).result

    def _op(self, op: ir.Operation) -> None:
        operands = list(op.operands)
        match op.name:
            case "linalg.generic":
                self._generic(op)
            case "memref.subview":
                self._views[op.results[0]] = op
            case "memref.alloca":
                self._tensors[op.results[0]] = _empty(op.results[0], self._current_values(operands))
            case "memref.load":
                indices = self._current_values(operands[1:])
                read = tensor.ExtractOp(self.tensor(operands[0]), indices)
                self._values[op.results[0]] = read.result
            case "memref.store":
                (value,), indices = map(self._current_values, (operands[:1], operands[2:]))
                inserted = tensor.InsertOp(value, self.tensor(operands[1]), indices)
                self._hold(operands[1], inserted.result)
            case "memref.dim":
                size = tensor.DimOp(self.tensor(operands[0]), *self._current_values(operands[1:]))
                self._values[op.results[0]] = size.result
            case _:
                copied(op, self._values)

    def _generic(self, op: ir.Operation) -> None:
        inputs, outputs = segments(op, 2)
        read = [self._read(value) for value in inputs]
        inits = [self._read(value) for value in outputs]
        generic = linalg.GenericOp(
            result_tensors=[value.type for value in inits if is_tensor(value)],
            inputs=read,
            outputs=inits,
            indexing_maps=op.attributes["indexing_maps"],
            iterator_types=op.attributes["iterator_types"],
        ).operation
        body = op.regions[0].blocks[0]
        block = generic.regions[0].blocks.append(*(argument.type for argument in body.arguments))
        values = self._values | dict(zip(body.arguments, block.arguments, strict=True))
        with ir.InsertionPoint(block):
            for inner in body.operations:
                copied(inner.operation, values)
        for buffer, result in zip(outputs, generic.results, strict=True):
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
            value = tensor.InsertSliceOp(value, whole, *self._geometry(view)).result
        self._hold(view.operands[0], value)

    def _geometry(self, view: ir.Operation) -> tuple[Any, ...]:
        """Return the dynamic offsets, sizes and strides, then the static ones."""
        _, *dynamic = segments(view, 4)
        static = [ir.DenseI64ArrayAttr(view.attributes[name]) for name in _PLACES]
        return *map(self._current_values, dynamic), *static

    def _is_all(self, view: ir.Operation, whole: ir.Value) -> bool:
        """Return whether a view is known by its sizes to be all of a tensor."""
        if ir.ShapedType(view.results[0].type).rank != ir.ShapedType(whole.type).rank:
            return False
        read = IndexReader()
        offsets, sizes, strides = (
            [read(number) for number in mixed(view, name, name, dynamic)]
            for name, dynamic in zip(_PLACES, self._geometry(view)[:3], strict=True)
        )
        lengths = zip(map(by_origin, sizes), map(by_origin, sizes_of(whole)), strict=True)
        return (
            all(is_eq(offset, 0) is True for offset in offsets)
            and all(is_eq(stride, 1) is True for stride in strides)
            and all(is_eq(length, other) is True for length, other in lengths)
        )

    def _current_values(self, values: Sequence[ir.Value]) -> list[ir.Value]:
        return [self._values.get(value, value) for value in values]


def _empty(buffer: ir.Value, dynamic: Sequence[ir.Value]) -> ir.Value:
    type_, remaining = ir.MemRefType(buffer.type), iter(dynamic)
    sizes = [
        next(remaining) if type_.is_dynamic_dim(axis) else size
        for axis, size in enumerate(type_.shape)
    ]
    return tensor.EmptyOp(sizes, type_.element_type).result
