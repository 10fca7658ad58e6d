"""A compiled entry, called on arrays. It is pickled as its source, and compiled when unpickled."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from linalg_ext.errors import (
    ArgumentError,
    ArityError,
    ExportError,
    caller_location,
    counted,
    refuse_pickling,
)
from linalg_ext.executable.arguments import (
    Argument,
    ArrayArgument,
    ResultSlot,
    ScalarArgument,
    StridedArgument,
    check_aliasing,
    refuse_keywords,
    split_out,
)
from linalg_ext.executable.code_variants import OneThread, SharedWork, Whole, whole_data, whole_of
from linalg_ext.executable.direct_call import Callee, DirectCall, ShortCall, direct_call, open_call
from linalg_ext.executable.explanation import CompileTimes, Explanation, Row, Stage, Staged
from linalg_ext.executable.foreign_arrays import call_on_foreign_arrays, has_foreign_arrays
from linalg_ext.executable.kernel_data import Data, entry_of, signature_data, signature_of
from linalg_ext.executable.signature import ArrayType, Entry, Parameter, Signature
from linalg_ext.runtime.callbacks import Callback
from linalg_ext.runtime.calling_convention import (
    Descriptor,
    Frame,
    FrameLayout,
    take_over,
    word_count,
)
from linalg_ext.runtime.machine_code import Code
from linalg_ext.runtime.object_file import disassemble
from linalg_ext.runtime.threads import checked
from linalg_ext.runtime.threads import current as current_threads
from linalg_ext.runtime.threads import state as thread_state
from linalg_ext.runtime.vectorcall import Records, caller
from linalg_ext.target import Target, host
from linalg_ext.utils import hooks
from linalg_ext.utils.hooks import Shown, is_dask
from linalg_ext.utils.locks import Lock
from linalg_ext.utils.recent import Arrivals
from linalg_ext.utils.vectorcall import quickly_called

if TYPE_CHECKING:
    from linalg_ext.runtime.vectorcall_record import Record


@quickly_called
class Kernel(Shown, Staged, shown_as="kernel"):
    """An entry of a module, compiled for one machine: this one, as a rule.

    Calling it checks every argument and then runs native code without the GIL; any number of
    threads may call one kernel at once. It holds the binary form of its module, so that it can be
    pickled.

    Attributes:
        signature: its parameters and results.
        entry: the native function behind it.
        target: the machine that its code is for.
        shared: the work that several threads can share, if any.
        explanation: returns the explanation of the passes, if known.
        compile_times: a picture of `times`: a bar for each step and for the costliest passes.
        is_kept: whether its code comes from the disk, see `linalg_ext.cache`.
        callee: the function that its calls run, with its arguments and results.
        short: the short way into it, if there is one.
        direct: the short way, if all its sizes are known.
        recipe: the parts that it was made from; None if unknown.
        callbacks: functions of Python that its code calls.
    """

    def __init__(
        self,
        signature: Signature,
        entry: Entry,
        code: Whole | None,
        *,
        stages: Sequence[Stage] = (),
        times: CompileTimes | None = None,
        target: Target | None = None,
        shared: SharedWork | None = None,
        open_ended: bool = True,
        is_kept: bool = False,
        recipe: Recipe | None = None,
    ) -> None:
        """Made by `linalg_ext.compile`.

        Args:
            code: that for one thread; None where it is made of `shared` when it is first needed.
            stages: those before that code.
            times: of the compilation; by default those of the stages and of the code.
            signature, entry, target, shared, open_ended, is_kept, recipe: as the attributes.
        """
        self.signature = signature
        self.target = host() if target is None else target
        self.recipe = recipe
        self.callbacks: tuple[Callback, ...] = ()
        self.shared = shared
        self.entry = entry
        self.is_kept = is_kept
        make = code if code is not None or shared is None else shared.for_one
        if make is None:
            raise TypeError("a kernel has code, or work that it is made of")
        self.own = OneThread(signature.name, entry.symbol, make)
        self._stages = tuple(stages)
        self.compile_times = times or CompileTimes.of_steps((*stages, *self.own.whole.steps))
        self.explanation: Callable[[], Explanation] | None = self._explanation
        if code is not None and code.explanation is None:
            self.explanation = None
        self._asm: dict[bool, str] = {}
        self._asm_lock = Lock()

        results = signature.results
        self._arguments = tuple(_argument_of(parameter) for parameter in signature.parameters)
        self._slots = tuple(ResultSlot(r, is_only=len(results) == 1) for r in results)
        self._destinations = tuple(self._slots[index] for index in entry.destinations)
        self._returned = tuple(self._slots[index] for index in entry.returned)
        self._layout = _laid_out(self._arguments, self._destinations, self._returned)
        self._records = Records()
        self._written = tuple(
            (index, argument)
            for index, argument in enumerate(self._arguments)
            if isinstance(argument, ArrayArgument) and argument.is_written
        )
        self.callee = Callee(
            self.own,
            self._layout,
            self._arguments,
            tuple(sorted(self._destinations, key=lambda slot: slot.position)),
            self.shared,
            open_ended,
        )
        self.direct = None if self._returned else direct_call(self.callee)
        self.short: ShortCall | None = self.direct or open_call(self.callee, self._returned)

    def __call__(
        self, *args: Any, out: Any = None, threads: int | None = None, **unknown: Any
    ) -> Any:
        """Run the entry.

        Args:
            *args: arrays and numbers in the order of the entry's inputs. An array that does not lie
                in memory as the entry reads it is copied first. Lists and Python numbers take the
                dtype of the parameter; values with a dtype must have the right one. Arrays of
                other libraries come through DLPack, and buffers as they are.
            out: the destination of the result: an array, or for several results a tuple with an
                array or None for each. It must not share memory with an input. Arrays of other
                libraries and writable buffers may be given, too.
            threads: the number of threads that may work on this call, if the work is large; by
                default `lx.threads.current()`. Calls with the same number have the same result.

        Returns:
            The result, or a tuple of them, or None if the entry has none: arrays, and NumPy
            scalars for results that are scalars; the arrays of `out`, if given. If all arrays
            among the arguments come from one other library, results are of that library.

        Raises:
            ArgumentError: an argument does not fit; its class tells the mistake. No code ran,
                unless the run decides the shape of a result, and its `out` has another.
            TargetError: its code is for a machine that this one cannot stand for.
            ExecutionError: an assertion of the module failed, or Ctrl-C ended the call in a thread
                other than the main one. The contents of `out` and of written arguments are
                undefined then.
            KeyboardInterrupt: Ctrl-C ended the call in the main thread.
        """
        if threads is not None:
            checked(threads)
        if self.short is not None and not unknown:
            result = self.short(args, out, threads)
            if result is not NotImplemented:
                if threads is None and self.direct is not None:
                    self._quicken(self.direct)
                return result
        if any(map(is_dask, args)) and not unknown:
            return hooks.facade("calls").kernel_on_dask(self, args, out, threads)
        if unknown:
            refuse_keywords(self.signature, unknown)
        if len(args) != len(self._arguments):
            raise ArityError(
                f"`{self.signature.name}` takes {counted(len(self._arguments), 'argument')}, "
                f"got {len(args)}",
                where=caller_location(),
                expected=str(self.signature),
            )
        if has_foreign_arrays(args, out):
            names = [argument.name for argument in self._arguments]
            return call_on_foreign_arrays(self, args, names.__getitem__, out, threads)
        prepared = [
            argument.prepare(value) for argument, value in zip(self._arguments, args, strict=True)
        ]
        if self._written:
            check_aliasing(self._written, prepared)
        outs: list[Any]
        if out is None:
            outs = [None] * len(self._slots)
        else:
            inputs = [
                value if isinstance(value, np.ndarray) else array
                for value, array in zip(args, prepared, strict=True)
            ]
            outs = split_out(out, self._slots, inputs)
        results: list[Any] = [None] * len(self._slots)
        for slot in self._destinations:
            results[slot.position] = slot.prepare(outs[slot.position])
        arrays = [v for v in (*prepared, *results) if v is not None] if self.shared else []
        frame = self._layout.take()
        try:
            for argument, value in zip(self._arguments, prepared, strict=True):
                argument.write(frame, value)
            for slot in self._destinations:
                slot.write(frame, results[slot.position])
            self.callee.run(frame, threads or current_threads(), arrays)
            if self._returned:
                self._collect(frame, prepared, outs, results)
        finally:
            self._layout.give_back(frame)
        for slot in self._slots:
            results[slot.position] = slot.finish(results[slot.position], outs[slot.position])
        if len(results) == 1:
            return results[0]
        return tuple(results) if results else None

    def _quicken(self, direct: DirectCall) -> None:
        if (native := caller()) is None:
            return

        def record(world: int) -> Record | None:
            # A first call does without this module, which takes time to load.
            from linalg_ext.executable.known_calls import kernel_record

            return kernel_record(direct, world)

        key = None if self.shared is None else thread_state()
        self._records.install(native, self, key, record)

    @property
    def code(self) -> Code:
        """The machine code for one thread."""
        return self.own.whole.code

    @property
    def opt_level(self) -> int:
        """LLVM's optimization level of the code for one thread."""
        return self.code.opt_level

    @property
    def assertions(self) -> tuple[str, ...]:
        """The messages of its failures."""
        return self.own.whole.assertions

    @property
    def steps(self) -> tuple[Stage, ...]:
        """The module at each stage of the lowering, to the code for one thread."""
        return (*self._stages, *self.own.whole.stages)

    @property
    def made_steps(self) -> tuple[Stage, ...]:
        """`steps`, without those to the code for one thread before it is made."""
        ready = self.own.ready
        return self._stages if ready is None else (*self._stages, *ready.stages)

    def _explanation(self) -> Explanation:
        explanation = self.own.whole.explanation
        if explanation is None:
            raise ArgumentError(f"the kernel `{self.signature.name}` has no explanation")
        return explanation

    @property
    def stages(self) -> Mapping[str, str]:
        """The module at each stage of the lowering, as text, by the name of the stage."""
        return MappingProxyType({stage.name: stage.text for stage in self.steps})

    def explain(self, threads: int = 1) -> Explanation:
        """Return the plan of each op, with its reasons: tiles, blocks, packing, vectors, stores.

        It also has the work, the time that a model of the machine gives, and the nearest plans that
        were not taken. For ops in plain loops it gives the reason. `print` it; `rich` and notebooks
        show a table.

        Args:
            threads: of the call that is meant. For more than one, the plans are of the slices of
                its loops, whose code is compiled where it is missing.

        Raises:
            ArgumentError: no number of threads.
        """
        if self.explanation is None:
            raise ArgumentError(
                f"the kernel `{self.signature.name}` has no record of its compilation",
                hint="make it with linalg_ext.compile or jit",
            )
        checked(threads)
        shared = None if self.shared is None else self.shared.for_threads(threads)
        explanation = self.explanation()
        if shared is None:
            return explanation
        return replace(explanation, decisions=shared.decisions, threads=shared.slices_text)

    def with_tuning(self, rows: Sequence[Row]) -> Kernel:
        """Add the findings of tuning to the explanation, and return this kernel."""
        explanation = replace(self.explain(), tuning=tuple(rows))
        self.explanation = lambda: explanation
        return self

    def export(self, folder: str | PathLike[str], *, library: bool | None = None) -> Path:
        """Write this kernel to a folder that can be shipped, and return its path.

        The folder has the object file, a shared library, a C header, and a Python file that loads
        the library with NumPy alone. It has each stage as text and as bytecode, and `kernel.json`
        with the machine and the signature. `lx.load(folder)` reads it; nothing of it needs MLIR. It
        runs on one thread; two exported kernels whose names differ can be linked into one program.
        Elsewhere it runs where the processor has the extensions of the target: `with
        lx.target.using("avx2"):` around its compilation asks for less than this machine has.

        Args:
            folder: a new one, or one that an export wrote, which is replaced.
            library: whether to link the shared library; by default where there is a linker.

        Raises:
            ExportError: the folder is something else, or cannot be written; no linker, or it fails;
                the kernel calls functions of Python.
        """
        if self.callbacks:
            raise ExportError(
                f"`{self.signature.name}` calls functions of Python, which stay in this process",
                where=caller_location(),
                hint="compute their results outside of the function, and pass them in",
            )
        # Calls do without this module, which takes time to load.
        from linalg_ext.executable.export import Exported, export

        contents = Exported(
            self.signature,
            self.entry,
            self.code,
            self.target,
            self.steps,
            self.assertions,
            data_of(self),
        )
        return export(contents, folder, library=library)

    def asm(self, *, whole: bool = False) -> str:
        """The machine code as assembly text: of the entry, or of everything with `whole`."""
        with self._asm_lock:
            if whole not in self._asm:
                code = self.code.object_code()
                self._asm[whole] = disassemble(code, None if whole else self.entry.symbol)
            return self._asm[whole]

    def __repr__(self) -> str:
        ready = self.own.ready
        ops = " > ".join(f"{stage.name} {stage.operations}" for stage in self.made_steps)
        times = self.times
        parts = " + ".join(f"{name} {1e3 * t:.1f}" for name, t in times.items() if name != "total")
        return "\n".join(
            [
                f"kernel {self.signature}",
                f"stages    {ops} ops",
                f"compiled  in {1e3 * times['total']:.1f} ms{', kept' * self.is_kept}: {parts}",
                f"code      for {self.target.name}"
                + (", several threads" if ready is None else f", LLVM opt level {self.opt_level}"),
            ]
        )

    def _collect(
        self, frame: Frame, prepared: Sequence[Any], outs: Sequence[Any], results: list[Any]
    ) -> None:
        borrowed = {
            frame[argument.word]
            for argument in self._arguments
            if isinstance(argument, ArrayArgument)
        }
        arrays = []
        for slot, word in zip(self._returned, self._layout.results, strict=True):
            words = frame[word : word + word_count(slot.rank)]
            descriptor = Descriptor.from_words(words, slot.rank)
            arrays.append(take_over(descriptor, slot.result.dtype, slot.vector, borrowed))
            borrowed.add(descriptor.allocated)
        for slot, array in zip(self._returned, arrays, strict=True):
            if outs[slot.position] is not None:
                slot.check_shape(outs[slot.position], array.shape)
            results[slot.position] = array

    def __reduce__(self) -> Any:
        """Pickle the module and the options, without code; unpickling compiles them at once.

        The new kernel is for the machine that unpickles it, unless a target was named. A kernel
        that is unpickled twice is compiled once. A module that was compiled without `trusted=True`
        is checked as `linalg_ext.compile` checks it. The findings of `tune` are not pickled.

        Pickles run code when they are read: read those alone whose authors you trust.
        """
        if self.recipe is None:
            refuse_pickling("a kernel whose module is gone", "compile the module there")
        if self.callbacks:
            refuse_pickling("a kernel that calls functions of Python", "send the jitted function")
        return interned, (self.recipe,)

    def __copy__(self) -> Kernel:
        return self  # a kernel is immutable

    def __deepcopy__(self, memo: object) -> Kernel:
        return self


