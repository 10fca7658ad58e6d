"""Refuse operations without a lowering to LLVM, before the module is changed.

Upstream would find most of it half-way down, where the place and the name are no longer those that
the user wrote; scalable vectors end the process in LLVM's code generator, and vectors of a hundred
thousand elements keep it busy for minutes.

An error names the operation, its place and the hint; a module without such passes unchanged.
Recursive calls are refused too: calls are inlined, so that a failure in any function can end the
entry. That error names the cycle.

refused:
    func.func @f() -> index {
      %id = gpu.thread_id x
      return %id : index
    }

refused:
    func.func @f(%a: f32) -> f32 {
      %0 = call @g(%a) : (f32) -> f32
      return %0 : f32
    }
    func.func private @g(%a: f32) -> f32 {
      %0 = call @g(%a) : (f32) -> f32
      return %0 : f32
    }
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import LoweringError
from linalg_ext.rewriting import module_pass
from linalg_ext.transforms.ir_utils.walking import functions, name_of, operations, place, select

NAME = "linalg-ext-refuse-unsupported"

_MOST_LANES = 1 << 14
_TO_TENSOR = "bufferization.to_tensor"
_ALLOCATIONS = frozenset({"memref.alloc", "memref.alloca"})


@module_pass(NAME)
def refuse_unsupported(module: ir.Operation) -> None:
    """Refuse operations, vectors, memory and recursive calls that have no way down to LLVM.

    Raises:
        LoweringError: there is such; names the first, or the cycle.
    """
    for op in select(module, _first_of_each_kind(module)):
        hint = hint_of(op.name)
        if hint is not None:
            raise LoweringError(
                f"{op.name} has no known lowering to LLVM", where=place(op), hint=hint
            )
        if op.name == _TO_TENSOR and "restrict" not in op.attributes:
            raise LoweringError(
                "a tensor that is made of memory must be the only name of that memory",
                where=place(op),
                hint="write `bufferization.to_tensor %m restrict`",
            )
        _refuse_types(op)
    _refuse_recursion(module)


def _first_of_each_kind(module: ir.Operation) -> Callable[[Any], bool]:
    """Return a predicate: an op is the first of its name and types, or has an attribute to check.

    The walk meets thousands of ops, of which a few tens differ.
    """
    kinds: set[Any] = set()

    def is_first(op: Any) -> bool:
        name = op.name
        kind = name, *op.results.types
        if kind in kinds:
            return bool(name == _TO_TENSOR)
        kinds.add(kind)
        return bool(op != module)

    return is_first


def _refuse_types(op: Any) -> None:
    for result in op.results:
        type_ = result.type
        if _is_scalable(type_):
            raise LoweringError(
                f"scalable vectors cannot be compiled for this machine: {type_}",
                where=place(op),
                hint="use vectors of a fixed size",
            )
        if isinstance(type_, ir.VectorType) and math.prod(type_.shape) > _MOST_LANES:
            raise LoweringError(
                f"a vector of {math.prod(type_.shape)} elements takes LLVM minutes: {type_}",
                where=place(op),
                expected=f"{_MOST_LANES} elements at most",
                hint="loop over shorter vectors, or use tensors: they are cut into vectors that "
                "fit the machine",
            )
        if op.name in _ALLOCATIONS and str(type_.memory_space) not in ("None", "0", "0 : i64"):
            raise LoweringError(
                f"memory can only be allocated in the default memory space, not in {type_}",
                where=place(op),
                hint="drop the memory space from the type",
            )


def _is_scalable(type_: Any) -> bool:
    if isinstance(type_, ir.MemRefType | ir.RankedTensorType):
        type_ = type_.element_type
    return isinstance(type_, ir.VectorType) and bool(type_.scalable)


def _refuse_recursion(module: ir.Operation) -> None:
    calls: dict[str, list[tuple[str, Any]]] = {}
    for function in functions(module):
        calls[name_of(function)] = [
            (ir.FlatSymbolRefAttr(op.attributes[key]).value, op)
            for op in operations(function, {"func.call", "func.constant"})
            for key in ("callee", "value")
            if key in op.attributes
        ]
    visited: set[str] = set()
    for name in calls:
        _follow(name, calls, [], visited)


def _follow(
    name: str, calls: Mapping[str, list[tuple[str, Any]]], path: list[str], visited: set[str]
) -> None:
    if name in visited:
        return
    for callee, call in calls.get(name, ()):
        if callee in (*path, name):
            cycle = [*path, name]
            cycle = [*cycle[cycle.index(callee) :], callee]
            path_text = " -> ".join(f"@{symbol}" for symbol in cycle)
            raise LoweringError(
                f"recursive calls cannot be lowered: {path_text}",
                where=place(call),
                hint="write the recursion as a loop (scf.while)",
            )
        _follow(callee, calls, [*path, name], visited)
    visited.add(name)


def hint_of(name: str) -> str | None:
    """Return the hint for the operation `name`, if it is known to have no lowering; else None."""
    return HINTS.get(name) or HINTS.get(name.partition(".")[0])


HINTS: Mapping[str, str] = MappingProxyType(
    {
        "async": "kernels run on the thread that calls them: drop the asynchrony",
        "complex.bitcast": "take the number apart with complex.re and complex.im",
        "gpu": "device code is not supported: keep to linalg, scf, vector and memref",
        "memref.dma_start": "copy with memref.copy",
        "memref.dma_wait": "copy with memref.copy",
        "memref.generic_atomic_rmw": "use memref.atomic_rmw, or memref.load and memref.store",
        "omp": "write the loop as scf.for or scf.forall",
        "quant": "write the quantization as arith operations in a linalg.generic",
        "shape": "use tensor.dim and index arithmetic, or run convert-shape-to-std first",
        "sparse_tensor": "run sparsifier first",
        "stablehlo": "give its text to lx.parse, which brings it to linalg",
        "tm_tensor.attention": "have the exporter decompose scaled_dot_product_attention first",
        "torch": "give its text to lx.parse, which brings it to linalg",
        "tosa": "give its text to lx.parse, which brings it to linalg",
        "transform": "apply the schedule first; a payload module holds no transform operations",
        "vector.print": "give the value back as a result, and print that",
        "vector.type_cast": "use vector.transfer_read and vector.transfer_write",
        "vector.vscale": "use vectors of a fixed size",
    }
)
"""The hint for an operation, or else for all of a dialect."""
