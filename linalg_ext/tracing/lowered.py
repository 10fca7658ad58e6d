"""A traced function before and after it is compiled: `lower(...)`, and `.compile()` of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from linalg_ext.compiler.compilation import compile
from linalg_ext.compiler.tuning import Tuning
from linalg_ext.errors import ArgumentError, ArityError, ExportError, caller_location
from linalg_ext.executable.kernel import Kernel
from linalg_ext.executable.known_calls import constant, entries_of, record_of, sharing_key
from linalg_ext.module import Module
from linalg_ext.runtime.callbacks import Callback
from linalg_ext.runtime.dtypes import DType
from linalg_ext.runtime.libraries import Libraries
from linalg_ext.runtime.vectorcall import Caller, Records, caller
from linalg_ext.runtime.vectorcall_record import Record
from linalg_ext.target import setting, using
from linalg_ext.tracing.arguments import Binding, Call, sizes_of
from linalg_ext.tracing.values.containers import (
    LEAF,
    Structure,
    expected,
    flatten,
    matched,
    unflatten,
)
from linalg_ext.tracing.values.sizes import AnySize, Size
from linalg_ext.tracing.values.trace import Demand
from linalg_ext.utils.vectorcall import quickly_called

if TYPE_CHECKING:
    from rich.console import RenderableType

_MOST_SHAPES = 256
"""The most sets of sizes that are remembered; the sizes of other calls are compared each time."""


@dataclass(frozen=True, eq=False)
class Recording:
    """The trace of a function for the arguments of one call.

    Attributes:
        module: the function, in linalg on tensors.
        name: its name in the module.
        call: the arguments that it was traced for.
        demands: conditions that the sizes of a call must satisfy.
        results: how its results are contained.
        dtypes: theirs.
        callbacks: functions of Python that its code calls, which live as long as this does.
    """

    module: Module
    name: str
    call: Call
    demands: tuple[Demand, ...]
    results: Structure
    dtypes: tuple[DType, ...]
    callbacks: tuple[Callback, ...]


Compile = Callable[[Call, Recording, "bool | float | Tuning | None"], "Compiled"]
"""Compiles a recording for the arguments of a call, with `tune=` as it was given."""


@dataclass(frozen=True, eq=False, repr=False)
class Lowered(Recording):
    """A traced function, before it is compiled: `module` has it in linalg on tensors.

    Attributes:
        compiled_for: compiles it.
    """

    compiled_for: Compile

    def as_text(self) -> str:
        """Return the module as MLIR text."""
        return str(self.module)

    def compile(self, *, tune: bool | float | Tuning | None = None) -> Compiled:
        """Return the kernel for the target in force: the one that a call of the function runs.

        Args:
            tune: as for `linalg_ext.compile`; by default as `jit` was told.
        """
        return self.compiled_for(self.call, self, tune)

    def __repr__(self) -> str:
        return f"<Lowered {self.name}>\n{self.as_text()}"

    def _repr_html_(self) -> str:
        return self.module._repr_html_()

    def __rich__(self) -> RenderableType:
        return self.module


@quickly_called
class Compiled:
    """A compiled function: call it as the function, on arguments of the shapes it was traced for.

    All else is asked of its kernel: `as_text(stage)`, `asm()`, `times`, `stages`, ...

    Attributes:
        kernel: takes the arrays of the arguments in order.
        is_plain: whether a call of the kernel is a call of the function, once sizes are checked:
            there are no containers.
    """

    def __init__(self, kernel: Kernel, recording: Recording) -> None:
        call, results = recording.call, recording.results
        self.kernel = kernel
        self._kinds = call.kinds
        self._names = call.names
        self._arguments = call.structure
        self._static = call.static
        self._binding = call.binding.exactly(call.structure.keys)
        plain = set(call.structure.children) <= {LEAF} and self._binding.is_positional
        self._positional = len(call.kinds) if plain else None
        """The number of positional arguments where these are the arrays, else None."""
        self._demands = recording.demands
        self._choices = [demand for demand in recording.demands if demand.is_choice]
        # The kernel may be called by itself: it keeps the callbacks alive.
        kernel.callbacks = recording.callbacks
        self._results = results
        self._agreeing: set[tuple[tuple[int, ...], ...]] = set()
        """Shapes of arguments that were found to agree."""
        self._records = Records()
        self._is_open = any(isinstance(size, Size) for kind in call.kinds for size in kind.shape)
        is_tuple = results.kind is tuple and results.leaves > 1
        flat = results is LEAF or results == LEAF or (is_tuple and set(results.children) == {LEAF})
        self._is_flat = flat
        self.is_plain = flat and not call.static and set(call.structure.children) <= {LEAF}

    def is_of(self, recording: Recording) -> bool:
        """Return whether the kernel was made from a module that equals the recorded one."""
        recipe = self.kernel.recipe
        return recipe is not None and recipe.module == recording.module.bytecode()

    def serves(self, call: Call) -> bool:
        """Return whether it is a kernel for the sizes of a call, whose kinds are those traced."""
        sizes = call.sizes if self._choices else {}
        is_known = all(kind.names <= sizes.keys() for kind in call.kinds)
        return not self._choices or (
            is_known and all(demand.holds(sizes) for demand in self._choices)
        )

    def __call__(
        self, *arguments: Any, out: Any = None, threads: int | None = None, **named: Any
    ) -> Any:
        """Run it on the arguments that are not static; `threads` as of `Kernel`.

        Raises:
            ArgumentError: of the kind that tells how an argument differs from the traced one.
        """
        leaves: Sequence[Any] = arguments
        is_plain = not named and len(arguments) == self._positional
        if not is_plain or any(type(argument) is not np.ndarray for argument in arguments):
            leaves, structure = flatten(self._binding.arguments(arguments, named), constants=True)
            if structure != self._arguments:
                self._refuse(structure)
        result = self.on_arrays(leaves, out, threads)
        if threads is None and (native := caller()) is not None:
            self.quicken(native, self, leaves, len(arguments), tuple(named))
        return result

    def quicken(
        self,
        native: Caller,
        called: Any,
        leaves: Sequence[Any],
        count: int,
        names: tuple[str, ...],
        function: Binding | None = None,
        libraries: Libraries | None = None,
    ) -> None:
        """Have native code answer calls like one from now on, where it can.

        Args:
            called: this, or the function.
            leaves: of that call, as they were given.
            function: of the function, where it was called: its static arguments are given, too.
            libraries: those in force when the function chose this.
        """
        if self.kernel.direct is None:
            return
        shared = sharing_key(self.kernel.callee)
        pattern = (function is None, count, names, tuple(map(type, leaves)), shared)
        self._records.install(
            native,
            called,
            pattern,
            lambda world: self._record(world, leaves, count, names, function),
            libraries,
        )

    def _record(
        self,
        world: int,
        leaves: Sequence[Any],
        count: int,
        names: tuple[str, ...],
        function: Binding | None,
    ) -> Record | None:
        direct = self.kernel.direct
        if direct is None or self._is_open:
            return None
        dtypes = [
            None if type(leaf) is np.ndarray else kind.dtype
            for leaf, kind in zip(leaves, self._kinds, strict=True)
        ]
        if any(type(x) is int and d != np.int64 for x, d in zip(leaves, dtypes, strict=True)):
            return None  # an integer that is so large that it is another type
        entries, spare = entries_of(direct, leaves, dtypes)
        remaining = iter(entries)
        values = {
            key: expected(child, remaining)
            for key, child in zip(self._arguments.keys, self._arguments.children, strict=True)
        }
        if function is not None:
            values |= {name: constant(value) for name, value in self._static}
        results = expected(self._results, iter(range(self._results.leaves)))
        if results is None:
            return None
        return record_of(
            direct.callee,
            world,
            (self._binding if function is None else function).in_order(count, names, values),
            built=results,
            settings=() if function is None else (setting(),),
            spare=spare,
            names=names,
        )

    def _refuse(self, structure: Structure) -> NoReturn:
        name = self.kernel.signature.name
        if structure.leaves != len(self._kinds):
            raise ArityError(
                f"`{name}` got {structure.leaves} arrays",
                where=caller_location(),
                expected=f"{len(self._kinds)}: {', '.join(self._names)}",
                hint="a list of numbers is as many arguments: np.asarray(numbers) is one array",
            )
        raise ArgumentError(
            f"`{name}` got {structure}",
            where=caller_location(),
            expected=f"containers as they were traced: {self._arguments}",
            hint="call the jitted function, which is traced for any",
        )

    def on_arrays(self, arrays: Sequence[Any], out: Any = None, threads: int | None = None) -> Any:
        """Run it on the arrays of the arguments, in order."""
        if self._is_open:
            self._check_sizes(arrays)
        if self._is_flat:
            return self.kernel(*arrays, out=out, threads=threads)
        if out is not None:
            outs = matched(out, self._results, "out")
            out = outs[0] if len(outs) == 1 else tuple(outs)
        returned = self.kernel(*arrays, out=out, threads=threads)
        leaves = [returned] if self._results.leaves == 1 else list(returned)
        return unflatten(self._results, leaves)

    def export(self, folder: str | PathLike[str], *, library: bool | None = None) -> Path:
        """Write the kernel to a folder that can be shipped: see `Kernel.export`.

        The shipped function takes the arrays of the arguments in order, and gives those of the
        results: containers are left behind. Sizes that are open are checked by the code itself
        then.

        Raises:
            ExportError: as of `Kernel.export`; or sizes are open and the module is too large to
                be compiled once more.
        """
        return self._checked_by_itself().export(folder, library=library)

    def _checked_by_itself(self) -> Kernel:
        """Return the kernel, with the checks of sizes in its code that are made here else."""
        if not self._is_open:
            return self.kernel
        module = self.kernel.steps[0].bytecode
        if not module:
            raise ExportError(
                f"`{self.kernel.signature.name}` has open sizes and large constants",
                hint="pass the constants as arguments, or trace it for the sizes at hand",
            )
        dtypes = [result.dtype for result in self.kernel.signature.results]
        with using(self.kernel.target):
            return compile(
                module,
                self.kernel.signature.name,
                trusted=True,
                checked=True,
                result_dtypes=dtypes,
            )

    def _check_sizes(self, arrays: Sequence[Any]) -> None:
        """Raise where sizes do not agree that the function needs to."""
        shaped = [a if hasattr(a, "shape") else np.asarray(a) for a in arrays]
        if any(len(a.shape) != len(k.shape) for a, k in zip(shaped, self._kinds, strict=True)):
            return  # the kernel names the argument
        shapes = tuple(tuple(a.shape) for a in shaped)
        if shapes in self._agreeing:
            return
        sizes = sizes_of(self._kinds, shaped, self._names)
        for demand in self._demands:
            if not demand.holds(sizes):
                raise demand.refusal(sizes, [*map(self._origin, (demand.left, demand.right))])
        if len(self._agreeing) < _MOST_SHAPES:
            self._agreeing.add(shapes)

    def _origin(self, size: AnySize) -> str:
        """Return a text that names the arguments and axes that a size comes from."""
        names = size.names if isinstance(size, Size) else ()
        places = [
            f"{name} is axis {axis} of {argument}"
            for name in sorted(names)
            for argument, kind in zip(self._names, self._kinds, strict=True)
            for axis, own in enumerate(kind.shape)
            if isinstance(own, Size) and own.name == name and name != f"{argument}.shape[{axis}]"
        ]
        return "; ".join(places)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_records": Records()}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "kernel":
            raise AttributeError(name)
        return getattr(self.kernel, name)

    def __repr__(self) -> str:
        return repr(self.kernel)

    def _repr_html_(self) -> str:
        return self.kernel._repr_html_()

    def __rich__(self) -> RenderableType:
        return self.kernel
