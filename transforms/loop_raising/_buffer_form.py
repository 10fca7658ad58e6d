"""A nest of loops on tensors as a function of loops on buffers, one buffer for each tensor.

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

from collections.abc import Sequence
from dataclasses import dataclass, field

from linalg_ext.bindings import func, ir, memref, scf
from linalg_ext.gml_st.ir.roots import is_defined_inside
from linalg_ext.rewriting import MatchFailure
from linalg_ext.structured.operands import producer
from linalg_ext.transforms.ir_utils.walking import replace_operands, select

from ._accesses import is_pure
from .raising import is_tensor

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
    """The nest that begins with a loop, on buffers; or why buffers would change the program."""
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
        """The nest, and what puts its scalar results where they are read."""
        inits = [value for value in list(self._nest.operands)[3:] if is_tensor(value)]
        buffers = [_Buffer(self._argument(_buffer_type(init), init), True) for init in inits]
        self._beginnings = dict(zip(inits, buffers, strict=True))
        with ir.InsertionPoint(self._block):
            self._loop(self._nest, buffers)
            for result in self._nest.results:
                if is_tensor(result):
                    self.form.results.append(self._tensors[result][0].value)
                    continue
                held = self._argument(ir.MemRefType.get([], result.type), None)
                memref.StoreOp(self._values[result], held, [])
                self.form.results.append(held)
            func.ReturnOp([])

    def _loop(self, loop: ir.Operation, buffers: Sequence[_Buffer]) -> None:
        """A loop, and the buffers of the tensors that it carries."""
        lower, upper, step, *carried = loop.operands
        body = loop.regions[0].blocks[0]
        *ops, yielding = [each.operation for each in body.operations]
        iv, *arguments = body.arguments
        inits = [self._scalar(value) for value in carried if not is_tensor(value)]
        made = scf.ForOp(self._scalar(lower), self._scalar(upper), self._scalar(step), inits)
        self._made = self._made or made.operation
        for name in set(loop.attributes) - set(made.operation.attributes):
            made.operation.attributes[name] = loop.attributes[name]
        self._values[iv] = made.induction_variable
        tensors = [value for value in arguments if is_tensor(value)]
        scalars = [value for value in arguments if not is_tensor(value)]
        self._values.update(zip(scalars, made.inner_iter_args, strict=True))
        for argument, buffer in zip(tensors, buffers, strict=True):
            # What it began as is another tensor from the second iteration on.
            buffer.version += 1
            self._tensors[argument] = (buffer, buffer.version)
        with ir.InsertionPoint(made.body):
            for op in ops:
                self._op(op)
            scf.YieldOp([self._scalar(each) for each in yielding.operands if not is_tensor(each)])
        handed = [self._tensors.get(value) for value in yielding.operands if is_tensor(value)]
        if handed != [(buffer, buffer.version) for buffer in buffers]:
            raise _NotInPlaceError("the loop yields another tensor than the one that it carries")
        self._tensors.update(
            (result, (buffer, buffer.version))
            for result, buffer in zip(filter(is_tensor, loop.results), buffers, strict=True)
        )
        given = [result for result in loop.results if not is_tensor(result)]
        self._values.update(zip(given, made.operation.results, strict=True))

    def _op(self, op: ir.Operation) -> None:
        operands = list(op.operands)
        with op.location:
            match op.name:
                case "scf.for":
                    self._loop(op, [self._given(value) for value in operands if is_tensor(value)])
                case "tensor.extract":
                    at = [self._scalar(value) for value in operands[1:]]
                    read = memref.LoadOp(self._current(operands[0]).value, at)
                    self._values[op.results[0]] = read.result
                case "tensor.insert":
                    buffer = self._given(operands[1])
                    at = [self._scalar(value) for value in operands[2:]]
                    memref.StoreOp(self._scalar(operands[0]), buffer.value, at)
                    buffer.version += 1
                    self._tensors[op.results[0]] = (buffer, buffer.version)
                case "tensor.dim":
                    self._values[op.results[0]] = self._size(op)
                case _:
                    self._clone(op)

    def _clone(self, op: ir.Operation) -> None:
        """An op of scalars alone."""
        values = [value for each in select(op, lambda _: True) for value in each.operands]
        if any(map(is_tensor, [*values, *op.operands, *op.results])):
            raise _NotInPlaceError(f"{op.name} in it is about whole tensors")
        if not is_pure(op):
            raise _NotInPlaceError(f"{op.name} in it does more than compute")
        for value in [*op.operands, *values]:
            if not any(
                is_defined_inside(value, block) for region in op.regions for block in region
            ):
                self._scalar(value)
        clone = op.clone().operation
        replace_operands(clone, self._values)
        self._values.update(zip(op.results, clone.results, strict=True))

    def _given(self, tensor: ir.Value) -> _Buffer:
        """The buffer of a tensor that elements are put into."""
        if tensor not in self._tensors or not self._tensors[tensor][0].is_carried:
            raise _NotInPlaceError(
                "the body inserts elements into a tensor that the loop does not carry"
            )
        return self._current(tensor)

    def _current(self, tensor: ir.Value) -> _Buffer:
        """The buffer of a tensor that is read."""
        if tensor not in self._tensors:
            if self._is_inside(tensor):
                raise _NotInPlaceError("the body makes tensors of its own")
            buffer = _Buffer(self._argument(_buffer_type(tensor), tensor), False)
            self._tensors[tensor] = (buffer, 0)
        buffer, version = self._tensors[tensor]
        if version != buffer.version:
            raise _NotInPlaceError("the body reads a tensor as it was before an insertion")
        return buffer

    def _size(self, op: ir.Operation) -> ir.Value:
        """The size of a tensor: all that take its place are as large."""
        tensor, axis = op.operands
        if tensor in self._tensors:
            buffer, _ = self._tensors[tensor]
        else:
            buffer = self._beginnings.get(tensor) or self._current(tensor)
        return memref.DimOp(buffer.value, self._scalar(axis)).result

    def _scalar(self, value: ir.Value) -> ir.Value:
        """Return the replacement of a value that is no tensor."""
        if value not in self._values:
            self._values[value] = self._from_outside(value)
        return self._values[value]

    def _from_outside(self, value: ir.Value) -> ir.Value:
        """Return a value from outside: recomputed, so that it is known, or an argument."""
        op = producer(value)
        place = ir.InsertionPoint(self._made) if self._made else ir.InsertionPoint(self._block)
        if op is not None and op.name == "tensor.dim":
            with place:
                size = self._size(op)
            self.form.known[size] = value
            return size
        if op is None or len(op.regions) or not is_pure(op) or any(map(is_tensor, op.operands)):
            return self._argument(value.type, value)
        for operand in op.operands:
            self._scalar(operand)
        with place:
            clone = op.clone().operation
        replace_operands(clone, self._values)
        for old, new in zip(op.results, clone.results, strict=True):
            self._values[old], self.form.known[new] = new, old
        return self._values[value]

    def _argument(self, type_: ir.Type, origin: ir.Value | None) -> ir.Value:
        self.form.origins.append(origin)
        return self._block.add_argument(type_, ir.Location.unknown(type_.context))

    def _is_inside(self, value: ir.Value) -> bool:
        return is_defined_inside(value, self._nest.regions[0].blocks[0])


def _buffer_type(tensor: ir.Value) -> ir.MemRefType:
    type_ = tensor.type
    if not isinstance(type_, ir.RankedTensorType) or type_.encoding is not None:
        raise _NotInPlaceError(f"a tensor of type {type_} is no buffer")
    return ir.MemRefType.get(type_.shape, type_.element_type)
