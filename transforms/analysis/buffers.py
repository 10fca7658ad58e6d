"""Buffers: the buffer that a value views, buffers that may alias, and the ops that reach them.

    %c = memref.alloc() : memref<4x4xf32>
    %v = memref.assume_alignment %c, 64 : memref<4x4xf32>
    %s = memref.subview %v[0, 0] [2, 4] [1, 1] : memref<4x4xf32> to memref<2x4xf32, strided<[4, 1]>>

`buffer_of(%s)` is the allocation. `linalg_ext.structured.views` finds the place of a view in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from linalg_ext.bindings import arith, ir
from linalg_ext.structured import views as view_ops
from linalg_ext.structured.constants import index
from linalg_ext.structured.operands import producer
from linalg_ext.structured.views import ViewReader, placement, shared_base
from linalg_ext.symbolic.index_sets import intersection, is_empty
from linalg_ext.transforms.ir_utils.generics import input_count
from linalg_ext.transforms.ir_utils.module_functions import APART, STATUS
from linalg_ext.transforms.ir_utils.walking import name_of, select

VIEW_OPS = view_ops.VIEW_OPS | frozenset(
    {
        *("memref.assume_alignment", "memref.cast", "memref.collapse_shape", "memref.expand_shape"),
        *("memref.extract_strided_metadata", "memref.memory_space_cast", "memref.reinterpret_cast"),
        *("memref.reshape", "memref.subview", "memref.transpose", "memref.view"),
        "vector.type_cast",
    }
)
"""Ops whose results in memory are views of their first operand."""

PURE_VIEW_OPS = VIEW_OPS - {"memref.reshape"}
"""View ops that read no memory: the shape that `memref.reshape` takes is in another buffer."""

ALLOCATIONS = frozenset({"memref.alloc", "memref.alloca"})
SOURCES = ALLOCATIONS | {"memref.get_global"}
"""Ops whose result is a buffer."""

SIZES = frozenset({"memref.dim", "memref.rank"})

TOUCH_NOTHING = PURE_VIEW_OPS | SOURCES | SIZES
"""Ops on buffers that neither read nor write an element."""

Kind = Literal["allocation", "argument", "global", "unknown"]


@dataclass(frozen=True)
class Buffer:
    """The memory behind a memref.

    Attributes:
        value: the memref that all views are of; two values of one global are one buffer.
        kind: the origin; "argument" is an argument of the function around it.
        key: the value, or the name of a global.
    """

    value: Any = field(compare=False)
    kind: Kind
    key: Any

    @property
    def is_fresh(self) -> bool:
        """True where the buffer is an allocation: no older value aliases it."""
        return self.kind == "allocation"


_CAST = "builtin.unrealized_conversion_cast"


def is_view(op: Any) -> bool:
    """Return whether the result of an op is a view of its first operand.

    A cast between memrefs reads the same memory as other elements.
    """
    if op.name == _CAST:
        return is_memory(op.operands[0]) and is_memory(op.results[0])
    return op.name in VIEW_OPS


def buffer_of(value: ir.Value) -> Buffer:
    """Return the buffer that a memref is, or is a view of."""
    op = producer(value)
    while op is not None and is_view(op):
        value = op.operands[0]
        op = producer(value)
    if op is None:
        return Buffer(value, "argument" if _is_given(value) else "unknown", value)
    if op.name in ALLOCATIONS:
        return Buffer(value, "allocation", value)
    if op.name == "memref.get_global":
        return Buffer(value, "global", ir.FlatSymbolRefAttr(op.attributes["name"]).value)
    return Buffer(value, "unknown", value)


def _is_given(value: ir.Value) -> bool:
    """Return whether a block argument is one of a function, not of a branch inside it."""
    block = ir.BlockArgument(value).owner
    function = block.owner
    if function is None or function.operation.name != "func.func":
        return False
    return bool(block == function.operation.regions[0].blocks[0])


def is_one_to_one(view: ir.Value) -> bool:
    """Return whether different indices of a memref are known to be different elements."""
    op = producer(view)
    while op is not None and is_view(op):
        if op.name == "memref.reinterpret_cast" and not _lies_apart(op.results[0].type):
            return False
        op = producer(op.operands[0])
    return True


def _lies_apart(type_: Any) -> bool:
    """Return whether the sizes and strides of a memref's type keep its elements apart."""
    strides, _ = type_.get_strides_and_offset()
    if not type_.has_static_shape or any(map(type_.is_dynamic_stride_or_offset, strides)):
        return False
    reach = 0
    for stride, size in sorted(zip(strides, type_.shape, strict=True)):
        if size > 1:
            if stride <= reach:
                return False
            reach += stride * (size - 1)
    return True


