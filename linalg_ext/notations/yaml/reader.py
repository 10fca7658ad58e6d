"""Upstream's YAML op definitions read back into ops that can be called.

The format keeps no names of dimensions and symbols: they get those that the document's affine maps
write, `d0, d1, ...` and `s0, s1, ...` where this library or upstream wrote it.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import yaml

from linalg_ext.definition.attributes import FUNCTION_KINDS
from linalg_ext.definition.checks import check
from linalg_ext.definition.functions import FUNCTIONS, TYPE, Function, FunctionKind
from linalg_ext.definition.model import (
    Assignment,
    Interface,
    OpDefinition,
    Operand,
    OperandKind,
    OpMethod,
    accumulation,
    run_together,
)
from linalg_ext.definition.operand_maps import Indices
from linalg_ext.definition.scalar import Access, Apply, Const, Index, ScalarExpr, ScalarOperand
from linalg_ext.definition.types import TypeVar
from linalg_ext.errors import DefinitionError, NotationError, counted, kind_of
from linalg_ext.notations.affine_text import AffineTextError, parse_affine_map
from linalg_ext.notations.constants import parse_constant
from linalg_ext.notations.registry import definitions, read
from linalg_ext.opdsl.op import StructuredOp
from linalg_ext.symbolic.affine import AffineDim, AffineExpr, AffineMap, AffineSymbol


def from_yaml(text: str, *, filename: str | None = None) -> Any:
    """Return the op of a text with one YAML document; a tuple of ops for several documents.

    (`Any` to type checkers, because it depends on the text; `from_yaml_all` is always a tuple.)

    Args:
        text: documents in upstream's format, one an op.
        filename: the name of the file that it comes from, for error messages.

    Raises:
        NotationError: the text is no such document; says the place, and the expectation.

    Example:
        >>> matmul = from_yaml(to_yaml(lx.ops.matmul))
        >>> matmul(np.ones((2, 3)), np.ones((3, 1)))
        array([[3.],
               [3.]])
    """
    return read(_checked(text), "yaml", filename=filename)


def from_yaml_all(text: str, *, filename: str | None = None) -> tuple[StructuredOp, ...]:
    """The ops of a text, one a document, in order; arguments and errors as of `from_yaml`."""
    return tuple(map(StructuredOp, definitions(_checked(text), "yaml", filename)))


def _checked(text: str) -> str:
    if isinstance(text, str):
        return text
    raise NotationError(
        f"from_yaml() got {kind_of(text)}",
        expected="the text of YAML documents",
        hint='read the file: lx.read(Path(...), "yaml"), or its read_text()',
    )


def read_yaml(text: str, *, filename: str | None = None) -> tuple[OpDefinition, ...]:
    """The definitions of a text, in order; arguments and errors as of `from_yaml`."""
    read_definitions = tuple(map(read_document, Source(text, filename).documents()))
    if not read_definitions:
        raise NotationError(
            "the text holds no document",
            where=filename,
            expected="one that begins with `--- !LinalgOpConfig`",
        )
    return read_definitions


_ITERATORS = ("parallel", "reduction")

_FUNCTIONS: Mapping[FunctionKind, Mapping[str, Function]] = {
    kind: {name: function for name, function in table.items() if function.is_upstream}
    # The name of older documents for the cast.
    | ({"cast": TYPE["cast_signed"]} if kind is FunctionKind.TYPE else {})
    for kind, table in FUNCTIONS.items()
}
"""The functions of upstream's enumerations; its generator accepts any name, C++ does not."""

_OPERAND_FIELDS: Mapping[OperandKind, tuple[str, ...]] = {
    OperandKind.INPUT_TENSOR: ("type_var", "shape_map"),
    OperandKind.OUTPUT_TENSOR: ("type_var", "shape_map"),
    OperandKind.SCALAR: ("type_var",),
    OperandKind.INDEX_ATTR: ("index_attr_map", "default_indices"),
    **dict.fromkeys(FUNCTION_KINDS, ("default_fn",)),
}
"""The fields of an operand besides `name` and `kind`: all of them are needed."""


