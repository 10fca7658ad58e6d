"""Arguments of calls, drawn by the names of parameters."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from numpy_programs.arrays import (
    COMPLEX,
    DTYPES,
    FLOATS,
    INTEGERS,
    Array,
    Choose,
    draw_array,
    draw_shape,
    dtype_of,
)
from numpy_programs.program import Input, Result

Given = Mapping[str, Any]


class Scene:
    """The values that a program has so far, and the arrays that are drawn for it.

    Attributes:
        choose: picks one of several.
        inputs, results: the values, as NumPy has them.
    """

    def __init__(self, choose: Choose) -> None:
        self.choose = choose
        self.inputs: list[Any] = []
        self.results: list[Any] = []

    def value(self, given: Any) -> Any:
        """Return the array or the number that an argument stands for."""
        if isinstance(given, Input):
            return self.inputs[given.number]
        if isinstance(given, Result):
            return self.results[given.number]
        if isinstance(given, list | tuple):
            return type(given)(map(self.value, given))
        return given

    def maybe(self, one_in: int = 3) -> bool:
        """Tell whether something rare is to be; shrinks to no."""
        return bool(self.choose((False,) * (one_in - 1) + (True,)))

    def add(self, value: Any) -> Input:
        """A new argument of the program."""
        self.inputs.append(value)
        return Input(len(self.inputs) - 1)

    def array(self, rank: int | None = None, dtypes: Sequence[str] = DTYPES) -> Input:
        """A new array."""
        return self.shaped(draw_shape(self.choose, rank), dtypes)

    def shaped(self, shape: tuple[int, ...], dtypes: Sequence[str] = DTYPES) -> Input:
        """A new array of a shape."""
        return self.add(draw_array(self.choose, shape, dtype_of(self.choose(dtypes))))

    def operand(self, rank: int | None = None, dtypes: Sequence[str] = DTYPES) -> Any:
        """An array: what came last where it fits, or a new one."""
        last = len(self.results) - 1
        if last >= 0 and isinstance(self.results[last], np.ndarray | np.generic):
            found = np.asarray(self.results[last])
            fits = (rank is None or found.ndim == rank) and found.dtype in map(dtype_of, dtypes)
            if fits and not self.maybe(8):
                return Result(last)
        return self.array(rank, dtypes)

    def partner(self, first: Any, *, like: bool = False) -> Any:
        """An operand beside another: of the same shape, one that stretches, a number."""
        value = np.asarray(self.value(first))
        dtypes = [name for name in DTYPES if dtype_of(name) == value.dtype] or list(DTYPES)
        if not like and self.maybe(2):
            dtypes = list(DTYPES)
        form = self.choose(("same", "same", "number", "scalar", "row", "one", "other"))
        if form == "number":
            return self.number(value.dtype)
        shape = value.shape
        if form == "scalar":
            shape = ()
        elif form == "row":
            shape = shape[-1:]
        elif form == "one" and shape:
            place = self.choose(range(len(shape)))
            shape = (*shape[:place], 1, *shape[place + 1 :])
        elif form == "other" and self.maybe(4):
            shape = draw_shape(self.choose)
        return self.shaped(shape, dtypes)

    def number(self, dtype: np.dtype[Any]) -> Any:
        """A number of Python, in the program's text or as its argument."""
        found: Any = self.choose((1, 2, 0, 3, -1, -2, 7))
        if dtype.kind not in "iub" and self.maybe(2):
            found = self.choose((0.5, -0.0, 2.5, math.inf, math.nan, 1e-3, -1.5))
        if dtype.kind == "c" and self.maybe():
            found = complex(found, 1.5)
        return self.add(found) if self.maybe() else found

    def axis(self, rank: int, *, several: bool = False, none: bool = False) -> Any:
        """An axis of an array of a rank; now and then one that it lacks."""
        options: list[Any] = [*range(-rank, rank)] or [0]
        if self.maybe(40):
            options = [rank, -rank - 1]
        axis = self.choose(options)
        if none and self.maybe():
            return None
        if several and rank > 1 and self.maybe():
            other = self.choose([each for each in range(rank) if each != axis % rank])
            return self.choose(((axis, other), (other,), ()))
        return axis

    def indices(self, size: int, shape: tuple[int, ...], *, negative: bool = True) -> Any:
        """Places within a size: a constant array, a list, or an argument."""
        rng = np.random.default_rng(self.choose(range(20)))
        low = -size if negative and self.maybe() else 0
        found = rng.integers(low, size, shape) if size else np.zeros(shape, np.int64)
        if self.maybe(25):
            found = found + size
        found = np.asarray(found).astype(self.choose(("i8", "i4", "i2")))
        return self.choose((lambda: self.add(found), lambda: found))()

    def mask(self, shape: tuple[int, ...]) -> Any:
        """Booleans of a shape, or of one that stretches to it."""
        if shape and self.maybe():
            shape = (*shape[:-1], 1)
        return self.shaped(shape, "?")


