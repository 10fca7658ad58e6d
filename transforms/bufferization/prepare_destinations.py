"""Make the destinations of results ready for upstream's elimination of empty tensors.

The memory of a result is allocated first, so that the result is computed in it.

before:
    func.func @f(%x: memref<?xf32>) -> memref<?xf32> {
      %c0 = arith.constant 0 : index
      %t = bufferization.to_tensor %x restrict : memref<?xf32> to tensor<?xf32>
      %n = memref.dim %x, %c0 : memref<?xf32>
      %e = tensor.empty(%n) : tensor<?xf32>
      %r = linalg.exp ins(%t : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
      %m = memref.alloc(%n) : memref<?xf32>
      bufferization.materialize_in_destination %r in restrict writable %m
        : (tensor<?xf32>, memref<?xf32>) -> ()
      return %m : memref<?xf32>
    }
after:
    func.func @f(%x: memref<?xf32>) -> memref<?xf32> {
      %c0 = arith.constant 0 : index
      %n = memref.dim %x, %c0 : memref<?xf32>
      %m = memref.alloc(%n) : memref<?xf32>
      %t = bufferization.to_tensor %x restrict : memref<?xf32> to tensor<?xf32>
      %e = tensor.empty(%n) : tensor<?xf32>
      %r = linalg.exp ins(%t : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
      bufferization.materialize_in_destination %r in restrict writable %m
        : (tensor<?xf32>, memref<?xf32>) -> ()
      return %m : memref<?xf32>
    }

Upstream's elimination of empty tensors gives an op the memory of the result if it is known before
the op; else the result is computed in memory of its own, and copied. Arithmetic on sizes moves
along; a division, which may have to stand behind its check, does not.

A result is written in the shape that it is computed in, to memory that is seen in that shape.

before:
    func.func @f(%x: tensor<4x6xf32>, %m: memref<24xf32>) {
      %c = tensor.collapse_shape %x [[0, 1]] : tensor<4x6xf32> into tensor<24xf32>
      bufferization.materialize_in_destination %c in restrict writable %m
        : (tensor<24xf32>, memref<24xf32>) -> ()
      return
    }
after:
    func.func @f(%x: tensor<4x6xf32>, %m: memref<24xf32>) {
      %e = memref.expand_shape %m [[0, 1]] output_shape [4, 6] : memref<24xf32> into memref<4x6xf32>
      bufferization.materialize_in_destination %x in restrict writable %e
        : (tensor<4x6xf32>, memref<4x6xf32>) -> ()
      return
    }

Upstream finds the place of a result through slices, not through reshapes: a result that ends in one
would be computed in memory of its own, and copied.

Each op gets a destination of its own, and each result memory that holds no other.

Upstream's elimination of empty tensors puts a result's own memory in the place of the empty tensor
that it was made from. Its bufferization does not see that this memory is written once more when the
result is put there. Another result that shares the memory until then (an empty tensor, a fill or an
earlier state of it) is lost.

before:
    %e = tensor.empty() : tensor<4xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %x = linalg.matvec ins(%a, %v : tensor<4x4xf32>, tensor<4xf32>) outs(%f : tensor<4xf32>) -> tensor<4xf32>
    %y = linalg.vecmat ins(%v, %a : tensor<4xf32>, tensor<4x4xf32>) outs(%f : tensor<4xf32>) -> tensor<4xf32>
after:
    %e = tensor.empty() : tensor<4xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %x = linalg.matvec ins(%a, %v : tensor<4x4xf32>, tensor<4xf32>) outs(%f : tensor<4xf32>) -> tensor<4xf32>
    %e2 = tensor.empty() : tensor<4xf32>
    %f2 = linalg.fill ins(%z : f32) outs(%e2 : tensor<4xf32>) -> tensor<4xf32>
    %y = linalg.vecmat ins(%v, %a : tensor<4xf32>, tensor<4x4xf32>) outs(%f2 : tensor<4xf32>) -> tensor<4xf32>
"""  # noqa: E501  # an op of IR a line

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir, linalg, memref
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.maps import split_operands
from linalg_ext.structured.outputs import empty_tensor
from linalg_ext.structured.sizes import sizes_of
from linalg_ext.transforms.ir_utils.walking import (
    functions,
    is_unused,
    operations,
    producer,
    select,
)

