"""Programs drawn from the library's own tables of what it records."""

from __future__ import annotations

import inspect
import math
import operator
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from linalg_ext.tracing.functions.numpy_functions import CALLED_BACK, FUNCTIONS
from linalg_ext.tracing.functions.reductions import UFUNCS as REDUCING
from linalg_ext.tracing.functions.ufuncs import BODIES, OTHER_UFUNCS
from linalg_ext.tracing.values.traced import ArrayMethods, Part
from numpy_programs.arguments import Scene, drawn, drawn_index
from numpy_programs.arrays import DTYPES, Choose, dtype_of
from numpy_programs.program import Program, Step, flat, named

_MOST_ELEMENTS = 60_000
_NO_STEPS = ("item", "tolist", "fill", "partition", "put")
"""The first two give numbers, which no traced value has; the others nothing: see `_writer`."""


def _full_name(function: Any) -> str:
    module = function.__module__.removeprefix("numpy").removeprefix(".")
    return f"{module}.{function.__name__}" if module else str(function.__name__)


def _members(*, properties: bool) -> tuple[str, ...]:
    return tuple(
        sorted(
            name
            for name, value in vars(ArrayMethods).items()
            if name[0] != "_"
            and isinstance(value, property) is properties
            and (hasattr(np.ndarray, name) and name not in _NO_STEPS)
        )
    )


FUNCTIONS_BY_NAME: Mapping[str, tuple[Any, Any]] = {
    _full_name(function): (function, recorder) for function, recorder in FUNCTIONS.items()
}
UFUNCS = tuple(sorted((*BODIES, *OTHER_UFUNCS)))
METHODS, PROPERTIES = _members(properties=False), _members(properties=True)
IN_PLACE = tuple(
    name for name in vars(ArrayMethods) if name.startswith("__i") and hasattr(operator, name)
)
OPERATORS = tuple(
    name
    for name in vars(NDArrayOperatorsMixin)
    if name == "__divmod__"
    or (hasattr(operator, name) and name not in ("__hash__", "__doc__", *IN_PLACE))
)
UPDATES = tuple(name for name in vars(Part) if name[0] != "_")
_UNARY = ("__neg__", "__pos__", "__abs__", "__invert__")


def signature_of(name: str) -> inspect.Signature:
    """The parameters of a function that the library records and NumPy knows."""
    function, recorder = FUNCTIONS_BY_NAME[name]
    own = inspect.signature(recorder)
    numpy_s = inspect.signature(function)
    if name != "einsum" and any(p.kind is p.VAR_KEYWORD for p in own.parameters.values()):
        return numpy_s
    # One recorder is of several functions, not all of which have it.
    shared = (
        p for p in own.parameters.values() if p.name in numpy_s.parameters or p.name != "dtype"
    )
    return own.replace(parameters=list(shared))


def _function(scene: Scene) -> Step:
    name = scene.choose(tuple(FUNCTIONS_BY_NAME))
    arguments, keywords = drawn(scene, name, signature_of(name))
    return Step("function", name, tuple(arguments), keywords)


def _ufunc(scene: Scene) -> Step:
    name = scene.choose(UFUNCS)
    ufunc = named(name)
    if name in REDUCING and scene.maybe(4):
        return _reduction(scene, name)
    first = scene.operand()
    arguments = [first]
    if ufunc.signature is not None:
        arguments.append(_second_factor(scene, name, first))
    elif ufunc.nin == 2:
        arguments.append(scene.partner(first))
        if scene.maybe(4):
            arguments.reverse()
    if ufunc.nin == 2 and ufunc.signature is None and scene.maybe(12):
        return Step("ufunc", f"{name}.outer", (scene.array(1), scene.array(1)))
    keywords = {"dtype": dtype_of(scene.choose(DTYPES))} if scene.maybe(10) else {}
    return Step("ufunc", name, tuple(arguments), keywords)


