"""`Module`: one MLIR module with the context that it lives in.

A `Module` never hands out an op that a later transformation could free: it shows names, types and
text. `.ir` is upstream's own `ir.Module`; a transformation puts a new one in its place, and the
old one stays as it was, for callers that still hold handles into it.
"""

from __future__ import annotations

import json
import os
import re
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import linalg_ext.dialects  # noqa: F401  # registers them for every context
from linalg_ext.bindings import ir as mlir
from linalg_ext.dialects.asm import SPELLED, resolve, to_text, translated
from linalg_ext.dialects.asm.translation import Translation
from linalg_ext.errors import (
    ArgumentError,
    IRError,
    ParseError,
    VerificationError,
    refuse_pickling,
)
from linalg_ext.ir.bytecode import to_bytecode, write_out_empty_resources
from linalg_ext.ir.context import ensure_dialects, new_context
from linalg_ext.ir.diagnostics import Diagnostic, collected, joined, of_error, of_silence
from linalg_ext.runtime import parser_process
from linalg_ext.runtime.passes import IRPrinting
from linalg_ext.utils import hooks, other_libraries
from linalg_ext.utils.hooks import Shown

ModuleLike: TypeAlias = "Module | mlir.Module | mlir.Operation | mlir.OpView | str"
"""A module in any form that the transformations accept."""

_SUFFIXES = (".mlir", ".mlirbc")
_UNREGISTERED = "-allow-unregistered-dialect"
_VERIFIER_MESSAGE = re.compile(r"'[\w.$-]+' op ")


