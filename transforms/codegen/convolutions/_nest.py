"""The base class of the nests of convolutions and poolings, with the operands of a problem."""

from __future__ import annotations

from collections.abc import Sequence

from linalg_ext.transforms.codegen.base.flat_memory import FlatOperand
from linalg_ext.transforms.codegen.base.nest import Nest

from ._window_problem import WindowProblem


class OperandsNest(Nest):
    """Writes a nest on memrefs and scalars: `%A0`, `%A1` and so on."""

    def __init__(self, problem: WindowProblem, types: Sequence[str], lanes: int) -> None:
        """
        Args:
            problem: what is computed.
            types: of the operands: those of the body, and then those of the epilogue.
            lanes: of a vector.
        """
        super().__init__(lanes)
        self._problem = problem
        self._operands: dict[int, FlatOperand] = {}
        for place, type_ in enumerate(types):
            if place in problem.arguments:
                self._operands[place] = self._operand(f"A{place}", problem.arguments[place])
            else:
                self._scalar(f"A{place}", type_)
        self._sizes |= {each.name: each.size for each in problem.loops if each.size is not None}

    def _epilogue_scalars(self) -> list[str]:
        """Write the scalars of the epilogue as vectors."""
        problem = self._problem
        if problem.epilogue is None:
            return []
        first = problem.body.inputs + len(problem.epilogue.arguments)
        names = [f"%A{first + at}" for at in range(len(problem.epilogue.scalars))]
        return problem.epilogue.spread(self._w, names, self._lanes)