def read_document(root: Field) -> OpDefinition:
    """The definition that a document says; a NotationError with the place and path of a field."""
    document = root.mapping("!LinalgOpConfig", ("metadata", "structured_op"))
    metadata = document["metadata"].mapping(
        "!LinalgOpMetadata", ("name", "cpp_class_name"), ("doc", "implements", "defines")
    )
    structured = document["structured_op"].mapping(
        "!LinalgStructuredOpConfig", ("args", "indexing_maps", "iterator_types", "assignments")
    )
    doc = metadata.get("doc")
    definition = OpDefinition(
        name=metadata["name"].name("the op's name"),
        cpp_class_name=metadata["cpp_class_name"].name("the name of a C++ class"),
        doc="" if doc is None or doc.is_null else doc.text("a text"),
        operands=(),
        dims=(),
        assignments=(),
        implements=tuple(Interface(text) for text in _names(metadata, "implements")),
        defines=tuple(OpMethod(text) for text in _names(metadata, "defines")),
    )
    return _Structure(structured).fill(definition)


def _names(metadata: Mapping[str, Field], field: str) -> list[str]:
    if field not in metadata:
        return []
    return [item.name("a C++ name") for item in metadata[field].sequence("C++ names")]


class _Structure:
    """The fields of `structured_op`, read in order."""

    def __init__(self, fields: Mapping[str, Field]) -> None:
        self._args = fields["args"]
        self._indexing = fields["indexing_maps"]
        self._iterators = fields["iterator_types"]
        self._assignments = fields["assignments"]
        self._places: dict[str, Field] = {}
        self._symbols: tuple[str, ...] = ()

    def fill(self, definition: OpDefinition) -> OpDefinition:
        """The definition with operands, dimensions and assignments, checked."""
        iterators = self._iterators.sequence("parallel and reduction, one for each dimension")
        kinds = [item.choice("an iterator type", _ITERATORS) for item in iterators]
        arguments = [_Argument(item) for item in self._args.sequence("operands")]
        maps = self._maps(arguments, len(kinds))
        dims = maps[0][1].dims if maps else ()
        # The names are those of the first map that has any; every other map is by position.
        written = [m.symbols for _, m in maps] + [a.map.symbols for a in arguments if a.map]
        self._symbols = max(written, key=len, default=())
        if clash := sorted(set(dims) & set(self._symbols)):
            raise self._indexing.error(
                f"{clash[0]} is a dimension in one map and a symbol in another",
                hint="call dimensions d0, d1, ... and symbols s0, s1, ...",
            )
        operands = tuple(self._operand(argument) for argument in arguments)
        self._places = {
            operand.name: argument.field
            for operand, argument in zip(operands, arguments, strict=True)
        }
        indices = {
            argument.name: self._renamed(map, dims)
            for argument, (_, map) in zip(
                [a for a in arguments if not a.kind.is_attribute], maps, strict=True
            )
        }
        scope = _scope(operands, indices, dims)
        outputs = {
            o.name: element
            for o in operands
            if o.kind is OperandKind.OUTPUT_TENSOR
            and isinstance(element := scope.elements[o.name], Access)
        }
        reduced = tuple(d for d, kind in zip(dims, kinds, strict=True) if kind == "reduction")
        assignments = self._read_assignments(scope, outputs, reduced)
        operands = tuple(_with_index_dims(o, indices, assignments) for o in operands)
        filled = replace(definition, operands=operands, dims=dims, assignments=assignments)
        return self._checked(filled, kinds)

    def _maps(self, arguments: Sequence[_Argument], rank: int) -> list[tuple[Field, AffineMap]]:
        config = self._indexing.mapping("!LinalgIndexingMapsConfig", ("static_indexing_maps",))
        listed = config["static_indexing_maps"]
        maps = [(item, _map(item)) for item in listed.sequence("affine maps")]
        placed = [a.name for a in arguments if not a.kind.is_attribute]
        if len(maps) != len(placed):
            raise listed.error(
                f"the list has {len(maps)} indexing maps",
                expected=f"{len(placed)}: one for each of {', '.join(placed) or 'no operands'}",
            )
        for item, map in maps:
            if len(map.dims) != rank:
                raise item.error(
                    f"the map has {counted(len(map.dims), 'dimension')}",
                    expected=f"{rank}, one for each of iterator_types",
                )
        return maps

    def _renamed(self, map: AffineMap, dims: tuple[str, ...]) -> tuple[AffineExpr, ...]:
        """The results of a map, its dimensions and symbols named by their positions."""
        named: dict[AffineExpr, AffineExpr | int] = {
            **{AffineDim(a): AffineDim(b) for a, b in zip(map.dims, dims, strict=False)},
            **{
                AffineSymbol(a): AffineSymbol(b)
                for a, b in zip(map.symbols, self._symbols, strict=False)
            },
        }
        return tuple(result.substitute(named) for result in map.results)

    def _operand(self, argument: _Argument) -> Operand:
        shape: tuple[AffineExpr, ...] = ()
        if argument.map is not None:
            if argument.map.dims:
                raise argument.map_field.error(
                    "the map of a shape has dimensions",
                    expected="symbols alone, as in affine_map<()[s0, s1] -> (s0, s1)>",
                )
            shape = self._renamed(argument.map, ())
        default = argument.default
        if isinstance(default, tuple) and len(default) != len(shape):
            raise argument.field.error(
                f"index attribute {argument.name} has {counted(len(default), 'default')}",
                expected=f"{len(shape)}, one for each result of its map",
            )
        return Operand(argument.name, argument.kind, argument.type_var, shape, None, default)

    def _read_assignments(
        self, scope: Scope, outputs: Mapping[str, Access], reduced: tuple[str, ...]
    ) -> tuple[Assignment, ...]:
        assignments: list[Assignment] = []
        for item in self._assignments.sequence("assignments"):
            fields = item.mapping("!ScalarAssign", ("arg", "value"))
            name = fields["arg"].choice("an output", tuple(outputs))
            target = outputs[name]
            value = read_expression(fields["value"], scope)
            written = {dim for index in target.indices for dim in index.dims}
            missing = tuple(dim for dim in reduced if dim not in written)
            reduction = accumulation(target, value, missing)
            if missing and reduction is None:
                raise item.error(
                    f"{name} is not written at every point, and its value is not a reduction",
                    expected=f"a value such as add({name}, ...) that combines {name} with a new "
                    f"one, for the reduction over {', '.join(missing)}",
                )
            assignments.append(Assignment(target, value, reduction))
            self._places[f"assignment to {name}"] = item
        # In upstream's format assignments run together, point by point.
        together = run_together(assignments)
        if together is None:
            raise self._assignments.error(
                "an output of every point reads the partial reduction of another one",
                expected="outputs that read each other to reduce over the same dimensions",
            )
        return together

    def _checked(self, definition: OpDefinition, kinds: Sequence[str]) -> OpDefinition:
        def locate(part: Assignment | Operand | None) -> str:
            if isinstance(part, Operand):
                return self._places[part.name].place
            if isinstance(part, Assignment):
                return self._places[f"assignment to {part.target.operand}"].place
            return self._args.place

        try:
            check(definition, locate, strict=False)
        except DefinitionError as error:
            # Its hint is in the words of OpDSL.
            raise NotationError(error.what, where=error.where, expected=error.expected) from None
        for position, (iterator_type, stated) in enumerate(
            zip(definition.iterator_types, kinds, strict=True)
        ):
            if iterator_type.value != stated:
                raise self._iterators.error(
                    f"dimension {definition.dims[position]} is said to be a {stated}, but every "
                    f"output is indexed by it",
                    expected=iterator_type.value,
                )
        return definition