class Module(Shown, shown_as="module"):
    """A module, its context, and our verification.

    Attributes:
        filename: the name of its text in diagnostics.
        applied: the scripts of the transform dialect in it that have run, by their names.
    """

    def __init__(self, raw: mlir.Module, *, filename: str = "-", upstream: bool = False) -> None:
        """Wrap `raw`. With `upstream` the caller holds `raw` itself: changes are made in it."""
        self._ir = raw
        self._in_place = upstream
        self._shown = False
        self._retired: list[mlir.Module] = []
        self.filename = filename
        self.applied: set[str] = set()

    @classmethod
    def parse(
        cls,
        text: str | bytes,
        *,
        trusted: bool = False,
        allow_unregistered: bool = False,
        legalize: bool = True,
        filename: str = "-",
        context: mlir.Context | None = None,
    ) -> Module:
        """Parse and verify a text (or bytecode) in a context of its own.

        Structured ops may be spelled as the "Linalg Dialect Wish list" has them, or as some other
        version of MLIR does, ops of gml_st as their document or its history has them, and groups
        with heads of operands and options: see `linalg_ext.dialects.asm`. Ops of TOSA, StableHLO
        and PyTorch become linalg on tensors.

        Args:
            text: MLIR's textual form, or its bytecode.
            trusted: skip the guard process. Some texts kill MLIR's parser, and with it this
                process: only for text that MLIR itself has printed.
            allow_unregistered: let ops of unknown dialects pass, in the generic form.
            legalize: bring exporters' ops, TOSA, StableHLO and PyTorch's, to linalg.
            filename: the name of the text in diagnostics.
            context: one that no other thread uses now, to put it in; a new one by default.

        Raises:
            ParseError: the text is not MLIR.
            VerificationError: it breaks a rule of one of its ops.
            LoweringError: an op of TOSA, StableHLO or PyTorch has no lowering to linalg.
            CrashError: MLIR's parser died on it, in the guard process.
        """
        _check_text(text)
        if _names_torch(text):
            # Only now: it loads all that torch-mlir registers.
            from linalg_ext.dialects.torch import make_known

            make_known()
            if context is not None:
                ensure_dialects(context)
        translation = translated(text, filename) if isinstance(text, str) else None
        payload = text if translation is None else translation.text
        if not trusted:
            refusal = parser_process.check_text(payload, allow_unregistered=allow_unregistered)
            if refusal is not None:
                raise _rejected(text, _traced_back(refusal.diagnostics, translation), filename)
        if context is None:
            context = new_context()
        context.allow_unregistered_dialects = allow_unregistered
        with collected(context) as emitted:
            try:
                module = cls(mlir.Module.parse(payload, context), filename=filename)
            except mlir.MLIRError as error:
                diagnostics = joined(of_error(error), emitted)
                raise _rejected(text, _traced_back(diagnostics, translation), filename) from None
            except RuntimeError:
                # The bindings cannot turn a message into a str that quotes bytes which are not
                # text.
                raise _rejected(text, (), filename) from None
        if isinstance(text, bytes) or "\\" in text:
            _check_names(module.ir.operation)
        if isinstance(payload, str):
            write_out_empty_resources(module.ir.operation, payload)
        if translation is not None and SPELLED in payload:
            resolve(module._ir, translation)
            module.verify()
        elif _mentions(text, "linalg_ext.compute_type"):
            module._check_compute_types(text if isinstance(text, str) else "")
        is_legalized = legalize and not allow_unregistered
        if is_legalized and _mentions(payload, "tosa", "stablehlo", "torch"):
            hooks.facade("module").legalize_exported(module, trusted=trusted)
        return module

    @classmethod
    def of(cls, source: ModuleLike) -> Module:
        """Return a `Module` of an object that holds one: itself, upstream's module or its op, a
        text.

        Upstream's module stays the caller's: transformations change it in place (when they
        succeed).

        Raises:
            ArgumentError: `source` holds no module.
        """
        if isinstance(source, Module):
            return source
        if isinstance(source, str | bytes):
            return cls.parse(source)
        if isinstance(source, mlir.Module):
            return cls(source, upstream=True)
        if isinstance(source, mlir.Operation | mlir.OpView):
            return _of_operation(source.operation)
        raise ArgumentError(
            f"{type(source).__name__} is not a module",
            expected="a Module, an ir.Module.module op, or MLIR text",
        )

    def payload(self) -> Module:
        """Return the module without the scripts of the transform dialect that were applied to it.

        They are the named sequences that `transform-interpreter` has run, and those that they
        name; a script that was not applied stays.
        """
        if not self.applied:
            return self
        bare = self.clone()
        children = [child.operation for child in bare.ir.body.operations]
        # Upstream's tests have scripts in a module of their own, beside the functions.
        libraries = [op for op in children if op.name == "builtin.module"]
        inside = [
            child.operation for op in libraries for child in op.regions[0].blocks[0].operations
        ]
        scripts = {
            mlir.StringAttr(op.attributes["sym_name"]).value: op
            for op in (*children, *inside)
            if op.name == "transform.named_sequence"
        }
        named = [name for name in self.applied if name in scripts]
        for name in named:  # which grows by the names of each of them
            callees = re.findall(r"@(\w+)", str(scripts[name]))
            named += [callee for callee in callees if callee in scripts and callee not in named]
        for name in named:
            scripts[name].erase()
        for library in libraries:
            if named and not len(library.regions[0].blocks[0].operations):
                library.erase()
        return bare

    if not TYPE_CHECKING:  # a type checker that saw it would take every name for one that exists

        def __getattr__(self, name: str) -> NoReturn:
            raise other_libraries.no_attribute("a Module", name, other_libraries.OF_A_MODULE)

    @property
    def ir(self) -> mlir.Module:
        """Upstream's module, as it is now; a transformation puts another one here."""
        self._shown = True
        return self._ir

    @property
    def context(self) -> mlir.Context:
        """Return the context that it lives in."""
        return self._ir.context

    @property
    def functions(self) -> Mapping[str, str]:
        """Return the functions by name, with their types as text."""
        types = {}
        for op in self._ir.body.operations:
            attributes = op.operation.attributes
            if "sym_name" in attributes and "function_type" in attributes:
                name = mlir.StringAttr(attributes["sym_name"]).value
                types[name] = str(mlir.TypeAttr(attributes["function_type"]).value)
        return types

    def to_text(
        self,
        *,
        sugar: bool = False,
        locations: bool = False,
        elide: int | None = None,
        generic: bool = False,
    ) -> str:
        """Return the module as text.

        Args:
            sugar: write structured ops as the "Linalg Dialect Wish list" does, with transposes,
                broadcasts and compute types beside their operands. Ops of linalg_ext and gml_st
                have their readable form. `Module.parse` reads it back.
            locations: write the location of each op and argument.
            elide: elements beyond which a constant is elided. Such a text cannot be compiled.
            generic: write the generic form of MLIR.

        Raises:
            ArgumentError: `sugar` stands beside one of the others.
        """
        if not (locations or generic or elide is not None):
            return to_text(self._ir) if sugar else str(self._ir)
        if sugar:
            raise ArgumentError(
                "sugar= writes a form of its own",
                hint="leave out locations=, elide= and generic=, or sugar=",
            )
        text: str = self._ir.operation.get_asm(
            enable_debug_info=locations, large_elements_limit=elide, print_generic_op_form=generic
        )
        return with_filename(text, self.filename)

    def clone(self) -> Module:
        """Return a copy in the same context."""
        copy = Module(_clone(self._ir), filename=self.filename)
        copy.applied = set(self.applied)
        return copy

    def bytecode(self) -> bytes:
        """Return the module in MLIR's binary form, locations included."""
        return to_bytecode(self._ir.operation)

    def successor(self, bytecode: bytes) -> Module:
        """Return a module of the same context, from bytecode that MLIR wrote."""
        return Module(mlir.Module.parse(bytecode, self.context), filename=self.filename)

    def verify(self, *, after: str | None = None) -> None:
        """Check every rule of every op, and this library's rules for its own attributes.

        Args:
            after: the pass that ran last, to name in the error.

        Raises:
            VerificationError: with upstream's messages whole.
        """
        with collected(self.context) as emitted:
            try:
                if self._ir.operation.verify():
                    self._check_compute_types()
                    return
                diagnostics = joined(emitted)
            except mlir.MLIRError as error:
                diagnostics = joined(of_error(error), emitted)
        first = _summary(diagnostics, "a rule of one of its ops is broken")
        raise VerificationError(
            f"the module is invalid after {after}: {first}" if after else first,
            hint=_body_hint(self._ir.operation),
            diagnostics=[diagnostic.shown(self.filename) for diagnostic in diagnostics],
        )

    def _check_compute_types(self, text: str = "") -> None:
        # Definitions and their notations load with it: only where a module is at hand.
        from linalg_ext.structured.compute_type import check_compute_types

        check_compute_types(self._ir.operation, text=text, filename=self.filename)

    def run(
        self,
        pipeline: str | Sequence[str],
        *,
        trusted: bool = False,
        on_stage: Callable[[str, str], None] | None = None,
        print_after: str | Sequence[str] | None = None,
    ) -> Module:
        """Run a textual pipeline of upstream's passes and ours; returns this module.

        See `linalg_ext.rewriting.run_pipeline`, whose report says more.

        Args:
            pipeline: the passes.
            trusted: run upstream's passes in this process.
            on_stage: called with each pass and the module's text after it.
            print_after: print the IR on standard error, as mlir-opt does, after "all" passes, after
                each "change", or after the passes of these names.

        Raises:
            ArgumentError: `print_after` names a pass that is not in the pipeline.
            PipelineError: it cannot be read, or one of its passes failed; this module is as before.
            CrashError: one of upstream's passes died; this module is as before.
        """
        hooks.facade("module").run_pipeline(
            self, pipeline, trusted=trusted, on_stage=on_stage, printing=_printing(print_after)
        )
        return self

    def swap(self, new: Module) -> None:
        """Put the contents of `new`, a module of the same context, in the place of these.

        Raises:
            ArgumentError: `new` lives in another context.
        """
        if new.context is not self.context:
            raise ArgumentError("a module cannot take over the contents of another context")
        if self._in_place:
            _replace_contents(self._ir, new._ir)
            return
        if self._shown:
            # A caller may hold handles into the old one, and a handle of upstream's does not keep
            # its module alive.
            self._retired.append(self._ir)
        self._ir = new._ir
        self._shown = False

    def __str__(self) -> str:
        return str(self._ir)

    def __reduce__(self) -> NoReturn:
        refuse_pickling("a Module", "copy it with module.clone(), or pickle its text, str(module)")

    def __repr__(self) -> str:
        functions = self.functions
        width = max(map(len, functions), default=0)
        count = sum(1 for _ in self._ir.body.operations)
        head = f"Module {self.filename}: {count} top-level ops, {len(functions)} functions"
        return "\n".join([head, *(f"  @{n:{width}}  {t}" for n, t in functions.items())])


