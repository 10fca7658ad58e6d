"""A module printed with structured ops in the spelling of the wish list.

The clauses of that spelling (a transpose, a broadcast, a compute type) stand beside the op's
operands; an op of which it says nothing is printed as MLIR prints it.

    %0 = linalg.elementwise kind=#linalg.elementwise_kind<add> indexing_maps = [#map, #map1, #map1]
           ins(%x, %y : tensor<16xf32>, tensor<16x64xf32>) outs(%o : tensor<16x64xf32>) -> ...
    %0 = linalg.add ins(%x : tensor<16xf32>, %y : tensor<16x64xf32>)
           outs(%o : tensor<16x64xf32>) broadcast_a = [1] : tensor<16x64xf32>
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import linalg_ext.opdsl_defs as library
from linalg_ext.bindings import ir
from linalg_ext.definition.model import OpDefinition
from linalg_ext.definition.operand_maps import find_sugar
from linalg_ext.definition.scalar import Apply
from linalg_ext.definition.specialization import at_rank
from linalg_ext.dialects.asm import groups
from linalg_ext.dialects.gml_st import asm
from linalg_ext.dialects.gml_st.asm.generic_form import GenericOp, Piece, rewritten
from linalg_ext.ir.context import ensure_dialects
from linalg_ext.notations.source_text import SourceText
from linalg_ext.opdsl.op import StructuredOp
from linalg_ext.structured.extension import (
    CAST,
    COMPUTE_TYPE,
    KIND,
    LETTERS,
    MAPS,
    NAMES,
    OVERWRITE,
    SEGMENTS,
    own_attributes,
    segments,
)
from linalg_ext.structured.maps import holds_maps, indexing_maps
from linalg_ext.structured.operands import ops_where
from linalg_ext.symbolic.affine import AffineMap

_WORD = re.compile(r"[A-Za-z_][\w$.]*")
_ELEMENTWISE = "linalg.elementwise"


def to_text(module: ir.Module) -> str:
    """The module as text; it is not changed."""
    root = module.operation.clone()
    with root.context:
        ensure_dialects(root.context)
        spellings: list[Spelling] = []
        for op in ops_where(root, lambda op: op.name in NAMES or op.name.startswith("linalg.")):
            spelling = _spelling(op)
            if spelling is not None:
                _put_placeholder(op, len(spellings))
                spellings.append(spelling)
    return groups.pretty(asm.pretty(spell(str(root), spellings)))


def _put_placeholder(op: ir.Operation, number: int) -> None:
    integer = ir.IntegerType.get_signless(64)
    new = ir.Operation.create(
        "linalg_ext.spelled",
        results=[result.type for result in op.results],
        operands=list(op.operands),
        attributes={
            "number": ir.IntegerAttr.get(integer, number),
            SEGMENTS: segments(len(op.operands) - 1),
        },
        ip=ir.InsertionPoint(op),
        loc=op.location,
    )
    for old, result in zip(op.results, new.results, strict=True):
        old.replace_all_uses_with(result)
    op.erase()


def _spelling(op: ir.Operation) -> Spelling | None:
    """Return the spelling of an op; None where MLIR's own form is better."""
    if not 1 <= len(op.operands) - 1 <= len(LETTERS):
        return None
    if op.name in NAMES:
        return _of_our_own(op)
    clauses = [*_compute_type(op)]
    if op.name == "linalg.contract":
        if not clauses:
            return None
        return Spelling(op.name, _notes(op, ()), clauses)
    named = _definition(op)
    if named is None:
        return None
    name, definition = named
    if holds_maps(op.name):
        clauses = [*_sugar(op, definition), *clauses]
    if not clauses:
        return None
    if op.name != _ELEMENTWISE:
        return Spelling(name, _notes(op, (MAPS,)), clauses)
    if clauses == [*_compute_type(op)]:
        # Under the name of its function it would be read as the op of that name.
        name, clauses = op.name, [_clause(op, KIND), *clauses]
    return Spelling(name, _notes(op, (MAPS, KIND)), clauses)


def _definition(op: ir.Operation) -> tuple[str, OpDefinition] | None:
    """The name that the text has for an op, and the definition of that name."""
    name = _kind(op) if op.name == _ELEMENTWISE else op.name.removeprefix("linalg.")
    definition = _in_library(name)
    if definition is None:
        return None
    operands = (*definition.inputs, *definition.outputs)
    if len(operands) != len(op.operands) or len(definition.outputs) != 1:
        return None
    for operand, value in zip(operands, op.operands, strict=True):
        if operand.kind.is_tensor != isinstance(value.type, ir.ShapedType):
            return None
    if definition.is_rank_polymorphic:
        definition = at_rank(definition, len(indexing_maps(op)[0].dims))
    return f"linalg.{name}", definition


