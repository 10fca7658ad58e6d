"""What notebooks and terminals show of a module, a kernel, a schedule, a contraction."""

from __future__ import annotations

import io
import subprocess
import sys
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import linalg_ext as lx
from linalg_ext.bindings import ir
from linalg_ext.explain.pieces import ASSEMBLY, MLIR, PYTHON, as_html
from linalg_ext.explain.terminal_lexer import MlirLexer

TEXT = """func.func @f(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = linalg.add ins(%a, %b : tensor<8x8xf32>, tensor<8x8xf32>)
                  outs(%b : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}"""


class Read(HTMLParser):
    """What a reader sees of HTML: its text, styles left out; and the tags that are open still."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        if tag not in ("br", "meta", "link", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data


def shown(thing: Any) -> Read:
    """What a notebook shows."""
    read = Read(thing._repr_html_())
    assert read.open == []
    assert "script" not in read.tags
    return read


def printed(thing: Any) -> str:
    """What a terminal of 100 columns shows."""
    console = Console(file=io.StringIO(), width=100, record=True)
    console.print(thing)
    return console.export_text()


def add(a: Any, b: Any) -> Any:
    return a + b


def test_a_module_is_highlighted_and_folds() -> None:
    module = lx.parse(TEXT)
    read = shown(module)
    lines = [line.strip() for line in str(module).splitlines() if line.strip()]
    assert all(line in read.text for line in lines)
    assert read.tags.count("details") == 2  # the module and the function
    assert printed(module).split() == str(module).split()


def test_a_long_module_is_cut_and_says_so() -> None:
    body = "\n".join(f"  %c{n} = arith.constant {n} : index" for n in range(1500))
    read = shown(lx.parse(f"func.func @f() {{\n{body}\n  return\n}}"))
    assert "lines more" in read.text
    assert read.text.count("arith.constant") < 1000


def test_a_kernel_is_its_table_its_loops_and_its_stages() -> None:
    x = np.ones((64, 64), np.float32)
    compiled = lx.jit(add).lower(x, x).compile()
    for thing in (compiled, compiled.kernel):
        read = shown(thing)
        for said in ("loops over vectors, 1 op in one pass", "@lx_entry_add", "for 0 to", "llvm"):
            assert said in read.text
        assert "for 0 to" in printed(thing)
    assert "arith.addf" in shown(lx.jit(add).lower(x, x)).text


def test_a_schedule_is_its_script() -> None:
    schedule = lx.Schedule(TEXT).match("add").tile([4, 4])
    read = shown(schedule)
    assert str(schedule) in read.text
    assert "linalg.add 1" in read.text
    assert ".tile(" in printed(schedule)


def test_a_contraction_is_a_tree_with_the_result_at_its_root() -> None:
    explained = lx.structured.explain_contraction("ij,jk,kl->il", [(2, 30), (30, 40), (40, 5)])
    assert explained.plan.steps[-1].output == ("i", "l")
    for text in (shown(explained).text, printed(explained)):
        assert text.index("t1 [i l]") < text.index("t0 [i k]") < text.index("operand 0 [i j]")
    lone = lx.structured.explain_contraction("ij->i", [(3, 4)])
    assert "operand 0 [i j]" in shown(lone).text


def test_upstreams_own_show_after_the_extension_is_loaded() -> None:
    interactive = pytest.importorskip("IPython.core.interactiveshell")
    shell = interactive.InteractiveShell()
    shell.extension_manager.load_extension("linalg_ext.explain")
    raw = lx.parse(TEXT).ir
    function = raw.body.operations[0]
    for thing in (raw, function, function.operation):
        assert isinstance(thing, ir.Module | ir.Operation | ir.OpView)
        data, _ = shell.display_formatter.format(thing)
        assert "linalg.add" in Read(data["text/html"]).text


def test_nothing_of_it_is_loaded_before_somebody_looks() -> None:
    program = (
        "import sys, linalg_ext as lx\n"
        f"module = lx.parse({TEXT!r})\n"
        "assert 'linalg_ext.explain' not in sys.modules\n"
        "module._repr_html_()\n"
        "assert 'linalg_ext.explain' in sys.modules\n"
        "assert 'pygments' not in sys.modules and 'rich' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        (
            MLIR,
            '%0 = linalg.add {a = "%x <"} : i32 // end',
            ["value", "op", "string", "type", "comment"],
        ),
        (
            MLIR,
            "tensor<4x?xbf16>, #map1, @f, ^bb0, 1.5e-3",
            ["type", "type", "alias", "symbol", "block", "number"],
        ),
        (
            ASSEMBLY,
            "      8f  vmovups      ymm1, [rax + 0x8]",
            ["alias", "op", "type", "value", "number"],
        ),
        (PYTHON, "def f(x): return 'a' # b", ["keyword", "symbol", "keyword", "string", "comment"]),
    ],
)
def test_words_are_coloured_by_what_they_are(language: Any, text: str, words: list[str]) -> None:
    html = as_html(text, language)
    assert [part.partition('"')[0] for part in html.split('class="')[1:]] == words
    assert Read(html).text == text


def test_the_terminals_lexer_loses_nothing() -> None:
    text = str(lx.parse(TEXT))
    assert "".join(words for _, words in MlirLexer().get_tokens(text)).strip() == text.strip()


def test_a_jitted_function_shows_its_kernels() -> None:
    function = lx.jit(lambda x: x + 1)
    assert "no kernel yet" in shown(function).text
    function(np.ones(3))
    (kernel,) = function.kernels
    for text in (shown(function).text, printed(function)):
        assert "tensor<3xf64>" in text
        assert f"{1e3 * kernel.times['total']:.1f} ms to compile" in text


def test_a_report_shows_op_names_and_reasons() -> None:
    report = lx.transforms.fold_transposes(lx.parse(TEXT))
    for text in (shown(report).text, printed(report)):
        assert "linalg-ext-fold-transposes" in text
    report.leave("linalg.add", "the <reason>")
    assert "left: the <reason>" in shown(report).text


def test_a_target_shows_its_registers() -> None:
    for text in (shown(lx.target.named("avx2")).text, printed(lx.target.named("avx2"))):
        assert "16 of 256 bits: 8 f32, 4 f64" in text