def _value(scene: Scene, given: Given) -> Array:
    """The first operand."""
    return np.asarray(scene.value(next(iter(given.values()))))


def _one_of(*options: Any) -> Callable[[Scene, Given], Any]:
    return lambda scene, _: scene.choose(options)


def _axis(scene: Scene, given: Given) -> Any:
    return scene.axis(_value(scene, given).ndim, none=True)


def _axes(scene: Scene, given: Given) -> Any:
    return scene.axis(_value(scene, given).ndim, several=True, none=True)


def _axis_alone(scene: Scene, given: Given) -> Any:
    return scene.axis(_value(scene, given).ndim)


def _new_axis(scene: Scene, given: Given) -> Any:
    return scene.axis(_value(scene, given).ndim + 1)


def _axis_among(scene: Scene, given: Given) -> Any:
    """An axis of the values that are joined."""
    first = scene.value(next(iter(given.values())))
    return scene.axis(np.asarray(first[0]).ndim, none=True)


def _operand(scene: Scene, _: Given) -> Any:
    return scene.operand()


def _row(scene: Scene, _: Given) -> Any:
    return scene.operand(1)


def _matrix(scene: Scene, _: Given) -> Any:
    return scene.operand(2)


def _partner(scene: Scene, given: Given) -> Any:
    return scene.partner(next(iter(given.values())))


def _like(scene: Scene, given: Given) -> Any:
    return scene.partner(next(iter(given.values())), like=True)


def _of_shape(scene: Scene, given: Given) -> Any:
    return scene.shaped(_value(scene, given).shape)


def _several(scene: Scene, _: Given) -> Any:
    """Some values that can be joined along an axis."""
    first = scene.operand()
    shape = np.asarray(scene.value(first)).shape
    rest = []
    for _number in range(scene.choose((1, 0, 2))):
        other = shape
        if shape and scene.maybe():
            place = scene.choose(range(len(shape)))
            other = (*shape[:place], scene.choose((3, 1, 0, 2)), *shape[place + 1 :])
        rest.append(scene.shaped(other))
    return [first, *rest]


def _operands(scene: Scene, _: Given) -> Any:
    first = scene.operand()
    return (first, *(scene.partner(first) for _ in range(scene.choose((1, 0, 2)))))


def _rows(scene: Scene, _: Given) -> Any:
    return tuple(scene.operand(1) for _ in range(scene.choose((2, 1, 3))))


def _shape_of_as_many(scene: Scene, given: Given) -> Any:
    return _shapes(scene, _value(scene, given).size)


