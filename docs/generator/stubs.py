"""Stubs for editors: completions and signatures of names that exist only at run time.

`python -m docs.generator.stubs` writes them next to the files that they describe. A test compares
them with the running program.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import linalg_ext as lx
from docs.generator.page import REPOSITORY
from docs.generator.transformations import passes
from linalg_ext.opdsl import StructuredOp
from linalg_ext.rewriting.options import PassOption
from linalg_ext.rewriting.transformation import Transformation
from linalg_ext.transforms.schedules.schedule import all_steps

_HEAD = "# Written by `make stubs`; do not edit.\n"
_KINDS: dict[Any, str] = {
    bool: "bool",
    int: "int",
    float: "float",
    str: "str",
    tuple[int, ...]: "int | Sequence[int]",
    tuple[str, ...]: "str | Sequence[str]",
}
_ROOMS = sorted(
    {folder.parent.name for folder in (REPOSITORY / "transforms").glob("*/__init__.py")}
    | {"pipelines"}
)
"""The packages and modules of `lx.transforms`, beside its passes."""

_KEYWORDS = {"threads": "int | None"}
"""Types of the keywords that every op takes, for those that are neither array nor dtype."""


def ops() -> str:
    """The op library: a class for each op, whose call has the op's own parameters."""
    parts = [
        _HEAD,
        "from typing import Any\n",
        "from linalg_ext.opdsl import StructuredOp\n",
    ]
    for name in dir(lx.ops):
        op = getattr(lx.ops, name)
        assert isinstance(op, StructuredOp)
        parameters = ", ".join(["self", *_parameters(op), "**keywords: Any"])
        summary = op.definition.doc.partition("\n")[0]
        parts.append(
            f"class _{name}(StructuredOp):\n"
            f"    def __call__({parameters}) -> Any:\n"
            f'        """{summary}"""\n\n'
            f"{name}: _{name}\n"
        )
    return "\n".join(parts)


def transforms() -> str:
    """The passes, under the names that they have as functions."""
    lines = [_HEAD, "from linalg_ext.rewriting.pipeline_text import NamedPipeline", ""]
    for name in _ROOMS:
        lines.append(f"from linalg_ext.transforms import {name} as {name}")
    plain = []
    for pass_name, registered in passes().items():
        if isinstance(registered, Transformation):
            function = registered.function.__name__
            lines.append(f"from {registered.function.__module__} import {function} as {function}")
        else:
            plain.append(
                f"{pass_name.removeprefix('linalg-ext-').replace('-', '_')}: NamedPipeline"
            )
    return "\n".join([*lines, "", *plain, ""])


def steps() -> str:
    """The steps, as the methods that schedules have."""
    parts = [
        _HEAD,
        "from collections.abc import Sequence\nfrom typing import Self\n",
        "class StepMethods:",
    ]
    for name, step in all_steps().items():
        parameters = ", ".join(
            ["self", *(_argument(argument) for argument in step.arguments.values())]
        )
        summary = (inspect.getdoc(step) or "").partition("\n")[0]
        parts.append(f'    def {name}({parameters}) -> Self:\n        """{summary}"""\n')
    return "\n".join(parts)


FILES: dict[str, Callable[[], str]] = {
    "opdsl_defs/__init__.pyi": ops,
    "transforms/__init__.pyi": transforms,
    "transforms/schedules/_step_methods.pyi": steps,
}
"""The stubs, by their paths."""


def _parameters(op: StructuredOp) -> Iterator[str]:
    keyword = False
    for parameter in inspect.signature(op).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword:
            keyword = True
            yield "*"
        kind = _KEYWORDS.get(parameter.name, "Any")
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        yield f"{parameter.name}: {kind}{default}"


def _argument(option: PassOption) -> str:
    default = "" if option.default is inspect.Parameter.empty else f" = {option.default!r}"
    return f"{option.name}: {_KINDS[option.kind]}{default}"


if __name__ == "__main__":
    for path, text_of in FILES.items():
        (REPOSITORY / path).write_text(text_of(), encoding="utf-8")
