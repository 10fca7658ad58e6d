"""The way down: named pipelines from linalg on tensors or memrefs to the LLVM dialect.

    print(PIPELINES["linalg"])                      # what the first stage runs
    info = lower_to_llvm(module, on_stage=show)     # in place; show("linalg", module), ...

Four stages, each a textual pipeline over upstream's passes and those of this package:

    linalg    named and structured ops made generic, element-wise chains fused; still on tensors
    buffers   tensors made memrefs, each with its deallocation
    loops     structured ops made loops over scalars and vectors
    llvm      everything made LLVM, failures made a status
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, named_pipeline, run_in_place
from linalg_ext.runtime import poison

from .ir_utils.plan_functions import PLAN
from .llvm.report_failures import MESSAGES
from .memory.check_allocations import OUT_OF_MEMORY
from .memory.poison_allocations import NAME as POISON_ALLOCATIONS
from .numerics.expand_narrow_floats import narrow_type_names

_NARROW = ",".join(narrow_type_names())

_FIRST = (
    # What a library does is out of the way of all that would change it.
    "linalg-ext-call-libraries",
    # Upstream takes one that cuts off as much as it adds for one that does nothing.
    "linalg-ext-crop-negative-pads",
    # Upstream folds x / x to 1, whatever x is.
    "linalg-ext-guard-integer-division",
    # A masked region must hold one operation alone, and passes move constants into it.
    "func.func(lower-vector-multi-reduction)",
    "func.func(lower-vector-mask)",
    "linalg-ext-mark-masked-operations",
)
_EXPORTED = (
    "linalg-ext-lower-exported-scan",
    "linalg-ext-lower-exported-scatter",
    "linalg-ext-lower-exported-sort",
    "linalg-ext-lower-exported-top-k",
)
"""What exporters write beyond upstream's dialects, before checks look at every index."""

_OURS = (
    # Groups are apart from what is around them until all that fuses tensors is done.
    "linalg-ext-outline-groups",
    *_EXPORTED,
    "linalg-ext-lower-views",
    # What loops over subsets hold may be ops of all kinds.
    "linalg-ext-lower-subset-loops",
    # Contracts know the compute type of their steps and the order of their operands.
    "linalg-ext-lower-contract",
    # Passes of upstream's drop the attribute, and then compute in another type.
    "linalg-ext-materialize-compute-type{strict=true}",
    "linalg-ext-lower-elementwise",
)
"""Before all else: what only this library knows becomes what upstream knows."""

CHECKS = (
    "linalg-ext-outline-groups",
    # Of ops as they were written: what they become may leave out what does not fit.
    "linalg-ext-check-sizes",
    *_OURS,
    *_FIRST,
    # It becomes single elements, and each of them is asked.
    "linalg-ext-lower-gather-scatter",
    "linalg-ext-check-accesses",
    "linalg-ext-fold-position-checks",
    # Most checks are of what is known; the passes to come need not walk over them.
    "canonicalize",
)
"""What puts run-time checks into a module, before `lower_to_llvm`."""

