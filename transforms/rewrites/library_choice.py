"""The choice of a function of a registered library for an op."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import ir, linalg
from linalg_ext.definition.attributes import resolve_attributes
from linalg_ext.definition.model import OpDefinition
from linalg_ext.definition.specialization import at_rank, specialize
from linalg_ext.errors import LibraryError, LinalgExtError
from linalg_ext.executable.libraries import (
    Gemm,
    Library,
    NativeFunction,
    OperandType,
    library_names,
)
from linalg_ext.structured.contraction_form import Contraction, contraction_of
from linalg_ext.structured.extension import forget_memoized_maps
from linalg_ext.structured.maps import split_operands
from linalg_ext.structured.operands import type_sizes
from linalg_ext.structured.recognition import RecognizedOp, recognize
from linalg_ext.transforms.ir_utils.walking import place, select

from ._arrangements import is_plain_tensor

ASKS = "library_call"
"""The attribute of an op that names a function."""


@dataclass(frozen=True)
class Chosen:
    """A function for an op.

    Attributes:
        native: the function.
        inputs: the number of operands that are inputs.
        operands: the types of the operands of the op, inputs first.
        product: the dimensions of the operands, for a matrix product.
    """

    native: NativeFunction
    inputs: int
    operands: tuple[OperandType, ...]
    product: Contraction | None = None


def asked_names(module: ir.Operation) -> frozenset[str]:
    """Return the names of functions that ops of a module ask for."""
    ops = select(module, lambda op: ASKS in op.attributes)
    return frozenset(name for op in ops if (name := _requested_name(op)) is not None)


def choose(
    op: Any, libraries: Sequence[Library], requested: Collection[str]
) -> Chosen | str | None:
    """Return the function that an op calls, the reason for none, or None where no library matters.

    Args:
        op: the op.
        libraries: those in force, the latest first.
        requested: the names that ops of its module ask for: to no other op do they mean anything.

    Raises:
        LibraryError: the op names a function that does not take its operands.
    """
    name = _requested_name(op)
    inputs = _input_count(op)
    forget_memoized_maps(op)
    if inputs is None or not _is_in_memory(op):
        return None if name is None else "the op has no maps, or operands that are not plain memory"
    operands = tuple(operand_type(value.type) for value in op.operands)
    if name is not None:
        choice = _by_name(op, name, inputs, operands, libraries)
        return choice or f"no registered library has `{name}`, which its library_call names"
    name = op.name.replace(".", "_")
    if name != "linalg_generic" and (choice := _by_name(op, name, inputs, operands, libraries)):
        return choice
    return _by_meaning(op, inputs, operands, libraries, requested)


def _requested_name(op: Any) -> str | None:
    if ASKS not in op.attributes:
        return None
    attribute = op.attributes[ASKS]
    return attribute.value if isinstance(attribute, ir.StringAttr) else None


def operand_type(type_: ir.Type) -> OperandType:
    """Return the type of an operand as a library describes it; unknown layouts are any layout."""
    if not isinstance(type_, ir.ShapedType) or isinstance(type_, ir.VectorType):
        return OperandType(str(type_))
    shape = tuple(type_sizes(type_))
    strides: tuple[bool, ...] | None = None
    if isinstance(type_, ir.MemRefType):
        steps, _ = type_.get_strides_and_offset()
        is_dense = type_ == ir.MemRefType.get(type_.shape, type_.element_type)
        strides = None if is_dense else tuple(stride == 1 for stride in steps)
    return OperandType(str(type_.element_type), shape, strides)


def _input_count(op: Any) -> int | None:
    """Return the number of inputs; None for an op without a region or a map for each operand."""
    maps = linalg.get_indexing_maps(op)
    if maps is None or len(maps) != len(op.operands) or not len(op.regions):
        return None
    return len(split_operands(op)[0])


def _is_in_memory(op: Any) -> bool:
    """Return whether all operands but scalars are plain tensors, or all are strided memrefs."""
    types = [value.type for value in op.operands if isinstance(value.type, ir.ShapedType)]
    return all(map(is_plain_tensor, types)) or all(map(_is_strided, types))


def _is_strided(type_: ir.Type) -> bool:
    if not isinstance(type_, ir.MemRefType) or type_.memory_space is not None:
        return False
    try:
        type_.get_strides_and_offset()
    except RuntimeError:
        return False
    return True


def _by_name(
    op: Any,
    base: str,
    inputs: int,
    operands: tuple[OperandType, ...],
    libraries: Sequence[Library],
) -> Chosen | None:
    reasons: list[str] = []
    names = library_names(base, operands[:inputs], operands[inputs:])
    for name in names:
        for library in libraries:
            for native in library.calls.get(name, ()):
                reason = native.function.refusal_of(operands)
                if reason is None:
                    return Chosen(native, inputs, operands)
                reasons.append(f"`{native.function}` of {library.name}: {reason}")
    if reasons:
        types = ", ".join(str(value.type) for value in op.operands)
        raise LibraryError(
            f"the op asks for the library function `{base}` and has the operands {types}",
            where=place(op),
            expected=reasons[0],
            hint="change the op's operands, or register a function that takes them",
            notes=reasons[1:],
        )
    return None


def _by_meaning(
    op: Any,
    inputs: int,
    operands: tuple[OperandType, ...],
    libraries: Sequence[Library],
    requested: Collection[str],
) -> Chosen | str | None:
    keys: list[tuple[OpDefinition, Sequence[NativeFunction]]] = []
    for library in libraries:
        keys += library.ops.items()
        keys += [
            (op, library.calls[name]) for op, name in library.named.items() if name not in requested
        ]
    if not keys:
        return None
    try:
        recognized = recognize(op)
    except LinalgExtError:
        return None
    reason: str | None = None
    for key, natives in keys:
        for native in natives:
            choice = _fitting(native, key, recognized, inputs, operands)
            if isinstance(choice, Chosen):
                return choice
            reason = reason or choice
    return reason


def _fitting(
    native: NativeFunction,
    key: OpDefinition,
    recognized: RecognizedOp,
    inputs: int,
    operands: tuple[OperandType, ...],
) -> Chosen | str | None:
    product = None
    if isinstance(native.function, Gemm):
        product = _matrix_product(recognized)
        if product is None:
            return None
    elif not _computes(recognized, key):
        return None
    reason = native.function.refusal_of(operands)
    if reason is None:
        return Chosen(native, inputs, operands, product)
    return f"`{native.function}` of {native.library}: {reason}"


def _matrix_product(recognized: RecognizedOp) -> Contraction | None:
    product = contraction_of(recognized)
    if product is None or product.batch or product.lone:
        return None
    kinds = (product.rows, product.columns, product.contracted)
    return product if all(len(dims) == 1 for dims in kinds) else None


def _computes(recognized: RecognizedOp, key: OpDefinition) -> bool:
    """Return whether an op is equivalent to a definition, with its operands in that order."""
    values = (*recognized.inputs, *recognized.outputs)
    ranked = at_rank(key, len(recognized.definition.outputs[0].shape))
    ranked_operands = (*ranked.inputs, *ranked.outputs)
    if len(values) != len(ranked_operands):
        return False
    types: dict[str, str] = {}
    for operand, value in zip(ranked_operands, values, strict=True):
        element = operand_type(value.type).element
        if types.setdefault(str(operand.type_var), element) != element:
            return False
    try:
        specialized = specialize(ranked, types, resolve_attributes(ranked, {}))
    except LinalgExtError:
        return False
    return specialized.equivalent(recognized.definition)
