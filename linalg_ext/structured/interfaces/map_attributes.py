"""The attributes that the maps of an op are made of, and whether they can be."""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, LinalgExtError
from linalg_ext.structured.extension import attributes as extension_ops
from linalg_ext.structured.utils.maps import INDEXING_MAPS
from linalg_ext.structured.utils.place import place_of

_WINDOW = ("strides", "dilations")
_LISTS = ("permutation", "dimensions")


def map_attributes(op: ir.Operation) -> tuple[str, ...]:
    """The names of the attributes that ops of this kind have for their maps."""
    if op.name in extension_ops.NAMES:
        return (INDEXING_MAPS, *sorted(extension_ops.sugar_attributes(op)))
    names = (INDEXING_MAPS, *_WINDOW, *_LISTS)
    # An op that leaves an attribute at its default is of such a kind all the same.
    return tuple(name for name in names if name in op.attributes or _declares(op, name))


def check_map_attributes(op: ir.Operation) -> None:
    """Check all attributes that the maps of an op are made of.

    Raises:
        ArgumentError: one of them is of another kind, or has numbers that make no maps.
    """
    try:
        if op.name in extension_ops.NAMES:
            extension_ops.indexing_maps(op)
        else:
            for name in map_attributes(op):
                if name in op.attributes:
                    _check(op, name, op.attributes[name])
    except LinalgExtError as error:
        error.where = error.where or place_of(op)
        raise


def _declares(op: ir.Operation, name: str) -> bool:
    return isinstance(getattr(type(op.opview), name, None), property)


def _check(op: ir.Operation, name: str, attribute: ir.Attribute) -> None:
    if name == INDEXING_MAPS:
        _check_maps(op, attribute)
        return
    numbers = _numbers(attribute)
    if numbers is None:
        raise ArgumentError(f"{name} = {attribute} of {op.name}", expected="integers")
    if name in _WINDOW and any(number < 1 for number in numbers):
        raise ArgumentError(
            f"{name} = {numbers} of {op.name}", expected="numbers that are not less than 1"
        )
    rank = ir.ShapedType(op.operands[0].type).rank + (
        len(numbers) if op.name == "linalg.broadcast" else 0
    )
    if name in _LISTS and (
        len(set(numbers)) != len(numbers) or any(not 0 <= number < rank for number in numbers)
    ):
        raise ArgumentError(
            f"{name} = {numbers} of {op.name}",
            expected=f"numbers from 0 to {rank - 1}, each once",
        )
    if name == "permutation" and len(numbers) != rank:
        raise ArgumentError(f"{name} = {numbers} of {op.name}", expected=f"{rank} numbers")


def _check_maps(op: ir.Operation, attribute: ir.Attribute) -> None:
    if not isinstance(attribute, ir.ArrayAttr) or not all(
        isinstance(each, ir.AffineMapAttr) for each in attribute
    ):
        raise ArgumentError(f"{INDEXING_MAPS} = {attribute}", expected="an array of affine maps")
    maps = [ir.AffineMapAttr(each).value for each in attribute]
    if len(maps) != len(op.operands):
        raise ArgumentError(
            f"{op.name} has {len(maps)} map(s) for {len(op.operands)} operands",
            expected="one for each",
        )
    if len({(map.n_dims, map.n_symbols) for map in maps}) > 1 or maps[0].n_symbols:
        raise ArgumentError(
            f"{INDEXING_MAPS} = {attribute}", expected="maps of one iteration space, no symbols"
        )
    for position, (map, value) in enumerate(zip(maps, op.operands, strict=True)):
        rank = ir.ShapedType(value.type).rank if isinstance(value.type, ir.ShapedType) else 0
        if len(map.results) != rank:
            raise ArgumentError(
                f"the map of operand {position} of {op.name}, {map}, has {len(map.results)} "
                "result(s)",
                expected=f"{rank}, as the operand is of type {value.type}",
            )


def _numbers(attribute: ir.Attribute) -> list[int] | None:
    if isinstance(attribute, ir.DenseI64ArrayAttr):
        return list(attribute)
    if isinstance(attribute, ir.DenseIntElementsAttr):
        return [int(attribute[i]) for i in range(len(attribute))]
    return None
