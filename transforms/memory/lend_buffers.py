"""Take large buffers from memory that outlives the call, and give them back to it.

malloc returns large buffers to the system, or maps them again for every call. Each first write to a
page is then a fault, and the page has to be cleared. The size of a dynamic buffer is tested at run
time. A buffer that a loop carries, a block passes on or the caller gets stays with malloc.

before:
    func.func @f(%n: index, %x: f32) {
      %a = memref.alloc(%n) : memref<?x4xf32>
      memref.store %x, %a[%n, %n] : memref<?x4xf32>
      memref.dealloc %a : memref<?x4xf32>
      return
    }
after:
    func.func @f(%n: index, %x: f32) {
      %c16 = arith.constant 16 : index
      %bytes = arith.muli %c16, %n : index
      %room = call @lx_take(%bytes) : (index) -> memref<?xi8>
      %c0 = arith.constant 0 : index
      %a = memref.view %room[%c0][%n] : memref<?xi8> to memref<?x4xf32>
      memref.store %x, %a[%n, %n] : memref<?x4xf32>
      call @lx_give(%room) : (memref<?xi8>) -> ()
      return
    }

Where the module calls functions of Python, which may raise, small buffers are lent, too.

A function with several returns, such as one for failures, records its buffers in a list. It gives
all of them back at each return.

before:
    func.func @f(%ok: i1) {
      %a = memref.alloc() : memref<99999xf32>
      cf.cond_br %ok, ^good, ^fail
    ^good:
      memref.dealloc %a : memref<99999xf32>
      return
    ^fail:
      return
    }
after:
    func.func @f(%ok: i1) {
      %zero = llvm.mlir.zero : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
      %none = builtin.unrealized_conversion_cast %zero
        : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> to memref<?xi8>
      %lent = memref.alloca() : memref<1xmemref<?xi8>>
      %i = arith.constant 0 : index
      memref.store %none, %lent[%i] : memref<1xmemref<?xi8>>
      %bytes = arith.constant 399996 : index
      %room = call @lx_take(%bytes) : (index) -> memref<?xi8>
      %c0 = arith.constant 0 : index
      %a = memref.view %room[%c0][] : memref<?xi8> to memref<99999xf32>
      memref.store %room, %lent[%i] : memref<1xmemref<?xi8>>
      cf.cond_br %ok, ^good, ^fail
    ^good:
      memref.store %none, %lent[%i] : memref<1xmemref<?xi8>>
      call @lx_give(%room) : (memref<?xi8>) -> ()
      %rest = memref.cast %lent : memref<1xmemref<?xi8>> to memref<?xmemref<?xi8>>
      call @lx_give_all(%rest) : (memref<?xmemref<?xi8>>) -> ()
      return
    ^fail:
      %all = memref.cast %lent : memref<1xmemref<?xi8>> to memref<?xmemref<?xi8>>
      call @lx_give_all(%all) : (memref<?xmemref<?xi8>>) -> ()
      return
    }

`lx_take` and `lx_give` are in the module itself: see `_workspace_functions`, and
`runtime/workspace.mlir`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from linalg_ext.bindings import arith, builtin, func, ir, memref
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.runtime.workspace import LEAST_BYTES
from linalg_ext.transforms.analysis.buffers import MOST_BYTES, reaching, static_bytes
from linalg_ext.transforms.ir_utils.arithmetic import index
from linalg_ext.transforms.ir_utils.module_functions import calls_python
from linalg_ext.transforms.ir_utils.walking import functions, operations

from ._workspace_functions import DESCRIPTOR, GIVE, GIVE_ALL, TAKE, declare

NAME = "linalg-ext-lend-buffers"

_MOST_NOTED = 1024
"""The most buffers of one function that are listed to be given back on a failure.

