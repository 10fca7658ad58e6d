"""The arguments of a call of a jitted function: bound, taken out of their containers, described."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal, TypeVar, cast

import numpy as np

from linalg_ext.errors import ArgumentError, ArityError, ShapeError, caller_location, located
from linalg_ext.executable.arguments import as_array
from linalg_ext.runtime.vectorcall_record import Container, Expected
from linalg_ext.tracing.values.containers import (
    Structure,
    as_key,
    flatten,
    leaves_of,
    paths,
    unflatten,
)
from linalg_ext.tracing.values.conversion import refuse_matrix
from linalg_ext.tracing.values.sizes import AnySize, Dim, Size, value_of
from linalg_ext.tracing.values.specs import Argument, ShapeDtype

_NAMED = inspect.Parameter.VAR_KEYWORD
_WEAK = (int, float, complex)
_PLAIN = frozenset(np.dtype(char) for char in "?bBhHiIlLfdFD")
"""Dtypes of arrays that are taken as they are: there is nothing to ask of them."""


@dataclass(frozen=True)
class Call:
    """One call of a function.

    Attributes:
        leaves: of its arguments, as they were given.
        arrays: the same as arrays; specs among them where nothing is to run.
        kinds: the description of each.
        names: for errors, `x` or `params['w']`.
        structure: of the arguments by name, static ones left out.
        static: the values of the static ones, by name.
        binding: of the function.
    """

    leaves: list[Any]
    arrays: list[Any]
    kinds: tuple[Argument, ...]
    names: tuple[str, ...]
    structure: Structure
    static: tuple[tuple[str, Any], ...]
    binding: Binding

    def bind(self, values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return positional and keyword arguments that hold these values for the leaves."""
        return self.binding.back({**unflatten(self.structure, values), **dict(self.static)})

    @property
    def sizes(self) -> dict[str, int]:
        """Return the sizes of its open dimensions; of specs those that are known."""
        return {
            size.name: actual
            for kind, array in zip(self.kinds, self.arrays, strict=True)
            for size, actual in zip(kind.shape, array.shape, strict=True)
            if isinstance(size, Size) and size.name and isinstance(actual, int)
        }

    @property
    def key(self) -> Any:
        """Return the part of a trace's key that the call determines."""
        static = tuple((name, as_key(value)) for name, value in self.static)
        return self.kinds, self.structure, static


