"""A syntax tree of TC as a definition: names resolved, types and indices checked.

Dimensions and symbols are discovered as they are met, in the order of the text, as upstream's
`mlir-linalg-ods-gen` did: symbols in the shapes, dimensions in the comprehension.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterable, Sequence

from linalg_ext.definition.checks import RESERVED_ATTRIBUTES, check
from linalg_ext.definition.functions import REDUCTIONS, FunctionKind
from linalg_ext.definition.model import (
    Assignment,
    AttributeType,
    Interface,
    OpDefinition,
    Operand,
    OperandKind,
    Reduction,
)
from linalg_ext.definition.operand_maps import Indices
from linalg_ext.definition.scalar import Access, Apply, ScalarExpr
from linalg_ext.errors import DefinitionError, NotationError, counted, warn
from linalg_ext.notations.source_text import SourceText
from linalg_ext.notations.std_functions import (
    ELEMENT_TYPES,
    STD_FUNCTIONS,
    StdFunction,
    element_of,
    near,
    std_function,
    type_var,
)
from linalg_ext.notations.tc_syntax import (
    AttributeDecl,
    Comprehension,
    Definition,
    Name,
    TensorDecl,
    Term,
)
from linalg_ext.symbolic.affine import AffineConst, AffineDim, AffineExpr, AffineSymbol


def build(syntax: Definition, source: SourceText) -> OpDefinition:
    """The checked definition that one `def` says; a NotationError at the place that is wrong."""
    return _Builder(syntax, source).build()


class _Builder:
    """Reads one `def`: names and sizes, expressions, and the comprehensions."""

    def __init__(self, syntax: Definition, source: SourceText) -> None:
        self.syntax = syntax
        self.source = source
        self.tensors = {decl.name.text: decl for decl in (*syntax.inputs, *syntax.outputs)}
        self.outputs = {decl.name.text for decl in syntax.outputs}
        self.attributes = {decl.name.text: decl for decl in syntax.attributes}
        self.symbols: set[str] = set()
        self.read: dict[str, set[tuple[int, ...]]] = {name: set() for name in self.attributes}
        self.dims: list[str] = []
        self.reduced: list[str] = []
        self.used: set[str] = set()
        self.begin()

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
        assignments: list[Assignment] = []
        for comprehension in self.syntax.comprehensions:
            self.begin()
            assignments += self._assignments_of(
                comprehension, {a.target.operand for a in assignments}
            )
        for output in self.syntax.outputs:
            written = [assignment.target.operand for assignment in assignments]
            if output.name.text not in written:
                raise self.error(
                    f"output {output.name} is never written",
                    output.name,
                    hint=f"add it on the left: `{', '.join([*written, output.name.text])}`, each "
                    "with its indices, and its expression on the right",
                )
        return tuple(assignments)

    def _assignments_of(
        self, comprehension: Comprehension, before: set[str]
    ) -> Iterable[Assignment]:
        targets = [self._target(term) for term in comprehension.targets]
        counts = (len(targets), len(comprehension.values))
        if counts[0] != counts[1]:
            raise self.error(
                f"{counted(counts[0], 'tensor')} on the left, "
                f"{counted(counts[1], 'expression')} on the right",
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
                        hint="write two comprehensions, the second of which reads the result "
                        "of the first: `C(m) = ...; D(m) = ...;`",
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
                    f"`{self.text(term)}` writes through `{index}`, which is not a plain dimension",
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
                hint=cast_hint(element, expected),
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
            warn(
                f"dimension {', '.join(extra)} is neither an index of output {target.operand} nor "
                f"in angle brackets; it is reduced as well: {term.head}<{', '.join(whole)}>\n"
                f"  {place}"
            )
            reduction = Reduction(reduction.function, (*reduction.dims, *extra))
            self.reduced.extend(dim for dim in extra if dim not in self.reduced)
        return Assignment(target, value, reduction)

    def _shape_only(self) -> dict[str, Indices]:
        """The dimensions of the inputs that no expression uses: the reduction dimensions."""
        reduced = [dim for dim in self.dims if dim in self.reduced]
        index_dims: dict[str, Indices] = {}
        for decl in self.syntax.inputs:
            if decl.name.text in self.used:
                continue
            rank = len(decl.shape)
            if rank != len(reduced):
                raise self.error(
                    f"input {decl.name} is used by no expression, so that its "
                    f"{counted(rank, 'dimension')} "
                    f"are the reduction dimensions, and of these there are {len(reduced)}"
                    f"{': ' if reduced else ''}{', '.join(reduced)}",
                    decl.name,
                    hint=f"use {decl.name} in an expression, remove it, or give it one dimension "
                    "for each that is reduced",
                )
            index_dims[decl.name.text] = tuple(AffineDim(dim) for dim in reduced)
        return index_dims

    # -- operands ----------------------------------------------------------------------------------

    def _tensor(
        self, decl: TensorDecl, shapes: dict[str, Indices], index_dims: dict[str, Indices]
    ) -> Operand:
        name = decl.name.text
        kind = OperandKind.OUTPUT_TENSOR if name in self.outputs else OperandKind.INPUT_TENSOR
        return Operand(name, kind, type_var(decl.element.text), shapes[name], index_dims.get(name))

    def _attribute(self, decl: AttributeDecl) -> Operand:
        name, read = decl.name.text, self.read[decl.name.text]
        kind = attribute_type(decl)
        elements: Iterable[tuple[int, ...]] = ()
        if read:
            # A list has as many values as the text reads.
            sizes = (max(read)[0] + 1,) if decl.is_list else decl.sizes
            elements = itertools.product(*map(range, sizes))
        shape = tuple(AffineSymbol(element_name(name, position)) for position in elements)
        default = (1,) * len(shape) if decl.is_optional or not shape else None
        return Operand(
            name, OperandKind.INDEX_ATTR, shape=shape, default=default, attribute_type=kind
        )

    def _example(self) -> str:
        decl = self.syntax.outputs[0]
        return f"{decl.name}({', '.join('ijklmn'[: len(decl.shape)])})"

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
                f"`{self.text(term)}` has {counted(len(term.args), 'index')}, but {term.head} "
                "is of rank "
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
        arity = function.function.kind.arity
        if len(term.args) != arity:
            raise self.error(
                f"{term.head} takes {counted(arity, 'operand')}, not {len(term.args)}",
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
                f"`{self.text(term)}` is not an element of a tensor",
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
        function = STD_FUNCTIONS.get(term.head)
        if function is not None:
            return function
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
        """Raise unless all operands are of one concrete type that the function takes."""
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
                hint=cast_hint(second, first),
            )

    def _written(self, access: Access) -> str:
        return f"{access.operand}({', '.join(map(str, access.indices))})"

    def begin(self) -> None:
        """Begin a comprehension: nothing is met in it yet."""
        self.met: list[str] = []
        self.uses: dict[str, tuple[Indices, Term]] = {}

    def meet(self, dim: str) -> None:
        """Note a dimension, new or known, of the comprehension."""
        for dims in (self.dims, self.met):
            if dim not in dims:
                dims.append(dim)

    def error(
        self,
        message: str,
        place: Term | Name | tuple[int, int],
        *,
        expected: str | None = None,
        hint: str | None = None,
    ) -> NotationError:
        """The error for a part of the text."""
        start, end = place if isinstance(place, tuple) else (place.start, place.end)
        return NotationError(
            message, where=self.source.place(start, end), expected=expected, hint=hint
        )

    def check_names(self) -> None:
        """Raise for names that are declared twice, and for types that TC does not have."""
        names: set[str] = set()
        syntax = self.syntax
        tensors = (*syntax.inputs, *syntax.outputs)
        for name in (*(t.name for t in tensors), *(a.name for a in syntax.attributes)):
            if name.text in names:
                raise self.error(
                    f"{name} is declared twice", name, hint="give each operand its own name"
                )
            names.add(name.text)
        if not syntax.outputs:
            raise self.error(
                f"{syntax.name} has no output",
                syntax.name,
                hint="declare one after the arrow: `-> (C: f32(M))`",
            )
        for tensor in self.tensors.values():
            if tensor.element.text not in ELEMENT_TYPES:
                raise self.error(
                    f"{tensor.name} is of element type {tensor.element}, which TC does not have",
                    tensor.element,
                    expected=f"one of {', '.join(ELEMENT_TYPES)}",
                )
        for attribute in syntax.attributes:
            self._check_attribute(attribute)

    def _check_attribute(self, decl: AttributeDecl) -> None:
        if decl.name.text in RESERVED_ATTRIBUTES:
            raise self.error(
                f"attribute {decl.name} has the name of a method of structured ops",
                decl.name,
                hint=f"rename it; taken are {', '.join(sorted(RESERVED_ATTRIBUTES))}",
            )
        if decl.element.text not in _ATTRIBUTE_ELEMENTS:
            raise self.error(
                f"attribute {decl.name} is of type {decl.element}",
                decl.element,
                expected=f"one of {', '.join(_ATTRIBUTE_ELEMENTS)}",
            )
        if decl.is_list and decl.sizes:
            raise self.error(
                f"attribute {decl.name} is both an array of fixed size and a list",
                decl.element,
                hint=f"write `{decl.element}[]` for a list of any length, "
                f"`{decl.sizes[0]}x{decl.element}` for an array",
            )
        if decl.sizes and not 0 < math.prod(decl.sizes) <= _MOST_VALUES:
            raise self.error(
                f"attribute {decl.name} has {math.prod(decl.sizes)} values",
                decl.name,
                expected=f"1 to {_MOST_VALUES}",
            )

    def affine(self, term: Term, resolve: Callable[[Term], AffineExpr]) -> AffineExpr:
        """An index or a size; `resolve` says the meaning of a bare name."""
        match term.kind:
            case "integer":
                if int(term.head) >= 2**63:
                    raise self.error(f"{term.head} is too large for an index", term)
                return AffineConst(int(term.head))
            case "name" | "element":
                if term.head in self.attributes:
                    return self._attribute_use(term)
                if term.kind == "element":
                    raise self.error(
                        f"{term.head} is not an attribute of {self.syntax.name}",
                        term,
                        expected=one_of(self.attributes, "an attribute", "the op has none"),
                        hint=f"declare it after the outputs: `attr({term.head}: "
                        f"{max(term.numbers) + 1}xi32)`",
                    )
                return resolve(term)
            case "call":
                use = "is read" if term.head in self.tensors else "is called"
                raise self.error(
                    f"{term.head} {use} inside an index",
                    term,
                    expected="sums and products of dimensions, symbols, attributes and integers",
                )
            case "negate":
                return -self.affine(term.args[0], resolve)
            case _:
                lhs, rhs = (self.affine(arg, resolve) for arg in term.args)
                try:
                    return _AFFINE[term.kind](lhs, rhs)
                except DefinitionError as error:
                    raise self.error(
                        error.what,
                        term,
                        hint="multiply and divide by integers, symbols and attributes only",
                    ) from None

    def symbol(self, term: Term) -> AffineExpr:
        """A name in a shape: a symbol, new or known."""
        if term.head in self.tensors:
            raise self.error(
                f"{term.head} is a tensor and stands in a shape", term, hint="name the size"
            )
        self.symbols.add(term.head)
        return AffineSymbol(term.head)

    def dimension(self, term: Term) -> AffineExpr:
        """A name in an index: a symbol that a shape has, else a dimension, new or known."""
        if term.head in self.symbols:
            return AffineSymbol(term.head)
        if term.head in self.tensors:
            raise self.error(
                f"{term.head} is a tensor and stands in an index",
                term,
                hint="name the dimension otherwise than the tensors",
            )
        self.meet(term.head)
        return AffineDim(term.head)

    def _attribute_use(self, term: Term) -> AffineExpr:
        decl = self.attributes[term.head]
        rank = 1 if decl.is_list else len(decl.sizes)
        if decl.element.text == "f32":
            raise self.error(
                f"attribute {decl.name} holds floats and stands in an index",
                term,
                expected="an attribute of i32 or i64",
            )
        if len(term.numbers) != rank:
            indices = ", ".join(["0"] * rank)
            raise self.error(
                f"attribute {decl.name} is of type {attribute_type(decl)} and is used with "
                f"{len(term.numbers)} indices",
                term,
                hint=f"write {decl.name}[{indices}]" if rank else f"write {decl.name}",
            )
        for number, size in zip(term.numbers, decl.sizes, strict=False):
            if number >= size:
                raise self.error(
                    f"attribute {decl.name} has no element {list(term.numbers)}",
                    term,
                    expected=f"an index below {size}: it is declared as {attribute_type(decl)}",
                )
        if decl.is_list and term.numbers[0] >= _MOST_VALUES:
            raise self.error(f"{decl.name} is read beyond element {_MOST_VALUES - 1}", term)
        self.read[term.head].add(term.numbers)
        return AffineSymbol(element_name(term.head, term.numbers))

    def text(self, term: Term) -> str:
        """A part of an expression as it was written, on one line."""
        return " ".join(self.part(term.start, term.end).split())

    def part(self, start: int, end: int) -> str:
        """A part of the text."""
        return self.source.text[start:end]


def element_type(expr: ScalarExpr) -> str:
    """The element type of an expression of TC; each has one."""
    if isinstance(expr, Access):
        return element_of(expr.type_var) or ""
    if isinstance(expr, Apply):
        if expr.function.is_predicate:
            return "i1"
        return element_of(expr.type_var) if expr.type_var else element_type(expr.args[-1])  # type: ignore[return-value]
    raise TypeError(f"{expr!r} is not an expression of TC")


def cast_hint(source: str, target: str) -> str | None:
    """Return the hint for an element of the wrong type: the casts that exist, or None."""
    functions = STD_FUNCTIONS.values()
    casts = [f.name for f in functions if f.result == target and source in f.operands]
    return f"cast it: {' or '.join(f'{name}(...)' for name in casts)}" if casts else None


_ATTRIBUTE_ELEMENTS = ("i32", "i64", "f32")
_MOST_VALUES = 1024

_AFFINE: dict[str, Callable[[AffineExpr, AffineExpr], AffineExpr]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "floordiv": operator.floordiv,
    "ceildiv": operator.truediv,
    "mod": operator.mod,
}


def attribute_type(decl: AttributeDecl) -> AttributeType:
    """The type that an attribute is declared with."""
    return AttributeType(decl.element.text, decl.sizes, decl.is_list, decl.is_optional)


def element_name(name: str, position: tuple[int, ...]) -> str:
    """The symbol of one value of an attribute, spelled as the text spells it."""
    return f"{name}[{', '.join(map(str, position))}]" if position else name


def one_of(names: Iterable[str], kind: str, empty: str) -> str:
    """Return the names of a kind that were expected, or that there are none, for a message."""
    listed = ", ".join(sorted(names))
    return f"{kind}: {listed}" if listed else f"{kind}: {empty}"
