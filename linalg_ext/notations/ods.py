"""ODS records of an op, and the C++ beside them, as `mlir-linalg-ods-gen` printed both."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Literal

from linalg_ext.definition.model import (
    AttributeType,
    IteratorType,
    OpDefinition,
    Operand,
    OperandKind,
    why_several,
    why_unmapped,
)
from linalg_ext.definition.scalar import Access, Apply, Const, ScalarExpr, ScalarOperand
from linalg_ext.errors import ArgumentError, NotationError
from linalg_ext.notations.registry import Notation, definition_of, register
from linalg_ext.notations.std_functions import concrete, element_of, std_function_of
from linalg_ext.symbolic.affine import (
    AffineBinary,
    AffineConst,
    AffineDim,
    AffineExpr,
    AffineKind,
    AffineSymbol,
)

Style = Literal["2020", "2024"]
STYLES: tuple[Style, ...] = ("2020", "2024")

_TRAIT = {"2020": "NamedStructuredOpTraits", "2024": "NamedStructuredOpTrait"}
_OPTIONAL = {"2020": "llvm::Optional", "2024": "std::optional"}


def to_ods(op: object, style: Style = "2024") -> str:
    """The ODS record of an op, as TableGen reads it beside the classes that it names.

    Args:
        op: an op, or its definition.
        style: whose spelling: that of the document of 2020, or of 2024.

    Raises:
        NotationError: the record cannot hold the definition.
        ArgumentError: there is no such style.
    """
    definition = definition_of(op)
    check_style(style)
    if (reason := why_several(definition)) is not None:
        raise NotationError(
            f"{definition.name} is several structured ops, and a record is one: {reason}",
            hint="write a definition for each",
        )
    if (reason := why_unmapped(definition)) is not None:
        raise NotationError(
            f"{definition.name} is not a structured op, and this ODS describes those: {reason}"
        )
    for operand in definition.attributes:
        if operand.kind is not OperandKind.INDEX_ATTR:
            raise NotationError(
                f"{definition.name} has the function attribute {operand.name}, "
                "and this ODS has none",
                hint="write an op with the function that is meant",
            )
    sections = [
        _documentation(definition),
        _operands(definition, style),
        _builders(definition, style),
        _methods(definition, style),
    ]
    body = "\n\n".join(section for section in sections if section)
    return f"""\
