"""The operands of a spelled op, and what is said of it, as MLIR read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError
from linalg_ext.notations.affine_text import parse_affine_map
from linalg_ext.structured.extension import COMPUTE_TYPE, integers

from .spelled import SpelledOp
from .spelled.syntax import COMPUTE_TYPE as COMPUTE_TYPE_WORD
from .spelled.syntax import SUGAR


@dataclass(frozen=True)
class SpelledValues:
    """A spelled op, its words read.

    Attributes:
        name: of the op, with its dialect.
        inputs, output: its operands.
        said: what is said of it, by name: sugar, `kind`, `indexing_maps`, attributes.
    """

    name: str
    inputs: tuple[ir.Value, ...]
    output: ir.Value
    said: Mapping[str, ir.Attribute]

    @classmethod
    def of(cls, op: ir.Operation, spelled: SpelledOp) -> SpelledValues:
        """Read `linalg_ext.spelled`."""
        *inputs, output = op.operands
        said: Any = op.attributes["said"]
        words = {entry.name: entry.attr for entry in said}
        return cls(spelled.name, tuple(inputs), output, words)

    @property
    def sugar(self) -> dict[str, object]:
        """The mappings of the operands: lists of integers, maps, True for `transpose_x`.

        Raises:
            ArgumentError: one is an attribute of another kind.
        """
        return {name: _meaning(name, said) for name, said in self._words(sugar=True)}

    @property
    def attributes(self) -> dict[str, ir.Attribute]:
        """The rest, but for the compute type."""
        return {
            name: said
            for name, said in self._words(sugar=False)
            if name not in (COMPUTE_TYPE_WORD, COMPUTE_TYPE)
        }

    @property
    def compute_type(self) -> ir.TypeAttr | None:
        """The type to compute in.

        Raises:
            ArgumentError: what is said is no element type.
        """
        for name in (COMPUTE_TYPE_WORD, COMPUTE_TYPE):
            said = self.said.get(name)
            if said is None:
                continue
            if isinstance(said, ir.TypeAttr) and not isinstance(said.value, ir.ShapedType):
                return said
            raise ArgumentError(f"{self.name}: {name} = {said}", expected="a type, such as f32")
        return None

    def _words(self, *, sugar: bool) -> Iterator[tuple[str, ir.Attribute]]:
        for name, said in self.said.items():
            if (SUGAR.fullmatch(name) is not None) == sugar:
                yield name, said


def _meaning(name: str, said: ir.Attribute) -> object:
    word = name.partition("_")[0]
    if word == "transpose":
        if isinstance(said, ir.UnitAttr):
            return True
        raise ArgumentError(
            f"{name} = {said}", expected=f"{name} alone, or permutation_{name[10:]} = [...]"
        )
    if word == "map":
        if isinstance(said, ir.AffineMapAttr):
            return parse_affine_map(str(said))
        raise ArgumentError(f"{name} = {said}", expected="a map, as in { (d0, d1) -> (d0) }")
    return list(integers(said, name))
