"""A text with spelled ops as a text that MLIR's parser reads.

Each spelled op becomes one `linalg_ext.spelled`, in the generic form, which carries a number; the
op as it was written is found under it. Lines stay where they are, and `Translation.origin` leads
from any place of the new text to that of the old, so that every message is about the user's own.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from linalg_ext.bindings import ir
from linalg_ext.dialects.asm import groups
from linalg_ext.dialects.asm.indexed_generic import translate_indexed_generic
from linalg_ext.dialects.asm.spelled import COMPUTE_TYPE, SpelledOp, parse_op
from linalg_ext.dialects.gml_st import asm
from linalg_ext.dialects.gml_st.asm.generic_form import Piece, ending, joined, listed
from linalg_ext.errors import ParseError, counted
from linalg_ext.ir.context import new_context
from linalg_ext.notations.mlir_text import (
    CodeFilter,
    Edit,
    EditedText,
    Reader,
    Span,
    apply_edits,
    flat,
)
from linalg_ext.notations.source_text import SourceText

MAX_INPUTS = 25
"""Largest number of inputs of `linalg_ext.spelled`."""

_NAME = re.compile(r"linalg(?:_ext)?\.[a-z]\w*")
_BEFORE = frozenset('#!%@^$."-_')
_WITH_BODY = frozenset(
    ("linalg.generic", "linalg.map", "linalg.reduce", "linalg.index", "linalg.yield")
)
_SAME_SYNTAX = ("linalg.broadcast", "linalg.transpose")
_CUSTOM = ("linalg_ext.contract", "linalg_ext.elementwise")
_TYPES = r":[^()%/]*(?:>|[ ,:](?:f|bf|i)\d+)\)"
_ORDINARY = re.compile(
    r"\s*(?:indexing_maps\s*=\s*\[[^\]]*\]\s*)?"
    r"(?:\{(?![^{}]*(?:broadcast_|permut|transpose_|map_|compute_type))[^{}]*\}\s*)?"
    rf"(?:ins\([^():]*{_TYPES}\s*)?outs\([^():]*{_TYPES}"
    r"\s*(?:->|%|\}|return\b|[a-z_]\w*\.[a-z])"
)
"""The usual form of a named op of upstream's, which is passed over at once."""

_INTEGERS = re.compile(r"\[\s*(?:\d+\s*(?:,\s*\d+\s*)*)?\]")
"""Lists that upstream's parser accepts as dimensions; on other lists it ends the process."""

_INDEXED = "linalg.indexed_generic"


@dataclass(frozen=True)
class Translation(EditedText):
    """A text after translation.

    Attributes:
        ops: the spelled ops, by their numbers.
    """

    ops: tuple[SpelledOp, ...] = ()


def translate(
    text: str,
    name: str = "-",
    unknown: Collection[str] = (),
    edits: Sequence[Edit] = (),
) -> Translation:
    """Read the spelled ops of a text.

    Args:
        text: MLIR, with structured ops in any spelling.
        name: the name of the text in errors.
        unknown: ops of linalg that the parser at hand does not know, though others did.
        edits: further changes of the text.

    Returns:
        A translation; its `text` is `text` itself where there is no spelled op.

    Raises:
        ParseError: a mistake in a spelled op; points at it.
    """
    source = SourceText(text, name)
    if "linalg" not in text and not edits:
        return Translation(source, text)
    collector = _Collector(source)
    changed = {edit.start for edit in edits}
    for start, op_name in _candidates(text):
        if start < collector.end or start in changed:
            continue  # it was read already
        if op_name == _INDEXED:
            collector.replace(*translate_indexed_generic(source, start))
        elif op_name not in unknown and _ORDINARY.match(text, start + len(op_name)):
            continue
        elif op_name == "linalg.generic":
            collector.compute_type_of_generic(start + len(op_name))
        elif (op := parse_op(source, start, op_name, unknown)) is not None:
            collector.op(op)
    edited = apply_edits(source, [*collector.edits, *edits])
    return Translation(source, edited.text, edited.pieces, tuple(collector.ops))


def _candidates(text: str) -> Iterator[tuple[int, str]]:
    """Names of linalg where an op may stand."""
    code = CodeFilter(text)
    has_indexed = _INDEXED in text
    has_compute_type = COMPUTE_TYPE in text
    for match in _NAME.finditer(text):
        start, name = match.start(), match[0]
        before = text[start - 1] if start else "\n"
        if before == '"' and has_indexed and name == _INDEXED and text.startswith('"', match.end()):
            if code.is_code(start - 1):
                yield start, name
            continue
        if before in _BEFORE or before.isalnum():
            continue
        if name == "linalg.generic":
            may_be_spelled = has_compute_type
        else:
            is_foreign = name.startswith("linalg_ext.") and name not in _CUSTOM
            may_be_spelled = not is_foreign and name not in _WITH_BODY
        if may_be_spelled and code.is_code(start):
            yield start, name