_LINALG = (
    *_OURS,
    "linalg-ext-refuse-unsupported",
    "linalg-ext-refuse-recursion",
    *_FIRST,
    "linalg-ext-decompose-structured-ops",
    # They stay in bounds by what they assert of sizes: no check of each element is needed.
    "linalg-ext-lower-concatenate",
    "linalg-ext-lower-reverse",
    "linalg-ext-lower-dynamic-broadcast",
    "linalg-ext-lower-gather",
    "linalg-ext-lower-scatter",
    "linalg-ext-lower-sort",
    "linalg-ext-lower-gather-scatter",
    "linalg-ext-lower-tensor-bitcast",
    "convert-elementwise-to-linalg",
    "func.func(lift-cf-to-scf)",
    # What is inlined is simple then: a scope of allocas, say, is gone where it ends a function.
    "canonicalize",
    "inline",
    # A tensor whose sizes are asked for is not fused, and one that nobody else reads is allocated.
    "resolve-ranked-shaped-type-result-dims",
    "canonicalize",
    "cse",
    "linalg-generalize-named-ops",
    # Upstream's fusion would add several times to what is broadcast afterwards.
    "linalg-ext-read-destinations-as-inputs",
    "linalg-ext-spread-transposed-convolutions",
    "linalg-ext-carry-prefixes",
    "linalg-ext-look-up-labels",
    "linalg-ext-keep-contractions",
    "linalg-ext-keep-windows",
    "linalg-ext-keep-effects",
    "linalg-fuse-elementwise-ops",
    "linalg-ext-fold-open-reshapes",
    "linalg-ext-read-scalars-as-operands",
    # What does not change in tiles of rows is packed once, while fills are still to be shaped.
    "linalg-ext-pack-before-loops",
    "linalg-ext-reshape-fills",
    # Fusion asks for sizes of its own.
    "resolve-ranked-shaped-type-result-dims",
    "canonicalize",
    "cse",
    "linalg-ext-expand-known-powers",
    "linalg-ext-separate-factors",
    "linalg-ext-gather-attention",
    "linalg-ext-inline-outlined-groups",
    "linalg-ext-compute-parameters-first",
)
_BUFFERS = (
    "linalg-ext-allocate-results-first",
    "linalg-ext-reshape-destinations",
    "linalg-ext-release-effects",
    # What makes a tensor may write where that is put.
    "linalg-ext-hoist-assertions",
    # The elimination is wrong where two results share a state.
    "linalg-ext-own-destinations",
    "eliminate-empty-tensors",
    "one-shot-bufferize{bufferize-function-boundaries=true"
    " function-boundary-type-conversion=identity-layout-map allow-return-allocs-from-loops=true}",
    # What was not fused into its readers is written out in the code.
    "linalg-ext-refuse-constants",
    "linalg-ext-link-library-calls",
    "linalg-ext-move-large-allocas-to-heap",
    "linalg-ext-drop-deallocations",
    "buffer-deallocation-pipeline",
    "convert-bufferization-to-memref",
    "canonicalize",
    "cse",
    # What was kept by its name so far, and what bufferization made.
    "linalg-generalize-named-ops",
    # Parts of a loop may be shared between threads, and are fit for vectors.
    "linalg-ext-split-index-sets",
)
_LOOPS = (
    # Slices of an entry's work name a part of an operand once for each op.
    "cse",
    "linalg-ext-fuse-attention",
    "linalg-ext-lower-strided-copies",
    "linalg-ext-order-loops",
    "linalg-ext-view-windows",
    "linalg-ext-tile-windows",
    # After passes that have nothing to do in the nests, and would walk over them.
    "linalg-ext-pack-contractions",
    "linalg-ext-vectorize-loops",
    "linalg-ext-split-long-sums",
    "convert-linalg-to-loops",
    "canonicalize",
    "cse",
    "loop-invariant-code-motion",
    "linalg-ext-vectorize-scans",
    # Last, for what is freed parts the ops before it from those behind it.
    "linalg-ext-shorten-lifetimes",
    "linalg-ext-outline-shared-loops",
    "linalg-ext-outline-repeated-loops",
    "linalg-ext-outline-long-entries",
)
_LLVM = (
    "linalg-ext-advise-huge-pages",
    "linalg-ext-move-small-buffers-to-stack",
    "linalg-ext-lower-vector-scan",
    "convert-vector-to-scf",
    "linalg-ext-hoist-allocas",
    "lower-affine",
    "convert-complex-to-standard",
    "math-expand-ops{ops=clampf}",
    # Before expm1 is expanded for scalars, and once more for what was extended to f32.
    "linalg-ext-expand-vector-math",
    "linalg-ext-expand-math",
    f"arith-emulate-unsupported-floats{{source-types={_NARROW} target-type=f32}}",
    "math-extend-to-supported-types{target-type=f32}",
    "linalg-ext-expand-narrow-floats",
    "linalg-ext-expand-vector-math",
    "convert-math-to-funcs{min-width-of-fpowi-exponent=1}",
    "convert-scf-to-cf",
    "linalg-ext-keep-shared-functions",
    "inline",
    "linalg-ext-check-allocations",
    "linalg-ext-report-failures",
    "linalg-ext-lend-buffers",
    "memref-expand",
    "expand-strided-metadata",
    "lower-affine",
    "linalg-ext-guard-integer-division",
    "arith-expand",
    "convert-math-to-llvm{approximate-log1p=false}",
    "convert-math-to-libm",
    "linalg-ext-pass-narrow-floats-as-integers",
    "convert-vector-to-llvm{enable-x86=true}",
    "convert-complex-to-llvm",
    "convert-arith-to-llvm",
    "convert-index-to-llvm",
    "finalize-memref-to-llvm",
    "convert-func-to-llvm",
    "convert-cf-to-llvm",
    "convert-ub-to-llvm",
    "reconcile-unrealized-casts",
    "linalg-ext-move-narrow-floats-as-integers",
    "linalg-ext-freeze-undefined",
    "canonicalize",
    "cse",
    "linalg-ext-require-lowered",
    "linalg-ext-require-instructions",
    "linalg-ext-make-functions-internal",
    "linalg-ext-set-target",
)