def _second_factor(scene: Scene, name: str, first: Any) -> Any:
    shape = np.asarray(scene.value(first)).shape
    dtypes = [each for each in DTYPES if dtype_of(each) == np.asarray(scene.value(first)).dtype]
    dtypes = list(DTYPES) if scene.maybe() or not dtypes else dtypes
    if name == "vecmat":
        return scene.shaped((*shape[-1:], scene.choose((3, 1, 0, 17))), dtypes)
    if name == "matmul" and shape:
        columns = scene.choose(((3,), (), (1,), (0,), (17,)))
        batch = shape[:-2] if columns and scene.maybe(2) else ()
        return scene.shaped((*batch, shape[-1], *columns), dtypes)
    return scene.shaped(shape[-1:], dtypes)


def _reduction(scene: Scene, name: str) -> Step:
    value = scene.operand()
    rank = np.asarray(scene.value(value)).ndim
    keywords: dict[str, Any] = {}
    if scene.maybe():
        return Step("ufunc", f"{name}.accumulate", (value,), {"axis": scene.axis(rank)})
    if scene.maybe(2):
        keywords["axis"] = scene.axis(rank, several=True, none=True)
    if scene.maybe(4):
        keywords["keepdims"] = True
    if scene.maybe(4):
        keywords["initial"] = scene.number(np.asarray(scene.value(value)).dtype)
    if scene.maybe(6):
        keywords["where"] = scene.mask(np.asarray(scene.value(value)).shape)
    if scene.maybe(6):
        keywords["dtype"] = dtype_of(scene.choose(DTYPES))
    return Step("ufunc", f"{name}.reduce", (value,), keywords)


def _method(scene: Scene) -> Step:
    name = scene.choose(METHODS)
    if name in FUNCTIONS_BY_NAME:
        # As the function of that name, on the value that comes first.
        signature = signature_of(name)
        arguments, keywords = drawn(scene, name, signature)
        if name == "transpose":
            axes = keywords.pop("axes", None)
            arguments = [arguments[0], *(axes or ())]
        if name == "reshape":
            shape = keywords.pop("shape", (-1,))
            arguments = [arguments[0], *(shape if isinstance(shape, tuple) else (shape,))]
        if name == "clip":
            keywords = {each.removeprefix("a_"): given for each, given in keywords.items()}
        return Step("method", name, tuple(arguments), keywords)
    value = scene.operand()
    rank = np.asarray(scene.value(value)).ndim
    if name == "dot":
        return Step("method", name, (value, _second_factor(scene, "matmul", value)))
    if name == "astype":
        return Step("method", name, (value, dtype_of(scene.choose(DTYPES))))
    if name == "swapaxes":
        return Step("method", name, (value, scene.axis(rank), scene.axis(rank)))
    return Step("method", name, (value,))


def _property(scene: Scene) -> Step:
    return Step("property", scene.choose(PROPERTIES), (scene.operand(),))


def _operator(scene: Scene) -> Step:
    name = scene.choose(OPERATORS)
    first = scene.operand()
    if name in _UNARY:
        return Step("operator", name, (first,))
    other = scene.partner(first)
    if name == "__matmul__":
        other = _second_factor(scene, "matmul", first)
    elif scene.maybe(4):  # the reflected one
        first, other = other, first
    return Step("operator", name, (first, other))


def _in_place(scene: Scene) -> Step:
    name = scene.choose(IN_PLACE)
    first = scene.operand()
    other = _second_factor(scene, "matmul", first) if "matmul" in name else scene.partner(first)
    return Step("in place", name, (first, other))


def _index(scene: Scene) -> Step:
    value = scene.operand()
    return Step("index", "getitem", (value, drawn_index(scene, np.asarray(scene.value(value)))))


def _update(scene: Scene) -> Step:
    value = scene.operand()
    array = np.asarray(scene.value(value))
    index = drawn_index(scene, array)
    name = scene.choose(UPDATES)
    if name == "get":
        return Step("at", name, (value, index, 0))
    try:
        shape = array[scene.value(index)].shape
    except IndexError:
        shape = ()
    names = [each for each in DTYPES if dtype_of(each) == array.dtype] or ["f4"]
    is_mask = getattr(scene.value(index), "dtype", None) == np.bool_
    new = scene.number(array.dtype) if is_mask or scene.maybe(2) else scene.shaped(shape, names)
    return Step("at", name, (value, index, new))