def _scope(
    operands: Sequence[Operand], indices: Mapping[str, Indices], dims: tuple[str, ...]
) -> Scope:
    elements: dict[str, Access | ScalarOperand] = {}
    functions: dict[str, Function] = {}
    for operand in operands:
        name, type_var = operand.name, operand.type_var
        if isinstance(operand.default, Function):
            functions[name] = operand.default
        elif type_var is not None and operand.kind is OperandKind.SCALAR:
            elements[name] = ScalarOperand(name, type_var)
        elif type_var is not None:
            elements[name] = Access(name, indices[name], type_var)
    return Scope(elements, functions, dims)


def _with_index_dims(
    operand: Operand, indices: Mapping[str, Indices], assignments: Sequence[Assignment]
) -> Operand:
    """A tensor that no expression reads has a shape alone, which its map ties to dimensions."""
    expressions = [expr for a in assignments for expr in (a.target, *a.value.walk())]
    read = {expr.operand for expr in expressions if isinstance(expr, Access)}
    if operand.kind is not OperandKind.INPUT_TENSOR or operand.name in read:
        return operand
    return replace(operand, index_dims=indices[operand.name])


def _map(field: Field) -> AffineMap:
    text = field.text("an affine map, as in affine_map<(d0, d1)[s0, s1] -> (d0, d1)>")
    try:
        return parse_affine_map(text)
    except AffineTextError as error:
        raise NotationError(
            error.what, where=field.place_at(error.offset), expected=error.expected
        ) from None


