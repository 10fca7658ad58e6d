"""The execution engine: from a module in the LLVM dialect to functions that can be called.

Upstream's engine prints to stderr and hands out null pointers where a symbol or a library is
missing; here both are found before it is made. It makes code for this machine's architecture alone:
for another one LLVM's IR goes through llvmlite, an LLVM with every architecture in it. Such code is
made to be looked at, never to be run.
"""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from linalg_ext.bindings import execution_engine, ir, llvm
from linalg_ext.errors import IRError, TargetError, UnresolvedSymbolError
from linalg_ext.ir.diagnostics import collected
from linalg_ext.runtime.libraries import (
    load_compiler_runtime,
    load_libraries,
    missing_of,
    published_address,
)
from linalg_ext.runtime.machine_code import PackedFunction, as_packed, variable_symbol
from linalg_ext.runtime.object_file import undefined_symbols
from linalg_ext.target import Target, host


class Engine:
    """One module, compiled. It lives as long as anything that may still call into it.

    Attributes:
        opt_level: LLVM's optimization level, 0 to 3.
        libraries: the shared libraries that were loaded for it.
    """

    def __init__(
        self,
        module: ir.Module,
        *,
        opt_level: int = 2,
        libraries: Sequence[str | Path] = (),
        position_independent: bool = False,
    ) -> None:
        """Translate `module`, which is in the LLVM dialect, and set up its code.

        `libraries` have the functions it calls. A linker takes `position_independent` code as it
        is.

        Raises:
            UnresolvedSymbolError: a library cannot be loaded, or a declared function is nowhere.
            IRError: the module cannot be translated to LLVM IR.
        """
        self.opt_level = opt_level
        self.libraries = tuple(str(library) for library in libraries)
        load_compiler_runtime()
        self._handles = load_libraries(self.libraries)
        _check_declarations(module, self._handles)
        with collected(module.context) as emitted:
            try:
                self._engine = execution_engine.ExecutionEngine(
                    module,
                    opt_level=opt_level,
                    shared_libs=list(self.libraries),
                    enable_pic=position_independent,
                )
            except RuntimeError as error:
                raise IRError(
                    "the module cannot be translated to LLVM IR",
                    hint="every op must be in the LLVM dialect before code is made",
                    diagnostics=[message.shown() for message in emitted] or [str(error)],
                ) from error
        operations = [op.operation for op in module.body.operations]
        self._variables = {
            ir.StringAttr(op.attributes["sym_name"]).value
            for op in operations
            if op.name == "llvm.mlir.global"
        }
        for name in declared_functions(module):
            # In the scope of this engine alone, and only names that a library was registered for.
            if (address := published_address(name)) is not None:
                self._engine.raw_register_runtime(name, ctypes.c_void_p(address))

    def function(self, name: str) -> PackedFunction:
        """The packed form of the function `name`, which must carry `llvm.emit_c_interface`.

        The engine must outlive every call: keep it beside the function.

        Raises:
            UnresolvedSymbolError: the code refers to something that no library provides.
        """
        address = self._engine.raw_lookup(f"_mlir_ciface_{name}")
        if not address:
            # A call that LLVM itself put in: no declaration in the module told of it.
            missing = missing_of(undefined_symbols(self.object_code()), self._handles)
            raise UnresolvedSymbolError(
                f"the code of `{name}` calls {', '.join(missing) or 'a function'}, "
                "which nothing provides",
                hint="pass the library that has it as libraries=[...]",
            )
        return as_packed(address)

    def variable(self, name: str) -> int | None:
        """The address of a variable that the module defines; None where it does not."""
        if variable_symbol(name) not in self._variables:
            return None  # the engine would print an error
        address: int = self._engine.raw_lookup(name)
        return address or None

    def object_code(self) -> bytes:
        """The object file (ELF or Mach-O)."""
        with tempfile.TemporaryDirectory(prefix="linalg-ext-") as folder:
            path = Path(folder) / "code.o"
            self._engine.dump_to_object_file(str(path))
            return path.read_bytes()


def declared_functions(module: ir.Module) -> Iterator[str]:
    """The functions that a module declares and does not define, LLVM's own left out."""
    for op in module.body.operations:
        if op.operation.name != "llvm.func" or len(op.operation.regions[0].blocks):
            continue
        name = ir.StringAttr(op.operation.attributes["sym_name"]).value
        if not name.startswith("llvm."):
            yield name


def _check_declarations(module: ir.Module, libraries: Sequence[ctypes.CDLL]) -> None:
    """Raise an UnresolvedSymbolError that names all declared functions that are nowhere."""
    missing = missing_of(declared_functions(module), libraries)
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        raise UnresolvedSymbolError(
            f"the module calls {names}, which {'is' if len(missing) == 1 else 'are'} "
            "neither defined in it nor found in this process",
            hint="define it in the module, or pass the library that has it as libraries=[...]",
        )


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
    machine = host()
    if not target.missing_on(machine):
        return Engine(module, opt_level=opt_level, libraries=libraries)
    if target.architecture == machine.architecture:
        return _Unrunnable(target, module, opt_level=opt_level, libraries=libraries)
    return _CrossCompiled(target, module, opt_level=opt_level)


class _Unrunnable(Engine):
    """Code of this architecture, with instructions that this machine lacks."""

    def __init__(self, target: Target, module: ir.Module, **options: Any) -> None:
        super().__init__(module, **options)
        self._target = target

    def variable(self, name: str) -> int | None:
        return None

    def function(self, name: str) -> PackedFunction:
        """Has the code made, as `Engine.function` does; its result raises a TargetError."""
        super().function(name)
        return _refusal(self._target)


class _CrossCompiled(_Unrunnable):
    """Code of another architecture."""

    def __init__(self, target: Target, module: ir.Module, *, opt_level: int) -> None:
        # Not upstream's engine: none of its set-up.
        self.opt_level = opt_level
        self.libraries = ()
        self._target = target
        self._object = _compile(
            target, llvm.translate_module_to_llvmir(module.operation), opt_level
        )

    def function(self, name: str) -> PackedFunction:
        return _refusal(self._target)

    def object_code(self) -> bytes:
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
