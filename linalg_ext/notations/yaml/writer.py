"""Definitions as upstream's YAML op definitions.

One document an op; for a definition that upstream's OpDSL can hold, the text is upstream's, byte
for byte.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml

from linalg_ext.definition.functions import FUNCTIONS, Function
from linalg_ext.definition.model import (
    OpDefinition,
    Operand,
    OperandKind,
    accumulation,
    why_several,
    why_unmapped,
)
from linalg_ext.definition.scalar import (
    Access,
    Apply,
    Const,
    Index,
    ScalarExpr,
    ScalarOperand,
    Size,
)
from linalg_ext.definition.types import PREDEFINED, PREDEFINED_UPSTREAM
from linalg_ext.errors import NotationError
from linalg_ext.notations.constants import constant_text
from linalg_ext.notations.registry import definition_of


def to_yaml(*ops: object, partial: bool = False) -> str:
    """Return the YAML documents of one or more definitions.

    Args:
        ops: `OpDefinition`s, or ops that have one as `.definition`.
        partial: leave out definitions that the format cannot hold; a comment at the top names them
            with reasons.

    Raises:
        NotationError: the format cannot hold a definition; names the part, with the reason.
    """
    documents, left_out = [], []
    for definition in map(definition_of, ops):
        try:
            documents.append(_document(definition))
        except NotationError as error:
            if not partial:
                raise
            left_out.append(f"# {error.what}.\n")
    comment = "# Left out, because upstream's YAML cannot hold it:\n" if left_out else ""
    text = yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, explicit_start=True)
    return comment + "".join(left_out) + (text if documents else "")


class _Tagged(dict[str, Any]):
    """A mapping with upstream's tag."""

    def __init__(self, tag: str, entries: dict[str, Any]) -> None:
        super().__init__(entries)
        self.tag = tag


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Writes tagged mappings, and texts of several lines as blocks; never an alias.

    libyaml's writer, where PyYAML was built with it, gives the same bytes in a third of the time.
    """

    def ignore_aliases(self, data: object) -> bool:
        return True


def _represent_tagged(dumper: yaml.SafeDumper, data: _Tagged) -> yaml.Node:
    return dumper.represent_mapping(data.tag, data.items())


def _represent_text(dumper: yaml.SafeDumper, data: str) -> yaml.Node:
    style = "|" if len(data.splitlines()) > 1 else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Dumper.add_representer(_Tagged, _represent_tagged)
_Dumper.add_representer(str, _represent_text)


def _document(definition: OpDefinition) -> _Tagged:
    _check(definition)
    metadata: dict[str, Any] = {
        "name": definition.name,
        "cpp_class_name": definition.cpp_class_name,
        "doc": definition.doc or None,
    }
    if definition.implements:
        metadata["implements"] = [interface.cpp_name for interface in definition.implements]
    if definition.defines:
        metadata["defines"] = [method.name for method in definition.defines]
    maps = [
        str(definition.indexing_map(definition.accesses[o.name][0] if o.kind.is_tensor else ()))
        for o in definition.operands
        if not o.kind.is_attribute
    ]
    structured_op = {
        "args": [_operand(definition, operand) for operand in definition.operands],
        "indexing_maps": _Tagged("!LinalgIndexingMapsConfig", {"static_indexing_maps": maps}),
        "iterator_types": [kind.value for kind in definition.iterator_types],
        "assignments": [
            _Tagged(
                "!ScalarAssign",
                {"arg": a.target.operand, "value": _expression(definition, a.value)},
            )
            for a in definition.assignments
        ],
    }
    return _Tagged(
        "!LinalgOpConfig",
        {
            "metadata": _Tagged("!LinalgOpMetadata", metadata),
            "structured_op": _Tagged("!LinalgStructuredOpConfig", structured_op),
        },
    )


def _check(definition: OpDefinition) -> None:
    """Refuse by name the parts that the format or the enumerations of upstream cannot hold."""
    if (reason := why_unmapped(definition)) is not None:
        raise NotationError(
            f"{definition.name} has no form in upstream's YAML, whose operands have indexing maps: "
            f"{reason}",
            hint=_BEYOND,
        )
    if (reason := why_several(definition)) is not None:
        raise NotationError(
            f"{definition.name} is several structured ops, and a document of upstream's YAML is "
            f"one: {reason}",
            hint=_BEYOND,
        )
    for type_var in definition.all_type_vars:
        if type_var.name in PREDEFINED and type_var.name not in PREDEFINED_UPSTREAM:
            raise NotationError(
                f"{definition.name} is of the fixed type {type_var}, which upstream's YAML takes "
                "for a free type variable",
                expected=f"one of {', '.join(sorted(PREDEFINED_UPSTREAM))}, or a type variable",
                hint="declare the operand over a type variable, and cast: "
                "TypeFn.cast_signed(U, ...)",
            )
    for operand in definition.operands:
        kind = operand.attribute_type
        if kind is not None and (kind.element == "f32" or kind.is_list or len(kind.sizes) > 1):
            raise NotationError(
                f"{definition.name} has the attribute {operand.name}: {kind}, "
                "and upstream's YAML has arrays of integers that indices use",
                hint="declare it as a one-dimensional array of i64, or remove it",
            )
        if operand.kind is OperandKind.INDEX_ATTR and not operand.shape:
            raise NotationError(
                f"{definition.name} has the attribute {operand.name}, which no index uses: "
                "upstream's YAML has no other attributes",
                hint="use it in an index, or remove it",
            )
        if isinstance(operand.default, Function):
            _check_function(definition, operand.default, f"the default of {operand.name}")
        if operand.kind.is_tensor and len(definition.accesses[operand.name]) > 1:
            uses = " and ".join(
                f"{operand.name}[{', '.join(map(str, indices))}]"
                for indices in definition.accesses[operand.name]
            )
            raise NotationError(
                f"{definition.name} reads {operand.name} with two indexing maps, {uses}: "
                "upstream's YAML holds one for each operand",
                hint=f"declare {operand.name} as two operands, and give the same array twice",
            )
    for expr in definition.expressions():
        if isinstance(expr, Apply) and expr.attribute is None:
            _check_function(definition, expr.function, f"`{expr}`")
        if isinstance(expr, Size):
            raise NotationError(
                f"{definition.name} computes with {expr}: upstream's YAML holds no sizes as values",
                hint=_BEYOND,
            )
    for assignment in definition.assignments:
        reduction = assignment.reduction
        if reduction is None or reduction.function is not None or not reduction.dims:
            continue
        read = accumulation(assignment.target, assignment.value, reduction.dims)
        if read is None or reduction.initial not in (None, read.function):
            raise NotationError(
                f"{definition.name} folds, `{assignment}`, and upstream's YAML has reductions "
                "alone, which start from their neutral elements",
                hint=_BEYOND,
            )


_BEYOND = "the op can still be called, and built as linalg.generic"


def _check_function(definition: OpDefinition, function: Function, where: str) -> None:
    if function.is_upstream:
        return
    named = [str(other) for other in FUNCTIONS[function.kind].values() if other.is_upstream]
    raise NotationError(
        f"{definition.name} applies {function}, which upstream's YAML has no name for",
        where=where,
        expected=f"one of {', '.join(named)}",
        hint=_BEYOND,
    )


def _operand(definition: OpDefinition, operand: Operand) -> _Tagged:
    entries: dict[str, Any] = {"name": operand.name, "kind": operand.kind.value}
    if operand.type_var is not None:
        entries["type_var"] = operand.type_var.name
    if operand.kind.is_tensor:
        entries["shape_map"] = str(definition.symbol_map(operand.shape))
    if operand.kind is OperandKind.INDEX_ATTR:
        entries["index_attr_map"] = str(definition.symbol_map(operand.shape))
    if isinstance(operand.default, Function):
        entries["default_fn"] = operand.default.name
    elif operand.default:
        entries["default_indices"] = list(operand.default)
    return _Tagged("!LinalgOperandDefConfig", entries)


def _expression(definition: OpDefinition, expr: ScalarExpr) -> _Tagged:
    entries: dict[str, Any]
    match expr:
        case Access(operand=name) | ScalarOperand(operand=name):
            entries = {"scalar_arg": name}
        case Const(value=value):
            entries = {"scalar_const": constant_text(value)}
        case Index(dim=dim):
            entries = {"scalar_index": definition.dims.index(dim)}
        case Apply():
            function: dict[str, Any] = {"kind": expr.function.kind.value}
            if expr.attribute is not None:
                function["attr_name"] = expr.attribute
            else:
                function["fn_name"] = expr.function.name
            if expr.type_var is not None:
                function["type_var"] = expr.type_var.name
            function["operands"] = [_expression(definition, arg) for arg in expr.args]
            entries = {"scalar_fn": function}
        case _:
            raise NotationError(f"`{expr}` has no form in upstream's YAML")
    return _Tagged("!ScalarExpression", entries)


def beyond_yaml(ops: Iterable[object]) -> dict[str, str]:
    """The ops that upstream's format cannot hold, by name, each with the reason.

    Args:
        ops: as for `to_yaml`.
    """
    reasons: dict[str, str] = {}
    for op in ops:
        definition = definition_of(op)
        try:
            to_yaml(definition)
        except NotationError as error:
            reasons[definition.name] = error.what
    return reasons


def iter_definitions(namespace: Iterable[object]) -> Iterable[OpDefinition]:
    """The definitions of the ops among the values of a module, in order."""
    for value in namespace:
        definition = getattr(value, "definition", None)
        if isinstance(definition, OpDefinition):
            yield definition
