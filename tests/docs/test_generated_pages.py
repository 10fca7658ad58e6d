"""What is made from the code is there, whole, and reads as it should."""

from __future__ import annotations

import re

import linalg_ext as lx
from docs.generator import numpy_functions, ops, reference, tables, transformations, tutorials
from docs.generator.page import REPOSITORY, Page, table
from linalg_ext.cli import COMMANDS
from linalg_ext.rewriting.pipeline_text import NamedPipeline
from linalg_ext.transforms.checks.memory_rules import RULES
from notebooks.execution import NOTEBOOKS


def texts(pages: list[Page]) -> dict[str, str]:
    return {page.path: page.content for page in pages if isinstance(page.content, str)}


def test_every_op_has_a_section_and_is_listed() -> None:
    made = texts(list(ops.pages()))
    index = made.pop("ops/index.md")
    headings = [name for text in made.values() for name in re.findall(r"^## (\w+)$", text, re.M)]
    assert sorted(headings) == dir(lx.ops)
    assert set(re.findall(r"\[`(\w+)`\]", index)) == set(headings)
    assert "C[m, n] = Σ_{k} A[m, k] * B[k, n]" in made["ops/contraction.md"]
    assert "over m parallel, n parallel, k reduction" in made["ops/contraction.md"]


def test_every_pass_has_a_page_with_what_it_does() -> None:
    made = texts(list(transformations.pages()))
    index = made.pop("transformations/index.md")
    assert len(made) == len(transformations.passes())
    assert all(f"[`{name}`]" in index for name in transformations.passes())
    page = made["transformations/fold_transposes.md"]
    before, after = page.index("**Before:**\n\n```mlir"), page.index("**After:**\n\n```mlir")
    assert before < page.index("linalg.transpose ins(") < after < page.index("indexing_maps = [")
    assert "- `results: true or false (default true)`" in page
    assert 'module.run("linalg-ext-fold-transposes")' in page


def test_every_page_of_a_pass_shows_what_it_does() -> None:
    """Before and after, or what is refused. That these are true, the tests of the passes say."""
    made = texts(list(transformations.pages()))
    for each in transformations.passes().values():
        page = made[f"transformations/{transformations._stem(each)}.md"]
        shown = re.findall(r"^\*\*(Before|After|Refused)\b.*:\*\*$", page, re.M)
        if not isinstance(each, NamedPipeline):
            assert {"Before", "After"} <= set(shown) or "Refused" in shown, each.pass_name


def test_the_page_of_a_step_says_how_a_schedule_takes_it() -> None:
    page = texts(list(transformations.pages()))["transformations/tile.md"]
    assert '**After `match("matmul").tile([4]).simplify()`:**' in page
    assert 'lx.Schedule(module).match("matmul").tile(sizes=...)' in page
    assert "- `sizes: integers with commas between`: of a tile along each loop" in page


def test_before_and_after_of_every_docstring_become_ir() -> None:
    """Whatever stands behind the labels: none is left as running text."""
    for name, text in texts(list(transformations.pages())).items():
        assert not re.search(r"^(before|after|refused)\b[^\n]*:$", text, re.M), name
        assert text.count("```") % 2 == 0, name


def test_text_around_examples_stays_as_it_is() -> None:
    said = "One line.\n\nTable:\n    a  b\n\nbefore, of two:\n    %x = y\nafter:\n    %z\n\nEnd."
    assert transformations.marked_up(said) == (
        "One line.\n\nTable:\n\n```text\na  b\n```\n\n"
        "**Before, of two:**\n\n```mlir\n%x = y\n```\n\n**After:**\n\n```mlir\n%z\n```\n\nEnd."
    )


def test_every_public_name_is_in_the_reference() -> None:
    made = texts(list(reference.pages()))
    assert set(re.findall(r"\[`lx\.(\w+)`\]", made["reference/index.md"])) == set(lx.__all__)
    assert "::: linalg_ext.compiler.einsum.api.einsum\n" in made["reference/names.md"]


def test_the_tables_follow_the_code() -> None:
    made = texts(list(tables.pages()))
    assert all(f"## linalg-ext {name}\n" in made["reference/commands.md"] for name in COMMANDS)
    assert "--explain" in made["reference/commands.md"]
    assert "| `bf16` | `bfloat16` | 16 | 2 |" in made["reference/element_types.md"]
    assert "`torch-mlir" in made["support.md"]
    notations = made["reference/notations.md"]
    assert "`lx.read(text, 'einsum', kind='+*', name=None)`" in notations
    assert "`lx.write(op, 'tc', types=None)`" in notations


def test_every_notebook_is_a_page_with_its_outputs() -> None:
    made = list(tutorials.pages())
    found = texts(made)
    assert set(found) == {f"tutorials/{path.stem}.md" for path in NOTEBOOKS}
    assert "C[m, n] = Σ_{k} (X[m, k] - Y[n, k])²" in found["tutorials/1_define_an_op.md"]
    assert ".ipynb" not in "".join(found.values())
    assert "](../gml_st.md)" in found["tutorials/7_subsets.md"]
    pictures = [page.path for page in made if isinstance(page.content, bytes)]
    assert len(pictures) >= 4
    for path in pictures:
        assert any(path.removeprefix("tutorials/") in text for text in found.values()), path


def test_cells_of_tables_are_escaped() -> None:
    assert table(("a", "b"), [("x | y", "1\n2")]).splitlines()[-1] == "| x \\| y | 1 2 |"


def test_the_change_log_has_the_version() -> None:
    version = re.search(r'^version = "(.+)"$', (REPOSITORY / "pyproject.toml").read_text(), re.M)
    log = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    assert version is not None
    assert f"## {version[1]} " in log or "## Unreleased\n" in log


def test_the_table_of_checks_has_every_op() -> None:
    page = texts(list(tables.pages()))["checks.md"]
    for name, rule in RULES.items():
        (row,) = [line for line in page.splitlines() if f"`{name}`" in line and line[0] == "|"]
        assert rule.misfit in row
        assert rule.held_by in row


def test_every_function_of_numpys_is_listed_with_a_reason_where_it_is_refused() -> None:
    (page,) = texts(list(numpy_functions.pages())).values()
    rows = re.findall(r"^\| `(np\.[\w.]+)` \| (\w+) \| (.*) \|$", page, re.M)
    assert len(rows) > 400
    assert {"recorded", "called", "numbers", "no"} == {kind for _, kind, _ in rows}
    assert [name for name, kind, reason in rows if kind == "no" and not reason] == []
    kinds = {name: kind for name, kind, _ in rows}
    assert kinds["np.sum"] == kinds["np.copyto"] == kinds["np.zeros"] == "recorded"
    assert kinds["np.linalg.inv"] == kinds["np.gcd"] == kinds["np.fft.fft"] == "called"
    assert (kinds["np.hanning"], kinds["np.unique"]) == ("numbers", "no")
