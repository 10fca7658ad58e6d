"""Pages on the way down: each pass with its phase and file, and two ops followed through all of it.

python -m docs.generator.way_down      # writes docs/life_of_a_*.md again
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import linalg_ext as lx
from docs.generator.page import REPOSITORY, Page, fenced, table
from linalg_ext.rewriting.pipeline import run_in_place
from linalg_ext.rewriting.registry import find
from linalg_ext.rewriting.transformation import op_names
from linalg_ext.transforms.pipelines import PHASES, stage_text

TARGET = "avx2"
"""The target of the examples: a name, so that the pages are the same on every machine."""

LINES = 48
"""The longest listing of a page; the middle of a longer one is left out."""

LIVES = {
    "matmul": """
func.func @f(%a: tensor<512x256xf32>, %b: tensor<256x512xf32>, %c: tensor<512xf32>)
    -> tensor<512x512xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<512x512xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<512x512xf32>) -> tensor<512x512xf32>
  %product = linalg.matmul ins(%a, %b : tensor<512x256xf32>, tensor<256x512xf32>)
    outs(%init : tensor<512x512xf32>) -> tensor<512x512xf32>
  %bias = linalg.broadcast ins(%c : tensor<512xf32>) outs(%empty : tensor<512x512xf32>)
    dimensions = [0]
  %sum = linalg.add ins(%product, %bias : tensor<512x512xf32>, tensor<512x512xf32>)
    outs(%empty : tensor<512x512xf32>) -> tensor<512x512xf32>
  return %sum : tensor<512x512xf32>
}""",
    "softmax": """
func.func @f(%x: tensor<64x1000xf32>) -> tensor<64x1000xf32> {
  %empty = tensor.empty() : tensor<64x1000xf32>
  %y = linalg.softmax dimension(1) ins(%x : tensor<64x1000xf32>)
    outs(%empty : tensor<64x1000xf32>) -> tensor<64x1000xf32>
  return %y : tensor<64x1000xf32>
}""",
}
"""The op that each page follows, with its surroundings."""

_OPENING = {
    "matmul": "A product of matrices with a bias, from `linalg.matmul` to LLVM.",
    "softmax": "A softmax of rows, from `linalg.softmax` to LLVM.",
}


@dataclass(frozen=True)
class PassRun:
    """One pass on one module.

    Attributes:
        phase: the phase that runs it.
        pass_name: its name in pipelines, without options.
        removed: the ops that it removed, by name.
        added: the ops that it added.
        is_change: whether the module is another one afterwards.
    """

    phase: str
    pass_name: str
    removed: Counter[str] = field(default_factory=Counter)
    added: Counter[str] = field(default_factory=Counter)
    is_change: bool = False


def pages() -> Iterator[Page]:
    """Yield the table of all passes in their order."""
    yield Page("passes_in_order.md", _passes_in_order())


def life(name: str) -> str:
    """Return the page that follows one op of `LIVES`."""
    parts = [
        f"# Life of a {name}",
        f"{_OPENING[name]} Made by `make lives` for the target `{TARGET}`. Each phase shows the "
        "passes that changed the module, with their files, and the IR afterwards. "
        "[All passes in order](passes_in_order.md).",
        fenced(LIVES[name], "mlir"),
    ]
    for phase, runs, text in _phases(LIVES[name]):
        changing = [run for run in runs if run.is_change]
        parts += [f"## {phase.capitalize()}", _listed(changing), fenced(_shortened(text), "mlir")]
    return "\n\n".join(parts) + "\n"


def file_of(pass_name: str) -> str:
    """Return the file of a pass, seen from the top of the repository; "upstream" for another's."""
    name = _bare(pass_name)
    if not name.startswith("linalg-ext-"):
        return "upstream"
    registered = find(name)
    function = getattr(registered, "function", None)
    if registered is None or function is None:
        raise LookupError(f"no pass is called {name}")
    path = Path(inspect.getsourcefile(inspect.unwrap(function)) or "").resolve()
    return f"`{path.relative_to(REPOSITORY).as_posix()}`"


@cache
def _phases(text: str) -> list[tuple[str, list[PassRun], str]]:
    """Run a module through the phases one pass at a time: pass_ phase's runs, and the IR after."""
    phases: list[tuple[str, list[PassRun], str]] = []
    module = lx.parse(text, trusted=True)
    with lx.target.using(TARGET):
        for phase, passes in PHASES.items():
            runs: list[PassRun] = []
            before, text_before = op_names(module.ir.operation), str(module.ir)
            for pass_ in passes:
                run_in_place(module, pass_)
                after, text_after = op_names(module.ir.operation), str(module.ir)
                is_change = text_after != text_before
                runs.append(PassRun(phase, _bare(pass_), before - after, after - before, is_change))
                before, text_before = after, text_after
            phases.append((phase, runs, stage_text(module.ir)))
    return phases


def _passes_in_order() -> str:
    totals: dict[tuple[str, int], PassRun] = {}
    for text in LIVES.values():
        for phase, runs, _ in _phases(text):
            for at, run in enumerate(runs):
                total = totals.setdefault((phase, at), PassRun(phase, run.pass_name))
                total.removed.update(run.removed)
                total.added.update(run.added)
    parts = [
        "# Passes in order",
        "The way down from linalg on tensors to LLVM, phase by phase. Ops are those that a "
        "matmul and a softmax lose and gain in each pass: the [life of a "
        "matmul](life_of_a_matmul.md) and the [life of a softmax](life_of_a_softmax.md) show the "
        "IR.",
    ]
    for phase in PHASES:
        runs = [run for run in totals.values() if run.phase == phase]
        parts += [f"## {phase.capitalize()}", _listed(runs)]
    return "\n\n".join(parts) + "\n"


def _listed(runs: list[PassRun]) -> str:
    if not runs:
        return "No pass changes it."
    rows = (
        (f"`{run.pass_name}`", file_of(run.pass_name), _counts(run.removed), _counts(run.added))
        for run in runs
    )
    return table(("pass", "file", "ops taken", "ops made"), rows)


def _counts(ops: Counter[str], most: int = 5) -> str:
    names = [f"`{name}`" for name, _ in ops.most_common(most)]
    return ", ".join(names) + (", ..." if len(ops) > most else "")


def _bare(pass_name: str) -> str:
    """Return a pass's name without the op that it is nested in, and without its options."""
    inner = pass_name.removeprefix("func.func(").removesuffix(")")
    return inner.partition("{")[0]


def _shortened(text: str) -> str:
    lines = [line if len(line) <= 160 else line[:157] + "..." for line in text.splitlines()]
    if len(lines) <= LINES:
        return "\n".join(lines)
    head, tail = lines[: LINES * 2 // 3], lines[-LINES // 3 :]
    left_out = len(lines) - len(head) - len(tail)
    return "\n".join([*head, f"// ... {left_out} lines ...", *tail])


def write() -> None:
    """Write the pages of `LIVES` into `docs/`."""
    for name in LIVES:
        (REPOSITORY / "docs" / f"life_of_a_{name}.md").write_text(life(name), encoding="utf-8")


if __name__ == "__main__":
    write()
