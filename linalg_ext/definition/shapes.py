"""Sizes of the iteration space and of outputs, from the shapes of the operands.

An indexing map says which elements an op touches; the largest index that it reaches must lie inside
the operand. Sizes follow from that: a dimension that indexes an operand by itself is as long as
that operand, less the reach of further indices beyond it (`x[t] + x[t + 1]`); one inside a sum (`oh
* SH + kh * DH`) is as long as the rest leaves room for, which is the usual size of a convolution's
output without padding. Where an output declares another size than its input, in the same symbols,
the output is as long as it declares.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from linalg_ext.definition.model import OpDefinition, OperandKind
from linalg_ext.errors import DefinitionError, ShapeError
from linalg_ext.symbolic.affine import (
    AffineBinary,
    AffineConst,
    AffineDim,
    AffineExpr,
    AffineKind,
    AffineSymbol,
    linear_terms,
)
from linalg_ext.symbolic.integers import Symbol, lower, maximum, upper

Size = Any
"""An `int`, or a symbolic integer."""

Shapes = Mapping[str, Sequence[Size | None]]
"""The sizes of operands by their names; None for a size that is not known."""

Symbols = Mapping[str, int]
"""The values of the symbols that index attributes bind."""


def infer_extents(definition: OpDefinition, shapes: Shapes, symbols: Symbols) -> dict[str, Size]:
    """The size of each dimension of the iteration space that the shapes determine.

    Raises:
        ShapeError: an operand is too small for a single position of a sum (a kernel larger than the
            tensor it slides over).
    """
    shapes = dict(shapes)
    while True:
        extents = _extents(definition, shapes, symbols)
        # A statement runs up to the end of the output of another that it reads.
        derived = [
            output.name
            for output in definition.outputs
            if output.name not in shapes
            and len(definition.accesses[output.name]) > 1
            and all(
                _name(index) in extents or not _name(index)
                for index in definition.assignment_to(output.name).target.indices
            )
        ]
        if not derived or extents.keys() >= set(definition.dims):
            return extents
        shapes |= {name: output_shape(definition, name, extents) for name in derived}


def _extents(definition: OpDefinition, shapes: Shapes, symbols: Symbols) -> dict[str, Size]:
    """As `infer_extents`, for the sizes that the operands of known shapes determine."""
    longer = longer_axes(definition)
    terms = _furthest(definition, _index_terms(definition, shapes, symbols))
    exact = [term for term in terms if (term.operand, term.axis, _shifted(term.expr)) not in longer]
    extents: dict[str, Size] = {}
    for term in exact:
        if isinstance(term.written, AffineDim):
            known = extents.get(term.written.name)
            # A number is worth more than a size that is known at run time only.
            if known is None or (isinstance(term.size, int) and not isinstance(known, int)):
                extents[term.written.name] = term.size
    # A sum leaves the size of a kernel that slides over an image open; an output may declare it.
    direct = _direct_sizes(definition, shapes, symbols)
    extents = {**_declared_extents(definition, direct), **extents}
    _solve_all(definition, exact, extents)
    declared = _declared_extents(definition, symbol_sizes(definition, shapes, symbols))
    extents = {**declared, **extents}
    _solve_all(definition, terms, extents)
    return extents


def _solve_all(
    definition: OpDefinition, terms: Sequence[_IndexTerm], extents: dict[str, Size]
) -> None:
    """Add the sizes that the indices leave room for."""
    progress = True
    while progress:
        progress = False
        for term in terms:
            solved = _solve(definition, term, extents)
            if solved is not None:
                extents[solved[0]] = solved[1]
                progress = True


Place = tuple[str, int, str]
"""An axis of an operand, and a dimension that indexes it, by itself or with a number added."""


@lru_cache(maxsize=4096)
def longer_axes(definition: OpDefinition) -> frozenset[Place]:
    """Axes that are read and declared to be of another length than an output along the dimension.

    Such an axis, as that of X(L + 1) in `O[t] = X[t]` with O(L), bounds the dimension and does not
    say how long it is.
    """
    stated: dict[str, set[AffineExpr]] = {}
    for index, size in _written_axes(definition):
        stated.setdefault(_name(index), set()).add(size)
    return frozenset(
        (name, axis, dim)
        for (name, axis, dim) in _places_read(definition)
        for size in definition.operand(name).shape[axis : axis + 1]
        if size not in (sizes := stated.get(dim, set()))
        and any(set(size.symbols) == set(declared.symbols) for declared in sizes)
    )


@lru_cache(maxsize=4096)
def narrowed_axes(definition: OpDefinition) -> frozenset[Place]:
    """Axes that a dimension indexes by itself and need not run along to the end."""
    shifted = {
        place for place, indices in _places_read(definition).items() if len(set(indices)) > 1
    }
    return longer_axes(definition) | shifted


def _places_read(definition: OpDefinition) -> dict[Place, list[AffineExpr]]:
    """The axes that are read at a dimension, or a number of places from it; and these indices.

    Those that windows slide over are none.
    """
    places: dict[Place, list[AffineExpr]] = {}
    for operand in definition.operands:
        if not operand.kind.is_tensor:
            continue
        accesses = definition.accesses[operand.name]
        if operand.kind is OperandKind.OUTPUT_TENSOR:
            accesses = accesses[1:]  # the first is how it is written
        for axis, indices in enumerate(zip(*accesses, strict=True)):
            dims = [_shifted(index) for index in indices]
            for index, dim in zip(indices, dims, strict=True):
                if dim is not None and None not in dims:
                    places.setdefault((operand.name, axis, dim), []).append(index)
    return places


def _indices_of(definition: OpDefinition, operand: str, axis: int) -> list[AffineExpr]:
    return [a[axis] for a in definition.accesses.get(operand, ()) if axis < len(a)]


def _shifted(index: AffineExpr) -> str | None:
    """The dimension of an index that is a dimension plus a constant; None for other indices."""
    linear = linear_terms(index)
    if linear is None or list(linear[0].values()) != [1]:
        return None
    return next(iter(linear[0]))


def _furthest(definition: OpDefinition, terms: Sequence[_IndexTerm]) -> list[_IndexTerm]:
    """Return the index that reaches furthest, of those of one axis that differ in a number.

    One that begins with a dimension by itself counts as that dimension, on an axis that is shorter.
    """
    groups: dict[tuple[object, ...], list[tuple[int, _IndexTerm]]] = {}
    for term in terms:
        linear = linear_terms(term.expr)
        key: tuple[object, ...] = (term.operand, term.axis, term.expr)
        if linear is not None:
            key = (term.operand, term.axis, *sorted(linear[0].items()))
        groups.setdefault(key, []).append((linear[1] if linear else 0, term))
    furthest = []
    for group in groups.values():
        reach, last = max(group, key=lambda entry: entry[0])
        plain = next((term for _, term in group if isinstance(term.expr, AffineDim)), None)
        if plain is None:
            furthest.append(last)
        elif _is_as_long_as_output(definition, plain):
            furthest.append(plain)
        else:
            size = plain.size - reach
            if isinstance(size, int) and size < 0 <= plain.size:
                size = 0
            furthest.append(replace(plain, size=size, written=plain.expr))
    return furthest


def _is_as_long_as_output(definition: OpDefinition, term: _IndexTerm) -> bool:
    """Return whether an output declares to be as long as the axis that its dimension indexes."""
    shape = definition.operand(term.operand).shape
    return term.axis < len(shape) and (term.expr, shape[term.axis]) in _written_axes(definition)


def _written_axes(definition: OpDefinition) -> list[tuple[AffineExpr, AffineExpr]]:
    """The index and the declared size of each axis of each output."""
    return [
        axis
        for output in definition.outputs
        for axis in zip(
            definition.assignment_to(output.name).target.indices, output.shape, strict=False
        )
    ]


def _declared_axes(
    definition: OpDefinition, shapes: Shapes
) -> list[tuple[str, int, AffineExpr, Size | None]]:
    """The operand, the number, the declared size and the size of each axis of some shapes."""
    return [
        (name, axis, expr, size)
        for name, shape in shapes.items()
        for axis, (expr, size) in enumerate(
            zip(definition.operand(name).shape, shape, strict=False)
        )
    ]


def _declared_extents(
    definition: OpDefinition, known: Mapping[AffineExpr, Size]
) -> dict[str, Size]:
    """Sizes that the declared shapes of outputs state: numbers, attributes, products of sizes."""
    return {
        _name(index): size.evaluate(known)
        for index, size in _written_axes(definition)
        if all(AffineSymbol(symbol) in known for symbol in size.symbols)
    }


def output_shape(
    definition: OpDefinition, output: str, extents: Mapping[str, Size]
) -> tuple[Size, ...]:
    """The shape of an output; a ShapeError where the inputs do not determine it."""
    target = definition.assignment_to(output).target
    # Index 0 is that of an axis of size 1, see the checks of definitions.
    sizes = {**extents, "": 1}
    missing = [_name(index) for index in target.indices if _name(index) not in sizes]
    if missing:
        raise ShapeError(
            f"{definition.name}: the size of output {output} along {', '.join(missing)} "
            "does not follow from the inputs",
            hint=f"give the output (out= for arrays, outs= for IR values) with its shape "
            f"({', '.join(map(str, definition.operand(output).shape))})",
        )
    return tuple(sizes[_name(index)] for index in target.indices)


def check_shapes(
    definition: OpDefinition, shapes: Shapes, symbols: Symbols, extents: Mapping[str, Size]
) -> None:
    """Raise unless every index that the op reaches lies inside its operand.

    Sizes that are not `int` are not looked at.

    Raises:
        ShapeError: naming the operands, the dimension and the sizes.
    """
    extents = {dim: extent for dim, extent in extents.items() if isinstance(extent, int)}
    owner: dict[str, str] = {}
    for term in _index_terms(definition, shapes, symbols):
        if not isinstance(term.size, int):
            continue
        if isinstance(term.expr, AffineDim):
            dim = term.expr.name
            if _may_end_early(definition, term) and extents[dim] <= term.size:
                continue
            if extents[dim] != term.size:
                raise ShapeError(
                    f"{definition.name}: dimension {dim} is {extents[dim]} "
                    f"for {owner.get(dim, 'another operand')}, "
                    f"but {term.operand} has size {term.size} along axis {term.axis}",
                    expected=f"equal sizes: {_describe(definition)}",
                )
            owner.setdefault(dim, f"{term.operand} (axis {term.axis})")
        elif all(extents.get(dim, 0) > 0 for dim in term.expr.dims):
            _check_reach(definition, term, extents)
    _check_equal_symbols(definition, shapes)
    _check_declared_sizes(definition, shapes, symbols)
    _check_tables(definition, shapes, extents)


def demands(
    definition: OpDefinition, shapes: Shapes, symbols: Symbols
) -> Iterator[tuple[str, Size, Size]]:
    """Yield the conditions on open sizes: a sign, `==` or `>=`, between two sizes."""
    if definition.is_rank_polymorphic:
        longest = max(shapes.values(), key=len)
        for shape in shapes.values():
            yield from (("==", *pair) for pair in zip(longest, shape, strict=False))
        return
    extents = infer_extents(definition, shapes, symbols)
    yield from ((">=", extent, 0) for extent in extents.values())
    terms = _index_terms(definition, shapes, symbols)
    declared = _declared_extents(definition, symbol_sizes(definition, shapes, symbols))
    stated = {
        term.expr.name for term in terms if isinstance(term.expr, AffineDim)
    } | declared.keys()
    # A size that a sum leaves room for is 1 or more.
    ends = {dim: size if dim in stated else maximum(size, 1) for dim, size in extents.items()}
    for term in terms:
        if isinstance(term.expr, AffineDim):
            sign = ">=" if _may_end_early(definition, term) else "=="
            yield sign, term.size, extents[term.expr.name]
        elif not term.expr.symbols and (last := _highest(term.expr, ends)) is not None:
            yield ">=", term.size, last + 1


def _may_end_early(definition: OpDefinition, term: _IndexTerm) -> bool:
    """Return whether an axis may be longer than the dimension that indexes it by itself."""
    place = (term.operand, term.axis, str(term.expr))
    return place in longer_axes(definition) or (
        place in narrowed_axes(definition) and not _is_as_long_as_output(definition, term)
    )


def _check_tables(definition: OpDefinition, shapes: Shapes, extents: Mapping[str, int]) -> None:
    """A computed index is moved to the nearest in range; an empty axis has none."""
    for lookup in definition.lookups:
        for axis, index in enumerate(lookup.indices):
            shape = shapes.get(lookup.operand, ())
            is_empty = axis < len(shape) and shape[axis] == 0 and not isinstance(index, AffineExpr)
            if is_empty and 0 not in extents.values():
                raise ShapeError(
                    f"{definition.name}: `{lookup}` looks up in {lookup.operand}, which has size 0 "
                    f"along axis {axis}",
                    expected="a size of 1 or more",
                )


def _check_declared_sizes(definition: OpDefinition, shapes: Shapes, symbols: Symbols) -> None:
    """A size that is declared as a number or as an expression is that long.

    An input may be longer where windows slide over it, for a stride need not divide an image, and
    where it is read from some place on.
    """
    known = symbol_sizes(definition, shapes, symbols)
    for name, axis, expr, size in _declared_axes(definition, shapes):
        is_output = definition.operand(name).kind is OperandKind.OUTPUT_TENSOR
        states_size = isinstance(expr, AffineConst) or (
            isinstance(expr, AffineBinary)
            and (is_output or _is_read_from_its_start(definition, name, axis))
        )
        if not states_size or any(AffineSymbol(symbol) not in known for symbol in expr.symbols):
            continue
        stated = expr.evaluate(known)
        if isinstance(size, int) and isinstance(stated, int) and size != stated:
            raise ShapeError(
                f"{definition.name}: {name} has size {size} along axis {axis}, "
                f"which is declared as {expr}",
                expected=f"{stated}",
            )


def _check_equal_symbols(definition: OpDefinition, shapes: Shapes) -> None:
    """Raise if a symbol stands for two sizes that differ."""
    first_uses: dict[AffineExpr, tuple[int, str]] = {}
    for name, axis, expr, size in _declared_axes(definition, shapes):
        if not isinstance(expr, AffineSymbol) or not isinstance(size, int):
            continue
        first, first_use = first_uses.setdefault(expr, (size, f"{name} (axis {axis})"))
        if first != size:
            raise ShapeError(
                f"{definition.name}: {expr} is {first} for {first_use}, "
                f"but {name} has size {size} along axis {axis}",
                expected=f"equal sizes: {_describe(definition)}",
            )


def check_rank(definition: OpDefinition, name: str, rank: int) -> None:
    """Raise unless an operand has the rank that the op indexes it with."""
    accesses = definition.accesses[name]
    expected = len(accesses[0]) if accesses else definition.operand(name).rank
    if rank != expected and not definition.is_rank_polymorphic:
        raise ShapeError(
            f"{definition.name}: operand {name} is of rank {rank}",
            expected=f"rank {expected}: {_describe(definition)}",
        )


@dataclass(frozen=True)
class _IndexTerm:
    """One index of an access, its symbols replaced by numbers, and the size it must stay below."""

    expr: AffineExpr
    size: Size
    operand: str
    axis: int
    written: AffineExpr


def _index_terms(definition: OpDefinition, shapes: Shapes, symbols: Symbols) -> list[_IndexTerm]:
    known: dict[AffineExpr, AffineExpr | int] = {
        symbol: size
        for symbol, size in symbol_sizes(definition, shapes, symbols).items()
        if isinstance(size, int)
    }
    looked_up: dict[str, list[tuple[object, ...]]] = {}
    for lookup in definition.lookups:
        looked_up.setdefault(lookup.operand, []).append(lookup.indices)
    return [
        _IndexTerm(_known_index(definition, index, known), size, name, axis, index)
        for name, shape in shapes.items()
        for indices in (*definition.accesses[name], *looked_up.get(name, ()))
        for axis, (index, size) in enumerate(zip(indices, shape, strict=True))
        if size is not None and isinstance(index, AffineExpr)
    ]


def _known_index(
    definition: OpDefinition, index: AffineExpr, known: Mapping[AffineExpr, AffineExpr | int]
) -> AffineExpr:
    try:
        return index.substitute(known)
    except DefinitionError as error:
        raise ShapeError(
            f"{definition.name}: `{index}` divides by a size that is 0",
            expected=f"operands that are not empty: {_describe(definition)}",
        ) from error


def _check_reach(definition: OpDefinition, term: _IndexTerm, extents: Mapping[str, int]) -> None:
    if term.expr.symbols:
        return
    reached = term.expr.evaluate(
        {AffineDim(dim): Symbol(dim, 0, extents[dim] - 1) for dim in term.expr.dims}
    )
    low, high = lower(reached), upper(reached)
    if low is None or high is None:
        raise TypeError(f"the bounds of {term.expr} are not known")
    if low < 0 or high >= term.size:
        raise ShapeError(
            f"{definition.name}: `{term.written}` reaches index {low if low < 0 else high} "
            f"of {term.operand}, which has size {term.size} along axis {term.axis}",
            expected=_describe(definition),
        )


def _describe(definition: OpDefinition) -> str:
    return ", ".join(
        f"{operand.name}({', '.join(map(str, operand.shape))})"
        for operand in definition.operands
        if operand.kind.is_tensor
    )


def _name(index: AffineExpr) -> str:
    return index.name if isinstance(index, AffineDim) else ""


def symbol_sizes(
    definition: OpDefinition, shapes: Shapes, symbols: Symbols
) -> dict[AffineExpr, Size]:
    """The value of each symbol that an index attribute binds, or that sizes of operands say.

    Of a size that is declared as `L + 1` or `2 * C`, L and C follow.
    """
    values = _direct_sizes(definition, shapes, symbols)
    composed_sizes = [
        (expr, size)
        for name, axis, expr, size in _declared_axes(definition, shapes)
        if isinstance(expr, AffineBinary) and size is not None
        if not _has_windows(definition, name, axis)
    ]
    progress = True
    while progress:
        progress = False
        for expr, size in composed_sizes:
            unknown = {symbol for symbol in expr.symbols if AffineSymbol(symbol) not in values}
            solved = _solved_symbol(expr, size, values) if len(unknown) == 1 else None
            if solved is not None:
                values[AffineSymbol(unknown.pop())] = solved
                progress = True
    return values


def _is_read_from_its_start(definition: OpDefinition, operand: str, axis: int) -> bool:
    """Return whether an axis is read by single dimensions, or by quotients and remainders."""
    indices = _indices_of(definition, operand, axis)
    begins = any(isinstance(i, AffineDim) or linear_terms(i) is None for i in indices)
    return begins and not _has_windows(definition, operand, axis)


def _has_windows(definition: OpDefinition, operand: str, axis: int) -> bool:
    """Return whether an axis is indexed by sums or multiples of dimensions, as windows are."""
    for index in _indices_of(definition, operand, axis):
        dims = set(index.dims)
        linear = linear_terms(index)
        if index.symbols or (linear is not None and (len(dims) > 1 or _shifted(index) is None)):
            return bool(dims)
    return False


def _solved_symbol(expr: AffineExpr, size: Size, known: Mapping[AffineExpr, Size]) -> Size | None:
    """The one unknown symbol of a declared size; None where no whole number gives the size."""
    as_dims: dict[AffineExpr, AffineExpr | int] = {
        AffineSymbol(symbol): known[AffineSymbol(symbol)]
        if isinstance(known.get(AffineSymbol(symbol)), int)
        else AffineDim(symbol)
        for symbol in expr.symbols
    }
    try:
        linear = linear_terms(expr.substitute(as_dims))
    except DefinitionError:
        return None  # a product or a quotient of two symbols
    if linear is None or len(linear[0]) != 1:
        return None
    ((factor,), constant) = tuple(linear[0].values()), linear[1]
    left = size - constant
    if factor <= 0 or (isinstance(left, int) and (left < 0 or left % factor)):
        return None
    return left if factor == 1 else left // factor


def _direct_sizes(
    definition: OpDefinition, shapes: Shapes, symbols: Symbols
) -> dict[AffineExpr, Size]:
    """The values of symbols that are sizes by themselves, or an attribute's."""
    values: dict[AffineExpr, Size] = {}
    for _, _, expr, size in _declared_axes(definition, shapes):
        if not isinstance(expr, AffineSymbol) or size is None:
            continue
        # A number is worth more than a size that is known at run time only.
        if expr not in values or isinstance(size, int):
            values[expr] = size
    values.update((AffineSymbol(name), value) for name, value in symbols.items())
    return values


