"""Give ops the compute type that the hardware accumulates in.

Where the operands or the output of an op are narrower than the accumulators of the target, and it
carries no compute type, it gets the type of these accumulators:

before:
    %r = linalg.matmul ins(%a, %b : tensor<16x64xbf16>, tensor<64x32xbf16>)
           outs(%c : tensor<16x32xbf16>) -> tensor<16x32xbf16>
after:
    %r = linalg.matmul {linalg_ext.compute_type = f32}
           ins(%a, %b : tensor<16x64xbf16>, tensor<64x32xbf16>)
           outs(%c : tensor<16x32xbf16>) -> tensor<16x32xbf16>

Floats decide: bf16 x f32 into i8 is computed in f32. Where the output is an integer, they must hold
every integer of the op: those beyond 2^24 would lose bits in f32, so that the op is left as it is.
Where the output is of the type of the accumulators there is nothing to say, and an op that only
moves or casts elements is left alone.

The tables have the types that one instruction of the target multiplies and adds into: `vdpbf16ps`,
`vpmaddwd`, `vpdpbusd` and `vcvtph2ps` of x86-64; `bfdot`, `fmlal`, `sdot` and `smlal` of aarch64;
`mma.sync` of nvptx. Source: the instruction set manuals of Intel, Arm and NVIDIA.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from linalg_ext.bindings import ir
from linalg_ext.definition.functions import FunctionKind
from linalg_ext.definition.model import OpDefinition
from linalg_ext.definition.scalar import Apply
from linalg_ext.definition.types import family, holds, is_integer
from linalg_ext.errors import ArgumentError, DTypeError, RecognitionError
from linalg_ext.rewriting import MatchFailure, Rewriter, rewrite
from linalg_ext.structured.compute_type import compute_type_of, set_compute_type
from linalg_ext.structured.recognition import RecognizedOp, recognize

_F8 = (
    *("f8E5M2", "f8E4M3", "f8E4M3FN", "f8E3M4"),
    *("f8E5M2FNUZ", "f8E4M3FNUZ", "f8E4M3B11FNUZ"),
)
_USUAL = {
    **dict.fromkeys(("bf16", "f16", *_F8), "f32"),
    **dict.fromkeys(("i4", "i8", "i16"), "i32"),
}

ACCUMULATORS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {"x86-64": _USUAL, "aarch64": _USUAL, "nvptx": _USUAL}
)
"""For each target, the type that values of a narrower one are accumulated in."""


@rewrite(
    "linalg-ext-infer-compute-type",
    on=lambda name: name.startswith(("linalg.", "linalg_ext.")) and not name.endswith(".yield"),
    driver="walk",
)
def infer_compute_type(
    op: ir.OpView, rewriter: Rewriter, *, target: str = "x86-64"
) -> bool | MatchFailure:
    """Give ops the compute type that the hardware accumulates in.

    Options: `target` names the hardware: x86-64, aarch64 or nvptx.

    Raises:
        ArgumentError: the target is not known.
    """
    if target not in ACCUMULATORS:
        raise ArgumentError(
            f"target {target!r} is not known", expected=f"one of {', '.join(ACCUMULATORS)}"
        )
    try:
        recognized = recognize(op)
    except RecognitionError as error:
        return MatchFailure(error.reason)
    except ArgumentError:
        return False  # no structured op
    if compute_type_of(op) is not None or not _computes(recognized.definition):
        return False
    accumulator = _accumulator(recognized, ACCUMULATORS[target])
    if accumulator is None:
        return False
    if lost := _lost_integer(recognized, accumulator):
        return MatchFailure(f"accumulators of {accumulator} do not hold every {lost}")
    try:
        set_compute_type(op, accumulator)
    except DTypeError as error:
        return MatchFailure(error.what)
    return True


def _computes(definition: OpDefinition) -> bool:
    """Return whether an op does more than to move, cast and choose elements."""
    return any(
        isinstance(expr, Apply)
        and expr.function.kind is not FunctionKind.TYPE
        and expr.function.name != "select"
        for expr in definition.expressions()
    )


def _accumulator(recognized: RecognizedOp, table: Mapping[str, str]) -> str | None:
    """Return the type to compute in; None where the outputs are of it already."""
    inputs, outputs = element_types_of(recognized)
    elements = [*inputs, *outputs]
    for kind in ("float", "integer"):
        wide = [table.get(e, e) for e in elements if family(e) == kind]
        if wide and not any(family(e) == "complex" for e in elements):
            widest = next((type_ for type_ in wide if all(holds(type_, e) for e in wide)), None)
            return None if all(e == widest for e in outputs) else widest
    return None


def element_types_of(recognized: RecognizedOp) -> tuple[list[str], list[str]]:
    """Return the element types of the inputs and of the outputs."""
    definition, types = recognized.definition, recognized.types
    inputs, outputs = (
        [types[o.type_var.name] for o in operands if o.type_var is not None]
        for operands in (definition.inputs, definition.outputs)
    )
    return inputs, outputs


def _lost_integer(recognized: RecognizedOp, accumulator: str) -> str:
    """Return an integer type that the accumulators of an op into integers do not hold, or ""."""
    inputs, outputs = element_types_of(recognized)
    if family(accumulator) != "float" or not any(map(is_integer, outputs)):
        return ""  # an op into floats converts its integers to floats, too
    integers = filter(is_integer, (*outputs, *inputs))
    return next((integer for integer in integers if not holds(accumulator, integer)), "")