def as_module(source: ModuleLike) -> Module:
    """`Module.of`."""
    return Module.of(source)


def with_filename(text: str, filename: str) -> str:
    """Return a text with locations in which MLIR's name for a text, `-`, is a file's."""
    return text.replace('loc("-":', f"loc({json.dumps(filename)}:")


def _printing(after: str | Sequence[str] | None) -> IRPrinting | None:
    if after is None:
        return None
    if after in ("all", "change"):
        return IRPrinting(after_all=True, after_change=after == "change")
    names = [after] if isinstance(after, str) else after
    if not (isinstance(names, Sequence) and names and all(isinstance(n, str) for n in names)):
        raise ArgumentError(
            f"print_after={after!r}", expected='"all", "change", or names of passes'
        )
    return IRPrinting(after_all=True, names=tuple(names))


def _mentions(text: str | bytes, *names: str) -> bool:
    """Return whether a text may have ops or attributes of some names; bytecode has them as text."""
    return any((name in text if isinstance(text, str) else name.encode() in text) for name in names)


def _names_torch(text: str | bytes) -> bool:
    """Return whether an op or a type may be of PyTorch's dialect."""
    if isinstance(text, bytes):
        return b"torch" in text
    return "torch" in text and re.search(r"(?<![\w.\-])torch\.\w", text) is not None


