"""Tables that follow from the code, and the files at the top of the repository as pages."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from typing import Literal

from docs.generator.page import REPOSITORY, Page, fenced, table
from linalg_ext.cli import COMMANDS
from linalg_ext.notations import Notation, notations
from linalg_ext.notations.std_functions import STD_FUNCTIONS
from linalg_ext.runtime.dtypes import element_types
from linalg_ext.target import named, names
from linalg_ext.transforms.checks.memory_rules import DIALECTS, RULES, Rule

FILES = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
"""Files at the top that are pages, too."""

_HELP = (
    "import os, sys; os.environ['COLUMNS'] = '88'; os.environ['NO_COLOR'] = '1'\n"
    "from linalg_ext.cli import main\n"
    "for command in sys.argv[1:]:\n"
    "    print('\\0' + command, flush=True); main([command, '--help'])"
)


def pages() -> Iterator[Page]:
    """Element types, commands, supported versions, checks, and the files."""
    yield Page("reference/element_types.md", _element_types())
    yield Page("reference/commands.md", _commands())
    yield Page("reference/notations.md", _notations())
    yield Page("reference/tc_functions.md", _tc_functions())
    yield Page("support.md", _support())
    yield Page("checks.md", _checks())
    for name in FILES:
        text = (REPOSITORY / name).read_text(encoding="utf-8")
        yield Page(name.lower(), re.sub(r"\]\((\w+)\.md\)", _lowered, text))


def _lowered(link: re.Match[str]) -> str:
    return f"]({link[1].lower()}.md)"


def _element_types() -> str:
    rows = [
        (
            f"`{element.mlir}`",
            ", ".join(f"`{dtype.name}`" for dtype in element.dtypes),
            str(element.width),
            str(element.storage),
        )
        for element in element_types()
    ]
    return "\n\n".join(
        (
            "# Element types",
            "MLIR's integers have no sign: one type is read as two dtypes. What NumPy has not, "
            "bf16, the 8-bit floats and 4-bit integers, are dtypes of `ml_dtypes`. An integer of "
            "4 bits takes a byte.",
            table(("MLIR", "dtypes", "bits", "bytes in an array"), rows),
            "Each op says in its documentation which of them it makes sense for: see "
            "[Ops](../ops/index.md). How accurate results are: [Numbers](../numbers.md).\n",
        )
    )


def _notations() -> str:
    rows = [
        (
            f"`{notation.name}`",
            notation.summary,
            _call("read", notation) if notation.read else "",
            _call("write", notation) if notation.write else "",
            ", ".join(f"`{suffix}`" for suffix in notation.suffixes),
        )
        for notation in notations().values()
    ]
    return "\n\n".join(
        (
            "# Notations",
            "`lx.read` makes an op of a text, or of a file by its suffix; `lx.write` makes a text "
            "of an op, or of several. So does `linalg-ext write`.",
            table(("notation", "what it is", "read", "written", "files"), rows),
            "A new one is a file: see [Add a notation](../how_to/add_a_notation.md).\n",
        )
    )


def _call(way: Literal["read", "write"], notation: Notation) -> str:
    options = [f"{name}={option.default!r}" for name, option in notation.options(way).items()]
    subject = "text" if way == "read" else "op"
    return f"`lx.{way}({', '.join([subject, repr(notation.name), *options])})`"


def _tc_functions() -> str:
    rows = [
        (
            f"`{function.name}`",
            f"`{function.function}`",
            ", ".join(f"`{element}`" for element in function.operands),
            f"`{function.result}`" if function.result else "as its operands",
        )
        for function in STD_FUNCTIONS.values()
    ]
    return "\n\n".join(
        (
            "# Functions of Tensor Comprehensions",
            "What `lx.tc` reads and `lx.to_tc` writes. Each is of one kind of elements: `f` at "
            "the end of a name stands for floats, `i` for integers. A function of two operands "
            "that is given one accumulates: `std_addf<k>(...)` is a sum over `k`.",
            table(("function", "in OpDSL", "elements that it takes", "result"), rows) + "\n",
        )
    )


def _commands() -> str:
    shown = subprocess.run(
        [sys.executable, "-c", _HELP, *COMMANDS], check=True, capture_output=True, text=True
    ).stdout
    parts = ["# The command line", "`linalg-ext COMMAND --help` says the same."]
    for section in shown.split("\0")[1:]:
        command, _, text = section.partition("\n")
        text = "\n".join(line.rstrip() for line in text.splitlines())
        parts += [f"## linalg-ext {command}", fenced(text)]
    return "\n\n".join(parts) + "\n"


def _checks() -> str:
    ops: dict[Rule, list[str]] = {}
    for name, rule in RULES.items():
        ops.setdefault(rule, []).append(f"`{name}`")
    checked = [
        (", ".join(names), rule.misfit, f"`{rule.held_by}`")
        for rule, names in ops.items()
        if rule.held_by
    ]
    unchecked = [(", ".join(names), rule.misfit) for rule, names in ops.items() if not rule.held_by]
    return "\n\n".join(
        (
            "# Checks by op",
            "With `checked=True`, the default, each op that holds or reaches memory is asked "
            "whether what only the run tells fits: its sizes before anything is lowered, outside "
            "of its loops, and its places where they are computed. What the types tell is not "
            "asked. What does not fit is an `ExecutionError` that names the op, its sizes and its "
            "place. An op of "
            + ", ".join(f"`{dialect}`" for dialect in DIALECTS)
            + " that is not on this page is a `LoweringError`, unless `checked=False`. Ops of "
            "`arith`, `math` and `complex` on whole tensors are asked for one shape.",
            table(("ops", "what may not fit", "asked by"), checked),
            "## Ops that cannot be misfit",
            table(("ops", "why"), unchecked) + "\n",
        )
    )


def _support() -> str:
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    versions = [
        entry.rpartition(" ")[2]
        for entry in project["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", entry)
    ]
    extras = [
        (f"`linalg-ext[{name}]`", ", ".join(f"`{entry}`" for entry in needed))
        for name, needed in project["optional-dependencies"].items()
    ]
    machines = [(f"`{name}`", str(named(name).vector_bits)) for name in names()]
    written = (REPOSITORY / "docs" / "_support.md").read_text(encoding="utf-8")
    return written.format(
        versions=", ".join(versions),
        needed="\n".join(f"- `{entry}`" for entry in project["dependencies"]),
        extras=table(("extra", "brings"), extras),
        machines=table(("target", "bits of a vector"), machines),
    )
