"""Reductions over windows become loops around a tile of results in registers.

before:
    %v = memref.reinterpret_cast %i to offset: [0], sizes: [55, 3, 64], strides: [128, 64, 1]
        : memref<111x64xf32> to memref<55x3x64xf32, strided<[128, 64, 1]>>
    linalg.generic {indexing_maps = [affine_map<(w, c, k) -> (w, k, c)>,
                                     affine_map<(w, c, k) -> (w, c)>],
                    iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%v : memref<55x3x64xf32, strided<[128, 64, 1]>>) outs(%o : memref<55x64xf32>) {
    ^bb0(%x: f32, %old: f32):
      %m = arith.maximumf %old, %x : f32
      linalg.yield %m : f32
    }
after:
    %v = memref.reinterpret_cast %i to offset: [0], sizes: [55, 3, 64], strides: [128, 64, 1]
        : memref<111x64xf32> to memref<55x3x64xf32, strided<[128, 64, 1]>>
    func.call @linalg_ext_windows_0(%v, %o)
      : (memref<55x3x64xf32, strided<[128, 64, 1]>>, memref<55x64xf32>) -> ()

Poolings and depthwise convolutions are ops of any name that read memory through views that overlap.
The vectors run along the channels if these come last in memory, and else along the width. Each
result combines the elements of its window in the order of the loops; a product that is added is not
rounded before.

A convolution that multiplies matrices is computed by Winograd's algorithm if that is quicker: see
`_winograd_plan.py`. Any other reads its operands in place if its kernel is small enough to stay in
the cache, or is left to be packed.

If the output was just filled with a constant, the results start from it, and the fill is gone. If
its only reader is an element-wise op, a bias and an activation say, that is computed on the tile,
and the result goes to the op's destination.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.maps import split_operands
from linalg_ext.structured.operands import static_sizes
from linalg_ext.transforms.analysis.buffers import buffer_of, is_memory
from linalg_ext.transforms.analysis.fills import comes_of, preceding_fill
from linalg_ext.transforms.codegen.base.epilogue import EpilogueMatch, call_in_place, find_epilogue
from linalg_ext.transforms.codegen.base.machine import Machine, this_machine
from linalg_ext.transforms.codegen.base.payload import ELEMENTS, captured_scalars, read_payload
from linalg_ext.transforms.codegen.base.problem import Argument, argument_of, sizes_of
from linalg_ext.transforms.codegen.contractions.products import contraction_in
from linalg_ext.transforms.ir_utils.generics import maps_of, parallel_loops
from linalg_ext.transforms.ir_utils.module_functions import WINDOWS, Functions
from linalg_ext.transforms.ir_utils.walking import producer, select

from ._window_nest import WindowNest
from ._window_plan import (
    Loop,
    WindowPlan,
    WindowProblem,
    make_product_plan,
    make_window_plan,
    repeating,
)
from ._winograd_nest import WinogradNest
from ._winograd_plan import WinogradPlan, find_convolution, winograd_plan_for

NAME = "linalg-ext-tile-windows"

_IN_MEMORY = ELEMENTS - {"i1"}
"""Types of elements in memory: it stores truth values as bytes."""

_Plan: TypeAlias = WindowPlan | WinogradPlan


@module_pass(NAME, on="linalg.generic")
def tile_windows(module: ir.Operation) -> Report:
    """Turn reductions over windows on buffers into calls of tiled loops."""
    report = Report(NAME)
    functions, machine = Functions(module, WINDOWS), this_machine()
    pending = select(module, _reads_windows)
    while pending:
        op = pending.pop(0)
        report.matched[op.name] += 1
        report.record(op.name, _rewrite(op, functions, machine, pending))
    return report


def _reads_windows(op: Any) -> bool:
    """Return whether a generic on buffers reads a view that has more axes than its memory."""
    if op.name != "linalg.generic" or len(op.results):
        return False
    return any(_is_window(value) for value in split_operands(op)[0])


def _is_window(value: Any) -> bool:
    if not comes_of(value, "memref.reinterpret_cast"):
        return False
    source = producer(value).operands[0].type
    return isinstance(source, ir.MemRefType) and bool(source.rank < value.type.rank)


def _rewrite(op: Any, functions: Functions, machine: Machine, pending: list[Any]) -> str | None:
    """Replace an op; return why it stays, or None. Ops that are erased with it leave `pending`."""
    fill = preceding_fill(op)
    read = _read(op, fill[1] if fill is not None else None, machine)
    if isinstance(read, str):
        return read
    problem, operands = read
    match = None
    if fill is not None and len(op.operands) == 3:
        match = find_epilogue(op, problem.arguments[problem.output].dimensions, fill[0])
    plan: _Plan | str = "the op has no epilogue"
    inputs = operands
    if match is not None:
        finished = _finished(problem, operands, match, machine)
        if finished is not None:
            plan, inputs = _planned(op, finished[0], machine), finished[1]
    if isinstance(plan, str):
        match = None
        plan, inputs = _planned(op, problem, machine), operands
    if isinstance(plan, str):
        return plan
    if isinstance(plan, WinogradPlan) and plan.is_prepared:
        inputs = [*inputs, buffer_of(op.operands[plan.convolution.filters]).value]
    types = [str(value.type) for value in inputs]
    key = f"{plan.problem}{types}"
    name = functions.known(key)
    if name is None:
        if isinstance(plan, WinogradPlan):
            write = WinogradNest(plan, types).function
        else:
            write = WindowNest(plan, types).function
        name = functions.add(key, plan, write)
    call_in_place(functions, name, inputs, op, fill and fill[0], match, pending)
    return None


def _finished(
    problem: WindowProblem, operands: Sequence[Any], match: EpilogueMatch, machine: Machine
) -> tuple[WindowProblem, list[Any]] | None:
    dimensions = problem.arguments[problem.output].dimensions
    destination = argument_of(match.destination, dimensions)
    if isinstance(destination, str):
        return None
    epilogue = match.epilogue
    element = problem.arguments[problem.output].element
    if {argument.element for argument in (destination, *epilogue.arguments)} != {element}:
        return None  # the tile is of one type
    if machine.has_fma:
        epilogue = replace(epilogue, payload=epilogue.payload.contracted())
    arguments = {**problem.arguments, problem.output: destination}
    arguments |= dict(enumerate(epilogue.arguments, start=len(operands)))
    values = [*operands, *match.values]
    values[problem.output] = match.destination
    return replace(problem, arguments=arguments, epilogue=epilogue), values


def _planned(op: Any, problem: WindowProblem, machine: Machine) -> _Plan | str:
    if not _multiplies_matrices(op) or repeating(problem, machine) is not None:
        return make_window_plan(problem, machine)
    elements = {argument.element for argument in problem.arguments.values()}
    convolution = find_convolution(problem)
    if convolution is not None:
        winograd = winograd_plan_for(convolution, op, machine)
        if winograd is not None:
            return winograd
    plan = None
    if machine.has_fma and elements in ({"f32"}, {"f64"}):
        plan = make_product_plan(problem, machine)
    return plan or "the op multiplies matrices that are best packed"


def _multiplies_matrices(op: Any) -> bool:
    """Return whether an op is a contraction with rows and columns, which reuses each element."""
    contraction = contraction_in(op)
    if contraction is None:
        return False
    lengths: dict[str, int | None] = {}
    operand_dims = (contraction.a, contraction.b, contraction.c)
    for value, dims in zip(op.operands, operand_dims, strict=True):
        lengths |= dict(zip(dims, static_sizes(value), strict=True))
    return all(
        any(lengths[dim] != 1 for dim in dims) for dims in (contraction.rows, contraction.columns)
    )


def _read(op: Any, start: str | None, machine: Machine) -> tuple[WindowProblem, list[Any]] | str:
    """Return the problem that an op computes and the operands of its body, or why it is not one."""
    inputs, outputs = split_operands(op)
    if len(outputs) != 1:
        return "the op has several results"
    if any(is_memory(v) and buffer_of(v) == buffer_of(outputs[0]) for v in inputs):
        return "the output is an input"
    maps = maps_of(op)
    operands = list(op.operands)
    arguments: dict[int, Argument] = {}
    for place, (value, map_) in enumerate(zip(operands, maps, strict=True)):
        if not isinstance(value.type, ir.MemRefType):
            continue
        argument = _argument(value, map_)
        if isinstance(argument, str):
            return argument
        arguments[place] = argument
    is_parallel = parallel_loops(op)
    parallel = [f"d{at}" for at, is_one in enumerate(is_parallel) if is_one]
    output = len(operands) - 1
    if sorted(arguments[output].dimensions) != sorted(parallel):
        return "several rounds write one element"
    sizes = sizes_of(arguments.values())
    if len(sizes) < len(is_parallel):
        return "a loop without a length"
    values = [*operands, *(scalar for scalar in captured_scalars(op) if scalar not in operands)]
    known = {value: place for place, value in enumerate(values)}
    known |= {value: place for place, value in enumerate(op.regions[0].blocks[0].arguments)}
    body = read_payload(op, known, len(values))
    if isinstance(body, str):
        return body
    if machine.has_fma:
        body = body.contracted()
    loops = tuple(Loop(f"d{at}", sizes[f"d{at}"], is_one) for at, is_one in enumerate(is_parallel))
    windows = frozenset(place for place, value in enumerate(operands) if _is_window(value))
    problem = WindowProblem(loops, arguments, output, windows, body, start)
    return problem, values


def _argument(value: Any, map_: Any) -> Argument | str:
    if not all(isinstance(result, ir.AffineDimExpr) for result in map_.results):
        return "an index is not a loop"
    dims = tuple(f"d{result.position}" for result in map_.results)
    if len(set(dims)) < len(dims):
        return "a diagonal"
    argument = argument_of(value, dims)
    if isinstance(argument, Argument) and argument.element not in _IN_MEMORY:
        return f"elements of {argument.element}"
    return argument