NAME = "linalg-ext-prepare-destinations"

_STORE = "bufferization.materialize_in_destination"
_EMPTY = "tensor.empty"


@module_pass(NAME, on=(_STORE, _EMPTY))
def prepare_destinations(module: ir.Operation) -> Report:
    """Allocate results first, write them in the shape they have, and unshare destinations."""
    report = Report(NAME)
    ops = operations(module, {_STORE, _EMPTY})
    stores = [op for op in ops if op.name == _STORE]
    for store in stores:
        _allocate_first(store, report)
    for store in stores:
        _write_in_shape(store, report)
    if len(stores) < len(ops):
        _own(module, report)
    return report


_SIZES = frozenset(
    (
        *("affine.apply", "arith.addi", "arith.constant", "arith.index_cast", "arith.maxsi"),
        *("arith.minsi", "arith.muli", "arith.subi", "memref.dim", "tensor.dim"),
    )
)
"""Operations that may be done early: they fail nowhere, and read nothing that is written."""


def _allocate_first(store: Any, report: Report) -> None:
    value, memory = (producer(operand) for operand in store.operands)
    if memory is None or memory.name != "memref.alloc" or value is None:
        return
    is_late = memory.block == value.block and value.is_before_in_block(memory)
    report.matched[_STORE] += is_late
    if is_late:
        _move_up(memory)
        report.changed[_STORE] += memory.is_before_in_block(value)


def _move_up(op: Any) -> None:
    """Move an operation behind the last that it needs, those that compute sizes moved before."""
    last = None
    for operand in op.operands:
        needed = producer(operand)
        if needed is None or needed.block != op.block:
            continue
        if needed.name in _SIZES:
            _move_up(needed)
        if last is None or last.is_before_in_block(needed):
            last = needed
    if last is None:
        op.move_before(op.block.operations[0])
    else:
        op.move_after(last)


_RESHAPES = ("tensor.collapse_shape", "tensor.expand_shape")


def _write_in_shape(store: Any, report: Report) -> None:
    while (reshape := _reshape_of(store)) is not None:
        report.matched[reshape.name] += 1
        report.changed[reshape.name] += 1
        memory = store.operands[1]
        with store.location, _where_it_is_known(memory):
            store.operands[1] = _seen_before(reshape, memory)
        store.operands[0] = reshape.operands[0]
        if is_unused(reshape.results[0]):
            reshape.erase()


def _reshape_of(store: Any) -> Any:
    """Return the reshape of a stored value, if the memory can be viewed in the shape before it."""
    value, memory = store.operands
    reshape = producer(value)
    if reshape is None or reshape.name not in _RESHAPES:
        return None
    before = reshape.operands[0].type
    is_plain = isinstance(memory.type, ir.MemRefType) and memory.type.affine_map == (
        ir.AffineMap.get_identity(memory.type.rank)
    )
    types = (before, value.type, memory.type)
    return reshape if is_plain and all(type_.has_static_shape for type_ in types) else None


def _where_it_is_known(memory: Any) -> ir.InsertionPoint:
    """Return the place before all that may write to `memory`: a result may be put there at once."""
    if isinstance(memory.owner, ir.Block):
        return ir.InsertionPoint.at_block_begin(memory.owner)
    return ir.InsertionPoint.after(memory.owner)


def _seen_before(reshape: Any, memory: Any) -> Any:
    """Emit a view of `memory`, of the shape after a reshape, in the shape before it."""
    before = reshape.operands[0].type
    type_ = ir.MemRefType.get(
        before.shape, before.element_type, memory_space=memory.type.memory_space
    )
    groups = reshape.attributes["reassociation"]
    if reshape.name == "tensor.collapse_shape":
        return memref.ExpandShapeOp(type_, memory, groups, [], before.shape).result
    return memref.CollapseShapeOp(type_, memory, groups).result


