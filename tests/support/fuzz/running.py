"""Runs what was mutated, and takes account of what came of it."""

from __future__ import annotations

import functools
import random
import re
import traceback
import warnings
from collections.abc import Callable
from typing import Any

from fuzz import misfits
from fuzz.account import LLVM, LOOPS, Account, as_text, parser_dies
from fuzz.arguments import right, wrong
from fuzz.mutations import mutated, mutated_bytes
from fuzz.open_modules import OpenModule
from fuzz.seeds import seeds
from linalg_ext.errors import CrashError, LinalgExtError
from linalg_ext.executable.worker_process import IsolatedKernel, Limits, isolate
from linalg_ext.module import Module

_LIMITS = Limits(seconds=30, memory=1 << 30)
"""Time enough for a machine that is busy: what takes longer does not end."""

_CALLS = 3
_BYTECODES = 0.15
"""Of the modules, those that are mutated in their binary form."""

_UNCHANGED = 0.1

_INSIDE = "a worker process failed with "
"""How the error begins for an exception that the library did not mean to raise, over there."""


def run(seed: int, account: Account) -> None:
    """Make one module of a seed's number, compile it apart, and call it.

    The same number makes the same module and the same calls.
    """
    dice = random.Random(seed)
    source = _source(dice)
    kernel: list[IsolatedKernel] = []

    def compile() -> None:
        kernel.append(
            isolate(
                source,
                None,
                limits=_LIMITS,
                trusted=False,
                checked=True,
                opt_level=dice.choice((None, 0)),
            )
        )

    account.modules[_outcome(compile, source, seed, "the compilation", account)] += 1
    if not kernel:
        return
    try:
        _call(kernel[0], source, dice, seed, account)
    finally:
        kernel[0].close()
    if not LLVM.search(as_text(source)):
        _call_between_pages(source, seed, account)


def _call_between_pages(source: str | bytes, seed: int, account: Account) -> None:
    """Call a module with misfits, all memory between pages that kill."""
    beside = Account()
    misfits.run(OpenModule(f"--seed {seed} --count 1: ", source, None), _CALLS, seed, beside)
    account.calls.update({f"misfit: {what}": count for what, count in beside.calls.items()})
    account.failures += beside.failures
    account.apart += beside.apart


def _call(
    kernel: IsolatedKernel, source: str | bytes, dice: random.Random, seed: int, account: Account
) -> None:
    for number in range(_CALLS):
        arguments = right(kernel.signature, dice)
        call = wrong(kernel.signature, dice) if number else (arguments, {})
        if call is None or call[0] is None:
            account.calls["not called: large"] += 1
            return
        do = functools.partial(kernel, *call[0], **call[1])
        account.calls[_outcome(do, source, seed, f"call {number}", account)] += 1


def _outcome(
    do: Callable[[], Any], source: str | bytes, seed: int, what: str, account: Account
) -> str:
    again = f"--seed {seed} --count 1, {what}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            do()
        except CrashError as error:
            how = _death(error)
            if how and _may_die(source, what, how):
                account.apart.append(f"{again}: {how}")
                return f"apart: {how}"
            account.failures.append(f"{again}: {how or error}")
            return f"dies: {how}" if how else "surprise"
        except LinalgExtError as error:
            return type(error).__name__
        except Exception:
            account.failures.append(f"{again}: {traceback.format_exc()}")
            return "surprise"
    return "done"


def _death(error: CrashError) -> str:
    """Describe the end of a process, or an exception that is none of ours; else nothing."""
    died = re.search(r"died with (\w+)|did not come to an end|out of memory", error.what)
    if died is None or error.what.startswith(_INSIDE):
        return ""
    return died[1] or ("no memory" if died[0] == "out of memory" else "too long")


def _may_die(source: str | bytes, what: str, how: str) -> bool:
    """Return whether SECURITY.md names what ended the process.

    MLIR's parser may die: where nothing is isolated its guard makes an error of it.
    """
    text = as_text(source)
    is_call = what.startswith("call")
    is_endless = is_call and how == "too long" and LOOPS.search(text)
    return bool(LLVM.search(text) or is_endless or (not is_call and parser_dies(source)))


def source_of(seed: int) -> str | bytes:
    """The module that a seed's number makes, to look at."""
    return _source(random.Random(seed))


def _source(dice: random.Random) -> str | bytes:
    text = dice.choice(seeds())
    # Some as they are: what calls find should not hang on what compiles.
    if dice.random() < _UNCHANGED:
        return text
    return _binary(text, dice) if dice.random() < _BYTECODES else mutated(text, dice)


def _binary(text: str, dice: random.Random) -> bytes:
    """A module in its binary form, changed; where it has none, of no seed's."""
    try:
        return mutated_bytes(_bytecode(text), dice)
    except LinalgExtError:
        return mutated_bytes(b"ML\xefR\x01MLIR\x00" + bytes(64), dice)


_known: dict[str, bytes] = {}


def _bytecode(text: str) -> bytes:
    if text not in _known:
        _known[text] = Module.parse(text).bytecode()
    return _known[text]
