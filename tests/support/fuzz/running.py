"""Runs what was mutated, and takes account of what came of it."""

from __future__ import annotations

import functools
import random
import re
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fuzz.arguments import right, wrong
from fuzz.mutations import mutated, mutated_bytes
from fuzz.seeds import seeds
from linalg_ext.errors import CrashError, LinalgExtError
from linalg_ext.isolated import IsolatedKernel, Limits, isolate
from linalg_ext.module import Module

_LIMITS = Limits(seconds=5, memory=1 << 30)
_CALLS = 3
_BYTECODES = 0.15
"""Of the modules, those that are mutated in their binary form."""

_UNCHANGED = 0.1

_INSIDE = "a process apart failed with "
"""How the error begins for an exception that the library did not mean to raise, over there."""


@dataclass
class Account:
    """What came of the modules and of the calls.

    Attributes:
        modules, calls: how many of each there were, by what came of them.
        crashes: the numbers of those that killed their processes.
        surprises: what must not come of any: how it is repeated, and what was seen.
    """

    modules: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    crashes: list[str] = field(default_factory=list)
    surprises: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"{sum(self.modules.values())} modules"]
        lines += [f"  {count:6} {what}" for what, count in self.modules.most_common()]
        lines += [f"{sum(self.calls.values())} calls"]
        lines += [f"  {count:6} {what}" for what, count in self.calls.most_common()]
        lines += [f"  by {crash}" for crash in self.crashes]
        return "\n".join([*lines, f"{len(self.surprises)} surprises", *self.surprises])


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

    account.modules[_outcome(compile, seed, "the compilation", account)] += 1
    if not kernel:
        return
    try:
        _call(kernel[0], dice, seed, account)
    finally:
        kernel[0].close()


def _call(kernel: IsolatedKernel, dice: random.Random, seed: int, account: Account) -> None:
    for number in range(_CALLS):
        arguments = right(kernel.signature, dice)
        call = wrong(kernel.signature, dice) if number else (arguments, {})
        if call is None or call[0] is None:
            account.calls["not called: large"] += 1
            return
        do = functools.partial(kernel, *call[0], **call[1])
        account.calls[_outcome(do, seed, f"call {number}", account)] += 1


def _outcome(do: Callable[[], Any], seed: int, what: str, account: Account) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            do()
        except CrashError as error:
            if error.what.startswith(_INSIDE):
                account.surprises.append(f"--seed {seed} --count 1, {what}: {error}")
                return "surprise"
            died = re.search(r"died with (\w+)|did not come to an end|no memory", error.what)
            if died is None:
                account.surprises.append(f"--seed {seed} --count 1, {what}: {error}")
                return "surprise"
            how = died[1] or ("no memory" if died[0] == "no memory" else "too long")
            account.crashes.append(f"--seed {seed}, {what}: {how}")
            return f"CrashError: {how}"
        except LinalgExtError as error:
            return type(error).__name__
        except Exception:
            trace = traceback.format_exc()
            account.surprises.append(f"--seed {seed} --count 1, {what}: {trace}")
            return "surprise"
    return "done"


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
