"""The arguments of a call of a jitted function: bound, taken out of their containers, described."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import numpy as np

from linalg_ext.calling.conversion import as_array
from linalg_ext.errors import ArgumentError, ArityError, ShapeError, caller_location
from linalg_ext.tracing.constants import refuse_matrix
from linalg_ext.tracing.containers import Structure, flatten, paths, unflatten
from linalg_ext.tracing.sizes import AnySize, Dim, Size, value_of
from linalg_ext.tracing.specs import Argument, ShapeDtype
from linalg_ext.tracing.traced import Traced

_WEAK = (int, float, complex)
_PLAIN = frozenset(np.dtype(char) for char in "?bBhHiIlLfdFD")
"""Dtypes of arrays that are taken as they are: there is nothing to ask of them."""


@dataclass(frozen=True)
class Call:
    """One call of a function.

    Attributes:
        arrays: the leaves of its arguments; specs among them where nothing is to run.
        kinds: what each is.
        names: for errors, `x` or `params['w']`.
        structure: of the arguments by name, static ones left out.
        static: the values of the static ones, by name.
        bind: makes positional and keyword arguments of leaves.
    """

    arrays: list[Any]
    kinds: tuple[Argument, ...]
    names: tuple[str, ...]
    structure: Structure
    static: tuple[tuple[str, Any], ...]
    bind: Callable[[Sequence[Any]], tuple[tuple[Any, ...], dict[str, Any]]]

    @property
    def key(self) -> Any:
        """What a trace depends on."""
        static = tuple((name, type(value), value) for name, value in self.static)
        return self.kinds, self.structure, static


class Parameters:
    """What a jitted function takes."""

    def __init__(
        self,
        function: Callable[..., Any],
        static_argnames: str | Sequence[str],
        dynamic: bool,
        signature: Sequence[Any] | None,
    ) -> None:
        self._name = getattr(function, "__name__", "function")
        self._static = (
            (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
        )
        self._dynamic = dynamic
        self._specs = None if signature is None else tuple(signature)
        try:
            self._signature: inspect.Signature | None = inspect.signature(function)
        except (TypeError, ValueError):  # a function of C that does not tell
            self._signature = None
        known = () if self._signature is None else self._signature.parameters
        takes_any = self._signature is not None and any(
            p.kind is p.VAR_KEYWORD for p in self._signature.parameters.values()
        )
        for name in self._static:
            if name not in known and not takes_any:
                raise ArgumentError(
                    f"static_argnames: {self._name} has no parameter {name!r}",
                    where=caller_location(),
                    expected=f"of {', '.join(known)}" if known else None,
                )

    def has_traced(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> bool:
        """Whether a traced value is among the arguments."""
        leaves, _ = flatten([list(arguments), dict(named)])
        return any(isinstance(leaf, Traced) for leaf in leaves)

    def call(
        self, arguments: tuple[Any, ...], named: Mapping[str, Any], *, specs: bool = False
    ) -> Call:
        """The arguments of a call.

        Args:
            arguments, named: as they were given.
            specs: whether a spec may stand for an array.

        Raises:
            ArgumentError: an argument is missing or too many, no array, or not as the signature of
                `jit` says.
        """
        if specs and self._specs is not None and not arguments and not named:
            arguments = self._specs
        given, bind = self._bound(arguments, named)
        static = {name: given.pop(name) for name in self._static if name in given}
        for name, value in static.items():
            self._check_static(name, value)
        leaves, structure = flatten(given)
        arrays, kinds = [], []
        for place, leaf in enumerate(leaves):
            if type(leaf) is np.ndarray and leaf.dtype in _PLAIN:
                array, kind = leaf, Argument(leaf.shape, leaf.dtype)
            else:
                path = paths(structure, "")[place]
                array, kind = self._read(leaf, self._shown(path, list(given)), specs)
            arrays.append(array)
            kinds.append(kind)
        names = _names(structure)
        if self._specs is not None:
            kinds = self._checked(arrays, kinds, names)
        elif self._dynamic:
            kinds = [_opened(kind, name) for kind, name in zip(kinds, names, strict=True)]

        def rebuilt(values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
            found: tuple[tuple[Any, ...], dict[str, Any]] = bind(
                {**unflatten(structure, values), **static}
            )
            return found

        return Call(
            arrays,
            tuple(kinds),
            names,
            structure,
            tuple(sorted(static.items())),
            rebuilt,
        )

    def _bound(
        self, arguments: tuple[Any, ...], named: Mapping[str, Any]
    ) -> tuple[dict[str, Any], Any]:
        """The arguments by the names of parameters, and the way back."""
        signature = self._signature
        if signature is None:
            by_place = {str(place): value for place, value in enumerate(arguments)}
            return by_place, lambda values: (tuple(values.values()), {})
        try:
            bound = signature.bind(*arguments, **named)
        except TypeError as error:
            raise ArityError(
                f"{self._name}: {error}",
                where=caller_location(),
                expected=f"{self._name}{signature}",
            ) from None
        given: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            kind = signature.parameters[name].kind
            given[name] = dict(value) if kind is inspect.Parameter.VAR_KEYWORD else value

        def back(values: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
            order = {name: values[name] for name in signature.parameters if name in values}
            again = inspect.BoundArguments(signature, cast(Any, order))
            return again.args, again.kwargs

        return given, back

    def _check_static(self, name: str, value: Any) -> None:
        if isinstance(value, np.ndarray):
            raise ArgumentError(
                f"{self._name}: the static argument {name} is an array",
                where=caller_location(),
                cure=f"leave {name} out of static_argnames: arrays are traced",
            )
        try:
            hash(value)
        except TypeError:
            raise ArgumentError(
                f"{self._name}: the static argument {name} has no hash: {value!r}",
                where=caller_location(),
                expected="a value that can be the key of a dict, as a tuple for a list",
            ) from None

    def _shown(self, path: str, given: list[str]) -> str:
        """How errors name a leaf: by its place where it is an argument itself."""
        plain = _plain(path)
        if plain in given:
            return f"argument {given.index(plain)} of {self._name}"
        return f"argument {plain} of {self._name}"

    def _read(self, leaf: Any, name: str, specs: bool) -> tuple[Any, Argument]:
        if isinstance(leaf, ShapeDtype):
            if not specs:
                raise ArgumentError(
                    f"{name} is a ShapeDtype",
                    where=caller_location(),
                    cure="call .lower(...) with specs, and the function with arrays",
                )
            return leaf, Argument(leaf.shape, leaf.dtype)
        refuse_matrix(leaf, name)
        weak = type(leaf) if type(leaf) in _WEAK else None
        array = as_array(leaf, name)
        return array, Argument(array.shape, array.dtype, weak)

    def _checked(
        self, arrays: Sequence[Any], kinds: Sequence[Argument], names: Sequence[str]
    ) -> list[Argument]:
        """The kinds that the signature of `jit` says, where the arguments are such."""
        wanted, _ = flatten(self._specs)
        if len(wanted) != len(kinds):
            raise ArityError(
                f"{self._name} got {len(kinds)} arrays",
                where=caller_location(),
                expected=f"{len(wanted)}: its signature is {self._specs}",
            )
        for kind, spec, name in zip(kinds, wanted, names, strict=True):
            fits = kind.dtype == spec.dtype and len(kind.shape) == len(spec.shape)
            for mine, own in zip(kind.shape, spec.shape, strict=False):
                fits = fits and (isinstance(own, Size) or own == mine)
            if not fits:
                raise ShapeError(
                    f"{self._name}: {name} is {kind.dtype} of shape {kind.shape}",
                    where=caller_location(),
                    expected=f"{spec}, by the signature that jit was given",
                )
        return [Argument(spec.shape, spec.dtype) for spec in wanted]


def sizes_of(
    kinds: Sequence[Argument], arrays: Sequence[Any], names: Sequence[str]
) -> dict[str, int]:
    """The sizes that open dimensions have in a call.

    Raises:
        ShapeError: two arguments disagree about one.
    """
    found: dict[str, int] = {}
    seen: dict[str, str] = {}
    for kind, array, name in zip(kinds, arrays, names, strict=True):
        for axis, (size, actual) in enumerate(zip(kind.shape, array.shape, strict=True)):
            label = size.name if isinstance(size, Size) else None
            if label is None:
                continue
            place = f"axis {axis} of {name}"
            if found.setdefault(label, actual) != actual:
                raise ShapeError(
                    f"{place} is {actual}, but {seen[label]} is {found[label]}",
                    where=caller_location(),
                    expected=f"one size {label} for both",
                )
            seen.setdefault(label, place)
    for kind, array, name in zip(kinds, arrays, names, strict=True):
        for axis, (size, actual) in enumerate(zip(kind.shape, array.shape, strict=True)):
            if isinstance(size, Size) and value_of(size, found) != actual:
                raise ShapeError(
                    f"axis {axis} of {name} is {actual}",
                    where=caller_location(),
                    expected=f"{size} = {value_of(size, found)}",
                )
    return found


def _opened(kind: Argument, name: str) -> Argument:
    """The kind with a dimension of its own for each size of 2 or more."""
    shape: list[AnySize] = [
        Dim(f"{name}.shape[{axis}]") if isinstance(size, int) and size > 1 else size
        for axis, size in enumerate(kind.shape)
    ]
    return Argument(tuple(shape), kind.dtype, kind.weak)


@lru_cache(maxsize=256)
def _names(structure: Structure) -> tuple[str, ...]:
    return tuple(_plain(path) for path in paths(structure, ""))


def _plain(path: str) -> str:
    """`x['w']` of the path `['x']['w']`."""
    name, _, rest = path.removeprefix("['").partition("']")
    return name + rest
