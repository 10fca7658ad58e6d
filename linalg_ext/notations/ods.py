"""A definition as the ODS record that `mlir-linalg-ods-gen -gen-ods-decl` was documented to print.

Source: "Linalg Dialect", section "Named Payload Ops Specification" (LLVM), of 2020 and of 2024,
which differ in the name of a trait; each leaves the body of the record as `{ ... }`. What stands
there follows the tool of that time: operands and results in general, the attributes by name, the
builders, the three methods that `ods_cpp` defines. A single value is an attribute here (`I64Attr`),
where the tool printed its type (`I64`), which TableGen reads as an operand.
"""

from __future__ import annotations

from typing import Literal

from linalg_ext.definition.model import (
    AttributeType,
    OpDefinition,
    Operand,
    OperandKind,
    why_several,
    why_unmapped,
)
from linalg_ext.errors import ArgumentError, NotationError
from linalg_ext.notations.registry import Notation, register
from linalg_ext.notations.subject import definition_of

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
            f"{definition.name} is no structured op, and this ODS describes those: {reason}"
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
    """Raise unless there is such a style.

    Raises:
        ArgumentError: there is not.
    """
    if style not in STYLES:
        raise ArgumentError(f"style {style!r}", expected=f"one of {', '.join(STYLES)}")


def optional_type(style: Style) -> str:
    """The template that a style has for a value that may be absent."""
    return _OPTIONAL[style]


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
    # Of 2020 is one list of views, of which the traits say how many are written.
    operands = ["Variadic<LinalgOperand>:$views"]
    results = "output_tensors"
    if style == "2024":
        operands = ["Variadic<AnyShaped>:$inputs", "Variadic<AnyShaped>:$outputs"]
        results = "result_tensors"
    operands += [f"{_ods_type(operand)}:${operand.name}" for operand in _sorted(definition)]
    listed = ",\n    ".join(operands)
    return f"""\
  let arguments = (ins
    {listed});
  let results = (outs Variadic<AnyRankedTensor>:${results});"""


def _sorted(definition: OpDefinition) -> list[Operand]:
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
        values = ", ".join(f"static_cast<int64_t>({value})" for value in _numbers(operand))
        return f'DefaultValuedAttr<{text}, "{{ {values} }}">'
    return text


def _numbers(operand: Operand) -> tuple[int, ...]:
    return operand.default if isinstance(operand.default, tuple) else ()


def _builders(definition: OpDefinition, style: Style) -> str:
    values = ("inputs", "outputs") if style == "2024" else ("views",)
    names = [operand.name for operand in _sorted(definition)]
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
