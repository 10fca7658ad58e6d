"""Ctrl-C in a long kernel: an exception at once, memory given back, and a library that works on."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = '''
import os, signal, sys, tempfile, threading, time
import numpy as np
import linalg_ext as lx
from linalg_ext.runtime.interrupts import interrupts
from linalg_ext.runtime.workspace import intermediates

FOREVER = 1 << 62
number = np.ones(())


def body(i, x):
    return x * 0.999 + 1e-6


started = threading.Event()
watch = interrupts.watch
interrupts.watch = lambda: (watch(), started.set())


def interrupt_soon():
    """Send SIGINT from a thread soon after a kernel was called."""

    def interrupt():
        started.wait()
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    started.clear()
    thread = threading.Thread(target=interrupt, name="interrupt")
    thread.start()
    return thread


def is_interrupted(call, times=2):
    call_ended = []
    for _ in range(times):
        interrupting = interrupt_soon()
        try:
            call()
            call_ended.append("returned")
        except KeyboardInterrupt:
            call_ended.append("interrupted")
        interrupting.join()
        time.sleep(0.01)  # a second KeyboardInterrupt would come here
    assert call_ended == ["interrupted"] * times, call_ended
    assert intermediates.statistics().used == 0
    assert (lx.jit(lambda x: x + 1)(np.ones(3)) == 2).all()


def counted_loop(text):
    return f"""
func.func @f(%x: f64, %n: index) -> f64 {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %zero to %n step %one iter_args(%a = %x) -> f64 {{
    {text}
    scf.yield %b : f64
  }}
  return %r : f64
}}"""


SINES = counted_loop("%b = math.sin %a : f64")
'''

ROUNDS = """
f = lx.jit(lambda x: lx.loop(FOREVER, body, x))
is_interrupted(lambda: f(number))
"""

ROUNDS_OF_ARRAYS = """
f = lx.jit(lambda x: lx.loop(FOREVER, body, x).sum())
is_interrupted(lambda: f(np.ones(100_000)))
"""

TRACED_ROUNDS = """
f = lx.jit(lambda x, n: lx.loop(n, body, x))
is_interrupted(lambda: f(number, np.int64(FOREVER)))
np.testing.assert_allclose(f(number, np.int64(3)), 0.999 ** 3, atol=1e-5)
"""

CONDITION = """
f = lx.jit(lambda x: lx.loop(lambda x: x > -1, lambda x: x * 0.999, x))
is_interrupted(lambda: f(number))
"""

TEXT = """
f = lx.compile(SINES)
is_interrupted(lambda: f(0.5, FOREVER))
assert f(0.5, 0) == 0.5
"""

LOADED = """
with tempfile.TemporaryDirectory() as folder:
    lx.compile(SINES).export(folder + "/f", library=False)
    f = lx.load(folder + "/f")
is_interrupted(lambda: f(0.5, FOREVER))
"""

BRANCHES = '''
f = lx.compile("""
func.func @f(%x: f64) -> f64 {
  cf.br ^again(%x : f64)
^again(%a: f64):
  %b = math.sin %a : f64
  %zero = arith.constant 0.0 : f64
  %goes_on = arith.cmpf oge, %b, %zero : f64
  cf.cond_br %goes_on, ^again(%b : f64), ^done
^done:
  return %b : f64
}""")
is_interrupted(lambda: f(0.5))
'''

CONTRACTION = """
a = np.ones((5000, 5000))
out = np.empty_like(a)
is_interrupted(lambda: lx.ops.matmul(a, a, out=out, threads=1))
"""

CARRIED = """
def memory():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


x = np.ones((1500, 1500))
f = lx.jit(lambda x, n: lx.loop(n, lambda i, x: x[::-1] * 0.9 + x.T, x), dynamic=True)
for _ in range(3):
    np.testing.assert_allclose(f(x, np.int64(2)), 1.9**2 * x)
