"""Operations that a traced value refuses, each with an error at the user's line and a remedy."""

from __future__ import annotations

from typing import Any, NoReturn

from linalg_ext.errors import TraceError, UnrecordedAttributeError, caller_location

_NUMBERLESS = "compute with the value itself, or outside the function and pass it in"
_INSIDE = (
    "write into arrays alone that are made inside the function, by np.zeros, np.array, ... under "
    "these names"
)
_BRANCH = (
    "use np.where(condition, x, y) for a choice of elements, lx.cond(condition, then, otherwise) "
    "for a branch, lx.loop(condition, body, state) for a while"
)


class Unrecorded:
    """The base of traced values: what Python asks of an array, and no trace records."""

    def __bool__(self) -> NoReturn:
        known = _instead()
        refuse(
            "the truth of a traced value is not known while the function is traced",
            f"write {known}" if known else _BRANCH,
        )

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        refuse(
            "a traced value has no numbers: it cannot become a NumPy array",
            f"use the value as it is: x.astype(float) for np.float64(x); {_INSIDE}",
        )

    @classmethod
    def __torch_function__(cls, function: Any, *_: Any) -> NoReturn:
        name = getattr(function, "__name__", "a function")
        refuse(
            f"a traced value is given to PyTorch's {name}",
            "use NumPy's function; lx.from_torch(model, arguments) compiles a model of PyTorch's",
        )

    def __float__(self) -> NoReturn:
        known = _instead()
        refuse(
            "a traced value has no number yet: it cannot become a float",
            f"write {known}"
            if known
            else f"{_NUMBERLESS}; np.exp and its like for those of math, x.astype(float) for "
            f"float(x); {_INSIDE}",
        )

    def __int__(self) -> NoReturn:
        refuse(
            "a traced value has no number yet: it cannot become an int",
            f"{_NUMBERLESS}; x.astype(int) for int(x)",
        )

    def __round__(self, _: Any = None) -> NoReturn:
        refuse("a traced value has no number yet: it cannot be rounded to one", "write np.round(x)")

    def __index__(self) -> NoReturn:
        refuse(
            "a traced value has no number yet: it cannot be an index or a count of Python's",
            "index a traced array with it, use lx.loop(count, body, state) for range(count), or "
            "make it an argument of static_argnames",
        )

    def __complex__(self) -> NoReturn:
        refuse("a traced value has no number yet: it cannot become a complex", _NUMBERLESS)

    def __contains__(self, _: Any) -> NoReturn:
        refuse("a traced value cannot be searched", "use np.any(x == value)")

    def __reduce__(self) -> NoReturn:
        refuse("a traced value cannot be pickled or copied", "use the value itself, or x.copy()")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):  # Python's own questions, such as whether it can be copied
            raise AttributeError(name)
        raise UnrecordedAttributeError(
            f"a traced value has no {name!r}",
            where=caller_location(),
            hint="use NumPy's function of that meaning, or lx.ops",
        )

    __hash__ = None  # type: ignore[assignment]  # equality is an element-wise question


def _instead() -> str | None:
    from linalg_ext.tracing.asked import instead  # which reads source, for errors alone

    return instead()


def refuse(what: str, hint: str) -> NoReturn:
    """Raise a TraceError at the user's line."""
    raise TraceError(what, where=caller_location(), hint=hint)