def _shapes(scene: Scene, size: int) -> Any:
    if scene.maybe(20):
        return scene.choose(((7,), (2, -1), (-1, -1), (3, 0)))
    if not size:
        return scene.choose(((0,), (0, 3), (2, 0), (-1,), (3, 0, 2), (-1, 3)))
    factor = scene.choose([n for n in (1, 2, 3, 11, 17) if size % n == 0])
    return scene.choose(
        ((size,), -1, (factor, size // factor), (-1, factor), (1, size), (factor, -1, 1))
    )


def _wide_shape(scene: Scene, given: Given) -> Any:
    shape = _value(scene, given).shape
    wide = tuple(scene.choose((size, 3, 2)) if size == 1 else size for size in shape)
    return scene.choose((wide, (2, *wide), (0, *wide), (3, 1, *wide)))


def _any_shape(scene: Scene, _: Given) -> Any:
    return scene.choose(((3, 4), (5,), (), (0, 2), 7, (2, 1, 3)))


def _dtype(scene: Scene, _: Given) -> Any:
    return dtype_of(scene.choose(DTYPES))


def _count_of_axis(scene: Scene, given: Given) -> Any:
    value = _value(scene, given)
    axis = given.get("axis")
    size = (
        value.size if axis is None else value.shape[axis] if -value.ndim <= axis < value.ndim else 3
    )
    if scene.maybe(2):
        return scene.choose((2, 1, 3, 0))
    return [scene.choose((1, 0, 2)) for _ in range(size)] if size < 40 else 2


def _splits(scene: Scene, _: Given) -> Any:
    return scene.choose((1, 3, 2, [1], [1, 2], [0, 2, 2], [2, 1], [-1], [5]))


def _reps(scene: Scene, given: Given) -> Any:
    return scene.choose((2, 1, 0, (2, 1), (1, 3), (2, 0), (2, 1, 2)))


def _shift(scene: Scene, given: Given) -> Any:
    return scene.choose((1, -1, 0, 5, -40))


def _roll_axis(scene: Scene, given: Given) -> Any:
    return _axes(scene, given)


def _pad_width(scene: Scene, given: Given) -> Any:
    rank = _value(scene, given).ndim
    return scene.choose((1, 2, 0, (1, 2), [(n % 3, 1) for n in range(rank)] or 1))


def _permutation(scene: Scene, given: Given) -> Any:
    rank = _value(scene, given).ndim
    order = list(np.random.default_rng(scene.choose(range(8))).permutation(rank).tolist())
    return scene.choose((tuple(order), [n - rank for n in order], None))


def _places_along(scene: Scene, given: Given) -> Any:
    """Places for `take`, or for another function of one axis."""
    value = _value(scene, given)
    axis = given.get("axis")
    size = (
        value.shape[axis] if axis is not None and -value.ndim <= axis < value.ndim else value.size
    )
    shape = scene.choose(((3,), (), (0,), (2, 2), (1,)))
    return scene.indices(size, shape)


def _places_beside(scene: Scene, given: Given) -> Any:
    value = _value(scene, given)
    axis = given.get("axis", -1)
    if axis is None:
        return scene.indices(value.size, (3,))
    if not -value.ndim <= axis < value.ndim:
        return scene.indices(3, (3,))
    shape = list(value.shape)
    shape[axis] = scene.choose((shape[axis], 1, 2))
    return scene.indices(value.shape[axis], tuple(shape))


def _part(whole: float) -> Callable[[Scene, Given], Any]:
    def draw(scene: Scene, _: Given) -> Any:
        parts: list[Any] = [0.5, 0, 1, 0.25, 1 / 3, 0.9, 0.0, 1.0]
        found = scene.choose(parts)
        form = scene.choose(("number", "list", "fraction", "f4", "beyond"))
        if form == "list":
            return [found * whole, scene.choose(parts) * whole]
        if form == "fraction":
            return Fraction(found).limit_denominator(9) * int(whole)
        if form == "f4":
            return np.float32(found * whole)
        if form == "beyond" and scene.maybe(4):
            return -0.5
        return found * whole

    return draw


def _sorted_row(scene: Scene, _: Given) -> Any:
    """Numbers in order, some of them twice; now and then out of order, or with NaN."""
    count = scene.choose((3, 1, 17, 2, 33, 0))
    dtype = dtype_of(scene.choose((*FLOATS[:2], *INTEGERS)))
    found = draw_array(scene.choose, (count,), dtype)
    return scene.add(found if scene.maybe(6) else np.sort(found))


def _value_of_small(scene: Scene, _: Given) -> Any:
    return scene.operand(None, (*FLOATS, *INTEGERS))


def _same_length(name: str, dtypes: Sequence[str]) -> Callable[[Scene, Given], Any]:
    def draw(scene: Scene, given: Given) -> Any:
        return scene.shaped(np.asarray(scene.value(given[name])).shape, dtypes)

    return draw


def _bins(scene: Scene, given: Given) -> Any:
    return scene.choose((lambda: scene.choose((3, 10, 1)), lambda: _sorted_row(scene, given)))()


def _subscripts(scene: Scene) -> tuple[Any, ...]:
    a, b = scene.choose((3, 1, 17, 0)), scene.choose((2, 5, 1))
    text, shapes = scene.choose(
        (
            ("ij,jk->ik", ((3, a), (a, b))),
            ("ij->ji", ((a, b),)),
            ("ij->", ((a, b),)),
            ("ii->i", ((a, a),)),
            ("ij,ij->i", ((a, b), (a, b))),
            ("i,j", ((a,), (b,))),
            ("...i,i->...", ((2, b, a), (a,))),
            ("ijk,ikl,l->ij", ((2, 3, a), (2, a, b), (b,))),
        )
    )
    dtypes = scene.choose((FLOATS, INTEGERS, COMPLEX, ("?",)))
    dtype = scene.choose(dtypes)
    return (text, *(scene.shaped(shape, (dtype,)) for shape in shapes))


def _blocks(scene: Scene, _: Given) -> Any:
    dtype = scene.choose(DTYPES)
    rows = [[scene.shaped((2, n), (dtype,)) for n in (3, 1)] for _ in range(scene.choose((1, 2)))]
    return scene.choose((rows, rows[0]))


def _conditions(scene: Scene, _: Given) -> Any:
    shape = draw_shape(scene.choose)
    return [scene.shaped(shape, "?") for _ in range(scene.choose((1, 2)))]


def _choices(scene: Scene, given: Given) -> Any:
    first = scene.value(given["condlist"])
    dtypes = scene.choose((DTYPES, FLOATS[:2], INTEGERS))
    return [scene.shaped(np.asarray(each).shape, dtypes) for each in first]


def _few(scene: Scene, _: Given) -> Any:
    """Places among two or three choices."""
    shape = draw_shape(scene.choose)
    rng = np.random.default_rng(scene.choose(range(9)))
    return scene.add(rng.integers(0, 2, shape).astype(scene.choose(("i8", "i4", "u1"))))


def _choices_of_few(scene: Scene, given: Given) -> Any:
    dtype = scene.choose(DTYPES)
    shape = _value(scene, given).shape
    return [scene.shaped(shape, (dtype,)) for _ in range(2)]


def _within(scene: Scene, given: Given) -> Any:
    return scene.indices(math.prod(np.atleast_1d(given["shape"]).tolist()), (3,), negative=False)


def _keys(scene: Scene, _: Given) -> Any:
    shape = draw_shape(scene.choose, scene.choose((1, 2)))
    return tuple(scene.shaped(shape) for _ in range(scene.choose((2, 1))))


def _square(scene: Scene, _: Given) -> Any:
    size = scene.choose((3, 1, 2, 17))
    return scene.shaped((size, size), (*FLOATS[:2], *INTEGERS, *COMPLEX))


def _vectors_of_three(scene: Scene, _: Given) -> Any:
    return scene.shaped((*draw_shape(scene.choose, scene.choose((0, 1))), 3))


def _matrices(scene: Scene, _: Given) -> Any:
    dtype = scene.choose((*FLOATS[:2], *INTEGERS, *COMPLEX))
    sizes = [scene.choose((3, 1, 17, 0)) for _ in range(4)]
    return [scene.shaped(pair, (dtype,)) for pair in itertools.pairwise(sizes)]


def _factor(scene: Scene, given: Given) -> Any:
    """A second factor of a product: of the size that is summed over."""
    value = _value(scene, given)
    rest = scene.choose(((), (3,), (1,), (0,), (17,)))
    dtypes = [name for name in DTYPES if dtype_of(name) == value.dtype]
    if scene.maybe() or not dtypes:
        dtypes = list(DTYPES)
    shape = (*value.shape[-1:], *rest)
    if value.ndim > 2 and rest and scene.maybe(2):
        shape = (*value.shape[:-2], *shape)
    return scene.shaped(shape, dtypes)


def _tensor_axes(scene: Scene, given: Given) -> Any:
    rank = _value(scene, given).ndim
    return scene.choose((1, 0, ([-1], [0]), ([rank - 1], [0]), 1, 2))


def _places_of_insert(scene: Scene, given: Given) -> Any:
    return scene.choose((0, 1, -1, [0, 1], [1, 1], [0], slice(0, 2), 40))


def _number_beside(scene: Scene, given: Given) -> Any:
    return scene.number(_value(scene, given).dtype)


def _where(scene: Scene, given: Given) -> Any:
    return scene.mask(_value(scene, given).shape)


def _condition_row(scene: Scene, given: Given) -> Any:
    return [bool(scene.choose((True, False))) for _ in range(scene.choose((3, 1, 2)))]


def _coefficients(scene: Scene, _: Given) -> Any:
    return scene.shaped((scene.choose((3, 1, 2, 5)),))


def _window(scene: Scene, _: Given) -> Any:
    return scene.shaped((scene.choose((3, 1, 5, 17, 33)),))


def _bound(scene: Scene, _: Given) -> Any:
    return scene.choose((lambda: scene.array(0), lambda: scene.array(1), lambda: 2.5))()


def _order(scene: Scene, given: Given) -> Any:
    return scene.choose((None, 2, 1, np.inf, -np.inf, 0, 3, -1, "fro"))


def _traced_or_not(scene: Scene, given: Given) -> Any:
    return scene.operand()


def _flags(scene: Scene, _: Given) -> Any:
    return scene.array(dtypes=("?", "u1", "i4"))


_METHODS = (
    *("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf", "averaged_inverted_cdf"),
    *("closest_observation", "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased"),
    "normal_unbiased",
)
_KEEPDIMS = _one_of(True, False)
_SKIPPED = {
    *("out", "order", "subok", "copy", "casting", "device", "optimize", "overwrite_input"),
    *("newshape", "like", "sparse", "kind", "stable", "sorter", "period", "discont"),
    *("constant_values", "mean", "correction", "range", "assume_unique", "aweights", "fweights"),
    *("returned", "density", "extobj", "signature", "method", "interpolation"),
}
"""Parameters that say nothing about values, or that are drawn for some functions alone."""

BY_NAME: Mapping[str, Callable[[Scene, Given], Any]] = {
    **dict.fromkeys(
        [
            "a",
            "x",
            "m",
            "v",
            "z",
            "p",
            "f",
            "y",
            "A",
            "arr",
            "array",
            "ary",
            "val",
            "element",
            "x1",
            "x2",
            "a1",
            "left",
        ],
        _operand,
    ),
    **dict.fromkeys(["b", "right", "a2", "values", "test_elements"], _partner),
    **dict.fromkeys(("arrays", "tup"), _several),
    "axis": _axes,
    "axes": _permutation,
    "axis1": _axis_alone,
    "axis2": _axis_alone,
    "bias": _one_of(True),
    "bins": _bins,
    "ddof": _one_of(1, 0, 2, 40),
    "decimals": _one_of(0, 1, 2, -1),
    "deg": _one_of(True),
    "dtype": _dtype,
    "endpoint": _one_of(False, True),
    "equal_nan": _one_of(True),
    "fill_value": _number_beside,
    "include_initial": _one_of(True),
    "increasing": _one_of(True),
    "indices": _places_along,
    "indices_or_sections": _splits,
    "initial": _number_beside,
    "invert": _one_of(True),
    "k": _one_of(1, 0, -1, 2, -3, 40),
    "keepdims": _KEEPDIMS,
    "max": _partner,
    "min": _partner,
    "n": _one_of(1, 2, 0, 3),
    "num": _one_of(3, 1, 17, 0, 50),
    "offset": _one_of(0, 1, -1, 2),
    "q": _part(1),
    "repeats": _count_of_axis,
    "reps": _reps,
    "rowvar": _one_of(False),
    "shape": _any_shape,
    "side": _one_of("right", "left"),
    "start": _bound,
    "stop": _bound,
    "weights": _of_shape,
    "where": _where,
}
"""How a parameter is drawn, by its name."""

BY_FUNCTION: Mapping[str, Mapping[str, Callable[[Scene, Given], Any] | None]] = {
    "reshape": {"shape": _shape_of_as_many, "order": _one_of("F")},
    "broadcast_to": {"shape": _wide_shape},
    "broadcast_arrays": {"arrays": _operands},
    **{f"atleast_{n}d": {"arrays": _operands} for n in (1, 2, 3)},
    "result_type": {"values": _operands},
    "can_cast": {"from_": lambda s, _: dtype_of(s.choose(DTYPES)), "to": _dtype, "casting": None},
    "meshgrid": {"xi": _rows, "indexing": _one_of("ij", "xy"), "sparse": _one_of(True)},
    "ix_": {"args": _rows},
    "moveaxis": {"source": _axis_alone, "destination": _axis_alone},
    "rollaxis": {"axis": _axis_alone, "start": _one_of(0, 1, -1)},
    "expand_dims": {"axis": _new_axis},
    "squeeze": {"axis": _axes},
    "roll": {"shift": _shift, "axis": _roll_axis},
    "rot90": {"k": _one_of(1, 2, 3, -1, 0), "axes": _one_of((0, 1), (1, 0), (-1, -2))},
    "concatenate": {"axis": _axis_among, "dtype": _dtype},
    "stack": {"axis": _axis_among},
    "append": {"values": _like, "axis": _axis},
    "split": {"axis": _axis_alone},
    "array_split": {"axis": _axis_alone},
    "unstack": {"axis": _axis_alone},
    "pad": {
        "pad_width": _pad_width,
        "mode": _one_of("constant", "edge", "reflect", "symmetric", "wrap"),
        "constant_values": _number_beside,
    },
    "where": {"condition": _traced_or_not, "x": _partner, "y": _partner},
    "dot": {"b": _factor},
    "inner": {"b": _like},
    "vdot": {"b": _of_shape},
    "outer": {"b": _row},
    "linalg.outer": {"a": _row, "b": _row},
    "kron": {"a": lambda s, _: s.shaped(s.choose(((3,), (2, 2), (1, 3)))), "b": _matrix},
    "tensordot": {"b": _factor, "axes": _tensor_axes},
    "linalg.tensordot": {"a": _operand, "b": _factor, "axes": _tensor_axes},
    "linalg.matmul": {"left": _matrix, "right": _factor, "dtype": None},
    "linalg.vecdot": {"x2": _of_shape, "axis": _axis_alone},
    "linalg.multi_dot": {"arrays": _matrices},
    "linalg.matrix_power": {"a": _square, "n": _one_of(2, 0, 1, 3, 5, -1)},
    "linalg.norm": {"ord": _order},
    "linalg.vector_norm": {"ord": _one_of(2, 1, np.inf, 0, 3, -np.inf, 0.5)},
    "linalg.matrix_norm": {"x": _matrix, "ord": _one_of("fro", 1, np.inf, -1)},
    "linalg.cross": {"a": _vectors_of_three, "b": _of_shape},
    "cross": {"a": _vectors_of_three, "b": _of_shape, "axis": None},
    "diagonal": {"a": _matrix},
    "trace": {"a": _matrix},
    "isclose": {"b": _partner, "rtol": _one_of(1e-3), "atol": _one_of(0.5)},
    "allclose": {"b": _partner, "rtol": _one_of(1e-3), "atol": _one_of(0.5)},
    "array_equal": {"a2": _of_shape},
    "clip": {"a_min": _partner, "a_max": _partner, "min": None, "max": None},
    "repeat": {"axis": _axis},
    "full_like": {"dtype": _dtype, "shape": _any_shape},
    "diff": {"axis": _axis_alone, "prepend": _number_beside, "append": _number_beside},
    "cumsum": {"axis": _axis},
    "cumprod": {"axis": _axis},
    "cumulative_sum": {"axis": _axis},
    "cumulative_prod": {"axis": _axis},
    "nancumsum": {"axis": _axis},
    "nancumprod": {"axis": _axis},
    **{name: {"axis": _axis} for name in ("argmax", "argmin", "nanargmax", "nanargmin")},
    "sort": {"axis": _axis, "kind": _one_of("stable", "quicksort"), "stable": None},
    "argsort": {"axis": _axis, "kind": _one_of("stable"), "stable": None},
    "partition": {"kth": _one_of(0), "axis": _axis},
    "argpartition": {"kth": _one_of(0), "axis": _axis},
    "take": {"axis": _axis, "indices": _places_along, "mode": _one_of("clip", "wrap")},
    "take_along_axis": {"axis": _axis, "indices": _places_beside},
    "quantile": {"method": _one_of(*_METHODS)},
    "nanquantile": {"method": _one_of(*_METHODS)},
    "percentile": {"q": _part(100), "method": _one_of(*_METHODS)},
    "nanpercentile": {"q": _part(100), "method": _one_of("linear", "higher", "midpoint")},
    "lexsort": {"keys": _keys, "axis": _one_of(-1, 0)},
    "searchsorted": {"a": _sorted_row, "v": _value_of_small},
    "digitize": {"x": _value_of_small, "bins": _sorted_row, "right": _one_of(True)},
    "interp": {
        "x": _value_of_small,
        "xp": _sorted_row,
        "fp": _same_length("xp", (*FLOATS[:2], *INTEGERS)),
        "left": _one_of(-7.0, 3),
        "right": _one_of(7.0),
    },
    "isin": {"test_elements": _row},
    "histogram": {
        "a": lambda scene, _: scene.array(1, (*FLOATS[:2], *INTEGERS)),
        "density": _one_of(True),
    },
    "nan_to_num": {"nan": _number_beside, "posinf": _number_beside, "neginf": _number_beside},
    "polyval": {"p": _coefficients, "x": _operand},
    "polyadd": {"a1": _coefficients, "a2": _coefficients},
    "polysub": {"a1": _coefficients, "a2": _coefficients},
    "polymul": {"a1": _coefficients, "a2": _coefficients},
    "polyder": {"p": _coefficients, "m": _one_of(1, 2, 0)},
    "polyint": {"p": _coefficients, "m": _one_of(1, 2), "k": _one_of(3, None)},
    "vander": {"x": lambda s, _: s.shaped((s.choose((3, 1, 17)),)), "N": _one_of(3, 1, 0, 5)},
    "convolve": {"a": _row, "v": _window, "mode": _one_of("full", "same", "valid")},
    "correlate": {"a": _row, "v": _window, "mode": _one_of("valid", "same", "full")},
    "trapezoid": {"y": _operand, "x": None, "dx": _one_of(0.5, 2), "axis": _axis_alone},
    "gradient": {"varargs": lambda s, _: (), "axis": _axes, "edge_order": _one_of(2, 1)},
    "ediff1d": {"to_end": _number_beside, "to_begin": _number_beside},
    "unwrap": {"axis": _axis_alone, "period": _one_of(4, 2.5), "discont": _one_of(1.0)},
    "cov": {"m": _matrix, "y": None},
    "corrcoef": {"x": _matrix, "y": None},
    "linspace": {"start": _bound, "stop": _bound},
    "logspace": {"start": _bound, "stop": _bound, "base": _one_of(2.0, 10.0)},
    "insert": {"obj": _places_of_insert, "values": _number_beside, "axis": _axis},
    "delete": {"obj": _places_of_insert, "axis": _axis},
    "compress": {"condition": _condition_row, "a": _operand, "axis": _axis},
    "resize": {"new_shape": _any_shape},
    "block": {"arrays": _blocks},
    "choose": {"a": _few, "choices": _choices_of_few, "mode": _one_of("clip", "wrap")},
    "unravel_index": {"shape": _one_of((3, 4), (5,), (2, 1, 3)), "indices": _within},
    "select": {"condlist": _conditions, "choicelist": _choices, "default": _one_of(0, 7)},
    "size": {"axis": _axis_alone},
    "average": {"weights": _of_shape, "returned": _one_of(True)},
    "bincount": {
        "x": lambda s, _: s.indices(5, (s.choose((3, 1, 17)),), negative=False),
        "weights": _of_shape,
        "minlength": _one_of(5, 9),
    },
    "packbits": {"a": _flags, "axis": _axis, "bitorder": _one_of("little")},
    "unpackbits": {
        "a": lambda s, _: s.array(dtypes=("u1",)),
        "axis": _axis,
        "count": _one_of(3, -1, 0),
        "bitorder": _one_of("little"),
    },
    "piecewise": {
        "x": _operand,
        "condlist": lambda s, given: [s.shaped(_value(s, given).shape, "?")],
        "funclist": _one_of([1], [2, 3]),
        "args": None,
    },
    "sliding_window_view": {"window_shape": _one_of(2, 1, 3, 40), "axis": _axis_alone},
    "ravel": {"order": _one_of("F")},
    "fft.fftshift": {"axes": _axis},
    "fft.ifftshift": {"axes": _axis},
    "astype": {"dtype": _dtype},
    "min": {"initial": _number_beside},
    "max": {"initial": _number_beside},
    "diag": {"v": lambda s, _: s.operand(s.choose((1, 2)))},
    "diagflat": {"v": lambda s, _: s.shaped(s.choose(((3,), (2, 2), (0,), (17,))))},
    "diag_indices_from": {"arr": _square},
    "tril_indices_from": {"arr": _matrix},
    "triu_indices_from": {"arr": _matrix},
    "isposinf": {"x": _value_of_small},
    "isneginf": {"x": _value_of_small},
}
"""How a parameter is drawn for one function; None for one that is left out."""

FIRST = {
    "take": ("a", "axis"),
    "take_along_axis": ("arr", "axis"),
    "repeat": ("a", "axis"),
    "unravel_index": ("shape",),
}
"""Parameters that others depend on: they are drawn first."""

_ALWAYS = {
    "where": ("x", "y"),
    "reshape": ("shape",),
    "bincount": ("minlength",),
    "lib.stride_tricks.sliding_window_view": ("axis",),
    "compress": ("a",),
    "clip": ("a_min", "a_max"),
}
"""Parameters that have defaults in the library's tables, and need a value all the same."""


def drawn(
    scene: Scene, name: str, signature: inspect.Signature
) -> tuple[list[Any], dict[str, Any]]:
    """Draw the arguments of a function.

    Raises:
        LookupError: nobody said how a parameter is drawn that it needs.
    """
    if name.rpartition(".")[2] == "einsum":
        return list(_subscripts(scene)), {}
    own = {**BY_FUNCTION.get(name.rpartition(".")[2], {}), **BY_FUNCTION.get(name, {})}
    given: dict[str, Any] = {}
    parameters = signature.parameters
    order = [*FIRST.get(name, ()), *(n for n in parameters if n not in FIRST.get(name, ()))]
    for each in order:
        parameter = parameters[each]
        needed = parameter.default is parameter.empty or each in _ALWAYS.get(name, ())
        if parameter.kind is parameter.VAR_KEYWORD or (each in own and own[each] is None):
            continue
        if each not in own and (each in _SKIPPED or (each not in BY_NAME and not needed)):
            continue
        if not needed and not scene.maybe():
            continue
        drawer = own.get(each) or BY_NAME.get(each)
        if drawer is None:
            raise LookupError(f"numpy.{name}: nothing says how its parameter {each!r} is drawn")
        given[each] = drawer(scene, given)
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for each, parameter in parameters.items():
        if each not in given:
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional += given[each]
        elif parameter.kind is parameter.KEYWORD_ONLY:
            keywords[each] = given[each]
        elif parameter.kind is parameter.POSITIONAL_ONLY or parameter.default is parameter.empty:
            positional.append(given[each])
        else:
            keywords[each] = given[each]
    return positional, keywords


def drawn_index(scene: Scene, value: Array) -> Any:
    """Draw an index of an array: a tuple of what may stand in one."""
    items: list[Any] = []
    rank = scene.choose(range(value.ndim + 1))
    for size in value.shape[:rank]:
        items.append(_item(scene, size))
        if scene.maybe(8):
            items.append(None)
    if scene.maybe(5):
        items.insert(scene.choose(range(len(items) + 1)), Ellipsis)
    if scene.maybe(12) and value.ndim:
        return scene.choose((value.shape, value.shape[:1])) and np.asarray(
            np.random.default_rng(scene.choose(range(9))).integers(0, 2, value.shape), bool
        )
    return items[0] if len(items) == 1 and scene.maybe(2) else tuple(items)


def _item(scene: Scene, size: int) -> Any:
    form = scene.choose(("slice", "integer", "slice", "array", "list", "traced"))
    if form == "integer":
        return scene.choose([*range(-min(size, 4), min(size, 4))] or [0])
    if form in ("array", "list") and scene.maybe(2):
        found = scene.indices(size, scene.choose(((3,), (1,), (2, 3))))
        return np.asarray(scene.value(found)).tolist() if form == "list" else found
    if form == "traced" and size:
        return scene.add(
            np.array(scene.choose(range(-1, min(size, 3))), scene.choose(("i8", "i4")))
        )
    bounds = (None, 0, 1, 2, -1, -2, 5, 40, -40)
    step = scene.choose((None, 1, 2, -1, 3, -2, 7))
    return slice(scene.choose(bounds), scene.choose(bounds), step)