def data_of(kernel: Kernel) -> Data:
    """Return a kernel as plain data, without its code, its stages and its shared work."""
    ready = kernel.own.ready
    return {
        "signature": signature_data(kernel.signature),
        "entry": kernel.entry._asdict(),
        "open_ended": kernel.callee.open_ended,
        **({} if ready is None else whole_data(ready)),
    }


def kernel_of(
    data: Mapping[str, Any],
    code: Code | None,
    stages: Sequence[Stage],
    target: Target,
    shared: SharedWork | None = None,
    *,
    times: CompileTimes | None = None,
    is_kept: bool = False,
    recipe: Recipe | None = None,
) -> Kernel:
    """Rebuild a kernel from the result of `data_of`, and its code for one thread, if it has it."""
    return Kernel(
        signature_of(data["signature"]),
        entry_of(data["entry"]),
        None if code is None else whole_of(data, code, (), target),
        stages=stages,
        times=times,
        open_ended=data["open_ended"],
        target=target,
        shared=shared,
        is_kept=is_kept,
        recipe=recipe,
    )


def _argument_of(parameter: Parameter) -> Argument:
    if not isinstance(parameter.type, ArrayType):
        return ScalarArgument(parameter, parameter.type)
    if parameter.type.strides is not None:
        return StridedArgument(parameter, parameter.type, parameter.type.strides)
    return ArrayArgument(parameter, parameter.type)


