"""A definition as `linalg.generic`."""

from __future__ import annotations

from linalg_ext.bindings import ir, linalg, memref, tensor
from linalg_ext.definition.affine import AffineDim, AffineSymbol
from linalg_ext.definition.model import why_several
from linalg_ext.definition.scalar import Access, Size
from linalg_ext.definition.shapes import infer_extents, narrowed_axes, symbol_sizes
from linalg_ext.errors import DefinitionError, ShapeError
from linalg_ext.structured.payload.expressions import PayloadScope, Table, emit_assignments
from linalg_ext.structured.utils.operands import BoundOp, to_ir_map
from linalg_ext.structured.utils.outputs import RuntimeSize, as_operand, size_at, sizes_of


def build_generic(bound: BoundOp) -> ir.Operation:
    """Build the op at the current insertion point.

    Raises:
        DefinitionError: the definition is several ops, one after the other.
        DTypeError: a function has no meaning for the element type that it is applied to.
    """
    if (reason := why_several(bound.definition)) is not None:
        raise DefinitionError(
            f"{bound.definition.name} is no single linalg.generic: {reason}",
            hint="call the op on the values: it is then built as several",
        )
    slots = [
        (operand, value if access is None else narrowed(bound, value, access), access, map)
        for operand, value, access, map in bound.slots()
    ]
    sizes = {
        expr.symbol: symbol_size(bound, expr.symbol)
        for expr in bound.definition.expressions()
        if isinstance(expr, Size)
    }
    looked_up = {lookup.operand for lookup in bound.definition.lookups}
    tables = {
        operand.name: Table(value, list(map(as_operand, sizes_of(value))))
        for operand, value in zip(bound.definition.inputs, bound.inputs, strict=True)
        if operand.name in looked_up
    }
    inputs = [value for operand, value, _, _ in slots if operand.kind.is_input]
    iterators = [
        ir.Attribute.parse(f"#linalg.iterator_type<{kind.value}>") for kind in bound.iterator_types
    ]
    generic = linalg.GenericOp(
        result_tensors=bound.result_types,
        inputs=inputs,
        outputs=list(bound.outputs),
        indexing_maps=ir.ArrayAttr.get(
            [ir.AffineMapAttr.get(to_ir_map(map)) for _, _, _, map in slots]
        ),
        iterator_types=ir.ArrayAttr.get(iterators),
    )
    elements: dict[Access, ir.Value] = {}
    scalars: dict[str, ir.Value] = {}
    block = generic.regions[0].blocks.append(
        *(bound.types[str(operand.type_var)] for operand, _, _, _ in slots)
    )
    for (operand, _, access, _), argument in zip(slots, block.arguments, strict=True):
        if access is None:
            scalars[operand.name] = argument
        else:
            elements[access] = argument
    scope = PayloadScope(
        bound.definition,
        bound.types,
        bound.unsigned,
        bound.attributes.functions,
        elements,
        scalars,
        sizes,
        tables,
    )
    try:
        with ir.InsertionPoint(block):
            linalg.YieldOp(emit_assignments(scope))
    except Exception:
        # Half an op must not stay behind in the user's function.
        generic.operation.erase()
        raise
    return generic.operation


def symbol_size(bound: BoundOp, symbol: str) -> ir.Value | int:
    """Return the size of a symbol: a number, or a value made at the current insertion point.

    Raises:
        ShapeError: no operand has the symbol as a size.
    """
    if symbol in bound.attributes.symbols:
        return bound.attributes.symbols[symbol]
    if symbol in bound.sizes:
        return bound.sizes[symbol]
    size = size_at(
        (value, axis)
        for operand, value, _, _ in bound.slots()
        for axis, expr in enumerate(operand.shape)
        if expr == AffineSymbol(symbol)
    )
    if size is None:
        found = symbol_sizes(bound.definition, shapes_of(bound), bound.attributes.symbols)
        solved = found.get(AffineSymbol(symbol))
        size = None if solved is None else as_operand(solved)
    if size is None:
        raise ShapeError(
            f"{bound.definition.name}: size({symbol}) is not known: no operand is that long",
            hint=f"give an operand the size S.{symbol} by itself",
        )
    return size


def narrowed(bound: BoundOp, value: ir.Value, access: Access) -> ir.Value:
    """An operand, cut to the dimensions that index it where these end before it does.

    MLIR takes a dimension that indexes an operand by itself to be as long as that operand.
    """
    kind = ir.ShapedType(value.type)
    axes = [
        axis
        for axis, index in enumerate(access.indices)
        if isinstance(index, AffineDim)
        and (access.operand, axis, index.name) in narrowed_axes(bound.definition)
    ]
    if not axes:
        return value
    extents = infer_extents(bound.definition, shapes_of(bound), bound.attributes.symbols)
    sizes = sizes_of(value)
    wanted = list(sizes)
    for axis in axes:
        wanted[axis] = extents[str(access.indices[axis])]
    if wanted == sizes and kind.has_static_shape:
        return value
    static = [
        size if isinstance(size, int) else ir.ShapedType.get_dynamic_size() for size in wanted
    ]
    dynamic = [size.value for size in wanted if isinstance(size, RuntimeSize)]
    rank = len(sizes)
    if isinstance(value.type, ir.RankedTensorType):
        result = ir.RankedTensorType.get(static, kind.element_type)
        cut: ir.Value = tensor.extract_slice(
            result, value, [], dynamic, [], [0] * rank, static, [1] * rank
        )
        return cut
    view: ir.Value = memref.subview(value, [0] * rank, list(map(as_operand, wanted)), [1] * rank)
    return view


def shapes_of(bound: BoundOp) -> dict[str, list[RuntimeSize | int]]:
    """The sizes of the tensors and memrefs that an op is on, by operand."""
    definition = bound.definition
    return {
        operand.name: sizes_of(value)
        for operand, value in zip(
            (*definition.inputs, *definition.outputs),
            (*bound.inputs, *bound.outputs),
            strict=True,
        )
        if operand.kind.is_tensor
    }
