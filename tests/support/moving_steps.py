"""Ops of our own that put elements elsewhere, as steps of programs of whole-tensor ops."""

from __future__ import annotations

from collections.abc import Sequence

from tiled_modules import Program, Shape

Value = tuple[str, Shape]

_SUM = (
    "({{{{ ^bb0(%new: f32, %old: f32): %sum = arith.addf %new, %old : f32 "
    '"linalg_ext.yield"(%sum) : (f32) -> () }}}})'
)
_LESS = (
    "({{{{ ^bb0(%one: f32, %other: f32): %less = arith.cmpf olt, %one, %other : f32 "
    '"linalg_ext.yield"(%less) : (i1) -> () }}}})'
)


def gather(program: Program, x: Value, rows: Sequence[int]) -> Value:
    """Rows by their numbers, which may lie outside."""
    indices = _indices(program, rows)
    return _built(program, (len(rows), *x[1][1:]), "gather", [x], extra=[indices])


def scatter_sums(program: Program, x: Value, updates: Value, rows: Sequence[int]) -> Value:
    """Rows added to those of a tensor, by their numbers, which may lie outside or be alike."""
    name, type_ = _indices(program, rows)
    operands = f"{name}, {updates[0]}, {x[0]}"
    types = f"{type_}, {program.type(updates[1])}, {{t}}"
    region = _SUM.format()
    return program.add(
        x[1], f'{{r}} = "linalg_ext.scatter"({operands}) {region} : ({types}) -> {{t}}'
    )


def reverse(program: Program, x: Value, axis: int) -> Value:
    """An axis backwards."""
    return _built(program, x[1], "reverse", [x], f"dimensions = array<i64: {axis}>")


def concatenate(program: Program, parts: Sequence[Value], axis: int) -> Value:
    """Several side by side."""
    shape = list(parts[0][1])
    shape[axis] = sum(each[1][axis] for each in parts)
    slots = ", ".join(["1"] * len(parts) + ["0"] * (25 - len(parts)) + ["1"])
    attributes = f"dimension = {axis} : i64, operandSegmentSizes = array<i32: {slots}>"
    return _built(program, tuple(shape), "concatenate", parts, attributes)


def sort(program: Program, x: Value, axis: int) -> Value:
    """Elements in order along an axis."""
    slots = "1, 0, 0, 0, 0, 0, 0, 0"
    attributes = (
        f"dimension = {axis} : i64, operandSegmentSizes = array<i32: {slots}, {slots}>, "
        f"resultSegmentSizes = array<i32: {slots}>"
    )
    return _built(program, x[1], "sort", [x], attributes, region=_LESS.format())


def spread(program: Program, x: Value, shape: Shape) -> Value:
    """A matrix repeated along the axes of size 1."""
    return _built(
        program, shape, "dynamic_broadcast_in_dim", [x], "broadcast_dimensions = array<i64: 0, 1>"
    )


def _indices(program: Program, rows: Sequence[int]) -> tuple[str, str]:
    name, type_ = f"%rows{len(program.lines)}", f"tensor<{len(rows)}x1xi64>"
    table = ", ".join(f"[{row}]" for row in rows)
    program.lines.append(f"{name} = arith.constant dense<[{table}]> : {type_}")
    return name, type_


def _built(
    program: Program,
    shape: Shape,
    op: str,
    inputs: Sequence[Value],
    attributes: str = "",
    *,
    extra: Sequence[tuple[str, str]] = (),
    region: str = "",
) -> Value:
    """An op of inputs, of values of other types, and of an empty tensor that it writes."""
    names = [name for name, _ in (*inputs, *extra)]
    types = [program.type(given) for _, given in inputs] + [type_ for _, type_ in extra]
    return program.add(
        shape,
        f'{{r}} = "linalg_ext.{op}"({", ".join((*names, "{e}"))}) {region} '
        f"{{{{{attributes}}}}} : ({', '.join((*types, '{t}'))}) -> {{t}}",
    )