class _Argument:
    """One item of `args`, before the names of symbols are known."""

    def __init__(self, field: Field) -> None:
        fields = field.mapping(
            "!LinalgOperandDefConfig",
            ("name", "kind"),
            tuple(dict.fromkeys(name for names in _OPERAND_FIELDS.values() for name in names)),
        )
        self.field = field
        self.name = fields["name"].name("the operand's name")
        self.kind = OperandKind(
            fields["kind"].choice("a kind of operand", tuple(kind.value for kind in OperandKind))
        )
        self._check_fields(fields)
        self.type_var: TypeVar | None = None
        if "type_var" in fields:
            self.type_var = TypeVar(fields["type_var"].name("a type variable"))
        self.map_field = fields.get("shape_map") or fields.get("index_attr_map") or field
        self.map = _map(self.map_field) if self.map_field is not field else None
        self.default = self._default(fields)

    def _check_fields(self, fields: Mapping[str, Field]) -> None:
        needed = _OPERAND_FIELDS[self.kind]
        for name in needed:
            if name not in fields:
                raise self.field.error(
                    f"{self.kind.value} {self.name} has no field `{name}`",
                    expected=f"the fields name, kind, {', '.join(needed)}",
                )
        for name, field in fields.items():
            if name not in ("name", "kind", *needed):
                raise field.error(
                    f"{self.kind.value} {self.name} takes no field `{name}`",
                    expected=f"the fields name, kind, {', '.join(needed)}",
                )

    def _default(self, fields: Mapping[str, Field]) -> tuple[int, ...] | Function | None:
        if self.kind is OperandKind.INDEX_ATTR:
            items = fields["default_indices"].sequence("integers, one for each index")
            return tuple(item.integer("an integer of 64 bits") for item in items)
        if self.kind in FUNCTION_KINDS:
            table = _FUNCTIONS[FUNCTION_KINDS[self.kind]]
            field = fields["default_fn"]
            kind = FUNCTION_KINDS[self.kind].value
            return table[field.choice(f"a {kind} function of upstream's format", tuple(table))]
        return None


_FORMS = ("scalar_arg", "scalar_const", "scalar_index", "scalar_fn")
_MAX_DEPTH = 200


@dataclass(frozen=True)
class Scope:
    """The names that an expression may use.

    Attributes:
        elements: the element that is read of each tensor and scalar, by name.
        functions: the default of each function attribute, by name.
        dims: the iteration space.
    """

    elements: Mapping[str, Access | ScalarOperand]
    functions: Mapping[str, Function]
    dims: tuple[str, ...]


def read_expression(field: Field, scope: Scope, depth: int = 0) -> ScalarExpr:
    """The expression of a field; a NotationError with the place of the field."""
    if depth > _MAX_DEPTH:
        raise field.error(f"expressions are nested more than {_MAX_DEPTH} deep")
    forms = field.mapping("!ScalarExpression", (), _FORMS)
    if len(forms) != 1:
        raise field.error(
            f"an expression has {len(forms)} of the fields {', '.join(_FORMS)}",
            expected="exactly one of them",
        )
    ((form, value),) = forms.items()
    if form == "scalar_arg":
        return scope.elements[value.choice("a tensor or scalar operand", tuple(scope.elements))]
    if form == "scalar_const":
        return _constant(value)
    if form == "scalar_index":
        return _index(value, scope)
    return _function(value, scope, depth)


def _constant(field: Field) -> ScalarExpr:
    try:
        return Const(parse_constant(field.text("a constant such as 2 : i64 or 5.0e-01 : f64")))
    except NotationError as error:
        if error.where is not None:
            raise
        raise field.error(error.what, expected=error.expected) from None


def _index(field: Field, scope: Scope) -> ScalarExpr:
    expected = "the number of a dimension"
    if scope.dims:
        expected += f", 0 to {len(scope.dims) - 1}"
    position = field.integer(expected)
    if not 0 <= position < len(scope.dims):
        raise field.error(f"the op has no dimension {position}", expected=expected)
    return Index(scope.dims[position])


