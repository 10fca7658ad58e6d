"""Changes of scores before the softmax, on vectors of them: a scale, masks, biases."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

from linalg_ext.transforms.codegen.base.flat_memory import Strided
from linalg_ext.transforms.codegen.base.payload import write_constant, write_on_vectors
from linalg_ext.transforms.codegen.base.problem import Group
from linalg_ext.transforms.codegen.base.writer import Index, Writer

from ._expressions import Applied, At, Element, Expression, Number, Position
from ._positions import Comparison, comparison_of


@dataclass(frozen=True)
class Other:
    """An operand that scores are changed by.

    Attributes:
        at: the loops along its axes.
        memory: where it lies.
        rows: the rows of the scores as it walks over them; likewise `keys`.
    """

    at: At
    memory: Strided
    rows: Group
    keys: Group


@dataclass(frozen=True)
class _Vector:
    """An SSA value, and the element type of the vector that it is."""

    name: str
    element: str


class ScoreChanges:
    """Writes an expression of scores."""

    def __init__(
        self,
        w: Writer,
        changed: Expression,
        score: Element,
        others: Sequence[tuple[Element, Other]],
        rows: Sequence[tuple[int, Index]],
        keys: int,
        lanes: int,
    ) -> None:
        """
        Args:
            w: where the code is written.
            changed: what becomes of a score.
            score: how `changed` names it.
            others: what it names besides, and where that lies.
            rows: the loops over rows, outermost first, and how many steps each has.
            keys: the loop over keys.
            lanes: of a vector.
        """
        self._w = w
        self._changed = changed
        self._score = score
        self._others = list(others)
        self._rows = tuple(rows)
        self._keys = keys
        self._lanes = lanes
        self._positions: dict[int, Index] = {}

    @property
    def is_needed(self) -> bool:
        """True where the scores are changed at all."""
        return self._changed != self._score

    def moved(self, loop: int, index: Index) -> ScoreChanges:
        """The same at an index of a loop over batches."""
        moved = copy(self)
        moved._positions = {**self._positions, loop: index}
        moved._others = [
            (
                element,
                Other(other.at, other.memory.moved(f"d{loop}", index), other.rows, other.keys),
            )
            for element, other in self._others
        ]
        return moved

    def in_row(self, row: Index) -> RowChanges:
        """The changes in a row; what is the same all over it is read here."""
        return RowChanges(self, row)


class RowChanges:
    """Writes the changes of one row's scores."""

    def __init__(self, changes: ScoreChanges, row: Index) -> None:
        self._changes = changes
        self._w = changes._w
        self._known: list[tuple[Expression, _Vector]] = []
        self._offsets: list[tuple[Element, Index]] = []
        for element, other in changes._others:
            offset = other.memory.offset(other.rows, row)
            if changes._keys in other.at:
                self._offsets.append((element, offset))
                continue
            scalar = other.memory.memory.load(self._w.add(other.memory.base, offset))
            self._known.append((element, self._spread(scalar, other.memory.memory.element)))
        self._row = row

    def __call__(self, score: str, element: str, key: Index, limit: Index | None) -> str:
        """Emit the changes to a vector of scores; return the name of the changed vector.

        Args:
            score: the vector.
            element: the type of a score.
            key: the key of its first lane.
            limit: the end of the keys, for masks; None where all lanes have keys.
        """
        known = [*self._known, (self._changes._score, _Vector(score, element))]
        return self._write(self._changes._changed, known, key, limit).name

    def _write(
        self,
        expression: Expression,
        known: list[tuple[Expression, _Vector]],
        key: Index,
        limit: Index | None,
    ) -> _Vector:
        for before, vector in known:
            if before == expression:
                return vector
        match expression:
            case Number(text=text):
                text = text if " : " in text else f"{text} : i1"
                name = write_constant(self._w, text, self._changes._lanes)
                return _Vector(name, text.rpartition(" : ")[2])
            case Position(loop=loop):
                made = self._position(loop, key)
            case Element():
                made = self._loaded(expression, key, limit)
            case Applied() if (compared := self._comparison(expression)) is not None:
                made = self._compared(compared, key)
            case Applied():
                operands = [self._write(each, known, key, limit) for each in expression.operands]
                given = [(operand.name, operand.element) for operand in operands]
                name = write_on_vectors(
                    self._w, expression.name, expression.attributes, given, expression.type,
                    self._changes._lanes,
                )  # fmt: skip
                made = _Vector(name, expression.type)
        known.append((expression, made))
        return made

    def _vector(self, element: str) -> str:
        return f"vector<{self._changes._lanes}x{element}>"

    def _spread(self, scalar: str, element: str) -> _Vector:
        vector = self._vector(element)
        return _Vector(self._w.op(f"vector.broadcast {scalar} : {element} to {vector}"), element)

    def _position(self, loop: int | None, key: Index) -> _Vector:
        w, changes = self._w, self._changes
        if loop is None:
            return _Vector(w.constant("dense<0>", self._vector("index")), "index")
        if loop != changes._keys:
            return self._spread(w.value(self._position_of(loop)), "index")
        start = self._spread(w.value(key), "index")
        steps = ", ".join(map(str, range(changes._lanes)))
        lanes = w.constant(f"dense<[{steps}]>", self._vector("index"))
        return _Vector(w.op(f"arith.addi {start.name}, {lanes} : {self._vector('index')}"), "index")

    def _comparison(self, expression: Expression) -> Comparison | None:
        """A comparison of positions, the key's on its right; None where that cannot be."""
        found = comparison_of(expression)
        factor = 0 if found is None else found.factors.get(self._changes._keys, 0)
        if found is None or factor not in (-1, 0, 1):
            return None
        return found.mirrored if factor == 1 else found

    def _compared(self, comparison: Comparison, key: Index) -> _Vector:
        """A comparison of positions, in 32 bits: only how near its limit is to a vector matters."""
        w, keys = self._w, self._changes._keys
        terms: list[Index] = [comparison.constant]
        for loop, factor in comparison.factors.items():
            terms.append(w.mul(factor, key if loop == keys else self._position_of(loop)))
        limit = w.max(w.min(w.add(*terms), 1 << 30), -(1 << 30))
        narrow = w.op(f"arith.index_cast {w.value(limit)} : index to i32")
        vector = self._vector("i32")
        spread = w.op(f"vector.broadcast {narrow} : i32 to {vector}")
        lanes = range(self._changes._lanes) if keys in comparison.factors else [0]
        text = ", ".join(map(str, lanes))
        steps = w.constant(f"dense<[{text}]>" if len(lanes) > 1 else "dense<0>", vector)
        return _Vector(
            w.op(f"arith.cmpi {comparison.predicate}, {spread}, {steps} : {vector}"), "i1"
        )

    def _position_of(self, loop: int) -> Index:
        """Return the position of a loop over batches or rows."""
        known = self._changes._positions
        return known[loop] if loop in known else self._row_position(loop)

    def _row_position(self, loop: int) -> Index:
        """Return the position of a loop over rows: `row` is the linear index of all of them."""
        w, rest = self._w, self._row
        for each, size in reversed(self._changes._rows[1:]):
            if each == loop:
                return w.rem(rest, size)
            rest = w.div(rest, size)
        return rest

    def _loaded(self, element: Element, key: Index, limit: Index | None) -> _Vector:
        other = next(other for known, other in self._changes._others if known == element)
        offset = next(offset for known, offset in self._offsets if known == element)
        pieces = other.memory.pieces(other.keys, key, 1, limit)
        return _Vector(other.memory.load_pieces(pieces, offset), other.memory.memory.element)