def _check_text(text: Any) -> None:
    if not isinstance(text, str | bytes):
        raise ArgumentError(
            f"{type(text).__name__} is not MLIR text",
            expected="a str, or the bytes of bytecode",
            hint="read the file: Path(...).read_text()" if isinstance(text, os.PathLike) else None,
        )
    if isinstance(text, str):
        if text.endswith(_SUFFIXES) and len(text.split()) == 1:
            raise ParseError(
                f"`{text}` is the name of a file, not MLIR text",
                hint=f"read it: Path({text!r}).read_text()",
            )
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ParseError(
                f"the text holds a character that UTF-8 cannot express, at offset {error.start}",
                hint="open the file with encoding='utf-8'",
            ) from None


def _check_names(module: mlir.Operation) -> None:
    """Check that names of symbols are text: in bytecode, and by escapes, they may be any bytes.

    Raises:
        ParseError: one is not UTF-8; names the op that has it.
    """

    def visit(op: mlir.Operation) -> mlir.WalkResult:
        for key in op.attributes:
            try:
                attribute = op.attributes[key]
            except TypeError:  # the bindings have no class for it: elements that are complex
                continue
            if not isinstance(attribute, mlir.StringAttr | mlir.FlatSymbolRefAttr):
                continue
            try:
                _ = attribute.value
            except (RuntimeError, UnicodeDecodeError):
                if isinstance(attribute, mlir.FlatSymbolRefAttr) or attribute in _names_of(op):
                    unreadable.append(op)
        return mlir.WalkResult.ADVANCE

    unreadable: list[mlir.Operation] = []
    module.walk(visit)
    if unreadable:
        raise ParseError(
            f"a name that {unreadable[0].name} has, or uses, is not text: its bytes are not UTF-8",
            where=str(unreadable[0].location).removeprefix("loc(").removesuffix(")"),
            hint="give functions and globals names in UTF-8",
        )


def _names_of(op: mlir.Operation) -> list[mlir.Attribute]:
    return [op.attributes[key] for key in ("sym_name", "library_call") if key in op.attributes]


def _traced_back(
    diagnostics: tuple[Diagnostic, ...], translation: Translation | None
) -> tuple[Diagnostic, ...]:
    """Diagnostics about a translated text as ones about the text that it was made from."""
    if translation is None or translation.text is translation.source.text:
        return diagnostics
    return tuple(diagnostic.moved(translation.origin) for diagnostic in diagnostics)


