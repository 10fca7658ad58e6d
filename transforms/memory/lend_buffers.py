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

Where the module calls functions of Python, which may raise, or polls interrupts, small buffers are
lent, too. Those that stay with malloc are then in a list, by words of their own before their first
element, and a failure frees them.

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

`lx_take` and `lx_give` are in the module itself: see `FUNCTIONS` below, and
`runtime/workspace.mlir`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linalg_ext.bindings import builtin, func, ir, llvm, memref
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.runtime.interrupts import VARIABLE as INTERRUPTS
from linalg_ext.runtime.machine_code import variable_symbol
from linalg_ext.runtime.workspace import LEAST_BYTES, VARIABLE
from linalg_ext.structured.constants import index
from linalg_ext.transforms.analysis.buffers import (
    MOST_BYTES,
    bytes_at_run_time,
    reaching,
    static_bytes,
)
from linalg_ext.transforms.ir_utils.arithmetic import descriptor_type
from linalg_ext.transforms.ir_utils.module_functions import calls_python, declare
from linalg_ext.transforms.ir_utils.walking import functions, operations, producer

NAME = "linalg-ext-lend-buffers"

_MOST_NOTED = 1024
"""The most buffers of one function that are listed to be given back on a failure.

The list is on the stack and takes 40 bytes a buffer. A function with more buffers loses those that
it holds when it fails.
"""


@module_pass(NAME, on="memref.alloc")
def lend_buffers(module: ir.Operation) -> Report:
    """Have each memref.alloc that is large, or may be, and its memref.dealloc use the pool.

    Control flow must be branches already.
    """
    report = Report(NAME)
    # The buffers that calls lose add up if calls fail again and again.
    fails_often = calls_python(module) or variable_symbol(INTERRUPTS) in ir.SymbolTable(module)
    least = 1 if fails_often else LEAST_BYTES
    for function in functions(module):
        allocations = operations(function, {"memref.alloc"})
        report.matched["memref.alloc"] += len(allocations)
        buffers = {op: frees for op in allocations if (frees := _frees(op, least))}
        own = _own(function, buffers) if fails_often else []
        if own and LIST not in ir.SymbolTable(module) and not declare(module, _LIST_FUNCTIONS):
            own = []
        if own:
            report.changed["memref.alloc"] += len(own)
            with function.location:
                _list(function, own, [free for frees in buffers.values() for free in frees])
        if not buffers:
            continue
        if _POOL not in ir.SymbolTable(module) and not declare(module, FUNCTIONS):
            report.leave("memref.alloc", f"the module has a symbol such as `{TAKE}` of its own")
            return report
        report.changed["memref.alloc"] += len(buffers)
        with function.location:
            _lend(function, buffers)
    return report


def _frees(allocation: Any, least: int) -> list[Any]:
    """Return the deallocations of an allocation that the pool may serve; empty for any other."""
    type_ = allocation.results[0].type
    static = static_bytes(type_)
    least = least if type_.has_static_shape else 1
    if not _is_plain(type_) or not least <= static < MOST_BYTES:
        return []
    users = reaching(allocation.results[0], handed_over=True)
    return [op for op in users or () if op.name == "memref.dealloc"]


def _is_plain(type_: Any) -> bool:
    row_major = ir.AffineMap.get_identity(type_.rank)
    return type_.memory_space is None and bool(type_.affine_map == row_major)


def _own(function: Any, buffers: Mapping[Any, list[Any]]) -> list[Any]:
    """Return the allocations of malloc's that a failure would lose; empty where some are unknown.

    Each deallocation that is not a buffer's of the pool must be of one of them.
    """
    own = [op for op in operations(function, {"memref.alloc"}) if op not in buffers]
    sources = operations(function, {"memref.realloc", "func.call"})
    frees = operations(function, {"memref.dealloc"})
    arguments = function.regions[0].blocks[0]
    are_known = (
        all(_is_plain(op.results[0].type) for op in own)
        and not any(isinstance(v.type, ir.MemRefType) for op in sources for v in op.results)
        and not any(free.operands[0].owner == arguments for free in frees)
    )
    return own if are_known and len(operations(function, {"func.return"})) > 1 else []