class _Collector:
    """Collects the changes."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self.edits: list[Edit] = []
        self.ops: list[SpelledOp] = []
        self.end = 0
        """The offset up to which the text was read."""

    def replace(self, start: int, end: int, pieces: list[Piece]) -> None:
        """Put new text, and parts of the old, in the place of a part of the source."""
        self.edits.append(Edit(start, end, pieces))
        self.end = end

    def op(self, op: SpelledOp) -> None:
        if op.name in _SAME_SYNTAX:
            self.replace(op.start, op.end, _in_upstream_syntax(self._source, op))
            return
        if len(op.inputs) > MAX_INPUTS or len(op.outputs) != 1 or len(op.results) > 1:
            raise ParseError(
                f"{op.name} has {counted(len(op.inputs), 'input')}, "
                f"{counted(len(op.outputs), 'destination')} and "
                f"{counted(len(op.results), 'result')}",
                where=self._source.place(op.start, op.start + len(op.name)),
                expected=f"at most {MAX_INPUTS} inputs and one destination",
            )
        self.replace(op.start, op.end, _placeholder(op, len(self.ops)))
        self.ops.append(op)

    def compute_type_of_generic(self, start: int) -> None:
        """`compute_type = f32` behind the operands of a `linalg.generic`."""
        if self._source.text.find(COMPUTE_TYPE, start) < 0:
            return
        reader = Reader(self._source, start)
        for token in iter(reader.peek, None):
            if token.text in ("{", "(", "[", "<"):
                before = reader.position
                reader.balanced()
                after = reader.peek().text
                if token.text == "{" and before > start and after not in ("ins", "outs", "attrs"):
                    return  # that was the body
            elif token.text == COMPUTE_TYPE:
                break
            elif not token.text or token.text in ("}", "->"):
                return
            else:
                reader.next()
        word = reader.next()
        if not reader.accepts("="):
            return
        kind = reader.next()
        self.replace(
            word.start,
            reader.position,
            [f"attrs = {{linalg_ext.{COMPUTE_TYPE} = ", reader.span(kind.start, kind.end), "}"],
        )


def _placeholder(op: SpelledOp, number: int) -> list[Piece]:
    operands = [*op.inputs, *op.outputs]
    present = ["1"] * len(op.inputs) + ["0"] * (MAX_INPUTS - len(op.inputs)) + ["1"]
    pieces = ['"linalg_ext.spelled"(', *listed(operand.name for operand in operands)]
    pieces.append(f") {{number = {number} : i64, operandSegmentSizes = array<i32: ")
    pieces.append(", ".join(present) + ">, said = {")
    clauses: list[list[Piece]] = []
    for clause in op.clauses:
        clauses.append([f'"{clause.name}"'])
        if clause.value is not None:
            is_kind = clause.name == "kind" and not clause.value.text.startswith(("#", '"'))
            clauses[-1] += [' = "', _word(clause.value), '"'] if is_kind else [" = ", clause.value]
    pieces += [*joined(clauses), "}}"]
    return [*pieces, *ending([], [operand.type for operand in operands], op.results)]


def _word(value: Span) -> Span:
    """The word of `add` or of `<add>`."""
    inner = value.text.strip("<> ")
    return Span(inner, value.start + value.text.find(inner), value.end)


def _in_upstream_syntax(source: SourceText, op: SpelledOp) -> list[Piece]:
    """`linalg.broadcast` and `linalg.transpose`, whose results upstream infers."""
    word = "dimensions" if op.name == "linalg.broadcast" else "permutation"
    for result in op.results:
        expected = [_bare(str(operand.type)) for operand in op.outputs]
        if [_bare(str(result))] != expected:
            raise ParseError(
                f"{op.name} gives {result}",
                where=source.place(result.start, result.end),
                expected=f"the type of its destination: {', '.join(expected)}",
            )
    pieces: list[Piece] = [op.name]
    for keyword, operands in (("ins", op.inputs), ("outs", op.outputs)):
        pieces += [f" {keyword}(", *listed([operand.name for operand in operands]), " : "]
        pieces += [*listed([operand.type for operand in operands]), ")"]
    attributes: list[list[Piece]] = []
    for clause in op.clauses:
        if clause.name == word and clause.value and _INTEGERS.fullmatch(clause.value.text):
            pieces += [f" {word} = ", clause.value]
            continue
        if clause.name == COMPUTE_TYPE and clause.value:
            attributes.append([f"linalg_ext.{COMPUTE_TYPE} = ", clause.value])
        elif "." in clause.name:
            attributes.append([clause.place])
        else:
            raise ParseError(
                f"{op.name} takes no {clause.place.text}",
                where=source.place(clause.place.start, clause.place.end),
                expected=f"{word} = [...]",
            )
    return [*pieces, " {", *joined(attributes), "}"] if attributes else pieces


def _bare(text: str) -> str:
    return "".join(flat(text).split())


TRANSPOSED = {
    "matmul_transpose_a": "matmul",
    "matmul_transpose_b": "matmul",
    "batch_matmul_transpose_a": "batch_matmul",
    "batch_matmul_transpose_b": "batch_matmul",
}
"""Variants that upstream removed in 2025, and the op whose maps say them."""

_ELEMENTWISE = (
    "abs add ceil copy div div_unsigned elemwise_binary elemwise_unary erf exp floor log max min "
    "mul negf powf reciprocal round rsqrt select sqrt square sub tanh"
)
"""Element-wise ops that upstream removed in 2025 and 2026, or may."""


def translated(text: str, filename: str) -> Translation:
    """A text as the parser at hand reads it: structured ops, and those of `gml_st`, groups.

    Raises:
        ParseError: a mistake in an op that is spelled otherwise; points at it.
    """
    source = SourceText(text, filename)
    own = [*asm.changes(source), *groups.changes(source)]
    return translate(text, filename, _unknown(), own)


def is_linalg_op(name: str, context: ir.Context) -> bool:
    """Return whether an op is one of linalg, in this version of it or in another."""
    return name in _ONCE or context.is_registered_operation(name)


_ONCE = frozenset(f"linalg.{name}" for name in (*TRANSPOSED, *_ELEMENTWISE.split()))


@functools.cache
def _unknown() -> frozenset[str]:
    """Return the legacy ops that are not registered in this build of MLIR."""
    context = new_context()
    return frozenset(name for name in _ONCE if not context.is_registered_operation(name))
