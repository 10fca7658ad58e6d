"""TC: the notation of `mlir-linalg-ods-gen`, a text in the manner of Tensor Comprehensions.

    def batch_matmul(A: f32(Batch, M, K), B: f32(Batch, K, N)) -> (C: f32(Batch, M, N)) {
      C(b, m, n) = std_addf<k>(std_mulf(A(b, m, k), B(b, k, n)));
    }

Source: "Linalg Dialect", section "Named Payload Ops Specification" (LLVM, 2020 and 2024).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from linalg_ext.definition.model import (
    Assignment,
    OpDefinition,
    Operand,
    OperandKind,
    steps,
    why_unmapped,
)
from linalg_ext.definition.scalar import Access, Apply, ScalarExpr
from linalg_ext.errors import NotationError
from linalg_ext.notations.registry import Notation, definition_of, read, register
from linalg_ext.notations.source_text import SourceText
from linalg_ext.notations.std_functions import (
    concrete,
    element_of,
    no_element_type,
    std_function_of,
)
from linalg_ext.notations.tc_semantics import build
from linalg_ext.notations.tc_syntax import parse
from linalg_ext.symbolic.affine import (
    AffineBinary,
    AffineConst,
    AffineExpr,
    AffineKind,
    AffineSymbol,
)


def tc(text: str, *, name: str = "TC text") -> Any:
    """Return the ops that a text of TC defines.

    Args:
        text: one definition or more.
        name: the name of the text in errors: that of its file.

    Returns:
        For one definition its op, a `StructuredOp`. For several a named tuple of ops, in order:
        `ops.matmul`, or `matmul, dot = tc(...)`.

    Raises:
        NotationError: with the line, the column and a caret under the mistake.

    Example:
        >>> dot = tc("def dot(A: f32(M), B: f32(M)) -> (C: f32()) {"
        ...          "  C() = std_addf<m>(std_mulf(A(m), B(m))); }")
        >>> dot(np.float32([1, 2]), np.float32([3, 4]))
        array(11., dtype=float32)
    """
    return read(text, "tc", filename=name)


def read_tc(text: str, *, filename: str | None = None) -> tuple[OpDefinition, ...]:
    """The definitions of a text of TC, in order; a NotationError as `tc` raises it."""
    source = SourceText(text, filename or "TC text")
    syntax = parse(source)
    names: set[str] = set()
    for definition in syntax:
        if definition.name.text in names:
            raise NotationError(
                f"{definition.name} is defined twice",
                where=source.place(definition.name.start, definition.name.end),
                hint="give each op a name of its own",
            )
        names.add(definition.name.text)
    return tuple(build(definition, source) for definition in syntax)


def to_tc(op: object, types: Mapping[str, str] | str | None = None) -> str:
    """Return the text of TC that defines an op.

    Args:
        op: an op, or its definition.
        types: element types for its type variables, which TC lacks: `{"T1": "i8", "U": "i32"}`, or
            one for all of them, `"f32"`. Casts to the same type fall away.

    Returns:
        A text that `tc` reads as the same definition, up to generated names.

    Raises:
        NotationError: TC cannot hold the definition; names the part, with the reason.
        ArgumentError: `types` names no element type, or no type variable of the op.
    """
    return _Writer(concrete(definition_of(op), types)).text()


class _Writer:
    def __init__(self, definition: OpDefinition) -> None:
        self.definition = definition
        self.names = {
            symbol: name
            for operand in definition.attributes
            for symbol, name in _attribute_symbols(operand).items()
        }

    def text(self) -> str:
        definition = self.definition
        self._check()
        lines = []
        if definition.cpp_class_name != f"{definition.name}Op" or definition.implements:
            lines.append(f"ods_def<{definition.cpp_class_name}>")
            if definition.implements:
                names = ", ".join(interface.cpp_name for interface in definition.implements)
                lines.append(f"implements_interface<{names}>")
            lines[-1] += " :"
        inputs = ", ".join(map(self._tensor, definition.inputs))
        outputs = ", ".join(map(self._tensor, definition.outputs))
        lines.append(f"def {definition.name}({inputs}) -> ({outputs})")
        if definition.attributes:
            lines.append(f"attr({', '.join(map(self._attribute, definition.attributes))})")
        if definition.doc:
            lines += [f'"""{definition.doc}', '"""']
        comprehensions = [self._comprehension(step.assignments) for step in self._steps]
        return "\n".join([*lines, "{", *comprehensions, "}"]) + "\n"

    @property
    def _steps(self) -> tuple[OpDefinition, ...]:
        return steps(self.definition, by_reductions=False)

    def _comprehension(self, assignments: Sequence[Assignment]) -> str:
        targets = ", ".join(self._access(a.target) for a in assignments)
        return f"  {targets} = {', '.join(map(self._value, assignments))};"

    def _refuse(self, fault: str, hint: str | None = None) -> NotationError:
        return NotationError(f"{self.definition.name} {fault}", hint=hint)

    def _check(self) -> None:
        definition = self.definition
        if (reason := why_unmapped(definition)) is not None:
            raise self._refuse(f"has no form in TC, whose indices are affine: {reason}")
        if definition.defines:
            raise self._refuse(
                f"defines {', '.join(m.name for m in definition.defines)}, and TC says nothing of "
                "methods"
            )
        if definition.is_rank_polymorphic:
            raise self._refuse(
                "is element-wise at any rank, and TC has one rank for each op",
                hint="write an op of the rank that is meant",
            )
        if '"""' in definition.doc:
            raise self._refuse('has a doc string with """ in it, which ends one in TC')
        for operand in definition.operands:
            self._check_operand(operand)
        if definition.dims != (written := self._discovered()):
            raise self._refuse(
                f"iterates over ({', '.join(definition.dims)}), and TC orders dimensions as the "
                f"text meets them: ({', '.join(written)})",
                hint="use that order in domain()",
            )
        shared = set(definition.symbols) & set(definition.dims)
        if shared:
            raise self._refuse(
                f"has {min(shared)} for a dimension and for a symbol: to TC they are one name",
                hint="rename one of them",
            )

    def _check_operand(self, operand: Operand) -> None:
        if operand.kind is OperandKind.SCALAR:
            raise self._refuse(
                f"has the scalar {operand.name}, and TC has tensors only",
                hint="declare it as a tensor of rank 0",
            )
        if operand.kind.is_function_attribute:
            raise self._refuse(
                f"has the function attribute {operand.name}, and TC has none",
                hint="write an op with the function that is meant",
            )
        if not operand.kind.is_tensor:
            return
        if operand.type_var is not None and element_of(operand.type_var) is None:
            raise no_element_type(self.definition, operand.type_var.name, "TC")
        if any(len(step.accesses.get(operand.name, ())) > 1 for step in self._steps):
            raise self._refuse(
                f"uses {operand.name} with two different indices, and TC has one for each tensor",
                hint=f"declare {operand.name} as two operands",
            )
        if operand.index_dims is not None:
            reduced = [d for d in self.definition.dims if d in self.definition.reduction_dims]
            if [str(dim) for dim in operand.index_dims] != reduced:
                raise self._refuse(
                    f"has the shape-only operand {operand.name} for dimensions "
                    f"({', '.join(map(str, operand.index_dims))}); in TC these are all that are "
                    f"reduced: ({', '.join(reduced)})"
                )

    def _discovered(self) -> tuple[str, ...]:
        """Dimensions in the order in which a reader of the text meets them."""
        dims: dict[str, None] = {}
        for step in self._steps:
            for assignment in step.assignments:
                dims |= dict.fromkeys(map(str, assignment.target.indices))
            for assignment in step.assignments:
                if assignment.reduction is not None:
                    dims |= dict.fromkeys(self._reduced(assignment))
        return tuple(dims)

    def _reduced(self, assignment: Assignment) -> list[str]:
        reduced = assignment.reduction.dims if assignment.reduction else ()
        return [dim for dim in self.definition.dims if dim in reduced]

    def _tensor(self, operand: Operand) -> str:
        shape = ", ".join(map(self._affine, operand.shape))
        return f"{operand.name}: {element_of(operand.type_var)}({shape})"

    def _attribute(self, operand: Operand) -> str:
        kind = operand.attribute_type
        if kind is None:
            if operand.default is not None and set(operand.default) - {1}:  # type: ignore[arg-type]
                raise self._refuse(
                    f"has {operand.name} with the default {operand.default}, and an optional "
                    "attribute of TC is 1 where it is not given"
                )
            optional = "" if operand.default is None else "?"
            return f"{operand.name}{optional}: {operand.rank}xi64"
        return f"{operand.name}{'?' if kind.is_optional else ''}: {kind}"

    def _value(self, assignment: Assignment) -> str:
        value = assignment.value
        reduction = assignment.reduction
        if reduction is None or (reduction.function is not None and not isinstance(value, Apply)):
            return self._expression(value)
        if reduction.function is None or not isinstance(value, Apply):
            raise NotationError(
                f"{self.definition.name}: `{assignment}` is a fold, and TC has reductions alone"
            )
        function = std_function_of(value, self.definition, "TC")
        (accumulated,) = [arg for arg in value.args if arg != assignment.target] or [value.args[1]]
        dims = ", ".join(self._reduced(assignment))
        return f"{function.name}<{dims}>({self._expression(accumulated)})"

    def _expression(self, expr: ScalarExpr) -> str:
        if isinstance(expr, Access):
            return self._access(expr)
        if isinstance(expr, Apply):
            function = std_function_of(expr, self.definition, "TC")
            return f"{function.name}({', '.join(map(self._expression, expr.args))})"
        raise self._refuse(
            f"computes with `{expr}`, and TC has no constants and no index() among its elements",
            hint="give the value as a tensor of rank 0",
        )

    def _access(self, access: Access) -> str:
        return f"{access.operand}({', '.join(map(self._affine, access.indices))})"

    def _affine(self, expr: AffineExpr) -> str:
        """An affine expression, in parentheses each operand that is neither a name nor a number."""
        if isinstance(expr, AffineBinary):
            lhs, rhs = self._operand(expr.lhs, expr.kind), self._operand(expr.rhs, expr.kind)
            return f"{lhs} {expr.kind.value} {rhs}"
        if isinstance(expr, AffineSymbol):
            return self.names.get(expr.name, expr.name)
        return str(expr)

    def _operand(self, expr: AffineExpr, within: AffineKind) -> str:
        if isinstance(expr, AffineConst) and expr.value < 0:
            return f"({expr.value})"
        product_in_sum = (
            isinstance(expr, AffineBinary)
            and within is AffineKind.ADD
            and expr.kind is AffineKind.MUL
        )
        text = self._affine(expr)
        return f"({text})" if isinstance(expr, AffineBinary) and not product_in_sum else text


def _attribute_symbols(operand: Operand) -> dict[str, str]:
    """Each symbol that an index attribute binds, and its spelling in TC."""
    if operand.kind is not OperandKind.INDEX_ATTR:
        return {}
    if operand.attribute_type is not None:  # its symbols are spelled so already
        return {}
    symbols = [symbol for expr in operand.shape for symbol in expr.symbols]
    return {symbol: f"{operand.name}[{position}]" for position, symbol in enumerate(symbols)}


register(
    Notation(
        "tc",
        "Tensor Comprehensions, as the linalg dialect's documents have them",
        read=read_tc,
        write=to_tc,
        suffixes=(".tc",),
    )
)