def _list(function: Any, own: list[Any], deallocations: list[Any]) -> None:
    """Have a function list its own allocations, and free those of the list where it fails.

    Args:
        function: an entry, or a part of its work.
        own: the allocations.
        deallocations: deallocations of other memory.
    """
    pointer, i64 = ir.Type.parse("!llvm.ptr"), ir.IntegerType.get_signless(64)
    with ir.InsertionPoint.at_block_begin(function.regions[0].blocks[0]):
        two = llvm.ConstantOp(i64, ir.IntegerAttr.get(i64, 2)).result
        head = llvm.AllocaOp(pointer, two, ir.TypeAttr.get(i64), alignment=8).result
        func.CallOp([], LIST, [head])
    for allocation in own:
        _take(allocation, TAKE_OWN, head)
        allocation.erase()
    for free in operations(function, {"memref.dealloc"}):
        if free in deallocations:
            continue
        with free.location, ir.InsertionPoint(free):
            descriptor = descriptor_type(free.operands[0].type.rank)
            cast = builtin.UnrealizedConversionCastOp([descriptor], [free.operands[0]])
            first = ir.DenseI64ArrayAttr.get([0])
            allocated = llvm.ExtractValueOp(pointer, cast.results[0], first).result
            func.CallOp([], GIVE_OWN, [allocated])
        free.erase()
    for end in operations(function, {"func.return"}):
        if not any(map(_is_given, end.operands)):
            with end.location, ir.InsertionPoint(end):
                func.CallOp([], GIVE_ALL_OWN, [head])


def _is_given(value: Any) -> bool:
    """Return whether a returned value is memory for the caller, as no failure gives it."""
    op = producer(value)
    return isinstance(value.type, ir.MemRefType) and (op is None or op.name != "ub.poison")


def _lend(function: Any, buffers: Mapping[Any, list[Any]]) -> None:
    ends = operations(function, {"func.return"})
    is_noted = len(ends) > 1 and len(buffers) <= _MOST_NOTED
    lent = _Lent(function, len(buffers)) if is_noted else None
    for number, (allocation, frees) in enumerate(buffers.items()):
        room = _take(allocation, TAKE)
        if lent is not None:
            lent.note(number, room)
        for free in frees:
            with free.location, ir.InsertionPoint(free):
                if lent is not None:
                    lent.strike_out(number)
                func.CallOp([], GIVE, [room])
            free.erase()
        allocation.erase()
    if lent is not None:
        lent.give_back_at(ends)


def _take(allocation: Any, function: str, *operands: Any) -> Any:
    """Replace an allocation by a view of memory that a function gives; return that memory."""
    type_ = allocation.results[0].type
    sizes = list(allocation.operands)
    with allocation.location, ir.InsertionPoint(allocation):
        bytes_ = bytes_at_run_time(allocation)
        room = func.CallOp([_room_type()], function, [*operands, bytes_]).results[0]
        view = memref.ViewOp(type_, room, index(0), sizes).result
    allocation.results[0].replace_all_uses_with(view)
    return room


class _Lent:
    """The list on the stack in which a function records the buffers that it has borrowed."""

    def __init__(self, function: Any, count: int) -> None:
        """Allocate a list of `count` buffers at the beginning of the function."""
        with ir.InsertionPoint.at_block_begin(function.regions[0].blocks[0]):
            zero = llvm.ZeroOp(descriptor_type(1)).result
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


TAKE, GIVE, GIVE_ALL = "lx_take", "lx_give", "lx_give_all"
LIST, TAKE_OWN, GIVE_OWN, GIVE_ALL_OWN = "lx_list", "lx_take_own", "lx_give_own", "lx_give_all_own"

_POOL = variable_symbol(VARIABLE)

DESCRIPTOR = "!llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>"
"""The descriptor of a `memref<?xi8>`: the allocation, the start, an offset, its size, a stride."""

