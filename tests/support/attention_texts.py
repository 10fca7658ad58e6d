"""Attention in plain ops as text, by letters for the dimensions, and what NumPy says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

_LOWEST = {"f32": "0xFF800000", "f64": "0xFFF0000000000000"}


@dataclass(frozen=True)
class AttentionText:
    """Attention of some sizes and layouts.

    Attributes:
        sizes: of each dimension, by its letter: k for keys, d for what queries and keys are
            multiplied along, e for what a value consists of; all others are of the queries.
        query: the axes of the queries; likewise `key`, `value` and `result`.
        scale: what scores are multiplied by.
        mask: the axes of what is added to scores, if something is.
        seen: the axes of booleans that say which scores are not -inf, if there are such.
        causal: whether scores of keys after the query, less `lag`, are -inf.
        lag: a number of keys.
        window: how many keys a query sees at most, where that is limited; it is causal then too.
        element: the element type.
        chain: whether the softmax is a chain of generics, and not an op of its own.
    """

    sizes: Mapping[str, int] = field(
        default_factory=lambda: {"b": 2, "q": 16, "k": 16, "d": 8, "e": 8}
    )
    query: str = "bqd"
    key: str = "bkd"
    value: str = "bke"
    result: str = "bqe"
    scale: float | None = 0.5
    mask: str | None = None
    seen: str | None = None
    causal: bool = False
    lag: int = 0
    window: int | None = None
    element: str = "f32"
    chain: bool = False

    @property
    def scores(self) -> str:
        """The axes of the scores."""
        return "".join(letter for letter in self.result if letter != "e") + "k"

    @property
    def text(self) -> str:
        """A module whose `main` takes queries, keys, values and the masks that there are."""
        scores, element = self.scores, self.element
        given = {"query": self.query, "key": self.key, "value": self.value}
        if self.mask is not None:
            given["mask"] = self.mask
        arguments = ", ".join(f"%{name}: {self.type(axes)}" for name, axes in given.items())
        if self.seen is not None:
            arguments += f", %seen: {self.type(self.seen, 'i1')}"
        wide, result = self.type(scores), self.type(self.result)
        space = scores + "d"
        lines = [
            f"%zero = arith.constant 0.0 : {element}",
            f"%lowest = arith.constant {_LOWEST[element]} : {element}",
            f"%scale = arith.constant {self.scale or 1.0} : {element}",
            f"%wide = tensor.empty() : {wide}",
            f"%empty = tensor.empty() : {result}",
            f"%zeros = linalg.fill ins(%zero : {element}) outs(%wide : {wide}) -> {wide}",
            f"%sums = linalg.fill ins(%zero : {element}) outs(%empty : {result}) -> {result}",
            self._product("scores", space, ("query", self.query), ("key", self.key),
                          ("zeros", scores)),
            *self._changed(),
            *(self._chain() if self.chain else self._softmax()),
            self._product("result", self.result + "k", ("weights", scores), ("value", self.value),
                          ("sums", self.result)),
            f"return %result : {result}",
        ]  # fmt: skip
        body = "\n".join(lines)
        return f"func.func @main({arguments}) -> {result} {{\n{body}\n}}"

    def type(self, axes: str, element: str | None = None) -> str:
        """The type of a tensor with some axes."""
        sizes = "".join(f"{self.sizes[axis]}x" for axis in axes)
        return f"tensor<{sizes}{element or self.element}>"

    def _map(self, space: str, axes: str) -> str:
        return f"affine_map<({', '.join(space)}) -> ({', '.join(axes)})>"

    def _generic(
        self, name: str, space: str, inputs: tuple[tuple[str, str], ...], output: tuple[str, str],
        body: str,
    ) -> str:  # fmt: skip
        maps = ", ".join(self._map(space, axes) for _, axes in (*inputs, output))
        kinds = ", ".join(
            '"parallel"' if letter in output[1] else '"reduction"' for letter in space
        )
        ins = ", ".join(f"%{value}" for value, _ in inputs)
        elements = ["i1" if value == "seen" else self.element for value, _ in inputs]
        types = ", ".join(self.type(a, e) for (_, a), e in zip(inputs, elements, strict=True))
        arguments = ", ".join(f"%x{number}: {e}" for number, e in enumerate(elements))
        out = self.type(output[1])
        return (
            f"%{name} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} "
            f"ins({ins} : {types}) outs(%{output[0]} : {out}) {{\n"
            f"^bb0({arguments}, %o: {self.element}):\n{body}\n}} -> {out}"
        )

    def _product(
        self, name: str, space: str, left: tuple[str, str], right: tuple[str, str],
        output: tuple[str, str],
    ) -> str:  # fmt: skip
        e = self.element
        body = (
            f"%p = arith.mulf %x0, %x1 : {e}\n%s = arith.addf %o, %p : {e}\nlinalg.yield %s : {e}"
        )
        return self._generic(name, space, (left, right), output, body)

    def _changed(self) -> list[str]:
        """The scores scaled and masked."""
        e, scores = self.element, self.scores
        steps = [f"%v0 = arith.mulf %x0, %scale : {e}"]
        inputs: tuple[tuple[str, str], ...] = (("scores", scores),)
        last = "%v0"
        if self.mask is not None:
            inputs = (*inputs, ("mask", self.mask))
            steps.append(f"%v1 = arith.addf {last}, %x1 : {e}")
            last = "%v1"
        if self.seen is not None:
            inputs = (*inputs, ("seen", self.seen))
            steps.append(f"%v3 = arith.select %x{len(inputs) - 1}, {last}, %lowest : {e}")
            last = "%v3"
        if self.causal:
            steps += [
                f"%i = linalg.index {scores.index('q')} : index",
                f"%j = linalg.index {scores.index('k')} : index",
                f"%lag = arith.constant {self.lag} : index",
                "%last = arith.subi %i, %lag : index",
                "%seen = arith.cmpi sge, %last, %j : index",
                f"%v2 = arith.select %seen, {last}, %lowest : {e}",
            ]
            last = "%v2"
        if self.window is not None:
            steps += [
                f"%window = arith.constant {self.window} : index",
                "%behind = arith.subi %last, %j : index",
                "%near = arith.cmpi slt, %behind, %window : index",
                f"%v4 = arith.select %near, {last}, %lowest : {e}",
            ]
            last = "%v4"
        if self.scale is None and len(steps) == 1:
            steps, last = [], "%x0"
        steps.append(f"linalg.yield {last} : {e}")
        return [self._generic("changed", scores, inputs, ("wide", scores), "\n".join(steps))]

    def _softmax(self) -> list[str]:
        wide = self.type(self.scores)
        return [
            f"%weights = linalg.softmax dimension({len(self.scores) - 1}) "
            f"ins(%changed : {wide}) outs(%wide : {wide}) -> {wide}"
        ]

    def _chain(self) -> list[str]:
        e, scores, rows = self.element, self.scores, self.scores[:-1]
        thin = self.type(rows)
        both = (("changed", scores), ("maximum", rows))
        return [
            f"%thin = tensor.empty() : {thin}",
            f"%low = linalg.fill ins(%lowest : {e}) outs(%thin : {thin}) -> {thin}",
            f"%none = linalg.fill ins(%zero : {e}) outs(%thin : {thin}) -> {thin}",
            self._generic("maximum", scores, (("changed", scores),), ("low", rows),
                          f"%m = arith.maximumf %o, %x0 : {e}\nlinalg.yield %m : {e}"),
            self._generic("exponentials", scores, both, ("wide", scores),
                          f"%s = arith.subf %x0, %x1 : {e}\n%t = math.exp %s : {e}\n"
                          f"linalg.yield %t : {e}"),
            self._generic("total", scores, (("exponentials", scores),), ("none", rows),
                          f"%t = arith.addf %x0, %o : {e}\nlinalg.yield %t : {e}"),
            self._generic("weights", scores, (("exponentials", scores), ("total", rows)),
                          ("wide", scores),
                          f"%w = arith.divf %x0, %x1 : {e}\nlinalg.yield %w : {e}"),
        ]  # fmt: skip

    def operands(self, seed: int = 0) -> list[Array]:
        """Random arrays of the arguments."""
        random = np.random.default_rng(seed)
        dtype = {"f32": np.float32, "f64": np.float64}[self.element]
        axes = [self.query, self.key, self.value, *([self.mask] if self.mask is not None else [])]
        found: list[Array] = [random.standard_normal(self._shape(a)).astype(dtype) for a in axes]
        if self.seen is not None:
            found.append(random.random(self._shape(self.seen)) < 0.7)
        return found

    def reference(self, query: Array, key: Array, value: Array, *masks: Array) -> Array:
        """The result in double precision."""
        left = list(masks)
        query, key, value = (each.astype(np.float64) for each in (query, key, value))
        scores = np.einsum(f"{self.query},{self.key}->{self.scores}", query, key)
        scores = scores * (self.scale or 1.0)
        if self.mask is not None:
            scores = scores + self._beside_scores(left.pop(0).astype(np.float64), self.mask)
        if self.seen is not None:
            scores = np.where(self._beside_scores(left.pop(0), self.seen), scores, -np.inf)
        if self.causal:
            last = self._beside_scores(np.arange(self.sizes["q"]) - self.lag, "q")
            scores = np.where(last >= np.arange(self.sizes["k"]), scores, -np.inf)
        if self.window is not None:
            behind = self._beside_scores(np.arange(self.sizes["q"]) - self.lag, "q")
            behind = behind - np.arange(self.sizes["k"])
            scores = np.where(behind < self.window, scores, -np.inf)
        with np.errstate(invalid="ignore"):
            exponentials = np.exp(scores - scores.max(-1, keepdims=True))
            weights = exponentials / exponentials.sum(-1, keepdims=True)
        found: Array = np.einsum(f"{self.scores},{self.value}->{self.result}", weights, value)
        return found

    def _shape(self, axes: str) -> list[int]:
        return [self.sizes[axis] for axis in axes]

    def _beside_scores(self, array: Array, axes: str) -> Array:
        """An array with some axes of the scores, so that it broadcasts against them."""
        order = [axes.index(axis) for axis in self.scores if axis in axes]
        return array.transpose(order).reshape(
            [self.sizes[axis] if axis in axes else 1 for axis in self.scores]
        )
