"""One document of upstream's format as a definition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from linalg_ext.definition.accumulation import accumulation
from linalg_ext.definition.affine import AffineDim, AffineExpr, AffineMap, AffineSymbol
from linalg_ext.definition.checks import check
from linalg_ext.definition.functions import Function
from linalg_ext.definition.model import (
    Assignment,
    Interface,
    OpDefinition,
    Operand,
    OperandKind,
    OpMethod,
    run_together,
)
from linalg_ext.definition.scalar import Access, ScalarOperand
from linalg_ext.definition.types import TypeVar
from linalg_ext.errors import DefinitionError, NotationError
from linalg_ext.notations.affine_text import AffineTextError, parse_affine_map
from linalg_ext.notations.yaml.expressions import Scope, read_expression
from linalg_ext.notations.yaml.format import (
    FUNCTION_ATTRIBUTES,
    OPERAND_FIELDS,
    READ_FUNCTIONS,
)
from linalg_ext.notations.yaml.nodes import Field

_ITERATORS = ("parallel", "reduction")


def read_document(root: Field) -> OpDefinition:
    """The definition that a document says.

    Raises:
        NotationError: with file, line, column and the path of the field.
    """
    document = root.mapping("!LinalgOpConfig", ("metadata", "structured_op"))
    metadata = document["metadata"].mapping(
        "!LinalgOpMetadata", ("name", "cpp_class_name"), ("doc", "implements", "defines")
    )
    structured = document["structured_op"].mapping(
        "!LinalgStructuredOpConfig", ("args", "indexing_maps", "iterator_types", "assignments")
    )
    definition = OpDefinition(
        name=metadata["name"].name("the op's name"),
        cpp_class_name=metadata["cpp_class_name"].name("the name of a C++ class"),
        doc=_doc(metadata.get("doc")),
        operands=(),
        dims=(),
        assignments=(),
        implements=tuple(Interface(text) for text in _names(metadata, "implements")),
        defines=tuple(OpMethod(text) for text in _names(metadata, "defines")),
    )
    return _Structure(structured).fill(definition)


def _doc(field: Field | None) -> str:
    if field is None or field.is_null:
        return ""
    return field.text("a text")


def _names(metadata: Mapping[str, Field], field: str) -> list[str]:
    if field not in metadata:
        return []
    return [item.name("a C++ name") for item in metadata[field].sequence("C++ names")]


class _Structure:
    """The fields of `structured_op`, read one after the other."""

    def __init__(self, fields: Mapping[str, Field]) -> None:
        self._args = fields["args"]
        self._indexing = fields["indexing_maps"]
        self._iterators = fields["iterator_types"]
        self._assignments = fields["assignments"]
        self._places: dict[str, Field] = {}
        self._symbols: tuple[str, ...] = ()

    def fill(self, definition: OpDefinition) -> OpDefinition:
        """The definition with operands, dimensions and assignments, checked."""
        kinds = [item.choice("iterator type", _ITERATORS) for item in self._iterators_list()]
        arguments = [_Argument(item) for item in self._args.sequence("operands")]
        maps = self._maps(arguments, len(kinds))
        dims = maps[0][1].dims if maps else ()
        # The names are those of the first map that has any; every other map is by position.
        written = [m.symbols for _, m in maps] + [a.map.symbols for a in arguments if a.map]
        self._symbols = max(written, key=len, default=())
        self._refuse_clash(dims)
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

    def _iterators_list(self) -> list[Field]:
        return self._iterators.sequence("parallel and reduction, one for each dimension")

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
                    f"the map has {len(map.dims)} dimension(s)",
                    expected=f"{rank}, one for each of iterator_types",
                )
        return maps

    def _refuse_clash(self, dims: tuple[str, ...]) -> None:
        if clash := sorted(set(dims) & set(self._symbols)):
            raise self._indexing.error(
                f"{clash[0]} is a dimension in one map and a symbol in another",
                hint="call dimensions d0, d1, ... and symbols s0, s1, ...",
            )

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
                f"index attribute {argument.name} has {len(default)} default(s)",
                expected=f"{len(shape)}, one for each result of its map",
            )
        return Operand(argument.name, argument.kind, argument.type_var, shape, None, default)

    def _read_assignments(
        self, scope: Scope, outputs: Mapping[str, Access], reduced: tuple[str, ...]
    ) -> tuple[Assignment, ...]:
        assignments: list[Assignment] = []
        for item in self._assignments.sequence("assignments"):
            fields = item.mapping("!ScalarAssign", ("arg", "value"))
            name = fields["arg"].choice("output", tuple(outputs))
            target = outputs[name]
            value = read_expression(fields["value"], scope)
            written = {dim for index in target.indices for dim in index.dims}
            missing = tuple(dim for dim in reduced if dim not in written)
            reduction = accumulation(target, value, missing)
            if missing and reduction is None:
                raise item.error(
                    f"{name} is not written at every point, and its value is no reduction",
                    expected=f"a value such as add({name}, ...) that combines {name} with a new "
                    f"one, for the reduction over {', '.join(missing)}",
                )
            assignments.append(Assignment(target, value, reduction))
            self._places[f"assignment to {name}"] = item
        # In upstream's format assignments run together, point by point.
        found = run_together(assignments)
        if found is None:
            raise self._assignments.error(
                "an output of every point reads what another one has reduced so far",
                expected="outputs that read each other to reduce over the same dimensions",
            )
        return found

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
        for position, (found, said) in enumerate(
            zip(definition.iterator_types, kinds, strict=True)
        ):
            if found.value != said:
                raise self._iterators.error(
                    f"dimension {definition.dims[position]} is said to be a {said}, but every "
                    f"output is indexed by it",
                    expected=found.value,
                )
        return definition


def _scope(
    operands: Sequence[Operand],
    indices: Mapping[str, tuple[AffineExpr, ...]],
    dims: tuple[str, ...],
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
    operand: Operand,
    indices: Mapping[str, tuple[AffineExpr, ...]],
    assignments: Sequence[Assignment],
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
            tuple(dict.fromkeys(name for names in OPERAND_FIELDS.values() for name in names)),
        )
        self.field = field
        self.name = fields["name"].name("the operand's name")
        self.kind = OperandKind(
            fields["kind"].choice("kind of operand", tuple(kind.value for kind in OperandKind))
        )
        self._check_fields(fields)
        self.type_var: TypeVar | None = None
        if "type_var" in fields:
            self.type_var = TypeVar(fields["type_var"].name("a type variable"))
        self.map_field = fields.get("shape_map") or fields.get("index_attr_map") or field
        self.map = _map(self.map_field) if self.map_field is not field else None
        self.default = self._default(fields)

    def _check_fields(self, fields: Mapping[str, Field]) -> None:
        wanted = OPERAND_FIELDS[self.kind]
        for name in wanted:
            if name not in fields:
                raise self.field.error(
                    f"{self.kind.value} {self.name} has no field `{name}`",
                    expected=f"the fields name, kind, {', '.join(wanted)}",
                )
        for name, field in fields.items():
            if name not in ("name", "kind", *wanted):
                raise field.error(
                    f"{self.kind.value} {self.name} takes no field `{name}`",
                    expected=f"the fields name, kind, {', '.join(wanted)}",
                )

    def _default(self, fields: Mapping[str, Field]) -> tuple[int, ...] | Function | None:
        if self.kind is OperandKind.INDEX_ATTR:
            items = fields["default_indices"].sequence("integers, one for each index")
            return tuple(item.integer("an integer of 64 bits") for item in items)
        if self.kind in FUNCTION_ATTRIBUTES:
            table = READ_FUNCTIONS[FUNCTION_ATTRIBUTES[self.kind]]
            field = fields["default_fn"]
            kind = FUNCTION_ATTRIBUTES[self.kind].value
            return table[field.choice(f"{kind} function of upstream's format", tuple(table))]
        return None
