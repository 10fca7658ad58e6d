"""A syntax tree of TC as a definition: names resolved, types and indices checked.

Dimensions and symbols are discovered as they are met, in the order of the text, as upstream's
`mlir-linalg-ods-gen` did: symbols in the shapes, dimensions in the comprehension.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable

from linalg_ext.definition.affine import AffineDim, AffineExpr, AffineSymbol
from linalg_ext.definition.checks import check
from linalg_ext.definition.model import (
    Assignment,
    Interface,
    OpDefinition,
    Operand,
    OperandKind,
    Reduction,
)
from linalg_ext.definition.scalar import Access, ScalarExpr
from linalg_ext.errors import DefinitionError, NotationError
from linalg_ext.notations.source_text import SourceText
from linalg_ext.notations.std_functions import type_var
from linalg_ext.notations.tc_expressions import Expressions, cast_cure, element_type
from linalg_ext.notations.tc_scope import attribute_type, element_name, one_of
from linalg_ext.notations.tc_syntax import (
    AttributeDecl,
    Comprehension,
    Definition,
    TensorDecl,
    Term,
)


def build(syntax: Definition, source: SourceText) -> OpDefinition:
    """The checked definition that one `def` says.

    Raises:
        NotationError: at the place that is wrong.
    """
    return _Builder(syntax, source).build()


class _Builder(Expressions):
    """Reads the comprehensions of one `def`."""

    def build(self) -> OpDefinition:
        syntax = self.syntax
        self.check_names()
        shapes = {
            name: tuple(self.affine(term, self.symbol) for term in decl.shape)
            for name, decl in self.tensors.items()
        }
        assignments = self._assignments()
        index_dims = self._shape_only()
        operands = (
            *(self._tensor(decl, shapes, index_dims) for decl in syntax.inputs),
            *(self._tensor(decl, shapes, index_dims) for decl in syntax.outputs),
            *(self._attribute(decl) for decl in syntax.attributes),
        )
        definition = OpDefinition(
            name=syntax.name.text,
            # Without `ods_def` the documents name the record for the op itself.
            cpp_class_name=syntax.class_name.text if syntax.class_name else f"{syntax.name}Op",
            doc=syntax.doc,
            operands=operands,
            dims=tuple(self.dims),
            assignments=assignments,
            implements=tuple(Interface(name.text) for name in syntax.interfaces),
        )
        first, last = syntax.comprehensions[0], syntax.comprehensions[-1]
        try:
            return check(definition)
        except DefinitionError as error:
            raise NotationError(
                error.what, where=self.source.place(first.start, last.end), expected=error.expected
            ) from None

    # -- the comprehensions ------------------------------------------------------------------------

    def _assignments(self) -> tuple[Assignment, ...]:
        """Read all comprehensions in order: each is finished before the next reads its tensors."""
        found: list[Assignment] = []
        for comprehension in self.syntax.comprehensions:
            self.begin()
            found += self._assignments_of(comprehension, {a.target.operand for a in found})
        for output in self.syntax.outputs:
            written = [assignment.target.operand for assignment in found]
            if output.name.text not in written:
                raise self.error(
                    f"output {output.name} is never written",
                    output.name,
                    hint=f"add it on the left: `{', '.join([*written, output.name.text])}`, each "
                    "with its indices, and its expression on the right",
                )
        return tuple(found)

    def _assignments_of(
        self, comprehension: Comprehension, before: set[str]
    ) -> Iterable[Assignment]:
        targets = [self._target(term) for term in comprehension.targets]
        counts = (len(targets), len(comprehension.values))
        if counts[0] != counts[1]:
            raise self.error(
                f"{counts[0]} tensor(s) on the left, {counts[1]} expression(s) on the right",
                (comprehension.start, comprehension.end),
                hint="write one expression for each tensor, separated by commas",
            )
        written = [target.operand for target in targets]
        for target, term in zip(targets, comprehension.targets, strict=True):
            if written.count(target.operand) > 1 or target.operand in before:
                raise self.error(
                    f"output {target.operand} is written twice",
                    term,
                    hint="combine the two expressions into one",
                )
        pairs = zip(targets, comprehension.values, strict=True)
        parts = [(target, self.value(target, term), term) for target, term in pairs]
        assignments = [
            self._assignment(target, value, reduction, term)
            for target, (value, reduction), term in parts
        ]
        for reader, term in zip(assignments, comprehension.values, strict=True):
            for writer in assignments:
                if reader is not writer and writer.target in reader.value.walk():
                    raise self.error(
                        f"{reader.target.operand} and {writer.target.operand} are written at once, "
                        "and one reads the other",
                        term,
                        hint="write two comprehensions, the second of which reads what the first "
                        "has finished: `C(m) = ...; D(m) = ...;`",
                    )
        return assignments

    def _target(self, term: Term) -> Access:
        if term.kind != "call" or term.head not in self.tensors:
            raise self.error(
                f"`{self.text(term)}` is assigned",
                term,
                expected=f"an output with its indices, such as `{self._example()}`",
            )
        if term.head not in self.outputs:
            raise self.error(
                f"{term.head} is an input and is assigned",
                term,
                expected=one_of(self.outputs, "an output", ""),
            )
        access = self.access(term)
        for arg, index in zip(term.args, access.indices, strict=True):
            if not isinstance(index, AffineDim):
                raise self.error(
                    f"`{self.text(term)}` writes through `{index}`, which is no plain dimension",
                    arg,
                    hint="index an output by dimensions alone, and move the arithmetic to the "
                    "indices that are read",
                )
            if access.indices.count(index) > 1:
                raise self.error(
                    f"`{self.text(term)}` uses dimension {index} twice: only a diagonal would be "
                    "written",
                    arg,
                    hint="use a dimension of its own for each dimension of the output",
                )
        return access

    def _assignment(
        self, target: Access, value: ScalarExpr, reduction: Reduction | None, term: Term
    ) -> Assignment:
        element, expected = element_type(value), self.tensors[target.operand].element.text
        if element != expected:
            raise self.error(
                f"{element} is assigned to output {target.operand}, which is of {expected}",
                term,
                hint=cast_cure(element, expected),
            )
        lost = [dim for dim in self.met if AffineDim(dim) not in target.indices]
        if reduction is None and lost:
            raise self.error(
                f"dimension {lost[0]} is neither an index of output {target.operand} nor reduced",
                term,
                hint=f"name it in angle brackets: `std_addf<{', '.join(lost)}>(...)`, or give "
                f"{target.operand} that dimension",
            )
        if reduction is not None and set(lost) - set(reduction.dims):
            extra = [dim for dim in lost if dim not in reduction.dims]
            whole = [dim for dim in self.dims if dim in (*reduction.dims, *extra)]
            place = self.source.place(term.start, term.start + len(term.head))
            warnings.warn(
                f"dimension {', '.join(extra)} is neither an index of output {target.operand} nor "
                f"in angle brackets; it is reduced as well: {term.head}<{', '.join(whole)}>\n"
                f"  {place}",
                UserWarning,
                stacklevel=_callers(),
            )
            reduction = Reduction(reduction.function, (*reduction.dims, *extra))
            self.reduced.extend(dim for dim in extra if dim not in self.reduced)
        return Assignment(target, value, reduction)

    def _shape_only(self) -> dict[str, tuple[AffineExpr, ...]]:
        """The dimensions of the inputs that no expression uses: the reduction dimensions."""
        reduced = [dim for dim in self.dims if dim in self.reduced]
        found: dict[str, tuple[AffineExpr, ...]] = {}
        for decl in self.syntax.inputs:
            if decl.name.text in self.used:
                continue
            rank = len(decl.shape)
            if rank != len(reduced):
                raise self.error(
                    f"input {decl.name} is used by no expression, so that its {rank} dimension(s) "
                    f"are the reduction dimensions, and of these there are {len(reduced)}"
                    f"{': ' if reduced else ''}{', '.join(reduced)}",
                    decl.name,
                    hint=f"use {decl.name} in an expression, remove it, or give it one dimension "
                    "for each that is reduced",
                )
            found[decl.name.text] = tuple(AffineDim(dim) for dim in reduced)
        return found

    # -- operands ----------------------------------------------------------------------------------

    def _tensor(
        self,
        decl: TensorDecl,
        shapes: dict[str, tuple[AffineExpr, ...]],
        index_dims: dict[str, tuple[AffineExpr, ...]],
    ) -> Operand:
        name = decl.name.text
        kind = OperandKind.OUTPUT_TENSOR if name in self.outputs else OperandKind.INPUT_TENSOR
        return Operand(name, kind, type_var(decl.element.text), shapes[name], index_dims.get(name))

    def _attribute(self, decl: AttributeDecl) -> Operand:
        name, read = decl.name.text, self.read[decl.name.text]
        kind = attribute_type(decl)
        elements: Iterable[tuple[int, ...]] = ()
        if read:
            # Of a list as many values are known as are read.
            sizes = (max(read)[0] + 1,) if decl.is_list else decl.sizes
            elements = _positions(sizes)
        shape = tuple(AffineSymbol(element_name(name, position)) for position in elements)
        default = (1,) * len(shape) if decl.is_optional or not shape else None
        return Operand(
            name, OperandKind.INDEX_ATTR, shape=shape, default=default, attribute_type=kind
        )

    def _example(self) -> str:
        decl = self.syntax.outputs[0]
        return f"{decl.name}({', '.join('ijklmn'[: len(decl.shape)])})"


def _positions(sizes: tuple[int, ...]) -> list[tuple[int, ...]]:
    positions: list[tuple[int, ...]] = [()]
    for size in sizes:
        positions = [(*position, number) for position in positions for number in range(size)]
    return positions


def _callers() -> int:
    """Return the number of frames up to the first line outside the library, for a warning."""
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("linalg_ext"):
        frame, depth = frame.f_back, depth + 1
    return depth