def _function(field: Field, scope: Scope, depth: int) -> ScalarExpr:
    fields = field.mapping("", ("kind", "operands"), ("fn_name", "attr_name", "type_var"))
    kinds = {kind.value: kind for kind in FunctionKind}
    kind = kinds[fields["kind"].choice("a kind of function", tuple(kinds))]
    function, attribute = _chosen(field, fields, kind, scope)
    name = attribute or function.name
    type_var = None
    if kind is FunctionKind.TYPE:
        if "type_var" not in fields:
            raise field.error(f"{name} has no field `type_var`", expected="the type to cast to")
        type_var = TypeVar(fields["type_var"].name("a type variable"))
    elif "type_var" in fields:
        raise fields["type_var"].error(
            f"{name} takes no type variable", expected="type_var on functions of kind type alone"
        )
    operands = fields["operands"].sequence("expressions")
    if len(operands) != kind.arity:
        raise fields["operands"].error(
            f"{name} got {counted(len(operands), 'operand')}", expected=f"{kind.arity}"
        )
    args = tuple(read_expression(operand, scope, depth + 1) for operand in operands)
    return Apply(function, args, type_var, attribute)


def _chosen(
    field: Field, fields: Mapping[str, Field], kind: FunctionKind, scope: Scope
) -> tuple[Function, str | None]:
    """The function of an application, and the attribute that chooses the function."""
    if ("fn_name" in fields) == ("attr_name" in fields):
        both = "both fn_name and attr_name" if "fn_name" in fields else "no fn_name"
        raise field.error(
            f"a function has {both}", expected="fn_name, or attr_name of a function attribute"
        )
    if "fn_name" in fields:
        table = _FUNCTIONS[kind]
        name = fields["fn_name"].choice(
            f"a {kind.value} function of upstream's format", tuple(table)
        )
        return table[name], None
    attributes = {n: default for n, default in scope.functions.items() if default.kind is kind}
    name = fields["attr_name"].choice(f"a {kind.value} function attribute", tuple(attributes))
    return attributes[name], name


# The same language, ten times as fast, where PyYAML was built with libyaml.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass
class Source:
    """A text and the name of its file."""

    text: str
    filename: str | None = None
    visited: set[yaml.Node] = dataclasses.field(default_factory=set)

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.splitlines()

    def place(self, line: int, column: int, path: str = "") -> str:
        """A place for a message; line and column are counted from 0."""
        lines = self._lines
        where = f"{self.filename}, " if self.filename else ""
        where += f"line {line + 1}, column {column + 1}"
        where += f", in {path}" if path else ""
        shown = lines[line].strip() if line < len(lines) else ""
        return f"{where}:   {shown}" if shown else where

    def documents(self) -> Iterator[Field]:
        """The root of each document; a NotationError where the text is not YAML."""
        try:
            for position, node in enumerate(yaml.compose_all(self.text, Loader=_Loader)):
                self.visited.clear()
                yield Field(node, "", self, position)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = self.place(mark.line, mark.column) if mark else self.filename
            problem = ", ".join(part for part in (error.context, error.problem) if part)
            raise NotationError(f"the text is not YAML: {problem}", where=place) from None
        except yaml.YAMLError as error:
            raise NotationError(
                "the text is not YAML: it has a character that YAML does not allow",
                where=self.filename,
                notes=[str(error).partition("\n")[0]],
            ) from None
        except RecursionError:
            raise NotationError(
                "the text is nested too deeply to be read", where=self.filename
            ) from None


