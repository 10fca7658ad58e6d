"""Choosing ops of a module: by name, attributes, function, place and a predicate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentTypeError, ScheduleError
from linalg_ext.transforms.ir_utils.walking import select

Predicate = Callable[[ir.Operation], bool]

_OF_BODIES = frozenset({"linalg.index", "linalg.yield"})
_LOOPS = frozenset({"scf.for", "scf.forall", "scf.parallel"})


def chosen(
    root: ir.Operation,
    op: str = "",
    *,
    attributes: Mapping[str, Any] | None = None,
    function: str = "",
    position: Sequence[int] = (),
    where: Predicate | None = None,
) -> list[ir.Operation]:
    """The ops that are meant, in the order of the text; see `Schedule.match`.

    Raises:
        ScheduleError: there is none.
        ArgumentTypeError: `where` is no function, or answers something else than True or False.
    """
    for name, text in (("op", op), ("function", function)):
        if not isinstance(text, str):
            raise ArgumentTypeError(f"{name} is {text!r}", expected='a name, such as "matmul"')
    if not isinstance(attributes, Mapping | None):
        raise ArgumentTypeError(
            f"attributes is {attributes!r}", expected='names and values: {"label": "head"}'
        )
    if not all(isinstance(each, int) for each in position):
        raise ArgumentTypeError(f"position is {position!r}", expected="a whole number, or several")
    if where is not None and not callable(where):
        raise ArgumentTypeError(
            f"the argument where is {where!r}",
            expected="a function of an op that answers True or False",
        )
    wanted = {} if attributes is None else dict(attributes)
    named = _preferred(
        select(root, lambda each: _is_called(each.name, op) and not _is_in_a_body(each))
    )
    found = [
        each
        for each in named
        if (not function or _function_of(each) == function)
        and all(_has(each, name, value) for name, value in wanted.items())
        and (where is None or _answer(where, each))
    ]
    if not found:
        raise _nothing(root, op, named, narrowed=bool(function or wanted or where))
    for each in position:
        if not -len(found) <= each < len(found):
            raise ScheduleError(
                f"position is {each}; {len(found)} ops match",
                expected=f"{-len(found)} to {len(found) - 1}",
            )
    return [found[each] for each in position] if position else found


def _is_called(name: str, wanted: str) -> bool:
    if wanted:
        return name == wanted or name.endswith("." + wanted)
    return name.startswith("linalg.") and name not in _OF_BODIES


def _preferred(named: list[ir.Operation]) -> list[ir.Operation]:
    """Those of linalg, where "exp" is the name of a `math.exp` as well."""
    return [op for op in named if op.name.startswith("linalg.")] or named


def _is_in_a_body(op: ir.Operation) -> bool:
    """Return whether an op is in the body of a linalg op, as `arith.negf` in `linalg.negf`."""
    return op.parent is not None and op.parent.name.startswith("linalg.")


def _function_of(op: ir.Operation) -> str:
    parent: Any = op
    while parent is not None and parent.operation.name != "func.func":
        parent = parent.operation.parent
    return "" if parent is None else ir.StringAttr(parent.operation.attributes["sym_name"]).value


def _has(op: ir.Operation, name: str, value: Any) -> bool:
    if name not in op.attributes:
        return False
    attribute = op.attributes[name]
    if value is None:
        return True
    if isinstance(value, str) and isinstance(attribute, ir.StringAttr):
        return bool(attribute.value == value)
    try:
        return bool(attribute == ir.Attribute.parse(_spelled(value), op.context))
    except ir.MLIRError:
        return str(attribute) == str(value)


def _spelled(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) or '""'


def _answer(where: Predicate, op: ir.Operation) -> bool:
    answer = where(op)
    if not isinstance(answer, bool):
        raise ArgumentTypeError(
            f"the predicate where answers {answer!r} for {op.name}", expected="True or False"
        )
    return answer


def _nothing(
    root: ir.Operation, op: str, named: list[ir.Operation], *, narrowed: bool
) -> ScheduleError:
    if named and narrowed:
        return ScheduleError(
            f"the conditions hold for none of the {len(named)} ops called {op or 'linalg.*'}",
            hint="drop one of attributes, function and where",
        )
    there = Counter(each.name for each in select(root, lambda e: _is_called(e.name, "")))
    there += Counter(each.name for each in select(root, lambda e: e.name in _LOOPS))
    listed = ", ".join(f"{name} ({count})" for name, count in sorted(there.items()))
    return ScheduleError(
        f"the module has no op called {op!r}" if op else "the module has no op of linalg",
        expected=f"one of those that are there: {listed}" if listed else None,
    )