def _write(scene: Scene) -> Step:
    step = _update(scene)
    value, index, new = step.arguments
    if not np.ndim(scene.value(value)):
        return step
    return Step("write", scene.choose(("set", "iadd", "view")), (value, index, new))


def _writer(scene: Scene) -> Step:
    names = ("copyto", "put", "putmask", "place", "fill_diagonal", "put_along_axis", "fill", "at")
    name, value = scene.choose(names), scene.array(2)
    array = np.asarray(scene.value(value))
    number = scene.number(array.dtype)
    rest: tuple[Any, ...]
    same = [each for each in DTYPES if dtype_of(each) == array.dtype] or ["f4"]
    few = scene.shaped((scene.choose((1, 2, 3)),), same)
    places = scene.add(np.array([0, -1, 0]))
    match name:
        case "copyto":
            rest = (scene.choose((scene.shaped(array.shape[1:], same), few, number)),)
        case "put":
            rest = (places, scene.choose((few, number)))
        case "putmask" | "place":
            rest = (scene.mask(array.shape), few)
        case "put_along_axis":
            rest = (scene.add(np.zeros((array.shape[0], 1), int)), number, 1)
        case "at":
            ufunc = scene.choose(("add", "maximum", "multiply"))
            return Step("writer", f"{ufunc}.at", (value, places, number))
        case _:
            rest = (number,)
    return Step("writer", name, (value, *rest))


_TAKES_FUNCTIONS = ("apply_along_axis", "apply_over_axes", "polyfit", "histogramdd")


def _called(scene: Scene) -> Step:
    """A function of matrices or of signals that the kernel calls NumPy for."""
    names = [name for name in CALLED_BACK.values() if name not in _TAKES_FUNCTIONS]
    name = scene.choose(names)
    size = scene.choose((3, 1, 2, 17))
    columns = scene.choose((size, size, 4))
    value = scene.shaped((size, columns), ("f8", "f4", "c16", "i8"))
    others = {"linalg.solve": (scene.shaped((size,), ("f8",)),)}
    others["linalg.tensorsolve"] = others["linalg.lstsq"] = others["linalg.solve"]
    return Step("function", name, (value, *others.get(name, ())))


_KINDS: Mapping[str, Callable[[Scene], Step]] = {
    "function": _function,
    "ufunc": _ufunc,
    "operator": _operator,
    "method": _method,
    "index": _index,
    "at": _update,
    "in place": _in_place,
    "property": _property,
    "write": _write,
    "writer": _writer,
    "called": _called,
}
_HOW_OFTEN = {
    "function": 8,
    "ufunc": 6,
    "operator": 3,
    "method": 3,
    "index": 3,
    "at": 2,
    "write": 2,
}


def draw_program(choose: Choose) -> Program:
    """Draw a program; it ends with the first step that NumPy refuses."""
    scene = Scene(choose)
    steps: list[Step] = []
    kinds = [kind for kind in _KINDS for _ in range(_HOW_OFTEN.get(kind, 1))]
    for _ in range(choose((1, 2, 3, 1))):
        step = _KINDS[choose(kinds)](scene)
        if _may_never_end(step, scene):
            continue
        steps.append(step)
        try:
            found = flat(by_numpy(step, scene.inputs, scene.results))
        except Exception:
            break
        if not found or any(math.prod(np.shape(each)) > _MOST_ELEMENTS for each in found):
            break
        scene.results += found
    return Program(scene.inputs, steps, choose((False, False, True)))


def _may_never_end(step: Step, scene: Scene) -> bool:
    """LAPACK's singular values of a matrix with NaN in it are looked for without an end."""
    given = (scene.value(argument) for argument in step.arguments)
    arrays = (np.asarray(each) for each in given if isinstance(each, np.ndarray | np.number))
    return step.name.startswith("linalg.") and not all(
        np.isfinite(array).all() for array in arrays if array.dtype.kind in "fc"
    )


def by_numpy(step: Step, inputs: Any, results: Any) -> Any:
    """The answer of NumPy, without its warnings."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return step(inputs, results)
