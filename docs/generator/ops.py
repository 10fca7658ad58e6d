"""The op library: a page for each family, and one that lists them all."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import linalg_ext as lx
from docs.generator.page import Page, fenced, table
from linalg_ext.opdsl import StructuredOp


def families() -> dict[str, list[str]]:
    """The names of the ops of each family."""
    names_of: dict[str, list[str]] = {}
    for name in dir(lx.ops):
        names_of.setdefault(_op(name).__module__.rpartition(".")[2], []).append(name)
    return dict(sorted(names_of.items()))


def pages() -> Iterator[Page]:
    """The list of all ops, then the families."""
    ops_of = families()
    count = sum(map(len, ops_of.values()))
    rows = [
        (
            f"[{_title(family)}]({family}.md)",
            ", ".join(f"[`{name}`]({family}.md#{name})" for name in names),
        )
        for family, names in ops_of.items()
    ]
    yield Page(
        "ops/index.md",
        f"# Ops\n\n{count} ops in {len(ops_of)} families. Each is called on arrays, on values of "
        "MLIR and under `lx.jit` in the same way: `lx.ops.matmul(a, b)`.\n\n"
        + table(("family", "ops"), rows)
        + "\n",
    )
    for family, names in ops_of.items():
        about = (inspect.getdoc(inspect.getmodule(_op(names[0]))) or "").strip()
        parts = [f"# {_title(family)}", about, *(_section(name) for name in names)]
        yield Page(f"ops/{family}.md", "\n\n".join(parts) + "\n")


def _op(name: str) -> StructuredOp:
    op = getattr(lx.ops, name)
    assert isinstance(op, StructuredOp)
    return op


def _section(name: str) -> str:
    op = _op(name)
    iterators = ", ".join(
        f"{dim} {kind.value}"
        for dim, kind in zip(op.definition.dims, op.definition.iterator_types, strict=True)
    )
    formula = [op.definition.formula(), *([f"over {iterators}"] if iterators else [])]
    lead, _, rest = op.definition.doc.partition("\n")
    return "\n\n".join(
        [
            f"## {name}",
            fenced(repr(op)),
            lead,
            *([fenced(rest)] if rest.strip() else []),
            "As it is computed:",
            fenced("\n".join(formula)),
        ]
    )


def _title(family: str) -> str:
    return family.replace("_", " ").capitalize()
