"""The guard process: what kills it is an error here, and this process lives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from linalg_ext.errors import CrashError, LinalgExtError, ParseError
from linalg_ext.module import Module
from linalg_ext.rewriting import run_pipeline
from linalg_ext.runtime import helper_process, parser_process

SQUARE = "tensor<4x4xf32>"
IDENTITY = "affine_map<(m, n, k) -> (m, n)>"
EMPTY = "affine_map<(m, n, k) -> ()>"


def matmul(maps: str) -> str:
    return f"""func.func @f(%a: {SQUARE}) -> {SQUARE} {{
      %r = linalg.matmul indexing_maps = [{maps}] ins(%a, %a : {SQUARE}, {SQUARE})
        outs(%a : {SQUARE}) -> {SQUARE}
      return %r : {SQUARE} }}"""


def elementwise(kind: str, element: str) -> str:
    tensor = f"tensor<4x{element}>"
    return f"""func.func @f(%a: {tensor}) -> {tensor} {{
      %r = linalg.elementwise kind=#linalg.elementwise_kind<{kind}> ins(%a : {tensor})
        outs(%a : {tensor}) -> {tensor}
      return %r : {tensor} }}"""


KILLERS = {
    "a matmul whose map has no results": matmul(f"{EMPTY}, {IDENTITY}, {IDENTITY}"),
    "a matmul without maps": matmul(""),
    "an elementwise kind that its type has not": elementwise("exp", "i32"),
    "nesting that overflows the stack": "module {" * 20_000 + "}" * 20_000,
}


@pytest.mark.parametrize("text", KILLERS.values(), ids=KILLERS)
def test_a_text_that_kills_the_parser(text):
    with pytest.raises(CrashError, match="MLIR's parser died with SIG"):
        Module.parse(text)
    assert Module.parse("func.func private @alive()").functions


MATMUL = f"""func.func @f(%a: {SQUARE}, %b: {SQUARE}, %c: {SQUARE}) -> {SQUARE} {{
  %r = linalg.matmul ins(%a, %b : {SQUARE}, {SQUARE}) outs(%c : {SQUARE}) -> {SQUARE}
  return %r : {SQUARE} }}"""
LOOPS = """func.func @f(%m: memref<8x8xf32>, %x: f32) {
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 8 {
      affine.store %x, %m[%i, %j] : memref<8x8xf32>
    }
  }
  return }"""


@pytest.mark.parametrize(
    ("text", "pipeline", "culprit"),
    [
        (MATMUL, "cse,linalg-block-pack-matmul{block-factors=0,0,0},cse", "block-pack"),
        (MATMUL, "linalg-block-pack-matmul{block-factors=2,2,2 mnk-order=0,0,7}", "block-pack"),
        (LOOPS, "func.func(affine-loop-unroll-jam{unroll-jam-factor=0})", "unroll-jam"),
    ],
)
def test_a_pass_that_kills(text, pipeline, culprit):
    module = Module.parse(text)
    before = str(module)
    with pytest.raises(CrashError, match=f"{culprit}.* died with SIG") as caught:
        run_pipeline(module, pipeline)
    assert "repeat it with: linalg-ext opt " in str(caught.value)
    assert str(module) == before


def test_an_empty_attribute_or_type_is_an_error():
    for text in ("module attributes {a = } {}", "func.func private @f() -> "):
        with pytest.raises(LinalgExtError):
            Module.parse(text)


def test_a_text_is_sent_once(monkeypatch):
    text = "func.func private @sent_once()"
    Module.parse(text)
    monkeypatch.setattr(parser_process._guard, "ask", lambda *_: pytest.fail("sent again"))
    Module.parse(text)
    Module.parse("func.func private @never_sent()", trusted=True)


def test_whether_unknown_ops_pass_belongs_to_the_memory():
    text = '"foo.remembered"() : () -> ()'
    Module.parse(text, allow_unregistered=True)
    with pytest.raises(ParseError):
        Module.parse(text)


def worker() -> subprocess.Popen[bytes]:
    parser_process.check_text(f"func.func private @f{time.monotonic_ns()}()")
    assert parser_process._guard.child is not None
    process = parser_process._guard.child.process
    assert isinstance(process, subprocess.Popen)
    return process


def test_a_worker_killed_while_idle_is_replaced():
    first = worker()
    first.kill()
    first.wait()
    assert worker().pid != first.pid


def test_a_worker_that_does_not_answer(monkeypatch):
    process = worker()
    monkeypatch.setattr(parser_process, "PARSE_SECONDS", 1)
    os.kill(process.pid, signal.SIGSTOP)
    with pytest.raises(CrashError, match="did not come to an end on this text within 1 s"):
        Module.parse("func.func private @stopped()")
    assert process.returncode == -signal.SIGKILL


def test_an_interrupted_request_leaves_no_answer_behind(monkeypatch):
    worker()
    receive = helper_process.receive

    def interrupted(channel):
        monkeypatch.setattr(helper_process, "receive", receive)
        raise KeyboardInterrupt

    monkeypatch.setattr(helper_process, "receive", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Module.parse("func.func private @interrupted()")
    with pytest.raises(ParseError):
        Module.parse("nonsense")


def test_many_threads_share_the_worker():
    failures: list[BaseException] = []

    def parse(number: int) -> None:
        try:
            assert f"t{number}" in Module.parse(f"func.func private @t{number}()").functions
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=parse, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_forked_child_gets_a_worker_of_its_own():
    code = """
import os, sys
from linalg_ext.module import Module
from linalg_ext.runtime import parser_process as guard
Module.parse("func.func private @a()")
mine = guard._guard.child.process.pid
child = os.fork()
if child == 0:
    Module.parse("func.func private @b()")
    os._exit(0 if guard._guard.child.process.pid != mine else 3)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
Module.parse("func.func private @c()")
assert guard._guard.child.process.pid == mine
print(mine)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)


def test_nothing_that_the_worker_prints_reaches_the_user(capfd):
    with pytest.raises(LinalgExtError) as caught:
        run_pipeline(MATMUL, "canonicalize{top-down=perhaps}")
    assert "'perhaps' is invalid value for boolean argument" in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_an_executable_that_cannot_be_started(monkeypatch):
    parser_process.stop()
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    with pytest.raises(CrashError, match="cannot be started"):
        Module.parse("func.func private @unstarted()")