def _solve(
    definition: OpDefinition, term: _IndexTerm, extents: Mapping[str, Size]
) -> tuple[str, Size] | None:
    """The one unknown dimension of a sum, and the largest size it may have."""
    linear = linear_terms(term.expr)
    if linear is None:
        return _solve_quotients(definition, term, extents)
    factors, constant = linear
    unknown = [dim for dim in factors if dim not in extents]
    if len(unknown) != 1 or any(factor <= 0 for factor in factors.values()):
        return None
    room = term.size - 1 - constant
    for dim, factor in factors.items():
        if dim in extents:
            room = room - (extents[dim] - 1) * factor
    if isinstance(room, int) and room < 0 < term.size:
        raise ShapeError(
            f"{definition.name}: `{term.written}` needs {term.size - room} elements of "
            f"{term.operand}, which has size {term.size} along axis {term.axis}",
            expected=_describe(definition),
        )
    extent = room // factors[unknown[0]] + 1
    return unknown[0], maximum(extent, 0)


def _solve_quotients(
    definition: OpDefinition, term: _IndexTerm, extents: Mapping[str, Size]
) -> tuple[str, Size] | None:
    """As `_solve`, beside remainders and quotients by numbers: c of `c * 2 + i % 2`."""
    unknown = [dim for dim in _reaching(term.expr) if dim not in extents]
    if len(unknown) != 1 or term.expr.symbols:
        return None
    extent = _room(term.expr, unknown[0], term.size - 1, extents)
    if extent is None:
        return None
    if isinstance(extent, int) and extent < 0 < term.size:
        raise ShapeError(
            f"{definition.name}: `{term.written}` has no room in axis {term.axis} of "
            f"{term.operand}, which has size {term.size}",
            expected=_describe(definition),
        )
    return unknown[0], maximum(extent, 0)


