"""Loops over slices become calls of the threads that share them.

before:
    func.func @entry(%a: memref<8xf32>, %status: memref<1xi64>) attributes {linalg_ext.status} {
      scf.forall (%slice) in (2) {
        %one = arith.constant 1.0 : f32
        memref.store %one, %a[%slice] : memref<8xf32>
      } {linalg_ext.slices = 2 : i64}
      return
    }
after:
    func.func @entry(%a: memref<8xf32>, %status: memref<1xi64>) attributes {linalg_ext.status} {
      %c0 = arith.constant 0 : index
      %given = memref.load %status[%c0] : memref<1xi64>
      %good = arith.constant 0 : i64
      memref.store %good, %status[%c0] : memref<1xi64>
      %words = arith.constant 5 : i64
      %values = llvm.alloca %words x i64 {alignment = 8 : i64} : (i64) -> !llvm.ptr
      %a_value = builtin.unrealized_conversion_cast %a
        : memref<8xf32> to !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
      llvm.store %a_value, %values
        : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>, !llvm.ptr
      %c2 = arith.constant 2 : index
      %count = arith.index_cast %c2 : index to i64
      %function = func.constant @entry_slices_0 : (!llvm.ptr, i64) -> i64
      %address = builtin.unrealized_conversion_cast %function
        : (!llvm.ptr, i64) -> i64 to !llvm.ptr
      %context = llvm.inttoptr %given : i64 to !llvm.ptr
      %share = llvm.load %context : !llvm.ptr -> !llvm.ptr
      %status_of_slices = llvm.call %share(%context, %address, %values, %count)
        : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> i64
      %zero = arith.constant 0 : i64
      %is_good = arith.cmpi eq, %status_of_slices, %zero : i64
      cf.assert %is_good, "a slice failed" {linalg_ext.status_of_part}
      return
    }
    func.func private @entry_slices_0(%values: !llvm.ptr, %number: i64) -> i64
        attributes {linalg_ext.part} {
      %a_value = llvm.load %values
        : !llvm.ptr -> !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
      %a = builtin.unrealized_conversion_cast %a_value
        : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> to memref<8xf32>
      %slice = arith.index_cast %number : i64 to index
      %one = arith.constant 1.0 : f32
      memref.store %one, %a[%slice] : memref<8xf32>
      %good = arith.constant 0 : i64
      return %good : i64
    }

The word of the status holds, on entry, the address of the function that shares a loop: see
`runtime/thread_pool.mlir`. A slice that fails returns its status, and the entry hands it on. Slices
read the values from around the loop from memory that lasts as long as the entry; a scalar is in a
buffer of its own there. Loops that are alike but for those values are one function.
"""

from __future__ import annotations

from collections.abc import Sequence

from linalg_ext.bindings import arith, builtin, func, ir, llvm, memref
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.constants import index
from linalg_ext.transforms.ir_utils.arithmetic import descriptor_type
from linalg_ext.transforms.ir_utils.module_functions import (
    PART,
    THREADS,
    assert_good,
    entry_with_status,
)
from linalg_ext.transforms.ir_utils.outlining import taken_from_outside
from linalg_ext.transforms.ir_utils.repeats import is_repeated
from linalg_ext.transforms.ir_utils.walking import name_of, operations, producer, replace_operands

from .share_work import SLICES

NAME = "linalg-ext-outline-shared-loops"


@module_pass(NAME, on="func.func")
def outline_shared_loops(module: ir.Operation) -> Report:
    """Make each loop over slices a function of one slice, and a call that has it shared."""
    report = Report(NAME)
    entry = entry_with_status(module)
    if entry is None:
        return report
    loops = [op for op in operations(entry, {"scf.forall"}) if SLICES in op.attributes]
    # The word of the status holds no status either if all loops are gone, having one iteration.
    if not loops and THREADS not in entry.attributes:
        return report
    start = entry.regions[0].blocks[0]
    with entry.location, ir.InsertionPoint.at_block_begin(start):
        context, last = _take_context(start.arguments[len(start.arguments) - 1])
    report.matched["scf.forall"] = report.changed["scf.forall"] = len(loops)
    stem = f"{name_of(entry)}_slices"
    names: dict[str, str] = {}
    for loop in loops:
        with loop.location:
            last = _outline(loop, stem, names, module, context, last)
    return report


def _take_context(status: ir.Value) -> tuple[ir.Value, ir.Operation]:
    """Read the word that the entry gets in place of the status, and set the status to success.

    The second result is the last op of that.
    """
    zero = index(0)
    context = memref.load(status, [zero])
    cleared = memref.StoreOp(_integer(0), status, [zero])
    return context, cleared.operation