FUNCTIONS = f"""
llvm.mlir.global weak @{_POOL}() : !llvm.ptr {{
  %null = llvm.mlir.zero : !llvm.ptr
  llvm.return %null : !llvm.ptr
}}
llvm.func @malloc(i64) -> !llvm.ptr
llvm.func @free(!llvm.ptr)

func.func private @lx_pool(%bytes: i64) -> (i1, !llvm.ptr)
    attributes {{llvm.linkage = #llvm.linkage<internal>}} {{
  %least = arith.constant {LEAST_BYTES} : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %variable = llvm.mlir.addressof @{_POOL} : !llvm.ptr
  %pool = llvm.load %variable : !llvm.ptr -> !llvm.ptr
  %is_there = llvm.icmp "ne" %pool, %null : !llvm.ptr
  %is_large = arith.cmpi uge, %bytes, %least : i64
  %lends = arith.andi %is_there, %is_large : i1
  return %lends, %pool : i1, !llvm.ptr
}}

func.func private @{TAKE}(%size: index) -> memref<?xi8>
    attributes {{llvm.linkage = #llvm.linkage<internal>}} {{
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %64 = arith.constant 64 : i64
  %line = arith.constant 63 : i64
  %bytes = arith.index_cast %size : index to i64
  %lends, %pool = call @lx_pool(%bytes) : (i64) -> (i1, !llvm.ptr)
  cf.cond_br %lends, ^lent, ^own
^lent:
  %take = llvm.load %pool : !llvm.ptr -> !llvm.ptr
  %block = llvm.call %take(%pool, %bytes) : !llvm.ptr, (!llvm.ptr, i64) -> !llvm.ptr
  cf.br ^done(%block, %0 : !llvm.ptr, i64)
^own:
  %room = arith.addi %bytes, %64 : i64
  %memory = llvm.call @malloc(%room) : (i64) -> !llvm.ptr
  %number = llvm.ptrtoint %memory : !llvm.ptr to i64
  %negated = arith.subi %0, %number : i64
  %missing = arith.andi %negated, %line : i64
  cf.br ^done(%memory, %missing : !llvm.ptr, i64)
^done(%allocated: !llvm.ptr, %skipped: i64):
  %aligned = llvm.getelementptr %allocated[%skipped] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %a = llvm.mlir.zero : {DESCRIPTOR}
  %b = llvm.insertvalue %allocated, %a[0] : {DESCRIPTOR}
  %c = llvm.insertvalue %aligned, %b[1] : {DESCRIPTOR}
  %d = llvm.insertvalue %bytes, %c[3, 0] : {DESCRIPTOR}
  %e = llvm.insertvalue %1, %d[4, 0] : {DESCRIPTOR}
  %buffer = builtin.unrealized_conversion_cast %e : {DESCRIPTOR} to memref<?xi8>
  return %buffer : memref<?xi8>
}}

func.func private @{GIVE}(%buffer: memref<?xi8>)
    attributes {{llvm.linkage = #llvm.linkage<internal>}} {{
  %whole = builtin.unrealized_conversion_cast %buffer : memref<?xi8> to {DESCRIPTOR}
  %allocated = llvm.extractvalue %whole[0] : {DESCRIPTOR}
  %bytes = llvm.extractvalue %whole[3, 0] : {DESCRIPTOR}
  %lends, %pool = call @lx_pool(%bytes) : (i64) -> (i1, !llvm.ptr)
  cf.cond_br %lends, ^lent, ^own
^lent:
  %second = llvm.getelementptr %pool[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %give = llvm.load %second : !llvm.ptr -> !llvm.ptr
  llvm.call %give(%pool, %allocated, %bytes) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i64) -> ()
  return
^own:
  llvm.call @free(%allocated) : (!llvm.ptr) -> ()
  return
}}

func.func private @{GIVE_ALL}(%buffers: memref<?xmemref<?xi8>>)
    attributes {{llvm.linkage = #llvm.linkage<internal>}} {{
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %count = memref.dim %buffers, %0 : memref<?xmemref<?xi8>>
  cf.br ^next(%0 : index)
^next(%number: index):
  %more = arith.cmpi ult, %number, %count : index
  cf.cond_br %more, ^look, ^done
^look:
  %buffer = memref.load %buffers[%number] : memref<?xmemref<?xi8>>
  %address = memref.extract_aligned_pointer_as_index %buffer : memref<?xi8> -> index
  %is_there = arith.cmpi ne, %address, %0 : index
  %after = arith.addi %number, %1 : index
  cf.cond_br %is_there, ^give, ^next(%after : index)
^give:
  call @{GIVE}(%buffer) : (memref<?xi8>) -> ()
  cf.br ^next(%after : index)
^done:
  return
}}
"""