def _kind(op: ir.Operation) -> str:
    """The named op that applies the function of an elementwise op."""
    kind = str(op.attributes[KIND]).partition("<")[2].removesuffix(">")
    for name in (kind, kind.removesuffix("_signed")):
        if (definition := _in_library(name)) is not None:
            value = definition.assignments[0].value
            if isinstance(value, Apply) and value.function.name == kind:
                return name
    return ""


def _in_library(name: str) -> OpDefinition | None:
    library_op = getattr(library, name) if name in dir(library) else None
    return library_op.definition if isinstance(library_op, StructuredOp) else None


def _sugar(op: ir.Operation, definition: OpDefinition) -> Iterator[str]:
    operands = (*definition.inputs, *definition.outputs)
    for letter, operand, map in zip((*LETTERS, "z"), operands, indexing_maps(op), strict=False):
        if not operand.kind.is_tensor:
            continue
        indices = map.results_over(definition.dims)
        sugar = find_sugar(definition.accesses[operand.name][0], indices)
        if sugar is None:
            written = AffineMap(definition.dims, (), indices)
            yield f"map_{letter} = {written}"
        elif sugar.permutation:
            yield f"permutation_{letter} = {list(sugar.permutation)}"
        if sugar is not None and sugar.broadcast:
            yield f"broadcast_{letter} = {list(sugar.broadcast)}"


def _of_our_own(op: ir.Operation) -> Spelling:
    own = own_attributes(op)
    first = [name for name in (MAPS, KIND, CAST) if name in own]
    clauses = [_clause(op, name) for name in first]
    clauses += [OVERWRITE] * (OVERWRITE in own)
    clauses += [_clause(op, name) for name in sorted(own - {*first, OVERWRITE, SEGMENTS})]
    return Spelling(op.name, _notes(op, own), [*clauses, *_compute_type(op)])


def _clause(op: ir.Operation, name: str) -> str:
    value = str(op.attributes[name])
    kind = re.fullmatch(r"#linalg\.elementwise_kind<(\w+)>", value)
    return f"{name} = {kind[1] if kind else value}"


def _compute_type(op: ir.Operation) -> Iterator[str]:
    if COMPUTE_TYPE in op.attributes and isinstance(op.attributes[COMPUTE_TYPE], ir.TypeAttr):
        yield f"compute_type = {ir.TypeAttr(op.attributes[COMPUTE_TYPE]).value}"


def _notes(op: ir.Operation, own: Sequence[str] | set[str]) -> list[str]:
    """The attributes that no clause of the text covers."""
    in_clauses = {SEGMENTS, *own}
    if any(True for _ in _compute_type(op)):
        in_clauses.add(COMPUTE_TYPE)
    notes = []
    for name, attribute in op.attributes.items():
        if name not in in_clauses:
            key = name if _WORD.fullmatch(name) else ir.StringAttr.get(name)
            unit = isinstance(attribute, ir.UnitAttr)
            notes.append(str(key) if unit else f"{key} = {attribute}")
    return notes


_PLACEHOLDER = re.compile(r'"linalg_ext\.(spelled)"(?=\()')


@dataclass(frozen=True, slots=True)
class Spelling:
    """The custom spelling of an op.

    Attributes:
        name: of the op, with its dialect.
        notes: the attributes before its operands, as `name = value`.
        clauses: the clauses behind its operands: `broadcast_a = [1]`.
    """

    name: str
    notes: Sequence[str] = ()
    clauses: Sequence[str] = ()


def spell(text: str, spellings: Sequence[Spelling]) -> str:
    """A text as MLIR prints it, each numbered op replaced by the text of its number."""

    def spelled(_: SourceText, op: GenericOp) -> list[Piece]:
        spelling = spellings[int(op.attributes["number"].partition(" ")[0])]
        typed = [f"{name} : {kind}" for name, kind in zip(op.operands, op.types, strict=True)]
        words = [spelling.name]
        if spelling.notes:
            words.append(f"{{{', '.join(spelling.notes)}}}")
        if len(typed) > 1:
            words.append(f"ins({', '.join(typed[:-1])})")
        words.append(f"outs({typed[-1]})")
        if spelling.clauses:
            words.append(", ".join(spelling.clauses))
        # The wish list's colon; the arrow of upstream's for an op that is not of the wish list.
        arrow = ":" if spelling.name.startswith("linalg.") else "->"
        return [" ".join([*words, *(f"{arrow} {result}" for result in op.results)])]

    return rewritten(text, _PLACEHOLDER, {"spelled": spelled})
