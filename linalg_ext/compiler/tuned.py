"""A kernel with the plans that measuring found to be the fastest here."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from typing import Any

from linalg_ext import cache
from linalg_ext.compiler.synthetic_arguments import arguments_of, obstacle
from linalg_ext.compiler.tuning.search import Finding, Tuning, search
from linalg_ext.compiler.tuning.store import entries, key_of, remember
from linalg_ext.executable.kernel import Kernel
from linalg_ext.executable.signature import Signature
from linalg_ext.rewriting import Decision
from linalg_ext.runtime import threads
from linalg_ext.runtime.kernel_cache import apart
from linalg_ext.transforms.codegen.base.choices import Choices, Variation, choosing
from linalg_ext.transforms.codegen.contractions.plan_selection import PlannedContraction
from linalg_ext.utils.logs import logger

Make = Callable[[], Kernel]


def tuned(make: Make, tuning: Tuning) -> Kernel:
    """Return the fastest of the kernels that `make` gives under different choices.

    A finding of an earlier run is taken without measuring, for the same work on the same machine
    and the same number of threads.
    """
    # A kernel from the disk has its decisions as text; the search needs the objects.
    with cache.off():
        first = make()
    why = obstacle(first)
    if why is not None:
        return first.with_tuning(Finding(Choices(), why=why).rows())
    count = threads.current()
    decisions = first.explain(count).decisions
    key = key_of(first.target, _work(first, decisions), count)
    finding = _finding(entries().get(key))
    if finding is None:
        finding = search(
            first,
            decisions,
            lambda choices: _tried(choices, make),
            lambda: arguments_of(first.signature.parameters),
            lambda arguments, returned: _results(first.signature, arguments, returned),
            tuning,
        )
        if not finding.why:
            remember(key, _data(finding))
    for name, text in finding.rows():
        logger("tuning").info("%s: %s %s", first.signature, name, text)
    kernel = _with(finding.choices, make) if finding.choices != Choices() else first
    return kernel.with_tuning(finding.rows())


def _tried(choices: Choices, make: Make) -> Kernel:
    """Return a kernel to be measured: the fastest of them alone is kept."""
    with cache.off():
        return _with(choices, make)


def _with(choices: Choices, make: Make) -> Kernel:
    def run() -> Kernel:
        plans = {key: variation.as_data() for key, variation in sorted(choices.plans.items())}
        with choosing(choices), apart("choices", plans, choices.vector_bits, choices.streams):
            return make()

    # Code for several threads is made later, under the options in force now.
    return copy_context().run(run)


def _work(kernel: Kernel, decisions: Sequence[Decision]) -> str:
    """Return a digest of the parts of a kernel's work that its plans depend on."""
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
        "plans": {key: variation.as_data() for key, variation in choices.plans.items()},
        "vector_bits": choices.vector_bits,
        "streams": choices.streams,
        "speed_up": finding.speed_up,
        "before": finding.before,
        "after": finding.after,
        "tried": finding.tried,
    }


def _finding(entry: Any) -> Finding | None:
    """Return an entry of the file, checked: a user may have edited it."""
    if not isinstance(entry, Mapping) or not isinstance(entry.get("plans"), Mapping):
        return None
    plans = {key: Variation.from_data(data) for key, data in entry["plans"].items()}
    variations = {key: variation for key, variation in plans.items() if variation is not None}
    bits, streams = entry.get("vector_bits"), entry.get("streams")
    times = [entry.get(name) for name in ("speed_up", "before", "after")]
    numbers = [float(time) for time in times if isinstance(time, int | float)]
    tried = entry.get("tried")
    is_whole = len(variations) == len(plans) and len(numbers) == 3 and isinstance(tried, int)
    if not is_whole or bits not in _VECTOR_BITS or streams not in (None, True, False):
        return None
    speed_up, before, after = numbers
    return Finding(
        Choices(variations, bits, streams), speed_up, before, after, tried or 0, is_remembered=True
    )


_VECTOR_BITS = (0, 64, 128, 256, 512)


def _results(signature: Signature, arguments: Sequence[Any], returned: Any) -> Sequence[Any]:
    results = () if returned is None else returned if isinstance(returned, tuple) else (returned,)
    written = [
        arguments[parameter.position] for parameter in signature.parameters if parameter.is_written
    ]
    return [*results, *written]
