"""A kernel's code for one thread, and for several: made with the kernel, or when first needed.

Work that several threads can share is compiled for the number of threads in force, which is as a
rule that of all calls; the code for any other number, one included, is made at the first call with
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from linalg_ext.cache.store import Entry
from linalg_ext.errors import LinalgExtError, warn
from linalg_ext.executable.explanation import (
    Decision,
    Explanation,
    Stage,
    decisions_data,
    decisions_of,
)
from linalg_ext.executable.kernel_data import (
    Data,
    explanation_data,
    explanation_of,
    stages_data,
    stages_of,
)
from linalg_ext.executable.signature import report_failure
from linalg_ext.runtime import kernel_cache
from linalg_ext.runtime.interrupts import interrupts
from linalg_ext.runtime.machine_code import Code, PackedFunction
from linalg_ext.runtime.threads import context
from linalg_ext.runtime.workspace import intermediates
from linalg_ext.target import Target
from linalg_ext.utils import hooks
from linalg_ext.utils.locks import Lock

LEAST_BYTES = 1 << 16
"""The least bytes of all arrays of a call that threads share, where their sizes are open.

Smaller work is done before other threads have begun.
"""


class Work(NamedTuple):
    """The work of a kernel that threads can share.

    Attributes:
        bytecode: of the module, on buffers, as it is before loops of it are cut.
        name, symbol, libraries: of the kernel.
        opt_level: LLVM's; None chooses.
        is_open: True where the amount of work depends on the sizes of a call's arrays.
    """

    bytecode: bytes
    name: str
    symbol: str
    opt_level: int | None
    libraries: tuple[str | Path, ...]
    is_open: bool


class Whole(NamedTuple):
    """The code for one thread, with a function of the kernel's name.

    Attributes:
        code: the machine code.
        assertions: the messages of its failures.
        stages: of the kernel, those that are this code's alone.
        seconds: that LLVM took.
        explanation: of the whole kernel, if known.
    """

    code: Code
    assertions: tuple[str, ...]
    stages: tuple[Stage, ...] = ()
    seconds: float = 0.0
    explanation: Explanation | None = None

    @property
    def steps(self) -> tuple[Stage, ...]:
        """The steps of its compilation: its stages, and the work of LLVM."""
        return (*self.stages, Stage("code", self.seconds))


class OneThread:
    """The code of a kernel that one thread runs, made when it is first asked for.

    Attributes:
        whole: the code, and the end of its lowering.
        function: the function of the kernel, which must not outlive the code.
        report: raises the error of a status.
        polls: True where an interrupt ends a call.
    """

    whole: Whole
    function: PackedFunction
    report: Callable[[int], NoReturn]
    polls: bool

    def __init__(self, name: str, symbol: str, code: Whole | Callable[[], Whole]) -> None:
        """Name the kernel, and the function of its code; `code` may be made later."""
        self._name = name
        self._symbol = symbol
        self._lock = Lock()
        self._make = code
        if isinstance(code, Whole):
            self._take(code)

    @property
    def ready(self) -> Whole | None:
        """The code, if it is made."""
        return vars(self).get("whole")

    def __getattr__(self, name: str) -> Any:
        if name not in OneThread.__annotations__ or isinstance(self._make, Whole):
            raise AttributeError(name)
        with self._lock:
            if self.ready is None:
                self._take(self._make())
        return vars(self)[name]

    def _take(self, whole: Whole) -> None:
        self.function = whole.code.function(self._symbol)
        self.report = partial(report_failure, self._name, whole.assertions)
        intermediates.lend_to(whole.code)
        self.polls = interrupts.lend_to(whole.code)
        self.whole = whole


class Shared:
    """Code for several threads, which share its loops.

    Attributes:
        code, assertions: as of `Whole`.
        slices: the number of slices of each shared loop, in order; the largest if sizes are open.
        decisions: of the compilation.
        steps: of the compilation, without the modules; none for code that was kept.
        function: takes the arguments of the kernel's own function, and in place of the status the
            result of `threads.context`. It must not outlive the code.
        report, polls: as of `OneThread`.
    """

    def __init__(
        self,
        work: Work,
        code: Code,
        slices: Sequence[int],
        assertions: Sequence[str],
        decisions: Sequence[Decision],
        steps: Sequence[Stage] = (),
    ) -> None:
        """Made by `SharedWork`, for its work."""
        self.code = code
        self.slices = tuple(slices)
        self.assertions = tuple(assertions)
        self.decisions = tuple(decisions)
        self.steps = tuple(steps)
        self.function = code.function(work.symbol)
        self.report = partial(report_failure, work.name, self.assertions)
        intermediates.lend_to(code)
        self.polls = interrupts.lend_to(code)

    @property
    def slices_text(self) -> str:
        """The numbers of slices of the loops, as text."""
        return f"{' + '.join(map(str, self.slices))} slices"

    def context(self, threads: int) -> int:
        """Return the context of a call; threads that no loop has work for are not woken."""
        return context(threads, max(self.slices))


class SharedWork:
    """The shared work of a kernel, with its code for each number of threads.

    Attributes:
        work: the work.
        explanation: of the passes before it is cut.
    """

    def __init__(self, work: Work, explanation: Explanation, key: str | None = None) -> None:
        """Share the work of a kernel; `key` is that of the kernel in the cache, if it is kept."""
        self.work = work
        self.explanation = explanation
        self._key = key
        self._variants: dict[int, Shared | None] = {}
        self._lock = Lock()
        # Options in force at the compilation of the kernel are in force for this code, too.
        self._context = copy_context()

    def for_call(self, threads: int, arrays: Iterable[Any]) -> Shared | None:
        """Return the code for a call on arrays by `threads` threads; None if one does it all."""
        if threads < 2 or (
            self.work.is_open and sum(array.nbytes for array in arrays) < LEAST_BYTES
        ):
            return None
        return self.for_threads(threads)

    def for_threads(self, threads: int) -> Shared | None:
        """Return the code for `threads` threads, compiled if need be; None if it shares no loop."""
        if threads < 2:
            return None
        try:
            return self._variants[threads]
        except KeyError:
            with self._lock:
                if threads not in self._variants:
                    self._variants[threads] = self._context.run(self._compiled, threads)
            return self._variants[threads]

    def for_one(self) -> Whole:
        """Return the code for one thread, kept or new.

        Raises:
            LinalgExtError: it cannot be compiled.
        """
        with self._lock:  # a context is entered by one thread at a time
            return self._context.run(self._whole)

    def _whole(self) -> Whole:
        key = self._key_for(1)
        entry = kernel_cache.read(key)
        if entry is not None:
            try:
                stages = stages_of(entry.record["stages"], entry.files[STAGES])
                code = kernel_cache.load(entry)
                return whole_of(entry.record, code, stages, self.explanation.target)
            except (LinalgExtError, OSError, KeyError, TypeError, ValueError):
                pass  # a damaged entry counts as absent
        whole: Whole = hooks.facade("compiler").whole(self.work, self.explanation)
        if key is not None:
            record, files = whole_data(whole), {kernel_cache.CODE: whole.code.object_code()}
            record["stages"], files[STAGES] = stages_data(whole.stages)
            kernel_cache.write(key, f"{self.work.name}, 1 thread", record, files)
        return whole

    def _key_for(self, threads: int) -> str | None:
        return None if self._key is None else kernel_cache.key_of("threads", self._key, threads)

    def _compiled(self, threads: int) -> Shared | None:
        try:
            return self._cut_for(threads)
        except LinalgExtError as error:
            # The fault is this library's, and the code for one thread serves all calls.
            warn(
                f"`{self.work.name}` runs on one thread, for the code for several cannot be "
                f"compiled: {error}",
                RuntimeWarning,
            )
            return None

    def _cut_for(self, threads: int) -> Shared | None:
        """Return the code for a number of threads, kept or new; None if no loop can be shared."""
        key = self._key_for(threads)
        entry = kernel_cache.read(key)
        if entry is not None:
            try:
                return self._rebuilt(entry)
            except (LinalgExtError, OSError, KeyError, TypeError, ValueError):
                pass  # a damaged entry counts as absent
        cut: Shared | None = hooks.facade("compiler").cut(self.work, threads)
        record: dict[str, Any] = {"slices": ()}
        files = {}
        if cut is not None:
            record = {
                "slices": cut.slices,
                "opt_level": cut.code.opt_level,
                "libraries": [str(library) for library in self.work.libraries],
                "assertions": cut.assertions,
                "decisions": decisions_data(cut.decisions),
            }
            files = {kernel_cache.CODE: cut.code.object_code()} if key is not None else {}
        kernel_cache.write(key, f"{self.work.name}, {threads} threads", record, files)
        return cut

    def _rebuilt(self, entry: Entry) -> Shared | None:
        """Return the code of an entry; None for an entry without shared loops."""
        record = entry.record
        if not record["slices"]:
            return None
        code, decisions = kernel_cache.load(entry), decisions_of(record["decisions"])
        return Shared(self.work, code, record["slices"], record["assertions"], decisions)


STAGES = "stages"
"""The name of the file with the stages of an entry."""


def whole_data(whole: Whole) -> Data:
    """Return code for one thread as plain data, without the code and its stages."""
    data: Data = {
        "opt_level": whole.code.opt_level,
        "libraries": [str(library) for library in whole.code.libraries],
        "assertions": whole.assertions,
        "code_seconds": whole.seconds,
    }
    if whole.explanation is not None:
        data["explanation"] = explanation_data(whole.explanation)
    return data


def whole_of(data: Mapping[str, Any], code: Code, stages: Sequence[Stage], target: Target) -> Whole:
    """Rebuild code for one thread from the result of `whole_data`."""
    explanation = data.get("explanation")
    return Whole(
        code,
        tuple(data["assertions"]),
        tuple(stages),
        data["code_seconds"],
        None if explanation is None else explanation_of(explanation, target),
    )


def work_data(work: Work) -> tuple[Data, bytes]:
    """Return work that threads can share, as plain data, and its module in bytecode."""
    data = work._replace(libraries=tuple(map(str, work.libraries)))._asdict()
    return data, data.pop("bytecode")


def work_of(data: Mapping[str, Any], bytecode: bytes) -> Work:
    """Rebuild work from the result of `work_data`."""
    return Work(**{**data, "bytecode": bytecode, "libraries": tuple(data["libraries"])})
