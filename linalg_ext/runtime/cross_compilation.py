"""Code for a machine that this one is not: made to be looked at, never to be run.

Upstream's engine makes code for this machine's architecture alone. For another one LLVM's IR goes
through llvmlite, an LLVM with every architecture in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from linalg_ext.bindings import ir, llvm
from linalg_ext.errors import TargetError
from linalg_ext.runtime.engine import Engine
from linalg_ext.runtime.machine_code import PackedFunction
from linalg_ext.target import Target, host

_TRIPLES = {"x86_64": "x86_64-unknown-linux-gnu", "aarch64": "aarch64-unknown-linux-gnu"}


def engine_for(
    target: Target,
    module: ir.Module,
    *,
    opt_level: int,
    libraries: Sequence[str | Path] = (),
) -> Engine:
    """The engine that makes code for `target`, whose functions run where this machine can run them.

    Raises:
        UnresolvedSymbolError, IRError: as `Engine`.
        TargetError: code for another architecture needs llvmlite, which is not installed.
    """
    here = host()
    if not target.missing_on(here):
        return Engine(module, opt_level=opt_level, libraries=libraries)
    if target.architecture == here.architecture:
        return _Unrunnable(target, module, opt_level=opt_level, libraries=libraries)
    return _CrossCompiled(target, module, opt_level=opt_level)


class _Unrunnable(Engine):
    """Code of this architecture, with instructions that this machine lacks."""

    def __init__(
        self,
        target: Target,
        module: ir.Module,
        *,
        opt_level: int,
        libraries: Sequence[str | Path] = (),
    ) -> None:
        super().__init__(module, opt_level=opt_level, libraries=libraries)
        self._target = target

    def variable(self, name: str) -> int | None:
        """None: the code is to be looked at."""
        return None

    def function(self, name: str) -> PackedFunction:
        """Has the code made, as `Engine.function` does; what it returns raises a TargetError."""
        super().function(name)
        return _refusal(self._target)


class _CrossCompiled(Engine):
    """Code of another architecture."""

    def __init__(self, target: Target, module: ir.Module, *, opt_level: int) -> None:
        # Not upstream's engine: none of its set-up.
        self.opt_level = opt_level
        self.libraries = ()
        self._target = target
        self._object = _compile(
            target, llvm.translate_module_to_llvmir(module.operation), opt_level
        )

    def variable(self, name: str) -> int | None:
        """None: the code is to be looked at."""
        return None

    def function(self, name: str) -> PackedFunction:
        """Return a function that raises a TargetError."""
        return _refusal(self._target)

    def object_code(self) -> bytes:
        """The object file (ELF)."""
        return self._object


def _refusal(target: Target) -> PackedFunction:
    def refuse(address: int) -> NoReturn:
        lacking = ", ".join(target.missing_on(host()))
        raise TargetError(
            f"code for {target.name} cannot run here: this machine lacks {lacking}",
            hint="look at it with asm(), or compile for the machine at hand",
        )

    return refuse


def _compile(target: Target, text: str, opt_level: int) -> bytes:
    """Object code of a module of LLVM IR."""
    try:
        import llvmlite.binding as backend
    except ImportError as error:
        raise TargetError(
            f"code for {target.architecture} needs an LLVM that has it",
            hint="pip install llvmlite",
        ) from error
    backend.initialize_all_targets()
    backend.initialize_all_asmprinters()
    try:
        module = backend.parse_assembly(text)
    except RuntimeError as error:
        raise TargetError(
            "llvmlite's LLVM cannot read the LLVM IR of this MLIR",
            where=str(error).strip(),
            hint="pip install --upgrade llvmlite",
        ) from error
    module.triple = _TRIPLES[target.architecture]
    machine = backend.Target.from_triple(module.triple).create_target_machine(
        cpu=target.llvm_cpu,
        features=",".join(target.llvm_features),
        opt=opt_level,
        reloc="pic",
    )
    module.data_layout = str(machine.target_data)
    options = backend.create_pipeline_tuning_options(speed_level=opt_level)
    passes = backend.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    return bytes(machine.emit_object(module))
