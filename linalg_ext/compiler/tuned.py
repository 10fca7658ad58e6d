"""A kernel with the plans that measuring found to be the fastest here."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from typing import Any

import numpy as np

from linalg_ext import cache
from linalg_ext.calling.kernel import Kernel
from linalg_ext.calling.signature import ArrayType, Parameter, Signature
from linalg_ext.rewriting import Decision
from linalg_ext.runtime import threads
from linalg_ext.runtime.keeping import apart
from linalg_ext.target import host
from linalg_ext.transforms.codegen._explaining import PlannedContraction
from linalg_ext.transforms.codegen.contractions._choosing import Choices, Variation, choosing
from linalg_ext.tuning.search import Finding, Tuning, search
from linalg_ext.tuning.store import entries, key_of, remember

Make = Callable[[], Kernel]


def tuned(make: Make, tuning: Tuning) -> Kernel:
    """The fastest of the kernels that `make` gives under different choices.

    What was found before, for the same work on the same machine and so many threads, is taken
    without measuring.
    """
    # What is kept has its decisions as text alone, and here they are needed as they are.
    with cache.off():
        first = make()
    obstacle = _obstacle(first)
    if obstacle is not None:
        return first.with_tuning(Finding(Choices(), why=obstacle).rows())
    count = threads.current()
    decisions = first.explain(count).decisions
    key = key_of(first.target, _work(first, decisions), count)
    finding = _finding(entries().get(key))
    if finding is None:
        finding = search(
            first,
            decisions,
            lambda choices: _tried(choices, make),
            lambda: [_argument(parameter) for parameter in first.signature.parameters],
            lambda given, returned: _results(first.signature, given, returned),
            tuning,
        )
        if not finding.why:
            remember(key, _data(finding))
    kernel = _with(finding.choices, make) if finding.choices != Choices() else first
    return kernel.with_tuning(finding.rows())


def _obstacle(kernel: Kernel) -> str | None:
    """Why a kernel cannot be measured on arguments that are made up; None where it can."""
    if kernel.target.missing_on(host()):
        return "its code is for another machine"
    signature = kernel.signature
    types = [each.type for each in signature.parameters]
    types += [each.type for each in signature.results]
    if any(isinstance(type_, ArrayType) and not type_.is_static for type_ in types):
        return "its sizes are known to the run alone"
    if any(
        isinstance(type_, ArrayType) and None in (*(type_.strides or ()), type_.offset)
        for type_ in types
    ):
        return "its strides are known to the run alone"
    return None


def _tried(choices: Choices, make: Make) -> Kernel:
    """A kernel to be measured: the fastest of them alone is kept."""
    with cache.off():
        return _with(choices, make)


def _with(choices: Choices, make: Make) -> Kernel:
    def run() -> Kernel:
        with choosing(choices), apart("choices", *_choices_key(choices)):
            return make()

    # Code for several threads is made later, under what is in force now.
    return copy_context().run(run)


def _choices_key(choices: Choices) -> tuple[object, ...]:
    plans = {key: one.as_data() for key, one in sorted(choices.plans.items())}
    return plans, choices.vector_bits, choices.streams


def _work(kernel: Kernel, decisions: Sequence[Decision]) -> str:
    """What a kernel does, as far as its plans depend on it."""
    parts = [str(kernel.signature)]
    for decision in decisions:
        if isinstance(decision, PlannedContraction):
            parts += [decision.key, repr(decision.model), repr(decision.epilogue)]
        else:
            parts.append(repr(decision.rows()))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _data(finding: Finding) -> dict[str, Any]:
    choices = finding.choices
    return {
        "plans": {key: one.as_data() for key, one in choices.plans.items()},
        "vector_bits": choices.vector_bits,
        "streams": choices.streams,
        "speed_up": finding.speed_up,
        "before": finding.before,
        "after": finding.after,
        "tried": finding.tried,
    }


def _finding(entry: Any) -> Finding | None:
    """An entry of the file, checked: somebody may have edited it."""
    if not isinstance(entry, Mapping) or not isinstance(entry.get("plans"), Mapping):
        return None
    plans = {key: Variation.from_data(data) for key, data in entry["plans"].items()}
    known = {key: one for key, one in plans.items() if one is not None}
    bits, streams = entry.get("vector_bits"), entry.get("streams")
    times = [entry.get(name) for name in ("speed_up", "before", "after")]
    numbers = [float(time) for time in times if isinstance(time, int | float)]
    tried = entry.get("tried")
    is_whole = len(known) == len(plans) and len(numbers) == 3 and isinstance(tried, int)
    if not is_whole or bits not in _VECTOR_BITS or streams not in (None, True, False):
        return None
    speed_up, before, after = numbers
    return Finding(
        Choices(known, bits, streams), speed_up, before, after, tried or 0, is_remembered=True
    )


_VECTOR_BITS = (0, 64, 128, 256, 512)


def _argument(parameter: Parameter) -> Any:
    """An argument of the parameter's type: floats around zero, integers that index nothing."""
    type_ = parameter.type
    if not isinstance(type_, ArrayType):
        return type_.element.dtype.type(1)
    shape = [size or 0 for size in type_.shape]
    random = np.random.default_rng(parameter.position)
    if type_.strides is None:
        return _values(random, shape, type_.element.dtype)
    strides, offset = [stride or 0 for stride in type_.strides], type_.offset or 0
    last = offset + sum(
        max(0, size - 1) * stride for size, stride in zip(shape, strides, strict=True)
    )
    memory = _values(random, [last + 1], type_.element.dtype)
    return np.lib.stride_tricks.as_strided(
        memory[offset:], shape, [stride * memory.itemsize for stride in strides]
    )


def _values(random: np.random.Generator, shape: Sequence[int], dtype: Any) -> Any:
    kind = np.dtype(dtype)
    if kind.kind in "iu" and kind.itemsize > 2:
        return np.zeros(shape, kind)  # they may be positions
    if kind.kind in "biu":
        return random.integers(0, 2, shape).astype(kind)
    return (random.random(shape, np.float32) - np.float32(0.5)).astype(kind)


def _results(signature: Signature, given: Sequence[Any], returned: Any) -> Sequence[Any]:
    results = () if returned is None else returned if isinstance(returned, tuple) else (returned,)
    written = [given[one.position] for one in signature.parameters if one.is_written]
    return [*results, *written]