def _laid_out(
    arguments: Sequence[Argument],
    destinations: Sequence[ResultSlot],
    returned: Sequence[ResultSlot],
) -> FrameLayout:
    """Return the layout of a call's frame, and set the words of arguments and destinations.

    Destinations are results in memory of the caller; native code allocates that of `returned`.
    """
    ranks: list[int | None] = [
        argument.type.rank if isinstance(argument, ArrayArgument) else None
        for argument in arguments
    ]
    ranks += [slot.rank for slot in destinations]
    layout = FrameLayout(ranks, [slot.rank for slot in returned])
    for item, word in zip((*arguments, *destinations), layout.slots, strict=True):
        item.lay_out(layout, word)
    return layout


class CompilerOptions(NamedTuple):
    """The options of a compilation, as of `linalg_ext.compile`."""

    checked: bool = False
    opt_level: int | None = None
    libraries: tuple[str | Path, ...] = ()
    result_dtypes: Sequence[np.typing.DTypeLike | None] | None = None


class Recipe(NamedTuple):
    """The parts of a kernel from which another process compiles it again. Data alone.

    Attributes:
        module: in MLIR's binary form.
        entry: the function; None where only one is public.
        trusted: True if the module was trusted when it was first compiled. The pickle carries
            this flag: its reader trusts its writer. An untrusted module is checked again when
            unpickled, against the libraries of that process.
        options: of the compilation.
        target: the machine that was named; None for the one that the kernel is on.
    """

    module: bytes
    entry: str | None = None
    trusted: bool = False
    options: CompilerOptions = CompilerOptions()
    target: Target | None = None


_interned: Arrivals[Any] = Arrivals(most=64)


def interned(recipe: Recipe) -> Any:
    """Return the kernel of a recipe, compiled when it is first unpickled."""
    return _interned.get(recipe, lambda: hooks.facade("compiler").compile_recipe(recipe))


_LEAST_CALLS = 3


def times_of_calls(call: Callable[[], object], seconds: float) -> list[float]:
    """Measure calls within a number of seconds, three at least; return the seconds of each.

    A first call is not measured, because it compiles code for several threads.
    """
    call()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < _LEAST_CALLS or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return times