def _rejected(text: str | bytes, diagnostics: tuple[Diagnostic, ...], filename: str) -> IRError:
    source = text if isinstance(text, str) else ""
    diagnostics = diagnostics or of_silence(source)
    broken = any(_VERIFIER_MESSAGE.match(diagnostic.message) for diagnostic in diagnostics)
    kind = VerificationError if broken else ParseError
    return kind(
        _summary(diagnostics, "MLIR's parser rejects the text"),
        where=diagnostics[0].pointed(source, filename) if diagnostics else None,
        hint=_cure(diagnostics, source),
        diagnostics=[diagnostic.shown(filename) for diagnostic in diagnostics],
    )


_IREE = re.compile(r"(?<![\w.@%-])(?:util|hal|flow|stream|vm|iree_\w+)\.\w")
"""An op or a type of the dialects inside IREE's compiler."""


def _cure(diagnostics: tuple[Diagnostic, ...], text: str) -> str | None:
    """Return the hint for an unknown dialect; for IREE's, the export that leaves them out."""
    is_unregistered = any(_UNREGISTERED in diagnostic.message for diagnostic in diagnostics)
    if _IREE.search(text) and (is_unregistered or "not found" in diagnostics[0].message):
        return (
            "IREE has its own dialects around linalg: take the module before IREE "
            'does, by torch_mlir.fx.export_and_import(model, x, output_type="linalg-on-tensors") '
            "of a model of PyTorch, jax.jit(f).lower(x).as_text() of one of JAX"
        )
    if is_unregistered:
        return "lx.parse(text, allow_unregistered=True) lets ops of unknown dialects pass"
    return None


def _summary(diagnostics: tuple[Diagnostic, ...], otherwise: str) -> str:
    # The rest, which may be a whole function, is in the diagnostics.
    return diagnostics[0].message.strip().partition("\n")[0] if diagnostics else otherwise


def _of_operation(op: mlir.Operation) -> Module:
    if op.name != "builtin.module":
        raise ArgumentError(
            f"{op.name} is not a module",
            expected="a builtin.module op",
            hint="give the module that holds it, or call .apply(op) of the pass",
        )
    # Upstream has no way from a module's op back to its ir.Module.
    raise ArgumentError(
        "a builtin.module op does not lead back to its ir.Module",
        expected="the ir.Module itself",
        hint="give the ir.Module whose .operation this is, or call .apply(op) of the pass",
    )


def _clone(raw: mlir.Module) -> mlir.Module:
    new = mlir.Module.create(raw.operation.location)
    _copy_attributes(raw, new)
    _copy_ops(raw, new)
    return new


def _copy_attributes(source: mlir.Module, target: mlir.Module) -> None:
    old, new = source.operation.attributes, target.operation.attributes
    for name in [name for name in new if name not in old]:
        del new[name]
    for name in old:
        new[name] = old[name]


def _copy_ops(source: mlir.Module, target: mlir.Module) -> None:
    at_end = mlir.InsertionPoint(target.body)
    for op in source.body.operations:
        op.operation.clone(ip=at_end)


_graveyards: weakref.WeakKeyDictionary[mlir.Module, list[mlir.Module]] = weakref.WeakKeyDictionary()


def _body_hint(root: mlir.Operation) -> str | None:
    """Return the way to build an op of linalg that was left without its body, if there is one."""
    names: list[str] = []

    def visit(op: mlir.Operation) -> mlir.WalkResult:
        if op.name.startswith("linalg.") and any(not len(region.blocks) for region in op.regions):
            names.append(op.name)
        return mlir.WalkResult.ADVANCE

    root.walk(visit)
    if not names:
        return None
    return f"{names[0]} has no body: call the function {names[0]}(..., outs=[...]), which fills it"


def _replace_contents(raw: mlir.Module, new: mlir.Module) -> None:
    """Give the caller's own module the contents of `new`.

    The old ops move to a module that lives as long as the caller's does, because the caller may
    still hold handles to them.
    """
    grave = mlir.Module.create(raw.operation.location)
    at_end = grave.body
    for op in list(raw.body.operations):
        op.operation.detach_from_parent()
        at_end.append(op)
    _graveyards.setdefault(raw, []).append(grave)
    _copy_attributes(new, raw)
    _copy_ops(new, raw)


parse = Module.parse
"""`lx.parse(text)` is `Module.parse(text)`."""
