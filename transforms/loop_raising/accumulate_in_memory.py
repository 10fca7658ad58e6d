"""Accumulate in memory: values that loops carry are loaded and stored instead.

before:
    scf.for %i = %c0 to %m step %c1 {
      %s = scf.for %k = %c0 to %n step %c1 iter_args(%y = %zero) -> (f32) {
        %x = memref.load %a[%i, %k] : memref<?x?xf32>
        %z = arith.addf %y, %x : f32
        scf.yield %z : f32
      }
      memref.store %s, %c[%i] : memref<?xf32>
    }
after:
    scf.for %i = %c0 to %m step %c1 {
      memref.store %zero, %c[%i] : memref<?xf32>
      scf.for %k = %c0 to %n step %c1 {
        %y = memref.load %c[%i] : memref<?xf32>
        %x = memref.load %a[%i, %k] : memref<?x?xf32>
        %z = arith.addf %y, %x : f32
        memref.store %z, %c[%i] : memref<?xf32>
      }
    }

Its place is that of the stored result, or of a value computed from it, such as a mean, if nothing
touches that place meanwhile; else in a buffer of one element on the stack of the function. Nests
are then as linalg's lowering makes them: `linalg-ext-distribute-loops` makes perfect ones of them,
and `linalg-ext-raise-loops` structured ops. Nests on tensors stay: they need no memory.

It does not run of itself before `linalg-ext-raise-loops`, for a nest that is not raised then is
slower: the schedule step `raise_loops` takes it. Upstream's `affine-scalrep` and LLVM go the other
way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from linalg_ext.bindings import ir, memref, scf
from linalg_ext.dialects.gml_st.ir.sets import is_defined_inside
from linalg_ext.rewriting import MatchFailure, Report, module_pass
from linalg_ext.structured.indices import IndexReader
from linalg_ext.structured.mixed import type_shape
from linalg_ext.structured.operands import producer
from linalg_ext.transforms.ir_utils.walking import is_unused, operations

from ._bands import FOR, Memory, induction_variable, is_load, is_pure
from .raising import ON_TENSORS, is_on_tensors, with_location

NAME = "linalg-ext-accumulate-in-memory"

_STORE = "memref.store"
_PARALLEL = ("scf.parallel", "scf.forall", "gpu.launch")
_STORABLE = (ir.IntegerType, ir.IndexType, ir.FloatType, ir.ComplexType, ir.VectorType)


@module_pass(NAME, on=FOR)
def accumulate_in_memory(module: ir.Operation) -> Report:
    """Keep values that loops carry in memory: in their destination, or on the stack."""
    report = Report(NAME)
    accumulate(module, report, _on_stack)
    return report


def accumulate(module: ir.Operation, report: Report, allocate: _Allocator) -> None:
    """Keep the values that loops carry in memory; `allocate` finds it where no op stores them."""
    # From inside outwards: a value that an inner loop hands on, the outer loop hands on, too.
    for loop in reversed(operations(module, [FOR])):
        if len(loop.results):
            _drop_unchanged(loop)
    # From outside inwards: the initial value of an inner loop is then in memory already.
    for loop in [op for op in operations(module, [FOR]) if len(op.results)]:
        report.matched[FOR] += 1
        elements = _elements_of(loop, allocate)
        if isinstance(elements, MatchFailure):
            report.leave(FOR, with_location(loop, elements.reason))
            continue
        _rewrite(loop, elements)
        report.changed[FOR] += 1
    for load in operations(module, ["memref.load"]):
        if is_unused(load.results[0]):
            load.erase()


@dataclass(frozen=True)
class _Element:
    """An element of a buffer, and the op that stores a result there, if there is one."""

    buffer: ir.Value
    indices: tuple[ir.Value, ...] = ()
    store: ir.Operation | None = None

    def load(self) -> ir.Value:
        return memref.LoadOp(self.buffer, list(self.indices)).result

    def write(self, value: ir.Value) -> None:
        memref.StoreOp(value, self.buffer, list(self.indices))

    def holds(self, value: ir.Value, loop: ir.Operation) -> bool:
        """Return whether a value was loaded here, with no write between that and a loop."""
        op = producer(value)
        if op is None or not is_load(op) or op.block != loop.block:
            return False
        between = _between(op, loop)
        is_here = list(op.operands) == [self.buffer, *self.indices]
        return is_here and all(is_pure(inner) or is_load(inner) for inner in between)


_Allocator: TypeAlias = "Callable[[ir.Operation, ir.Type], _Element | None]"


def _elements_of(loop: ir.Operation, allocate: _Allocator) -> list[_Element] | MatchFailure:
    """Return an element of a buffer for each result of a loop."""
    if is_on_tensors(loop):
        return MatchFailure(ON_TENSORS)
    if not all(isinstance(result.type, _STORABLE) for result in loop.results):
        return MatchFailure("a carried value is not an element of a buffer")
    memory = Memory()
    elements: list[_Element] = []
    for result in loop.results:
        store = _store_of(result, loop, memory)
        stores = [element.store for element in elements if element.store is not None]
        if store is not None and not any(memory.may_share(store, other) for other in stores):
            _, buffer, *indices = store.operands
            elements.append(_Element(buffer, tuple(indices), store))
            continue
        allocated = allocate(loop, result.type)
        if allocated is None:
            return MatchFailure(
                "each iteration of a parallel loop around would need its own memory"
            )
        elements.append(allocated)
    return elements


def expanded(loop: ir.Operation, type_: ir.Type) -> _Element | None:
    """Allocate an element for each iteration of the loops around a loop; return the current one.

    One element where the loops do not begin at 0, or take steps.
    """
    around = loop.parent
    levels: list[ir.Operation] = []
    while around is not None and around.operation.name == FOR:
        levels.insert(0, around.operation)
        around = around.operation.parent
    read = IndexReader()
    bounds = [list(level.operands)[:3] for level in levels]
    whole = all(read(lower) == 0 and read(step) == 1 for lower, _, step in bounds)
    uppers = [upper for _, upper, _ in bounds]
    body = levels[0].regions[0].blocks[0] if levels else None
    if body is None or not whole or any(is_defined_inside(upper, body) for upper in uppers):
        return _on_stack(loop, type_)
    sizes = [read(upper) for upper in uppers]
    dynamic = [
        upper for upper, size in zip(uppers, sizes, strict=True) if not isinstance(size, int)
    ]
    with loop.location, ir.InsertionPoint(levels[0]):
        buffer = memref.alloca(ir.MemRefType.get(type_shape(sizes), type_), dynamic, [])
    return _Element(buffer, tuple(map(induction_variable, levels)))


def _on_stack(loop: ir.Operation, type_: ir.Type) -> _Element | None:
    """Allocate one element on the stack; return None where other threads run the loop too."""
    entry = _entry_of(loop)
    if entry is None:
        return None
    with loop.location, ir.InsertionPoint.at_block_begin(entry):
        return _Element(memref.alloca(ir.MemRefType.get([], type_), [], []))


def _store_of(result: ir.Value, loop: ir.Operation, memory: Memory) -> ir.Operation | None:
    """Return the op behind a loop that stores a result, or a value computed from it alone.

    The result is None where another op accesses that element in between.
    """
    computed = {result}
    meanwhile = [loop]
    for op in _between(loop, None):
        if op.name == _STORE and op.operands[0] in computed:
            break
        if is_pure(op) and any(operand in computed for operand in op.operands):
            computed.update(op.results)
        meanwhile.append(op)
    else:
        return None
    makers = [producer(value) for value in list(op.operands)[1:]]
    if op.operands[0].type != result.type or any(m in meanwhile for m in makers if m is not None):
        return None
    return None if any(memory.may_share(op, between) for between in meanwhile) else op


def _between(first: ir.Operation, last: ir.Operation | None) -> list[ir.Operation]:
    """Return the ops of a block behind one and before another, or up to the end."""
    ops = [op.operation for op in first.block.operations]
    return ops[ops.index(first) + 1 : None if last is None else ops.index(last)]


def _entry_of(loop: ir.Operation) -> ir.Block | None:
    """Return the entry block of the function around a loop; None inside a parallel loop."""
    around = loop.parent
    while around is not None and around.operation.name not in _PARALLEL:
        if around.operation.name == "func.func":
            return around.operation.regions[0].blocks[0]
        around = around.operation.parent
    return None


def _rewrite(loop: ir.Operation, elements: Sequence[_Element]) -> None:
    lower, upper, step, *carried = loop.operands
    body = loop.regions[0].blocks[0]
    *inside, yielding = [op.operation for op in body.operations]
    with loop.location, ir.InsertionPoint(loop):
        for element, value in zip(elements, carried, strict=True):
            if not element.holds(value, loop):
                element.write(value)
        plain = scf.ForOp(lower, upper, step)
        with ir.InsertionPoint(plain.body):
            replacements = [plain.induction_variable, *(element.load() for element in elements)]
            end = scf.YieldOp([]).operation
    for op in inside:
        op.move_before(end)
    for argument, value in zip(body.arguments, replacements, strict=True):
        argument.replace_all_uses_with(value)
    with loop.location, ir.InsertionPoint(end):
        for element, value in zip(elements, yielding.operands, strict=True):
            element.write(value)
    with loop.location, ir.InsertionPoint(loop):
        for element, result in zip(elements, loop.results, strict=True):
            if element.store is not None and element.store.operands[0] == result:
                element.store.erase()
            if not is_unused(result):
                result.replace_all_uses_with(element.load())
    loop.erase()


def _drop_unchanged(loop: ir.Operation) -> None:
    """Replace a value that a loop carries unchanged by its initial value."""
    lower, upper, step, *inits = loop.operands
    body = loop.regions[0].blocks[0]
    *ops, yielding = [op.operation for op in body.operations]
    iv, *arguments = body.arguments
    changing: list[int] = []
    for number, argument in enumerate(arguments):
        if yielding.operands[number] in (argument, inits[number]):
            argument.replace_all_uses_with(inits[number])
            loop.results[number].replace_all_uses_with(inits[number])
        else:
            changing.append(number)
    if len(changing) == len(inits):
        return
    with loop.location, ir.InsertionPoint(loop):
        narrowed = scf.ForOp(lower, upper, step, [inits[number] for number in changing])
        with ir.InsertionPoint(narrowed.body):
            end = scf.YieldOp([yielding.operands[number] for number in changing]).operation
    for name in set(loop.attributes) - set(narrowed.operation.attributes):
        narrowed.operation.attributes[name] = loop.attributes[name]
    for op in ops:
        op.move_before(end)
    iv.replace_all_uses_with(narrowed.induction_variable)
    for position, number in enumerate(changing):
        arguments[number].replace_all_uses_with(narrowed.inner_iter_args[position])
        loop.results[number].replace_all_uses_with(narrowed.operation.results[position])
    loop.erase()