class Binding:
    """The binding of positional and keyword arguments to the names of parameters, both ways.

    Where a function does not tell its parameters they are named by their places.
    """

    def __init__(self, function: str, signature: inspect.Signature | None) -> None:
        self._function = function
        self.signature = signature

    @property
    def is_positional(self) -> bool:
        """Return whether each parameter takes one positional argument."""
        by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        return self.signature is None or all(
            parameter.kind in by_position for parameter in self.signature.parameters.values()
        )

    def arguments(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call by name.

        Raises:
            ArityError: one is missing, or too many.
        """
        signature = self.signature
        if signature is None:
            return {**{str(place): value for place, value in enumerate(arguments)}, **named}
        try:
            bound = signature.bind(*arguments, **named)
        except TypeError as error:
            raise ArityError(
                f"{self._function}: {error}",
                where=caller_location(),
                expected=f"{self._function}{signature}",
            ) from None
        return {
            name: dict(value) if signature.parameters[name].kind is _NAMED else value
            for name, value in bound.arguments.items()
        }

    def back(self, values: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the positional and the keyword arguments that `arguments` made these of."""
        signature = self.signature
        if signature is None:
            positional = tuple(value for name, value in values.items() if name.isdecimal())
            return positional, {name: v for name, v in values.items() if not name.isdecimal()}
        order = {name: values[name] for name in signature.parameters if name in values}
        ordered = inspect.BoundArguments(signature, cast(Any, order))
        return ordered.args, ordered.kwargs

    def exactly(self, names: Sequence[str]) -> Binding:
        """Return the same of these parameters alone, all of which are needed."""
        if self.signature is None:
            return self
        kept_names = [
            parameter.replace(default=parameter.empty, annotation=parameter.empty)
            for name, parameter in self.signature.parameters.items()
            if name in names
        ]
        return Binding(self._function, inspect.Signature(kept_names))

    def in_order(
        self, count: int, names: Sequence[str], values: Mapping[str, Expected | None]
    ) -> list[Expected | None]:
        """Return the types that native code expects of a call's arguments, positional ones first.

        Args:
            values: the expectation of each parameter; of one that takes any number, all of them.

        Returns:
            The type of each argument; None if unknown.
        """
        numbers = {name: count + at for at, name in enumerate(names)}
        expectations: list[Expected | None] = [None] * (count + len(names))
        for name, place in self.arguments(range(count), numbers).items():
            value = values[name]
            if isinstance(place, int):
                expectations[place] = value
            elif isinstance(value, Container):
                places = place.values() if isinstance(place, dict) else place
                for at, child in zip(places, value.children, strict=True):
                    expectations[at] = child
        return expectations


class Parameters:
    """The parameters of a jitted function."""

    @located
    def __init__(
        self,
        function: Callable[..., Any],
        static_argnames: str | Sequence[str],
        static_argnums: int | Sequence[int],
        dynamic: bool,
        signature: Sequence[Any] | None,
    ) -> None:
        self._name = getattr(function, "__name__", "function")
        self._dynamic = dynamic
        self._specs = None if signature is None else tuple(signature)
        try:
            of_function: inspect.Signature | None = inspect.signature(function)
        except (TypeError, ValueError):  # a function of C that does not tell
            of_function = None
        self.binding = Binding(self._name, of_function)
        known = () if of_function is None else of_function.parameters
        takes_any = of_function is not None and any(
            p.kind is p.VAR_KEYWORD for p in of_function.parameters.values()
        )
        named = _names_of(self._name, static_argnames)
        for name in named:
            if name not in known and not takes_any:
                raise ArgumentError(
                    f"static_argnames: {self._name} has no parameter {name!r}",
                    expected=f"one of {', '.join(known)}" if known else None,
                )
        self._static = tuple(
            dict.fromkeys(
                [
                    *named,
                    *_names_at(self._name, static_argnums, of_function),
                    *static_by_annotation(function),
                ]
            )
        )

    @located
    def call(
        self, arguments: tuple[Any, ...], named: Mapping[str, Any], *, specs: bool = False
    ) -> Call:
        """Return the arguments of a call.

        Args:
            arguments, named: as they were given.
            specs: whether a spec may stand for an array.

        Raises:
            ArgumentError: an argument is missing or too many, no array, or not as the signature of
                `jit` says.
        """
        if specs and self._specs is not None and not arguments and not named:
            arguments = self._specs
        bound = self.binding.arguments(arguments, named)
        static = {name: bound.pop(name) for name in self._static if name in bound}
        for name, value in static.items():
            self._check_static(name, value)
        leaves, structure = flatten(bound, constants=True)
        arrays, kinds = [], []
        for place, leaf in enumerate(leaves):
            if type(leaf) is np.ndarray and leaf.dtype in _PLAIN:
                array, kind = leaf, Argument(leaf.shape, leaf.dtype)
            else:
                path = paths(structure, "")[place]
                array, kind = self._read(leaf, self._shown(path, list(bound)), specs)
            arrays.append(array)
            kinds.append(kind)
        names = _names(structure)
        if self._specs is not None:
            kinds = self._checked(arrays, kinds, names)
        elif self._dynamic:
            kinds = [_opened(kind, name) for kind, name in zip(kinds, names, strict=True)]
        return Call(
            leaves,
            arrays,
            tuple(kinds),
            names,
            structure,
            tuple(sorted(static.items())),
            self.binding,
        )

    def _check_static(self, name: str, value: Any) -> None:
        if isinstance(value, np.ndarray):
            raise ArgumentError(
                f"{self._name}: the static argument {name} is an array",
                hint=f"leave {name} out of static_argnames: arrays are traced",
            )
        try:
            hash(value)
        except TypeError:
            raise ArgumentError(
                f"{self._name}: the static argument {name} has no hash: {value!r}",
                expected="a value that can be the key of a dict, as a tuple for a list",
            ) from None

    def _shown(self, path: str, parameters: list[str]) -> str:
        """Return the name of a leaf in errors: its position where it is an argument itself."""
        plain = _plain(path)
        if plain in parameters:
            return f"argument {parameters.index(plain)} of {self._name}"
        return f"argument {plain} of {self._name}"

    def _read(self, leaf: Any, name: str, specs: bool) -> tuple[Any, Argument]:
        if type(leaf).__name__ == "ShapeDtypeStruct":  # JAX's, which is not imported for this
            leaf = ShapeDtype(leaf.shape, leaf.dtype)
        if isinstance(leaf, ShapeDtype):
            if not specs:
                raise ArgumentError(
                    f"{name} is a ShapeDtype",
                    hint="call .lower(...) with specs, and the function with arrays",
                )
            return leaf, Argument(leaf.shape, leaf.dtype)
        refuse_matrix(leaf, name)
        weak = type(leaf) if type(leaf) in _WEAK else None
        array = as_array(leaf, name)
        return array, Argument(array.shape, array.dtype, weak)

    def _checked(
        self, arrays: Sequence[Any], kinds: Sequence[Argument], names: Sequence[str]
    ) -> list[Argument]:
        """Return the kinds that the signature of `jit` says, where the arguments are such."""
        specs = leaves_of(self._specs)
        if len(specs) != len(kinds):
            raise ArityError(
                f"{self._name} got {len(kinds)} arrays",
                expected=f"{len(specs)}: its signature is {self._specs}",
            )
        for kind, spec, name in zip(kinds, specs, names, strict=True):
            fits = kind.dtype == spec.dtype and len(kind.shape) == len(spec.shape)
            for mine, own in zip(kind.shape, spec.shape, strict=False):
                fits = fits and (isinstance(own, Size) or own == mine)
            if not fits:
                raise ShapeError(
                    f"{self._name}: {name} is {kind.dtype} of shape {kind.shape}",
                    expected=f"{spec}, by the signature that jit was given",
                )
        return [Argument(spec.shape, spec.dtype) for spec in specs]


def _names_of(function: str, option: object) -> tuple[str, ...]:
    names = (option,) if isinstance(option, str) else option
    if isinstance(names, Sequence) and all(isinstance(name, str) for name in names):
        return tuple(names)
    raise ArgumentError(
        f"{function}: static_argnames={option!r}",
        expected="names of parameters",
        hint="positions are static_argnums",
    )


def _names_at(function: str, option: object, signature: inspect.Signature | None) -> list[str]:
    """Return the names of parameters at positions.

    Raises:
        ArgumentError: there is none at one, or the function does not tell its parameters.
    """
    numbers = (option,) if isinstance(option, int) else option
    known = list(() if signature is None else signature.parameters)
    if not isinstance(numbers, Sequence) or not all(type(at) is int for at in numbers):
        raise ArgumentError(
            f"{function}: static_argnums={option!r}", expected="positions of parameters, from 0"
        )
    for at in numbers:
        if not -len(known) <= at < len(known):
            raise ArgumentError(
                f"static_argnums: {function} has no parameter {at}",
                expected=f"0 to {len(known) - 1}: {', '.join(known)}" if known else None,
            )
    return [known[at] for at in numbers]


@located
def sizes_of(
    kinds: Sequence[Argument], arrays: Sequence[Any], names: Sequence[str]
) -> dict[str, int]:
    """Return the sizes that open dimensions have in a call.

    Raises:
        ShapeError: two arguments disagree about one.
    """
    sizes: dict[str, int] = {}
    sources: dict[str, str] = {}
    for kind, array, name in zip(kinds, arrays, names, strict=True):
        for axis, (size, actual) in enumerate(zip(kind.shape, array.shape, strict=True)):
            label = size.name if isinstance(size, Size) else None
            if label is None:
                continue
            place = f"axis {axis} of {name}"
            if sizes.setdefault(label, actual) != actual:
                raise ShapeError(
                    f"{place} is {actual}, but {sources[label]} is {sizes[label]}",
                    expected=f"one size {label} for both",
                )
            sources.setdefault(label, place)
    for kind, array, name in zip(kinds, arrays, names, strict=True):
        for axis, (size, actual) in enumerate(zip(kind.shape, array.shape, strict=True)):
            if isinstance(size, Size) and value_of(size, sizes) != actual:
                raise ShapeError(
                    f"axis {axis} of {name} is {actual}",
                    expected=f"{size} = {value_of(size, sizes)}",
                )
    return sizes


def _opened(kind: Argument, name: str) -> Argument:
    """Return the kind with a dimension of its own for each size of 2 or more."""
    shape: list[AnySize] = [
        Dim(f"{name}.shape[{axis}]") if isinstance(size, int) and size > 1 else size
        for axis, size in enumerate(kind.shape)
    ]
    return Argument(tuple(shape), kind.dtype, kind.weak)


@lru_cache(maxsize=256)
def _names(structure: Structure) -> tuple[str, ...]:
    return tuple(_plain(path) for path in paths(structure, ""))


def _plain(path: str) -> str:
    name, _, rest = path.removeprefix("['").partition("']")
    return name + rest


T = TypeVar("T")


class _Mark:
    def __repr__(self) -> str:
        return "static"


_MARK = _Mark()

Static = Annotated[T, _MARK]
"""The type of a static parameter: `times: Static[int]` is an int to a type checker."""


def static_by_annotation(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the parameters of a function that are annotated as `Static`, or as a `Literal`."""
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except Exception:  # names that are there for type checkers alone, or no function of Python's
        return ()
    return tuple(name for name, hint in hints.items() if name != "return" and _is_static(hint))


def _is_static(hint: Any) -> bool:
    return typing.get_origin(hint) is Literal or _MARK in getattr(hint, "__metadata__", ())