def _reaching(expr: AffineExpr) -> list[str]:
    """The dimensions whose sizes bound an expression: not those under `%`."""
    if isinstance(expr, AffineBinary):
        if expr.kind is AffineKind.MOD:
            return []
        return list(dict.fromkeys([*_reaching(expr.lhs), *_reaching(expr.rhs)]))
    return list(expr.dims)


def _room(expr: AffineExpr, dim: str, limit: Size, extents: Mapping[str, Size]) -> Size | None:
    """Return the longest dimension by which an expression stays at or below a limit."""
    if isinstance(expr, AffineDim):
        return limit + 1
    if not isinstance(expr, AffineBinary):
        return None
    inner, other = expr.lhs, expr.rhs
    if dim in _reaching(other):
        inner, other = other, inner
    if expr.kind is AffineKind.ADD:
        highest = None if dim in _reaching(other) else _highest(other, extents)
        return None if highest is None else _room(inner, dim, limit - highest, extents)
    if expr.kind is not AffineKind.MUL or not isinstance(other, AffineConst) or other.value <= 0:
        return None  # `i // 2` leaves room for two lengths: 2 * n, and one less
    return _room(inner, dim, limit // other.value, extents)


def _highest(expr: AffineExpr, extents: Mapping[str, Size]) -> Size | None:
    """The largest value of an expression, or a bound of it; None if neither is known."""
    if isinstance(expr, AffineConst):
        return expr.value
    if isinstance(expr, AffineDim):
        return extents[expr.name] - 1 if expr.name in extents else None
    if not isinstance(expr, AffineBinary):
        return None
    if expr.kind is AffineKind.ADD:
        left, right = _highest(expr.lhs, extents), _highest(expr.rhs, extents)
        return None if left is None or right is None else left + right
    if not isinstance(expr.rhs, AffineConst) or expr.rhs.value <= 0:
        return None
    factor, inner = expr.rhs.value, _highest(expr.lhs, extents)
    if expr.kind is AffineKind.MOD:
        is_less = isinstance(inner, int) and 0 <= inner < factor
        return inner if is_less else factor - 1
    if inner is None:
        return None
    match expr.kind:
        case AffineKind.MUL:
            return inner * factor
        case AffineKind.FLOORDIV:
            return inner // factor
        case _:
            return (inner + (factor - 1)) // factor