def _outline(
    loop: ir.Operation,
    stem: str,
    names: dict[str, str],
    module: ir.Operation,
    context: ir.Value,
    last: ir.Operation,
) -> ir.Operation:
    """Outline a loop, its values handed over in memory; return the last op that allocates it.

    Args:
        loop, module: the loop, and the module of it.
        stem: of the function's name.
        names: of the functions that were made, by their texts.
        context: of the call.
        last: an op of the start of the entry that stays; the memory is allocated after it.
    """
    outside = taken_from_outside(loop)
    buffers = [value for value in outside if not is_repeated(value)]
    with ir.InsertionPoint.after(last):  # a loop may stand in another
        words = sum(map(_words, buffers))
        size, element = _integer(max(1, words)), ir.TypeAttr.get(_i64())
        values = llvm.AllocaOp(_pointer(), size, element, alignment=8).result
        rooms = [
            None if _is_buffer(value) else memref.alloca(ir.MemRefType.get([], value.type), [], [])
            for value in buffers
        ]
    with ir.InsertionPoint(loop):
        _hand_over(values, buffers, rooms)
        count = arith.index_cast(_i64(), _upper_bound(loop))
    with ir.InsertionPoint(module.regions[0].blocks[0]):
        function = func.FuncOp(stem, ([_pointer(), _i64()], [_i64()]), visibility="private")
    function.operation.attributes[PART] = ir.UnitAttr.get()
    block = function.add_entry_block()
    with ir.InsertionPoint(block):
        inside = dict(zip(buffers, _taken_over(block.arguments[0], buffers), strict=True))
        for value in outside:
            if value not in inside:
                inside[value] = producer(value).clone().results[0]
        slice_ = arith.index_cast(ir.IndexType.get(), block.arguments[1])
        end = func.ReturnOp([_integer(0)])
    body = loop.regions[0].blocks[0]
    body.arguments[0].replace_all_uses_with(slice_)
    for inner in list(body.operations)[:-1]:
        replace_operands(inner.operation, inside)
        inner.operation.move_before(end.operation)
    text = function.operation.get_asm(use_local_scope=True)
    if text in names:
        function.operation.erase()
    else:
        names[text] = f"{stem}_{len(names)}"
        ir.SymbolTable.set_symbol_name(function.operation, names[text])
    with ir.InsertionPoint(loop):
        assert_good(_call(names[text], context, values, count), "a slice failed")
    loop.erase()
    allocated = [values, *(room for room in rooms if room is not None)]
    last_allocation: ir.Operation = producer(allocated[-1])
    return last_allocation


def _upper_bound(loop: ir.Operation) -> ir.Value:
    (bound,) = ir.DenseI64ArrayAttr(loop.attributes["staticUpperBound"])
    return index(bound) if not len(loop.operands) else loop.operands[0]


def _hand_over(
    values: ir.Value, buffers: Sequence[ir.Value], rooms: Sequence[ir.Value | None]
) -> None:
    """Write the values that slices take from outside to memory, each as a buffer's descriptor."""
    offset = 0
    for value, room in zip(buffers, rooms, strict=True):
        if room is not None:
            memref.store(value, room, [])
        buffer = value if room is None else room
        descriptor = _cast(descriptor_type(_rank(value)), buffer)
        llvm.StoreOp(descriptor, _place(values, offset))
        offset += _words(value)


def _taken_over(values: ir.Value, buffers: Sequence[ir.Value]) -> list[ir.Value]:
    """Read the values back that `_hand_over` wrote."""
    values_read = []
    offset = 0
    for value in buffers:
        type_ = value.type if _is_buffer(value) else ir.MemRefType.get([], value.type)
        descriptor = llvm.LoadOp(descriptor_type(_rank(value)), _place(values, offset)).result
        buffer = _cast(type_, descriptor)
        values_read.append(buffer if _is_buffer(value) else memref.load(buffer, []))
        offset += _words(value)
    return values_read


def _call(name: str, word: ir.Value, values: ir.Value, count: ir.Value) -> ir.Value:
    """Call the function that shares a loop, and return the status."""
    type_ = ir.FunctionType.get([_pointer(), _i64()], [_i64()])
    function = func.ConstantOp(type_, ir.FlatSymbolRefAttr.get(name)).result
    address = _cast(_pointer(), function)
    context = llvm.IntToPtrOp(_pointer(), word).result
    share = llvm.LoadOp(_pointer(), context).result
    return llvm.CallOp(_i64(), [share, context, address, values, count], [], []).results[0]


def _cast(type_: ir.Type, value: ir.Value) -> ir.Value:
    return builtin.UnrealizedConversionCastOp([type_], [value]).results[0]


def _place(values: ir.Value, words: int) -> ir.Value:
    if not words:
        return values
    offset = ir.DenseI32ArrayAttr.get([words])
    return llvm.GEPOp(_pointer(), values, [], offset, ir.TypeAttr.get(_i64()), None).result


def _words(value: ir.Value) -> int:
    return 3 + 2 * _rank(value)


def _rank(value: ir.Value) -> int:
    """Return the rank of a buffer; 0 of another value, which is handed over in a buffer."""
    return value.type.rank if isinstance(value.type, ir.MemRefType) else 0


def _is_buffer(value: ir.Value) -> bool:
    return isinstance(value.type, ir.MemRefType)


def _pointer() -> ir.Type:
    return ir.Type.parse("!llvm.ptr")


def _i64() -> ir.IntegerType:
    return ir.IntegerType.get_signless(64)


def _integer(value: int) -> ir.Value:
    return arith.constant(_i64(), value)
