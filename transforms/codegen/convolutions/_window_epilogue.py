"""What is done to a vector of results at the end, before it is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linalg_ext.transforms.codegen.base.writer import Writer

from ._window_problem import WindowProblem
from ._window_reader import Reader


class Finisher:
    """Writes the element-wise op on the results of a problem.

    Attributes:
        scalars: the vectors of the operands that are scalars, by their places.
    """

    def __init__(self, w: Writer, problem: WindowProblem, types: Sequence[str], lanes: int) -> None:
        """
        Args:
            w: where the code is written.
            problem: whose results they are.
            types: of the arguments of the function, `%A0` and so on.
            lanes: of a vector.
        """
        self._w = w
        self._problem = problem
        self._lanes = lanes
        self.scalars = {
            place: w.op(f"vector.broadcast %A{place} : {type_} to vector<{lanes}x{type_}>")
            for place, type_ in enumerate(types)
            if place not in problem.arguments
        }

    def __call__(self, reader: Reader, at: Mapping[str, int], value: str) -> str:
        """What becomes of a result that is so many rounds of some loops further on."""
        finish = self._problem.finish
        if finish is None:
            return value
        given: list[str | None] = []
        for operand, place in enumerate(finish.places):
            if place is None:
                given.append(value)
            elif not finish.body.reads(operand):
                given.append(None)
            elif place in self.scalars:
                given.append(self.scalars[place])
            else:
                given.append(reader.result(place, at))
        return finish.body.write(self._w, given, self._lanes)