def global_of(buffer: Buffer) -> ir.Operation | None:
    """Return the `memref.global` of a buffer; None for one of another kind."""
    if buffer.kind != "global":
        return None
    around = buffer.value.owner.operation.parent
    while around is not None:
        if around.operation.name.endswith("module"):
            symbols = ir.SymbolTable(around.operation)
            return symbols[buffer.key].operation if buffer.key in symbols else None
        around = around.operation.parent
    return None


class Aliases:
    """An alias analysis of buffers, valid as long as no function gets another caller."""

    def __init__(self) -> None:
        self._native: dict[ir.Operation, bool] = {}

    def may_alias(self, first: Buffer, second: Buffer) -> bool:
        """Return whether two buffers may alias, in any iterations, and one of them may be written.

        Arguments of a public function that nothing in the module calls do not overlap: the call
        checks the buffers that are written. So do those of a function that says so: `APART`.
        """
        if first == second:
            return True
        if not self.may_alias_others(first, second.kind):
            return False
        return not (_is_constant(first) or _is_constant(second))

    def may_alias_others(self, buffer: Buffer, kind: Kind) -> bool:
        """Return whether the kind of other buffers allows for one that aliases."""
        kinds = {buffer.kind, kind}
        if "unknown" in kinds:
            return True
        if "allocation" in kinds or kinds == {"global"}:
            return False
        return kinds != {"argument"} or not self._is_of_native_callers(buffer)

    def _is_of_native_callers(self, argument: Buffer) -> bool:
        function = argument.value.owner.owner.operation
        if function not in self._native:
            is_private = "sym_visibility" in function.attributes
            is_entry = STATUS in function.attributes or APART in function.attributes
            self._native[function] = is_entry or not (is_private or _is_called(function))
        return self._native[function]


def may_alias(first: Buffer, second: Buffer) -> bool:
    """Return whether two buffers may alias and one may be written; see `Aliases`."""
    return Aliases().may_alias(first, second)


def _is_constant(buffer: Buffer) -> bool:
    variable = global_of(buffer)
    return variable is not None and "constant" in variable.attributes


def _is_called(function: ir.Operation) -> bool:
    """Return whether an op around a function names it: it may then get one buffer twice."""
    name = name_of(function)
    around = function.parent
    if around is None:
        return True
    calls = select(around.operation, lambda op: op.name in ("func.call", "func.constant"))
    callees = (op.attributes["callee" if op.name == "func.call" else "value"] for op in calls)
    return any(ir.FlatSymbolRefAttr(callee).value == name for callee in callees)


def are_apart(view: ir.Value, other: ir.Value) -> bool:
    """Return whether two memrefs are known to be disjoint parts of one view."""
    read = ViewReader()
    base = shared_base(view, other, read)
    if base is None:
        return False
    first, second = placement(view, read, base).tile, placement(other, read, base).tile
    if not all(isinstance(stride, int) for stride in (*first.strides, *second.strides)):
        return False
    return is_empty(intersection(first, second)) is True


def is_memory(value: ir.Value) -> bool:
    """Return whether a value is a memref."""
    return isinstance(value.type, _MEMORY)


_MEMORY = (ir.MemRefType, ir.UnrankedMemRefType)


def names_through(op: ir.Operation) -> list[ir.Value]:
    """Return the results by which the memory of an operand may be reached: views, and others."""
    return [result for result in op.results if is_memory(result)]


def uses_of(buffer: ir.Value) -> Iterator[ir.OpOperand]:
    """Yield each use of a memref, and of all that may be another name for its memory."""
    names = {buffer: None}
    waiting = [buffer]
    while waiting:
        for use in waiting.pop().uses:
            yield use
            new = [name for name in names_through(use.owner.operation) if name not in names]
            names.update(dict.fromkeys(new))
            waiting += new


_READS = frozenset(
    {
        *("affine.load", "affine.vector_load", "memref.load", "memref.prefetch"),
        *("vector.gather", "vector.load", "vector.maskedload", "vector.transfer_read"),
        *("arith.select", *VIEW_OPS, *SIZES),
    }
)