@dataclass(frozen=True)
class Field:
    """A node: a value in the text.

    Attributes:
        node: PyYAML's node.
        path: how it is reached from the document, such as `structured_op.args[0].kind`.
        source: the text that it stands in.
        document: the number of the document, from 0.
    """

    node: yaml.Node
    path: str
    source: Source
    document: int = 0

    @property
    def place(self) -> str:
        """The position of the field in its file."""
        return self.place_at(0)

    def place_at(self, offset: int) -> str:
        """Return the position of a character of the field, as long as the field is on one line."""
        start, end = self.node.start_mark, self.node.end_mark
        shift = 0
        if isinstance(self.node, yaml.ScalarNode) and start.line == end.line:
            shift = offset + (self.node.style in ("'", '"'))
        return self.source.place(start.line, start.column + shift, self.path)

    def error(
        self, message: str, *, expected: str | None = None, hint: str | None = None
    ) -> NotationError:
        """An error at this place."""
        return NotationError(message, where=self.place, expected=expected, hint=hint)

    def mapping(
        self, tag: str, required: tuple[str, ...], optional: tuple[str, ...] = ()
    ) -> Mapping[str, Field]:
        """The fields of a mapping, which has the tag or none.

        Raises:
            NotationError: it is not a mapping, has another tag, lacks a field, or has one too many.
        """
        fields = self._entries(tag, required + optional)
        for name in required:
            if name not in fields:
                raise self.error(
                    f"{self._name} has no field `{name}`",
                    expected=f"the fields {', '.join(required)}",
                )
        return fields

    def sequence(self, items: str) -> list[Field]:
        """The items of a sequence; a NotationError where it is not a sequence."""
        self._visit()
        if not isinstance(self.node, yaml.SequenceNode):
            raise self.error(f"{self._name} is {self._kind}", expected=f"a list of {items}")
        self._check_tag("seq", "")
        return [self._child(item, f"[{i}]") for i, item in enumerate(self.node.value)]

    def text(self, description: str) -> str:
        """A scalar without its quotes; a NotationError where it is not a scalar, or empty."""
        self._visit()
        if not isinstance(self.node, yaml.ScalarNode):
            raise self.error(f"{self._name} is {self._kind}", expected=description)
        if self.node.tag.startswith("!") or "python" in self.node.tag:
            raise self.error(f"{self._name} has the tag {self.node.tag}", expected=description)
        if not self.node.value:
            raise self.error(f"{self._name} is empty", expected=description)
        return str(self.node.value)

    def name(self, description: str) -> str:
        """A scalar that is an identifier; a NotationError where it is not."""
        text = self.text(description)
        if not text.isidentifier() or not text.isascii():
            raise self.error(
                f"{self._name} is `{text}`, which is not a name",
                expected=f"{description}: [A-Za-z_0-9]+",
            )
        return text

    def choice(self, description: str, choices: tuple[str, ...]) -> str:
        """A scalar that is one of a list; else a NotationError that names the nearest."""
        text = self.text(description)
        if text in choices:
            return text
        near = difflib.get_close_matches(text, choices, 1)
        raise self.error(
            f"{self._name} is `{text}`, which is not {description}",
            expected=f"one of {', '.join(choices)}" if choices else "none: there are none",
            hint=f"did you mean {near[0]}?" if near else None,
        )

    def integer(self, description: str) -> int:
        """A scalar that is a decimal integer; a NotationError where it is not."""
        text = self.text(description)
        digits = text.removeprefix("-")
        if not (digits.isdigit() and digits.isascii() and len(digits) < 20):
            raise self.error(
                f"{self._name} is `{text}`, which is not an integer", expected=description
            )
        return int(text)

    @property
    def is_null(self) -> bool:
        """Return whether it is `null`, `~` or nothing at all."""
        return self.node.tag == "tag:yaml.org,2002:null"

    @property
    def _name(self) -> str:
        return self.path or "the document"

    @property
    def _kind(self) -> str:
        if isinstance(self.node, yaml.MappingNode):
            return "a mapping"
        if isinstance(self.node, yaml.SequenceNode):
            return "a list"
        return f"`{self.node.value}`" if self.node.value else "empty"

    def _child(self, node: yaml.Node, step: str) -> Field:
        path = f"{self.path}{step}" if self.path else step.removeprefix(".")
        return Field(node, path, self.source, self.document)

    def _visit(self) -> None:
        """A node that is met twice was written once and referred to by an alias."""
        if self.node in self.source.visited:
            raise self.error(
                f"{self._name} is given by an alias",
                hint="write it out: upstream's generator knows no anchors and aliases",
            )
        self.source.visited.add(self.node)

    def _check_tag(self, plain: str, tag: str) -> None:
        if self.node.tag not in (f"tag:yaml.org,2002:{plain}", tag):
            expected = f"the tag {tag}, or none" if tag else "no tag"
            raise self.error(f"{self._name} has the tag {self.node.tag}", expected=expected)

    def _entries(self, tag: str, names: tuple[str, ...]) -> dict[str, Field]:
        self._visit()
        if not isinstance(self.node, yaml.MappingNode):
            raise self.error(
                f"{self._name} is {self._kind}",
                expected=f"a mapping with the fields {', '.join(names)}",
            )
        self._check_tag("map", tag)
        fields: dict[str, Field] = {}
        for key, value in self.node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else ""
            child = self._child(key, f".{name}" if name else "")
            if name not in names:
                near = difflib.get_close_matches(name, names, 1)
                raise child.error(
                    f"{self._name} has no field `{name}`"
                    if name
                    else f"{self._name} has a field whose name is not text",
                    expected=f"one of {', '.join(names)}",
                    hint=f"did you mean {near[0]}?" if near else None,
                )
            if name in fields:
                raise child.error(f"field `{name}` is given twice")
            fields[name] = self._child(value, f".{name}")
        return fields
