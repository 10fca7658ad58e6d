"""Named pipelines from linalg on tensors or memrefs to the LLVM dialect.

    print(PIPELINES["linalg"])                      # the passes of the first stage
    info = lower_to_llvm(module, on_stage=show)     # in place; show("linalg", module), ...

Seven phases, each a list of passes in the room of its name, make four stages:

    stage     phases                  afterwards
    linalg    legalization, fusion    generics on tensors, element-wise chains fused
    buffers   bufferization           generics on memrefs, each allocation with its deallocation
    loops     codegen, parallel       loops over scalars and vectors, shared ones outlined
    llvm      memory, llvm            the LLVM dialect, failures as a status
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, named_pipeline, run_in_place
from linalg_ext.runtime import poison
from linalg_ext.target import current, host
from linalg_ext.transforms.ir_utils.module_functions import PLAN

from . import bufferization, checks, codegen, fusion, legalization, llvm, memory, parallel
from .ir_utils.arithmetic import known_trips
from .ir_utils.walking import count_operations, operations
from .llvm.report_failures import MESSAGES
from .llvm.set_target import NAME as SET_TARGET
from .memory.check_allocations import OUT_OF_MEMORY
from .memory.poison_allocations import NAME as POISON_ALLOCATIONS

PHASES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "legalization": (
            *legalization.OUTLINING,
            *legalization.PASSES,
            *legalization.DESTINATION_OPS,
        ),
        "fusion": fusion.PASSES,
        "bufferization": bufferization.PASSES,
        "codegen": codegen.PASSES,
        "parallel": parallel.PASSES,
        "memory": memory.PASSES,
        "llvm": llvm.PASSES,
    }
)
"""The passes of each phase, each listed in the room of its name."""

CHECKS = (*legalization.OUTLINING, *checks.SIZES, *legalization.PASSES, *checks.ACCESSES)
"""The first half of legalization with run-time checks around it.