PIPELINES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"linalg": _LINALG, "buffers": _BUFFERS, "loops": _LOOPS, "llvm": _LLVM}
)
"""The passes of each stage, in the order in which they run."""

for _stage, _passes in PIPELINES.items():
    named_pipeline(f"linalg-ext-stage-{_stage}", ",".join(_passes), f"Lowering, stage {_stage}")

LARGE_ELEMENTS = 32
"""Constants with more elements than this are elided from the text of a stage."""


@dataclass(frozen=True)
class LoweringInfo:
    """What the caller of `lower_to_llvm` must know of the result.

    Attributes:
        assertions: the message of status 1, 2, ...; status 0 is success.
        out_of_memory: the status that says that a buffer could not be allocated, if there is one.
        instructions: the number of LLVM operations.
        suggested_opt_level: the optimization level for the engine.
        seconds: how long each stage took.
        reports: of our passes that ran, in that order.
    """

    assertions: tuple[str, ...] = ()
    out_of_memory: int | None = None
    instructions: int = 0
    suggested_opt_level: int = 2
    seconds: Mapping[str, float] = field(default_factory=dict)
    reports: tuple[Report, ...] = ()


def lower_to_llvm(
    module: ir.Module,
    *,
    on_stage: Callable[[str, ir.Module], None] | None = None,
    stages: Sequence[str] = tuple(PIPELINES),
) -> LoweringInfo:
    """Take `module` down to the LLVM dialect, in place.

    Args:
        module: linalg on tensors or memrefs, with arith, math, scf, cf, tensor, memref, affine,
            vector, complex, bufferization and func around it. Half lowered after an error: hand
            in a clone where that matters.
        on_stage: called with the name of each stage when it is done, and the module as it is then,
            to be read.
        stages: those to run, where a module has been through the first ones already.

    Raises:
        PipelineError: a pass failed; names it and carries upstream's diagnostics.
        LoweringError: the module holds something that has no way down.
    """
    seconds: dict[str, float] = {}
    reports: list[Report] = []
    is_planned = False
    for stage in stages:
        passes = PIPELINES[stage]
        start = time.perf_counter()
        reports += run_in_place(module, ",".join(passes)).reports
        if stage == "loops":
            is_planned = _is_all_planned(module)
        seconds[stage] = time.perf_counter() - start
        if on_stage is not None:
            on_stage(stage, module)
    messages = _pop_messages(module)
    instructions = _count_operations(module)
    if poison.ON and "llvm" in stages:
        run_in_place(module, POISON_ALLOCATIONS)
    return LoweringInfo(
        assertions=messages,
        out_of_memory=messages.index(OUT_OF_MEMORY) + 1 if OUT_OF_MEMORY in messages else None,
        instructions=instructions,
        suggested_opt_level=0 if is_planned else suggest_opt_level(instructions),
        seconds=MappingProxyType(seconds),
        reports=tuple(reports),
    )


def _is_all_planned(module: ir.Module) -> bool:
    """Whether all loops are those of nests, which LLVM's optimizer makes no faster.

    They are vectors and registers already, and its time grows faster than their length.
    """
    functions = [op.operation for op in module.body.operations]
    nests = [function for function in functions if PLAN in function.attributes]
    others = [function for function in functions if PLAN not in function.attributes]
    return bool(nests) and not any(map(_has_loops, others))


def _has_loops(function: ir.Operation) -> bool:
    found = False

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal found
        if op.name.startswith(("scf.", "cf.", "affine.", "memref.copy")):
            found = True
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    return found


def suggest_opt_level(instructions: int) -> int:
    """The engine's optimization level for a module of so many LLVM operations.

    All is inlined into one function, and LLVM's time grows faster than its length: 10,000
    operations take it 0.3 s at level 0, 4 s at 2, 15 s at 3.
    """
    if instructions <= 400:
        return 3
    return 2 if instructions <= 10_000 else 0


def stage_text(module: ir.Module) -> str:
    """The text of a module for people: large constants are elided."""
    text = module.operation.get_asm(
        large_elements_limit=LARGE_ELEMENTS, large_resource_limit=LARGE_ELEMENTS
    )
    return str(text)


def _pop_messages(module: ir.Module) -> tuple[str, ...]:
    attributes = module.operation.attributes
    if MESSAGES not in attributes:
        return ()
    messages: Any = ir.ArrayAttr(attributes[MESSAGES])
    del attributes[MESSAGES]
    return tuple(ir.StringAttr(message).value for message in messages)


def _count_operations(module: ir.Module) -> int:
    count = 0

    def visit(op: Any) -> Any:
        nonlocal count
        count += 1
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return count