_LIST_FUNCTIONS = f"""
llvm.func @malloc(i64) -> !llvm.ptr
llvm.func @free(!llvm.ptr)

// A list is two words, the next entry and the one before, as are the first words of each entry.
func.func private @{LIST}(%head: !llvm.ptr)
    attributes {{llvm.linkage = #llvm.linkage<internal>}} {{
  %second = llvm.getelementptr %head[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %head, %head : !llvm.ptr, !llvm.ptr
  llvm.store %head, %second : !llvm.ptr, !llvm.ptr
  return
}}

func.func private @{TAKE_OWN}(%head: !llvm.ptr, %size: index) -> memref<?xi8>
    attributes {{llvm.linkage = #llvm.linkage<internal>}} {{
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %16 = arith.constant 16 : i64
  %80 = arith.constant 80 : i64
  %line = arith.constant 63 : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %bytes = arith.index_cast %size : index to i64
  %room = arith.addi %bytes, %80 : i64
  %memory = llvm.call @malloc(%room) : (i64) -> !llvm.ptr
  %is_there = llvm.icmp "ne" %memory, %null : !llvm.ptr
  cf.cond_br %is_there, ^link, ^done(%null : !llvm.ptr)
^link:
  %next = llvm.load %head : !llvm.ptr -> !llvm.ptr
  %before_next = llvm.getelementptr %next[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %second = llvm.getelementptr %memory[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %next, %memory : !llvm.ptr, !llvm.ptr
  llvm.store %head, %second : !llvm.ptr, !llvm.ptr
  llvm.store %memory, %before_next : !llvm.ptr, !llvm.ptr
  llvm.store %memory, %head : !llvm.ptr, !llvm.ptr
  %number = llvm.ptrtoint %memory : !llvm.ptr to i64
  %start = arith.addi %number, %16 : i64
  %negated = arith.subi %0, %start : i64
  %missing = arith.andi %negated, %line : i64
  %skipped = arith.addi %missing, %16 : i64
  %first = llvm.getelementptr %memory[%skipped] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  cf.br ^done(%first : !llvm.ptr)
^done(%aligned: !llvm.ptr):
  %a = llvm.mlir.zero : {DESCRIPTOR}
  %b = llvm.insertvalue %memory, %a[0] : {DESCRIPTOR}
  %c = llvm.insertvalue %aligned, %b[1] : {DESCRIPTOR}
  %d = llvm.insertvalue %bytes, %c[3, 0] : {DESCRIPTOR}
  %e = llvm.insertvalue %1, %d[4, 0] : {DESCRIPTOR}
  %buffer = builtin.unrealized_conversion_cast %e : {DESCRIPTOR} to memref<?xi8>
  return %buffer : memref<?xi8>
}}

func.func private @{GIVE_OWN}(%memory: !llvm.ptr)
    attributes {{llvm.linkage = #llvm.linkage<internal>}} {{
  %second = llvm.getelementptr %memory[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %next = llvm.load %memory : !llvm.ptr -> !llvm.ptr
  %before = llvm.load %second : !llvm.ptr -> !llvm.ptr
  %before_next = llvm.getelementptr %next[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %before, %before_next : !llvm.ptr, !llvm.ptr
  llvm.store %next, %before : !llvm.ptr, !llvm.ptr
  llvm.call @free(%memory) : (!llvm.ptr) -> ()
  return
}}

func.func private @{GIVE_ALL_OWN}(%head: !llvm.ptr)
    attributes {{llvm.linkage = #llvm.linkage<internal>}} {{
  cf.br ^look
^look:
  %next = llvm.load %head : !llvm.ptr -> !llvm.ptr
  %more = llvm.icmp "ne" %next, %head : !llvm.ptr
  cf.cond_br %more, ^give, ^done
^give:
  call @{GIVE_OWN}(%next) : (!llvm.ptr) -> ()
  cf.br ^look
^done:
  return
}}
"""