def {definition.cpp_class_name} : LinalgNamedStructured_Op<"{definition.name}", [
  NInputs<{len(definition.inputs)}>,
  NOutputs<{len(definition.outputs)}>,
  {_TRAIT[style]}]> {{
{body}
}}
"""


def check_style(style: str) -> None:
    """Raise an ArgumentError unless there is such a style."""
    if style not in STYLES:
        raise ArgumentError(f"style {style!r}", expected=f"one of {', '.join(STYLES)}")


def attribute_type(operand: Operand) -> AttributeType:
    """The type of an index attribute: the stated one, else as many 64-bit integers as it binds."""
    return operand.attribute_type or AttributeType("i64", (operand.rank,))


def _documentation(definition: OpDefinition) -> str:
    if not definition.doc:
        return ""
    if "}]" in definition.doc:
        raise NotationError(
            f"{definition.name} has a doc string with `}}]` in it, which ends one in TableGen",
            hint="write `} ]`",
        )
    summary, _, description = definition.doc.partition("\n")
    text = f"  let summary = [{{ {summary.strip()} }}];"
    if description.strip():
        lines = [f"    {line}".rstrip() for line in description.strip("\n").splitlines()]
        text += "\n  let description = [{\n" + "\n".join(lines) + "\n  }];"
    return text


def _operands(definition: OpDefinition, style: Style) -> str:
    # The document of 2020 has one list of views; the traits say how many of them are written.
    operands = ["Variadic<LinalgOperand>:$views"]
    results = "output_tensors"
    if style == "2024":
        operands = ["Variadic<AnyShaped>:$inputs", "Variadic<AnyShaped>:$outputs"]
        results = "result_tensors"
    operands += [
        f"{_ods_type(operand)}:${operand.name}" for operand in _sorted_operands(definition)
    ]
    listed = ",\n    ".join(operands)
    return f"""\
  let arguments = (ins
    {listed});
  let results = (outs Variadic<AnyRankedTensor>:${results});"""


def _sorted_operands(definition: OpDefinition) -> list[Operand]:
    """Attributes in the order of their names, as the tool kept them."""
    return sorted(definition.attributes, key=lambda operand: operand.name)


def _ods_type(operand: Operand) -> str:
    kind = attribute_type(operand)
    element = kind.element.upper()
    if kind.is_list:
        text = f"{element}ArrayAttr"
    elif kind.sizes:
        text = f"Ranked{element}ElementsAttr<[{', '.join(map(str, kind.sizes))}]>"
    else:
        text = f"{element}Attr"
    if kind.is_optional:
        return f"OptionalAttr<{text}>"
    if operand.attribute_type is None and operand.default is not None:
        numbers = operand.default if isinstance(operand.default, tuple) else ()
        values = ", ".join(f"static_cast<int64_t>({value})" for value in numbers)
        return f'DefaultValuedAttr<{text}, "{{ {values} }}">'
    return text


def _builders(definition: OpDefinition, style: Style) -> str:
    values = ("inputs", "outputs") if style == "2024" else ("views",)
    names = [operand.name for operand in _sorted_operands(definition)]
    plain = _builder(definition, style, values, [])
    with_attributes = [_builder(definition, style, values, names)] if names else []
    return "  let builders = [\n" + ",\n".join([plain, *with_attributes]) + "\n  ];"


def _builder(
    definition: OpDefinition, style: Style, values: tuple[str, ...], attributes: list[str]
) -> str:
    """One builder, from result types, operands, and attributes where the op has any."""
    if style == "2020":
        builder, state = "b", "result"
        parameters = ["OpBuilder &b", "OperationState &result", "TypeRange resultTensorTypes"]
        parameters += [f"ValueRange {value}" for value in values]
        parameters += [f"Attribute {name}" for name in attributes]
        head = f'"{", ".join(parameters)}"'
    else:
        builder, state = "$_builder", "$_state"
        parameters = ['"TypeRange":$resultTensorTypes']
        parameters += [f'"ValueRange":${value}' for value in values]
        parameters += [f'"Attribute":${name}' for name in attributes]
        head = f"(ins {', '.join(parameters)})"
    lines = [f"{state}.addOperands({value});" for value in values]
    lines.append(f"{state}.addTypes(resultTensorTypes);")
    lines += [f'{state}.addAttribute("{name}", {name});' for name in attributes]
    types = "".join(f", TypeRange({value})" for value in values)
    lines.append(
        f"buildNamedStructuredOpRegionAndAttributes<{definition.cpp_class_name}>("
        f"{builder}, {state}{types});"
    )
    body = "\n".join(f"        {line}" for line in lines)
    return f"    OpBuilder<{head}, [{{\n{body}\n      }}]>"


def _methods(definition: OpDefinition, style: Style) -> str:
    optional = _OPTIONAL[style]
    arguments = len(definition.inputs) + len(definition.outputs)
    return f"""\
  let extraClassDeclaration = [{{
    {optional}<SmallVector<StringRef, 8>> referenceIterators();
    {optional}<SmallVector<AffineMap, 8>> referenceIndexingMaps();
    static void regionBuilder(ArrayRef<BlockArgument> args);
    static unsigned getNumRegionArgs() {{ return {arguments}; }}
    std::string getLibraryCallName() {{
      return generateLibraryCallName(getOperation());
    }}
  }}];"""


register(Notation("ods", "the ODS record of `mlir-linalg-ods-gen`, for TableGen", write=to_ods))


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
    optional, name = _OPTIONAL[style], definition.cpp_class_name
    if name == f"{definition.name}Op":
        # The documents define the methods of `batchmatmulOp` as those of `batchmatmul`.
        name = definition.name
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


def _check(definition: OpDefinition) -> None:
    if definition.is_rank_polymorphic:
        raise NotationError(
            f"{definition.name} is element-wise at any rank, and this C++ has one rank for each op",
            hint="write an op of the rank that is meant",
        )
    if (reason := why_unmapped(definition)) is not None:
        raise NotationError(
            f"{definition.name} is not a structured op, and this C++ builds one: {reason}"
        )
    if (reason := why_several(definition)) is not None:
        raise NotationError(
            f"{definition.name} is several structured ops, and this C++ builds one region: "
            f"{reason}",
            hint="write a definition for each",
        )
    for operand in definition.arguments:
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
        for operand in definition.arguments
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
    values = []
    for position, symbol in enumerate(symbols):
        if kind.is_list:
            text = f"{name}Attr()[{position}].cast<IntegerAttr>().getInt()"
        elif kind.sizes:
            indices = ", ".join(
                str(position // prod(kind.sizes[axis + 1 :]) % size)
                for axis, size in enumerate(kind.sizes)
            )
            text = f"{name}{'Attr' if kind.is_optional else ''}().getValue<{cpp}>({{ {indices} }})"
        else:
            text = f"{name}Attr().getInt()"
        values.append((symbol, f"{name}Attr() ? {text} : 1" if kind.is_optional else text))
    return values


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
    names = {operand.name: f"_{i}" for i, operand in enumerate(definition.arguments)}
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
        # The arguments count from 0, computed values from one past their number.
        name = f"_{len(names) + len(lines)}"
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