_VIEWS = frozenset(
    {"tensor.cast", "tensor.collapse_shape", "tensor.expand_shape", "tensor.extract_slice"}
)


def _own(module: ir.Operation, report: Report) -> None:
    for op in select(module, _is_made_new):
        _unshare(op, report)
    for op in operations(module, {_EMPTY}):
        _unshare_empty(op)
    for function in functions(module):
        _separate(function, report)


def _is_made_new(op: Any) -> bool:
    """Return whether an op is a fill, or a generic without inputs: no dearer than a copy."""
    if op.name not in ("linalg.fill", "linalg.generic") or len(op.results) != 1:
        return False
    if op.name == "linalg.fill":
        return True
    inputs, _ = split_operands(op.operation)
    arguments = list(op.regions[0].blocks[0].arguments)
    return not inputs and not any(True for argument in arguments for _ in argument.uses)


def _unshare(op: Any, report: Report) -> None:
    """Give each op that writes over a fill a fill of its own."""
    writers = [use for use in op.results[0].uses if _is_written(use)]
    uses = sum(1 for _ in op.results[0].uses)
    report.matched[op.name] += uses > 1 and bool(writers)
    for use in writers[: len(writers) - (uses == len(writers))]:
        user, number = use.owner.operation, use.operand_number
        with ir.InsertionPoint(user), op.location:
            empty = _empty_like(op.results[0])
            new = op.operation.clone()
            new.operands[len(new.operands) - 1] = empty
        user.operands[number] = new.results[0]
        report.changed[op.name] += 1


def _unshare_empty(op: Any) -> None:
    for use in list(op.results[0].uses)[:-1]:
        user = use.owner.operation
        with ir.InsertionPoint(user):
            user.operands[use.operand_number] = op.operation.clone().results[0]


def _is_written(use: ir.OpOperand) -> bool:
    user, number = use.owner.operation, use.operand_number
    if user.name.startswith("linalg."):
        return bool(number >= len(split_operands(user)[0]))
    return (user.name == "tensor.insert_slice" and number == 1) or (
        user.name == "scf.for" and number > 2
    )


def _separate(function: Any, report: Report) -> None:
    """Copy a result that shares a state with another before either is put into its place."""
    # Those with a result copy one tensor to another, inside the function.
    stores = [op for op in operations(function, {_STORE}) if not len(op.results)]
    stored: dict[ir.Value, ir.Value] = {}
    for store in stores:
        source = store.operands[0]
        states = _states(source)
        if any(stored.get(state, source) != source for state in states):
            with ir.InsertionPoint(stores[0]), store.location:
                store.operands[0] = linalg.copy(source, outs=[_empty_like(source)])
            report.matched[store.name] += 1
            report.changed[store.name] += 1
        else:
            stored.update(dict.fromkeys(states, source))


def _states(value: ir.Value) -> list[ir.Value]:
    """Return a value and those that its memory held before, back to an empty tensor.

    The list is empty if the memory began as another tensor.
    """
    states = []
    while True:
        states.append(value)
        owner = value.owner
        if isinstance(owner, ir.Block):
            return []
        op = owner.operation
        if op.name == _EMPTY:
            return states
        if op.name.startswith("linalg."):
            value = split_operands(op)[1][ir.OpResult(value).result_number]
        elif op.name in _VIEWS:
            value = op.operands[0]
        elif op.name in ("tensor.insert_slice", "tensor.insert"):
            value = op.operands[1]
        elif op.name == "scf.for":
            value = op.operands[3 + ir.OpResult(value).result_number]
        else:
            return []


def _empty_like(value: ir.Value) -> ir.Value:
    return empty_tensor(sizes_of(value), ir.ShapedType(value.type).element_type)