The list is on the stack and takes 40 bytes a buffer. A function with more buffers loses those that
it has when it fails.
"""


@module_pass(NAME, on="memref.alloc")
def lend_buffers(module: ir.Operation) -> Report:
    """Have each memref.alloc that is large, or may be, and its memref.dealloc use the pool.

    Control flow must be branches already.
    """
    report = Report(NAME)
    # Where Python raises at every call, what each of them loses adds up.
    least = 1 if calls_python(module) else LEAST_BYTES
    for function in functions(module):
        allocations = operations(function, {"memref.alloc"})
        report.matched["memref.alloc"] += len(allocations)
        buffers = [found for op in allocations if (found := _borrowed(op, least)) is not None]
        if not buffers:
            continue
        if not declare(module):
            report.leave("memref.alloc", f"the module has a symbol such as `{TAKE}` of its own")
            return report
        report.changed["memref.alloc"] += len(buffers)
        with function.location:
            _lend(function, buffers)
    return report


class _Buffer(NamedTuple):
    """An allocation and its deallocations."""

    allocation: Any
    frees: list[Any]


def _borrowed(allocation: Any, least: int) -> _Buffer | None:
    """Return an allocation that the pool may serve; None where malloc has to serve it."""
    type_ = allocation.results[0].type
    static = static_bytes(type_)
    least = least if type_.has_static_shape else 1
    is_plain = type_.memory_space is None and type_.affine_map == _row_major(type_)
    if not is_plain or not least <= static < MOST_BYTES:
        return None
    users = reaching(allocation.results[0], handed_over=True)
    frees = [op for op in users or () if op.name == "memref.dealloc"]
    return _Buffer(allocation, frees) if frees else None


def _row_major(type_: Any) -> ir.AffineMap:
    return ir.AffineMap.get_identity(type_.rank)


def _lend(function: Any, buffers: list[_Buffer]) -> None:
    """Have a function borrow its buffers."""
    ends = operations(function, {"func.return"})
    is_noted = len(ends) > 1 and len(buffers) <= _MOST_NOTED
    lent = _Lent(function, len(buffers)) if is_noted else None
    for number, buffer in enumerate(buffers):
        room = _take(buffer.allocation)
        if lent is not None:
            lent.note(number, room)
        for free in buffer.frees:
            with free.location, ir.InsertionPoint(free):
                if lent is not None:
                    lent.strike_out(number)
                func.CallOp([], GIVE, [room])
            free.erase()
        buffer.allocation.erase()
    if lent is not None:
        lent.give_back_at(ends)


def _take(allocation: Any) -> Any:
    """Replace an allocation by a view of memory of the pool, and return that memory."""
    type_ = allocation.results[0].type
    sizes = list(allocation.operands)
    with allocation.location, ir.InsertionPoint(allocation):
        bytes_ = index(static_bytes(type_))
        for size in sizes:
            bytes_ = arith.muli(bytes_, size)
        room = func.CallOp([_room_type()], TAKE, [bytes_]).results[0]
        view = memref.ViewOp(type_, room, index(0), sizes).result
    allocation.results[0].replace_all_uses_with(view)
    return room


class _Lent:
    """The list on the stack in which a function records the buffers that it has borrowed."""

    def __init__(self, function: Any, count: int) -> None:
        """Allocate a list of `count` buffers at the beginning of the function."""
        with ir.InsertionPoint.at_block_begin(function.regions[0].blocks[0]):
            descriptor = ir.Type.parse(DESCRIPTOR)
            zero = ir.Operation.create("llvm.mlir.zero", results=[descriptor]).results[0]
            self._none = builtin.UnrealizedConversionCastOp([_room_type()], [zero]).results[0]
            self._list: Any = memref.alloca(ir.MemRefType.get([count], _room_type()), [], [])
            self._places = [index(number) for number in range(count)]
            for place in self._places:
                memref.StoreOp(self._none, self._list, [place])

    def note(self, number: int, room: Any) -> None:
        """Record a buffer in the list, after the op that borrows it."""
        with room.owner.location, ir.InsertionPoint.after(room.owner):
            memref.StoreOp(room, self._list, [self._places[number]])

    def strike_out(self, number: int) -> None:
        """Remove a buffer from the list."""
        memref.StoreOp(self._none, self._list, [self._places[number]])

    def give_back_at(self, ends: list[Any]) -> None:
        """Give back all listed buffers where the function ends."""
        open_type = ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], _room_type())
        for end in ends:
            with end.location, ir.InsertionPoint(end):
                func.CallOp([], GIVE_ALL, [memref.cast(open_type, self._list)])


def _room_type() -> ir.MemRefType:
    byte = ir.IntegerType.get_signless(8)
    return ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], byte)