def may_write(op: ir.Operation, operand: int) -> bool:
    """Return whether an op may write the memory of an operand; True for an unknown op.

    The ops in its regions are not looked at.
    """
    if op.name in _READS or is_view(op):
        return False
    if op.name == "memref.copy":
        return operand != 0
    if op.name == "bufferization.to_tensor":
        return "writable" in op.attributes
    if op.name.startswith("linalg."):
        return operand >= input_count(op)
    return True


_KNOWN = ("memref.", "linalg.", "vector.", "affine.", "func.", "arith.", "amx.", "x86")
"""Name prefixes of ops that only access a buffer while they run, or return a view of it."""

_ENDS = (".yield", ".return", ".condition")
"""Name suffixes of ops that pass a buffer on to another region."""

_KEEP_ADDRESSES = frozenset(
    f"arith.{name}" for name in ("addi", "subi", "andi", "ori", "index_cast", "select")
)
"""Ops whose results still give the address; those of a remainder or a comparison do not."""

_ADDRESS = "memref.extract_aligned_pointer_as_index"


def reaching(buffer: ir.Value, *, handed_over: bool = False) -> list[Any] | None:
    """Return the ops that reach the memory of an allocation; None where it may outlive them.

    It may outlive them where it is passed to another block, freed under another name, or an
    unknown op takes its address.

    Args:
        buffer: the result of the allocation.
        handed_over: whether it may be passed to functions as a struct. Functions that share loops
            take it so.
    """
    ops: list[Any] = []
    waiting = [buffer]
    while waiting:
        value = waiting.pop()
        is_address = not is_memory(value)
        for use in value.uses:
            op = use.owner.operation
            ops.append(op)
            if op.name == "memref.dealloc" and value == buffer:
                continue
            if handed_over and (is_address or (op.name == _CAST and not is_view(op))):
                continue
            if _loses(op, value, is_address=is_address):
                return None
            if is_address or op.name == _ADDRESS:
                is_kept = op.name == _ADDRESS or op.name in _KEEP_ADDRESSES
                waiting += op.results if is_kept else ()
            else:
                waiting += names_through(op)
    return ops


def _loses(op: Any, value: ir.Value, *, is_address: bool) -> bool:
    """Return whether the buffer can no longer be followed beyond an op."""
    if op.name.endswith(_ENDS) or op.name == "memref.dealloc":
        return True
    if is_address:
        return bool(op.name.startswith(("llvm.", "func.")))
    is_stored = op.name == "memref.store" and op.operands[0] == value
    is_carried = len(op.regions) and not op.name.startswith(("linalg.", "memref."))
    return is_stored or bool(is_carried) or not (op.name.startswith(_KNOWN) or is_view(op))


MOST_BYTES = 1 << 62
"""More than any machine addresses, with room above for the padding of alignment."""

_LARGEST_ELEMENT = 64  # a descriptor of a memref of rank 2


def element_bytes(type_: Any) -> int:
    """Return an upper bound of the bytes that an element takes in memory."""
    if isinstance(type_, ir.VectorType):
        # A vector is padded to a power of two.
        return _power_of_two(math.prod(type_.shape) * element_bytes(type_.element_type))
    if isinstance(type_, ir.ComplexType):
        return 2 * element_bytes(type_.element_type)
    if isinstance(type_, ir.IntegerType | ir.FloatType):
        return _power_of_two(-(-type_.width // 8))
    if isinstance(type_, ir.IndexType):
        return 8
    return _LARGEST_ELEMENT


def static_elements(type_: Any) -> int:
    """Return the product of the dimensions that are known from the type."""
    return math.prod(
        type_.get_dim_size(axis) for axis in range(type_.rank) if not type_.is_dynamic_dim(axis)
    )


def static_bytes(type_: Any) -> int:
    """Return an upper bound of the bytes of the dimensions that are known from the type."""
    return static_elements(type_) * element_bytes(type_.element_type)


def bytes_at_run_time(allocation: Any) -> Any:
    """Return the bytes of an allocation, as an index at the insertion point."""
    type_ = allocation.results[0].type
    nbytes = index(static_bytes(type_))
    for size in list(allocation.operands)[: sum(map(type_.is_dynamic_dim, range(type_.rank)))]:
        nbytes = arith.muli(nbytes, size)
    return nbytes


def _power_of_two(count: int) -> int:
    return 1 << max(0, count - 1).bit_length()
