"""What a traced value cannot do, each refused at the user's line with what to do instead."""

from __future__ import annotations

from typing import Any, NoReturn

from linalg_ext.errors import TraceError, UnrecordedAttributeError, caller_location

_RECORDED = "use lx.ops, the operators + - * / @, or an op of your own inside the function"
_NUMBERLESS = "compute it outside the function, and pass it in as an argument"


class Unrecorded:
    """The base of traced values: all that NumPy's arrays can do, and no trace records.

    Left alone, Python would answer some of it, and wrongly: `x == y` compares object identities.
    """

    def __bool__(self) -> NoReturn:
        refuse(
            "the truth of a traced value is not known while the function is traced",
            "compute with lx.ops.select instead of branching on values",
        )

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        refuse("a traced value has no numbers: it cannot become a NumPy array", _RECORDED)

    def __array_function__(self, function: Any, *_: Any) -> NoReturn:
        refuse(f"numpy.{function.__name__} cannot be recorded while a function is traced")

    def __float__(self) -> NoReturn:
        refuse("a traced value has no number yet: it cannot become a float", _NUMBERLESS)

    def __int__(self) -> NoReturn:
        refuse("a traced value has no number yet: it cannot become an int", _NUMBERLESS)

    def __index__(self) -> NoReturn:
        refuse("a traced value has no number yet: it cannot be an index", _NUMBERLESS)

    def __complex__(self) -> NoReturn:
        refuse("a traced value has no number yet: it cannot become a complex", _NUMBERLESS)

    def __iter__(self) -> NoReturn:
        refuse("a traced value cannot be iterated over")

    def __getitem__(self, _: Any) -> NoReturn:
        refuse("a traced value cannot be indexed", "pass the part as an argument of its own")

    def __contains__(self, _: Any) -> NoReturn:
        refuse("a traced value cannot be searched")

    def __eq__(self, _: object) -> NoReturn:
        _refuse_operator("==")

    def __ne__(self, _: object) -> NoReturn:
        _refuse_operator("!=")

    def __lt__(self, _: Any) -> NoReturn:
        _refuse_operator("<", "lx.ops.min and lx.ops.max are recorded")

    def __le__(self, _: Any) -> NoReturn:
        _refuse_operator("<=", "lx.ops.min and lx.ops.max are recorded")

    def __gt__(self, _: Any) -> NoReturn:
        _refuse_operator(">", "lx.ops.min and lx.ops.max are recorded")

    def __ge__(self, _: Any) -> NoReturn:
        _refuse_operator(">=", "lx.ops.min and lx.ops.max are recorded")

    def __pow__(self, *_: Any) -> NoReturn:
        _refuse_operator("**", "use lx.ops.square or lx.ops.powf")

    def __rpow__(self, *_: Any) -> NoReturn:
        _refuse_operator("**", "use lx.ops.powf")

    def __floordiv__(self, _: Any) -> NoReturn:
        _refuse_operator("//", "use lx.ops.div, which rounds integers towards zero")

    def __rfloordiv__(self, _: Any) -> NoReturn:
        _refuse_operator("//", "use lx.ops.div, which rounds integers towards zero")

    def __mod__(self, _: Any) -> NoReturn:
        _refuse_operator("%")

    def __rmod__(self, _: Any) -> NoReturn:
        _refuse_operator("%")

    def __abs__(self) -> NoReturn:
        refuse("abs() cannot be recorded while a function is traced", "use lx.ops.abs")

    def __reduce__(self) -> NoReturn:
        refuse("a traced value cannot be pickled or copied")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # Python's own questions, such as whether it can be copied
            raise AttributeError(name)
        raise UnrecordedAttributeError(
            f"a traced value has no {name!r}: it knows its shape, ndim and dtype",
            where=caller_location(),
            cure=_RECORDED,
        )

    __hash__ = None  # type: ignore[assignment]  # equality is an element-wise question


def refuse_function(name: str, known: bool) -> NoReturn:
    """Raise the error for one of NumPy's functions; `known` where `lx.ops` has it by that name."""
    refuse(
        f"numpy.{name} cannot be recorded while a function is traced",
        f"use lx.ops.{name}" if known else _RECORDED,
    )


def refuse(what: str, cure: str = _RECORDED) -> NoReturn:
    """Raise a TraceError at the user's line."""
    raise TraceError(what, where=caller_location(), cure=cure)


def _refuse_operator(operator: str, cure: str = _RECORDED) -> NoReturn:
    refuse(f"the operator {operator} cannot be recorded while a function is traced", cure)
