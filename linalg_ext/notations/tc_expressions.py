"""The expressions of a TC comprehension: elements of tensors, and functions of them."""

from __future__ import annotations

from collections.abc import Sequence

from linalg_ext.definition.affine import AffineDim
from linalg_ext.definition.functions import REDUCTIONS, FunctionKind
from linalg_ext.definition.model import Reduction
from linalg_ext.definition.scalar import Access, Apply, ScalarExpr
from linalg_ext.errors import NotationError
from linalg_ext.notations.std_functions import (
    STD_FUNCTIONS,
    StdFunction,
    arity_of,
    element_of,
    is_cast,
    near,
    std_function,
    type_var,
)
from linalg_ext.notations.tc_scope import Scope
from linalg_ext.notations.tc_syntax import Term


class Expressions(Scope):
    """Reads the expressions of one `def`."""

    def access(self, term: Term) -> Access:
        """An element of a tensor, at its indices."""
        decl = self.tensors[term.head]
        if term.reduction is not None:
            raise self.error(
                f"tensor {term.head} has angle brackets",
                term,
                hint="a reduction belongs to a function: `std_addf<k>(A(m, k))`",
            )
        if len(term.args) != len(decl.shape):
            raise self.error(
                f"`{self.text(term)}` has {len(term.args)} index(es), but {term.head} is of rank "
                f"{len(decl.shape)}",
                term,
                expected=f"one index for each dimension of "
                f"`{self.part(decl.name.start, decl.element.end)}(...)`",
            )
        indices = tuple(self.affine(arg, self.dimension) for arg in term.args)
        self.used.add(term.head)
        first = self.uses.setdefault(term.head, (indices, term))
        if first[0] != indices:
            raise self.error(
                f"{term.head} is used with two different indices, `{self.text(first[1])}` and "
                f"`{self.text(term)}`",
                term,
                hint=f"declare {term.head} as two operands, and give the same tensor twice"
                if term.head not in self.outputs
                else "read an output with the indices that it is written with",
            )
        return Access(term.head, indices, type_var(decl.element.text))

    def value(self, target: Access, term: Term) -> tuple[ScalarExpr, Reduction | None]:
        """The expression of one update; its outermost function may reduce."""
        if term.kind == "call" and term.head not in self.tensors and term.reduction:
            return self._reduction(target, term)
        return self._expression(term), None

    def _reduction(self, target: Access, term: Term) -> tuple[ScalarExpr, Reduction]:
        function = self._function(term)
        reducing = [f.name for f in STD_FUNCTIONS.values() if f.function in REDUCTIONS]
        if function.name not in reducing:
            raise self.error(
                f"{function.name} cannot reduce: it has no neutral element or an order",
                term,
                expected=f"one of {', '.join(reducing)}",
            )
        dims = []
        for name in term.reduction or ():
            if name.text in self.symbols or name.text in self.tensors:
                kind = "a symbol of the shapes" if name.text in self.symbols else "a tensor"
                raise self.error(
                    f"{name} is {kind}, and a reduction is over dimensions",
                    name,
                    hint="name the dimension otherwise, in lower case for example",
                )
            if name.text in dims:
                raise self.error(f"dimension {name} is reduced twice", name)
            if AffineDim(name.text) in target.indices:
                raise self.error(
                    f"dimension {name} is reduced, but output {target.operand} is indexed by it",
                    name,
                    hint=f"take {name} out of the angle brackets, or out of the indices of "
                    f"{target.operand}",
                )
            dims.append(name.text)
            self.meet(name.text)
        self.reduced.extend(dim for dim in dims if dim not in self.reduced)
        # The accumulator may be written out, as upstream's later texts do, or be understood.
        args = [self._expression(arg) for arg in term.args]
        if len(args) == 1:
            args.insert(0, target)
        elif len(args) == 2 and target in args:
            args.remove(target)
            args.insert(0, target)
        else:
            raise self.error(
                f"{function.name} reduces {len(args)} values",
                term,
                hint=f"give it the value to accumulate, `{function.name}<{', '.join(dims)}>(x)`, "
                f"or that after `{self._written(target)}`",
            )
        self._check_operands(function, args, [term, term])
        value = Apply(function.function, tuple(args))
        return value, Reduction(function.function, tuple(dims))

    def _expression(self, term: Term) -> ScalarExpr:
        if term.kind != "call":
            raise self._no_element(term)
        if term.head in self.tensors:
            return self.access(term)
        function = self._function(term)
        if term.reduction is not None:
            raise self.error(
                f"{term.head}<> names no dimension to reduce over"
                if not term.reduction
                else "a reduction stands inside a larger expression",
                term,
                hint="leave the angle brackets out"
                if not term.reduction
                else "reduce in the outermost function of an update; compute on the result in an "
                "op of its own",
            )
        if len(term.args) != arity_of(function):
            raise self.error(
                f"{term.head} takes {arity_of(function)} operand(s), not {len(term.args)}",
                term,
                hint=self._accumulates(function, term),
            )
        args = [self._expression(arg) for arg in term.args]
        self._check_operands(function, args, term.args)
        return Apply(function.function, tuple(args), function.type_var)

    def _no_element(self, term: Term) -> NotationError:
        if term.kind == "name" and term.head in self.tensors:
            names = ", ".join("ijklmn"[: len(self.tensors[term.head].shape)])
            return self.error(
                f"tensor {term.head} stands without indices",
                term,
                hint=f"index it: `{term.head}({names})`",
            )
        if term.kind == "integer":
            return self.error(
                f"{term.head} stands among elements, and TC has no constants there",
                term,
                hint="give it as a tensor of rank 0, `c: f32()`, read as `c()`",
            )
        if term.kind in ("name", "element"):
            return self.error(
                f"`{self.text(term)}` is no element of a tensor",
                term,
                expected="a tensor with its indices, or a function of such",
            )
        functions = {"add": "add", "subtract": "sub", "multiply": "mul", "negate": "neg"}
        name = functions.get(term.kind)
        return self.error(
            f"`{self.text(term)}` uses an operator on elements",
            term,
            hint=f"write `std_{name}f(...)` (floats): operators are for indices"
            if name
            else "operators are for indices; elements have functions such as `std_divf(x, y)`",
        )

    def _function(self, term: Term) -> StdFunction:
        found = STD_FUNCTIONS.get(term.head)
        if found is not None:
            return found
        close = near(term.head)
        raise self.error(
            f"{term.head} is neither a tensor nor a function of TC",
            (term.start, term.start + len(term.head)),
            expected=f"a tensor ({', '.join(self.tensors)}), or a function such as std_addf",
            hint=f"did you mean {' or '.join(close)}?"
            if close
            else "see docs: reference/tc_functions lists them all",
        )

    def _accumulates(self, function: StdFunction, term: Term) -> str | None:
        if function.function not in REDUCTIONS or len(term.args) != 1:
            return None
        return f"to accumulate, name the dimensions: `{function.name}<k>(...)`"

    def _check_operands(
        self, function: StdFunction, args: Sequence[ScalarExpr], terms: Sequence[Term]
    ) -> None:
        """Types are concrete in TC: operands of one type, and of one that the function takes."""
        elements = [element_type(arg) for arg in args]
        compared = list(zip(elements, terms, strict=True))
        if function.function.kind is FunctionKind.TERNARY:
            if elements[0] != "i1":
                raise self.error(
                    f"the condition of {function.name} is of {elements[0]}",
                    terms[0],
                    expected="i1",
                )
            compared = compared[1:]
        for element, term in compared:
            if element not in function.operands:
                other = std_function(function.function, element, function.result)
                raise self.error(
                    f"{function.name} is applied to {element}",
                    term,
                    expected=f"one of {', '.join(function.operands)}",
                    hint=f"use {other.name}" if other is not None else None,
                )
        if len({element for element, _ in compared}) > 1:
            (first, _), (second, term) = compared
            raise self.error(
                f"{function.name} is applied to {first} and {second}",
                term,
                expected="operands of one element type",
                hint=cast_cure(second, first),
            )

    def _written(self, access: Access) -> str:
        return f"{access.operand}({', '.join(map(str, access.indices))})"


def element_type(expr: ScalarExpr) -> str:
    """The element type of an expression of TC; each has one."""
    if isinstance(expr, Access):
        return element_of(expr.type_var) or ""
    if isinstance(expr, Apply):
        if expr.function.is_predicate:
            return "i1"
        return element_of(expr.type_var) if expr.type_var else element_type(expr.args[-1])  # type: ignore[return-value]
    raise TypeError(f"{expr!r} is no expression of TC")


def cast_cure(source: str, target: str) -> str | None:
    """Return the hint for an element of the wrong type: the casts that exist, or None."""
    casts = [
        f.name
        for f in STD_FUNCTIONS.values()
        if is_cast(f) and f.result == target and source in f.operands
    ]
    return f"cast it: {' or '.join(f'{name}(...)' for name in casts)}" if casts else None