is_interrupted(lambda: f(x, np.int64(FOREVER)))
before = memory()
is_interrupted(lambda: f(x, np.int64(FOREVER)), times=4)
assert memory() < before + 2 * x.nbytes
"""

SLICES = '''
f = lx.compile("""
#same = affine_map<(i, j) -> (i, j)>
func.func @f(%x: tensor<64x1000xf64>, %n: index) -> tensor<64x1000xf64> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %e = tensor.empty() : tensor<64x1000xf64>
  %r = linalg.generic {
    indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]
  } ins(%x : tensor<64x1000xf64>) outs(%e : tensor<64x1000xf64>) {
  ^bb0(%a: f64, %o: f64):
    %b = scf.for %i = %zero to %n step %one iter_args(%c = %a) -> f64 {
      %d = math.sin %c : f64
      scf.yield %d : f64
    }
    linalg.yield %b : f64
  } -> tensor<64x1000xf64>
  return %r : tensor<64x1000xf64>
}""")
assert f.shared is not None
with lx.threads(2):
    is_interrupted(lambda: f(np.ones((64, 1000)), FOREVER))
    np.testing.assert_allclose(f(np.ones((64, 1000)), 1), np.sin(1.0))
'''

OWN_HANDLER = """
f = lx.compile(SINES)
is_interrupted(lambda: f(0.5, FOREVER), times=1)
seen = []
before = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
rounds = 10_000_000
interrupting = interrupt_soon()
a = f(0.5, rounds)  # runs to its end
interrupting.join()
time.sleep(0.01)
assert seen == [1]
assert a == f(0.5, rounds)
signal.signal(signal.SIGINT, before)
is_interrupted(lambda: f(0.5, FOREVER))
"""

ASYNCIO = """
import asyncio

f = lx.compile(SINES)
cleaned = []


async def main(run):
    try:
        await run()
    finally:
        cleaned.append(signal.getsignal(signal.SIGINT) is not signal.default_int_handler)


async def here():
    f(0.5, FOREVER)


async def elsewhere():
    await asyncio.to_thread(f, 0.5, FOREVER)


is_interrupted(lambda: asyncio.run(main(here)))
is_interrupted(lambda: asyncio.run(main(elsewhere)))
assert cleaned == [True] * 4, cleaned
is_interrupted(lambda: f(0.5, FOREVER))
"""

CELLS = """
f = lx.compile(SINES)
for _ in range(3):
    f(0.5, 1)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # as before each cell of a notebook
    is_interrupted(lambda: f(0.5, FOREVER), times=1)
"""

NATIVE_CELLS = """
from linalg_ext.runtime.vectorcall import caller

caller.make()
f = lx.jit(lambda x, n: lx.loop(n, body, x))
for _ in range(3):
    for _ in range(10):
        f(number, np.int64(1))
    assert f._native_records
    time.sleep(0.001)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # as before each cell of a notebook
    is_interrupted(lambda: f(number, np.int64(FOREVER)), times=1)
"""

OTHER_THREAD = """
f = lx.compile(SINES)
raised = []


def call():
    try:
        f(0.5, FOREVER)
    except lx.errors.ExecutionError as error:
        raised.append(str(error))


def run():
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()


is_interrupted(run)
for thread in threading.enumerate():
    if thread.name.startswith("Thread"):
        thread.join()
assert len(raised) == 2 and all("interrupted" in text for text in raised), raised
"""

FORKED = """
f = lx.compile(SINES)
is_interrupted(lambda: f(0.5, FOREVER), times=1)
child = os.fork()
if not child:
    is_interrupted(lambda: f(0.5, FOREVER), times=1)
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""

CASES = {
    name.lower(): text
    for name, text in globals().copy().items()
    if name.isupper() and name != "SCRIPT"
}


@pytest.mark.parametrize("case", CASES)
def test_an_interrupt_ends_a_kernel(case: str) -> None:
    """Without a poll the kernel would run on until the test's own limit."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT + CASES[case]],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