`lower_to_llvm(..., checked=True)` goes on from there.
"""

PIPELINES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "linalg": (*PHASES["legalization"], *PHASES["fusion"]),
        "buffers": PHASES["bufferization"],
        "loops": (*PHASES["codegen"], *PHASES["parallel"]),
        "llvm": (*PHASES["memory"], *PHASES["llvm"]),
    }
)
"""The passes of each stage, in the order in which they run."""

for _stage, _passes in PIPELINES.items():
    named_pipeline(f"linalg-ext-stage-{_stage}", ",".join(_passes), f"Lowering, stage {_stage}")

LARGE_ELEMENTS = 32
"""Constants with more elements than this are elided from the text of a stage."""


@dataclass(frozen=True)
class LoweringInfo:
    """The facts about a lowered module that the caller of `lower_to_llvm` needs.

    Attributes:
        assertions: the message of status 1, 2, ...; status 0 is success.
        out_of_memory: the status of a failed allocation; None if absent.
        instructions: the number of LLVM operations.
        suggested_opt_level: the optimization level for the engine.
        seconds: the time of each stage.
        passes: the name and the processor time of each run of passes, by stage; upstream's passes
            run several at once.
        reports: the reports of our passes, in the order in which they ran.
    """

    assertions: tuple[str, ...] = ()
    out_of_memory: int | None = None
    instructions: int = 0
    suggested_opt_level: int = 2
    seconds: Mapping[str, float] = field(default_factory=dict)
    passes: Mapping[str, tuple[tuple[str, float], ...]] = field(default_factory=dict)
    reports: tuple[Report, ...] = ()


def lower_to_llvm(
    module: ir.Module,
    *,
    on_stage: Callable[[str, ir.Module], None] | None = None,
    stages: Sequence[str] = tuple(PIPELINES),
    checked: bool = False,
) -> LoweringInfo:
    """Take `module` down to the LLVM dialect, in place.

    Functions are confined to the target in force, unless that is this machine.

    Args:
        module: linalg on tensors or memrefs, with arith, math, scf, cf, tensor, memref, affine,
            vector, complex, bufferization and func around it. Half lowered after an error: hand
            in a clone where that matters.
        on_stage: called with the name of each stage when it is done, and the module as it is then,
            to be read.
        stages: those to run, where a module has been through the first ones already.
        checked: whether `CHECKS` ran on the module, which leaves legalization half done.

    Raises:
        PipelineError: a pass failed; names it and carries upstream's diagnostics.
        LoweringError: the module holds something that has no way down.
    """
    seconds: dict[str, float] = {}
    pass_seconds: dict[str, tuple[tuple[str, float], ...]] = {}
    reports: list[Report] = []
    on_vectors = has_nests = False
    for stage in stages:
        passes = after_checks(stage) if checked else PIPELINES[stage]
        if stage == "llvm" and current() != host():
            passes = (*passes, SET_TARGET)
        start = time.perf_counter()
        run = run_in_place(module, ",".join(passes))
        reports += run.reports
        pass_seconds[stage] = tuple(run.seconds)
        if stage == "loops":
            on_vectors = _is_on_vectors(module)
            has_nests = any(PLAN in op.operation.attributes for op in module.body.operations)
        seconds[stage] = time.perf_counter() - start
        if on_stage is not None:
            on_stage(stage, module)
    messages = _pop_messages(module)
    instructions = count_operations(module.operation)
    is_optimized = on_vectors and (has_nests or instructions > _SHORT)
    if poison.ON and "llvm" in stages:
        run_in_place(module, POISON_ALLOCATIONS)
    return LoweringInfo(
        assertions=messages,
        out_of_memory=messages.index(OUT_OF_MEMORY) + 1 if OUT_OF_MEMORY in messages else None,
        instructions=instructions,
        suggested_opt_level=0 if is_optimized else suggest_opt_level(instructions),
        seconds=MappingProxyType(seconds),
        passes=MappingProxyType(pass_seconds),
        reports=tuple(reports),
    )


def after_checks(stage: str) -> tuple[str, ...]:
    """Return the passes that a stage still has to run where `CHECKS` ran before."""
    done = len(legalization.OUTLINING + legalization.PASSES) if stage == "linalg" else 0
    return PIPELINES[stage][done:]


def _is_on_vectors(module: ir.Module) -> bool:
    """Return whether there are loops, and nearly all rounds are those of nests or on vectors.

    They use vectors and registers as they should already: LLVM's optimizer gains little there.
    """
    functions = [op.operation for op in module.body.operations]
    without_plan = [function for function in functions if PLAN not in function.attributes]
    return bool(operations(module, _LOOPS)) and sum(map(_scalar_rounds, without_plan)) <= _FEW


_LOOPS = frozenset({"scf.for", "scf.forall", "scf.parallel"})

_FEW = 256
"""Rounds of loops over scalars that take less than a microsecond, however they are compiled."""


def _scalar_rounds(function: ir.Operation) -> float:
    """Return how often innermost loops without vectors go round; infinity where it branches."""
    rounds = 0.0

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal rounds
        if op.name in _LOOPS:
            names = [view.operation.name for view in op.regions[0].blocks[0].operations]
            if not any(name in _LOOPS or name.startswith("vector.") for name in names):
                rounds += _rounds(op)
        elif op.name.startswith(_BRANCHES):
            rounds = math.inf
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    return rounds


_BRANCHES = ("scf.while", "cf.br", "cf.cond_br", "cf.switch", "affine.for")


def _rounds(loop: ir.Operation) -> float:
    """Return how often the body of a loop runs; infinity if known at run time only."""
    trips = known_trips(*loop.operands[:3]) if loop.name == "scf.for" else None
    rounds = math.inf if trips is None else float(trips)
    around = loop.parent
    while around is not None and around.operation.name not in _LOOPS:
        around = around.operation.parent
    return rounds if around is None else rounds * _rounds(around.operation)


def suggest_opt_level(instructions: int) -> int:
    """Return the engine's optimization level for a module of `instructions` LLVM operations.

    All is inlined into one function, and LLVM's time grows faster than its length: 10,000
    operations take it 0.3 s at level 0, 4 s at 2, 15 s at 3.
    """
    if instructions <= _SHORT:
        return 3
    return 2 if instructions <= 10_000 else 0


_SHORT = 400
"""LLVM operations of code in which the optimizer may unroll loops over vectors to some effect."""


def stage_text(module: ir.Module) -> str:
    """Return the text of a module for readers: large constants are elided."""
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
