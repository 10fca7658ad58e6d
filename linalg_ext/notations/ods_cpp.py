"""A definition as the C++ that `mlir-linalg-ods-gen -gen-impl` was documented to print.

Source: as `ods`. The documents show maps without symbols; where an index has attributes or sizes
in it, the symbols are bound to numbers as the tool of that time did it.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from linalg_ext.definition.affine import (
    AffineBinary,
    AffineConst,
    AffineDim,
    AffineExpr,
    AffineKind,
    AffineSymbol,
)
from linalg_ext.definition.model import (
    IteratorType,
    OpDefinition,
    Operand,
    why_several,
    why_unmapped,
)
from linalg_ext.definition.scalar import Access, Apply, Const, ScalarExpr, ScalarOperand
from linalg_ext.errors import NotationError
from linalg_ext.notations.concrete import concrete
from linalg_ext.notations.ods import Style, attribute_type, check_style, optional_type
from linalg_ext.notations.registry import Notation, register
from linalg_ext.notations.std_functions import element_of, std_function_of
from linalg_ext.notations.subject import definition_of


def to_cpp(op: object, style: Style = "2024", types: Mapping[str, str] | str | None = None) -> str:
    """The C++ of an op's iterator types, indexing maps and region builder.

    Args:
        op: an op, or its definition.
        style: whose spelling: that of the document of 2020, or of 2024.
        types: element types for its type variables, as for `to_tc`: each intrinsic is for one.

    Raises:
        NotationError: there is no intrinsic for a function, or no place for a part of the op.
        ArgumentError: there is no such style or type.
    """
    check_style(style)
    definition = concrete(definition_of(op), types)
    _check(definition)
    optional, name = optional_type(style), _class_name(definition)
    iterators = ",\n    ".join(
        "getParallelIteratorTypeName()"
        if kind is IteratorType.PARALLEL
        else "getReductionIteratorTypeName()"
        for kind in definition.iterator_types
    )
    return f"""\
{optional}<SmallVector<StringRef, 8>> {name}::referenceIterators() {{
  return SmallVector<StringRef, 8>{{
    {iterators} }};
}}
{optional}<SmallVector<AffineMap, 8>> {name}::referenceIndexingMaps() {{
  MLIRContext *context = getContext();
{_maps(definition)}
}}
void {name}::regionBuilder(ArrayRef<BlockArgument> args) {{
  using namespace edsc;
  using namespace intrinsics;
{_region(definition)}
}}
"""


def _class_name(definition: OpDefinition) -> str:
    """The documents define the methods of `batchmatmulOp` as those of `batchmatmul`."""
    name = definition.cpp_class_name
    return definition.name if name == f"{definition.name}Op" else name


def _check(definition: OpDefinition) -> None:
    if definition.is_rank_polymorphic:
        raise NotationError(
            f"{definition.name} is element-wise at any rank, and this C++ has one rank for each op",
            hint="write an op of the rank that is meant",
        )
    if (reason := why_unmapped(definition)) is not None:
        raise NotationError(
            f"{definition.name} is no structured op, and this C++ builds one: {reason}"
        )
    if (reason := why_several(definition)) is not None:
        raise NotationError(
            f"{definition.name} is several structured ops, and this C++ builds one region: "
            f"{reason}",
            hint="write a definition for each",
        )
    for operand in (*definition.inputs, *definition.outputs):
        if operand.kind.is_tensor and len(definition.accesses[operand.name]) > 1:
            raise NotationError(
                f"{definition.name} uses {operand.name} with two different indices, "
                "and this C++ has one indexing map for each operand",
                hint=f"declare {operand.name} as two operands",
            )


# -- indexing maps ---------------------------------------------------------------------------------


def _maps(definition: OpDefinition) -> str:
    dims = ", ".join(f"d{position}" for position in range(len(definition.dims)))
    lines = [f"AffineExpr {dims};", f"bindDims(context, {dims});"]
    results = [
        definition.accesses[operand.name][0] if operand.kind.is_tensor else ()
        for operand in (*definition.inputs, *definition.outputs)
    ]
    if any(index.symbols for indices in results for index in indices):
        lines += _maps_with_symbols(definition, results)
    else:
        rank = len(definition.dims)
        maps = ",\n    ".join(
            f"AffineMap::get({rank}, 0, {_braced(definition, indices)})" for indices in results
        )
        lines.append(f"return SmallVector<AffineMap, 8>{{\n    {maps} }};")
    return "\n".join(f"  {line}" for line in lines)


def _maps_with_symbols(
    definition: OpDefinition, results: list[tuple[AffineExpr, ...]]
) -> list[str]:
    symbols, rank = definition.symbols, len(definition.dims)
    values = [f"s{position}" for position in range(len(symbols))]
    lines = [
        f"auto {name} = getAffineSymbolExpr({position}, context); (void){name};"
        for position, name in enumerate(values)
    ]
    used = {symbol for indices in results for index in indices for symbol in index.symbols}
    constants = [
        (symbol, number)
        for operand in definition.attributes
        for symbol, number in _attribute_values(operand)
        if symbol in used
    ]
    for position, (symbol, number) in enumerate(constants):
        lines.append(f"auto cst{position} = getAffineConstantExpr({number}, context);")
        values[symbols.index(symbol)] = f"cst{position}"
    replacements = ", ".join(values)
    for position, indices in enumerate(results):
        name = f"map{position}"
        exprs = _braced(definition, indices)
        lines += [
            f"auto {name} = AffineMap::get({rank}, {len(symbols)}, {exprs}, context);",
            f"{name} = {name}.replaceDimsAndSymbols({{}}, {{ {replacements} }}, {rank}, 0);",
            f"{name} = simplifyAffineMap({name});",
        ]
    maps = ", ".join(f"map{position}" for position in range(len(results)))
    return [*lines, f"return SmallVector<AffineMap, 8>{{ {maps} }};"]


def _attribute_values(operand: Operand) -> list[tuple[str, str]]:
    """Each symbol that an attribute binds, and the C++ that reads its value from the op."""
    kind, name = attribute_type(operand), operand.name
    symbols = [symbol for expr in operand.shape for symbol in expr.symbols]
    cpp = "int" if kind.element == "i32" else "int64_t"
    found = []
    for position, symbol in enumerate(symbols):
        if kind.is_list:
            text = f"{name}Attr()[{position}].cast<IntegerAttr>().getInt()"
        elif kind.sizes:
            indices = ", ".join(map(str, _unraveled(position, kind.sizes)))
            text = f"{name}{'Attr' if kind.is_optional else ''}().getValue<{cpp}>({{ {indices} }})"
        else:
            text = f"{name}Attr().getInt()"
        found.append((symbol, f"{name}Attr() ? {text} : 1" if kind.is_optional else text))
    return found


def _unraveled(position: int, sizes: tuple[int, ...]) -> list[int]:
    return [position // prod(sizes[axis + 1 :]) % size for axis, size in enumerate(sizes)]


def _braced(definition: OpDefinition, indices: tuple[AffineExpr, ...]) -> str:
    return f"{{{', '.join(_affine(definition, index) for index in indices)}}}"


def _affine(definition: OpDefinition, expr: AffineExpr, *, within: AffineKind | None = None) -> str:
    """An affine expression by the operators and methods of `mlir::AffineExpr`."""
    if isinstance(expr, AffineDim):
        return f"d{definition.dims.index(expr.name)}"
    if isinstance(expr, AffineSymbol):
        return f"s{definition.symbols.index(expr.name)}"
    if isinstance(expr, AffineConst):
        if within is None:
            return f"getAffineConstantExpr({expr.value}, context)"
        return str(expr.value)
    if not isinstance(expr, AffineBinary):
        raise TypeError(f"unknown affine expression {type(expr).__name__}")
    lhs = _affine(definition, expr.lhs, within=expr.kind)
    rhs = _affine(definition, expr.rhs, within=expr.kind)
    if expr.kind in (AffineKind.FLOORDIV, AffineKind.CEILDIV):
        if isinstance(expr.lhs, AffineConst):
            lhs = _affine(definition, expr.lhs)
        elif isinstance(expr.lhs, AffineBinary) and not lhs.endswith(")"):
            lhs = f"({lhs})"
        method = "floorDiv" if expr.kind is AffineKind.FLOORDIV else "ceilDiv"
        return f"{lhs}.{method}({rhs})"
    text = f"{lhs} {'%' if expr.kind is AffineKind.MOD else expr.kind.value} {rhs}"
    plain = within in (None, AffineKind.FLOORDIV, AffineKind.CEILDIV) or (
        within is AffineKind.ADD and expr.kind in (AffineKind.ADD, AffineKind.MUL)
    )
    return text if plain else f"({text})"


# -- region ----------------------------------------------------------------------------------------


def _region(definition: OpDefinition) -> str:
    operands = (*definition.inputs, *definition.outputs)
    names = {operand.name: f"_{position}" for position, operand in enumerate(operands)}
    arguments = ", ".join(f"{name}(args[{i}])" for i, name in enumerate(names.values()))
    lines = [f"Value {arguments};"]

    def emitted(expr: ScalarExpr) -> str:
        if isinstance(expr, (Access, ScalarOperand)):
            return names[expr.operand]
        if not isinstance(expr, Apply):
            raise NotationError(
                f"{definition.name} computes with `{expr}`, and there is no intrinsic for that",
                hint="give the value as an operand",
            )
        if isinstance(expr.args[0], Const) and expr.type_var is not None:
            value = _constant(definition, expr, expr.args[0])
        else:
            args = ", ".join(map(emitted, expr.args))
            value = f"{std_function_of(expr, definition, 'this C++').name}({args})"
        # The arguments count from 0, what is computed from one past their number.
        name = f"_{len(operands) + len(lines)}"
        lines.append(f"Value {name} = {value};")
        return name

    yielded = [
        emitted(definition.assignment_to(output.name).value) for output in definition.outputs
    ]
    lines.append(f"(linalg_yield(ValueRange{{ {', '.join(yielded)} }}));")
    return "\n".join(f"  {line}" for line in lines)


def _constant(definition: OpDefinition, expr: Apply, constant: Const) -> str:
    element = element_of(expr.type_var)
    if element in ("f32", "f64"):
        suffix, method = ("f", "getF32") if element == "f32" else ("", "getF64")
        return (
            f"std_constant_float(APFloat({float(constant.value)!r}{suffix}), "
            f"FloatType::{method}(ScopedContext::getContext()))"
        )
    if element is not None and element[0] == "i" and isinstance(constant.value, int):
        return f"std_constant_int({constant.value}, {element[1:]})"
    raise NotationError(
        f"{definition.name} computes with the constant {constant} as {expr.type_var}, and there is "
        "an intrinsic for integers, f32 and f64 alone",
        hint="choose such a type, with types= here, `--type` on the command line",
    )


register(Notation("cpp", "the C++ of `mlir-linalg-ods-gen`: maps and region builder", write=to_cpp))
