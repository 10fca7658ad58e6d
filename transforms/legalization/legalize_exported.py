"""Ops of StableHLO, TOSA and PyTorch as linalg on tensors: upstream's passes first.

    module = lx.parse(text)        # runs it, where the text holds such ops

Ops that upstream's passes leave (StableHLO's loops, branches, sorts, scatters, and some of open
sizes) are lowered here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from linalg_ext.errors import IRError, LoweringError
from linalg_ext.module import Module
from linalg_ext.rewriting import run_pipeline
from linalg_ext.transforms.ir_utils.walking import place, select

_STABLEHLO = ",".join(
    (
        # Slices of size zero, which the legalization to linalg would put out of bounds.
        "func.func(stablehlo-aggressive-simplification)",
        "inline",
        "stablehlo-legalize-to-linalg",
        "linalg-ext-lower-stablehlo",
        "stablehlo-convert-to-signless",
        "reconcile-unrealized-casts",
        "linalg-ext-lower-scalar-tensors",
        "canonicalize",
        "cse",
        # Exporters leave open the type in which narrow floats are added up; all of them mean f32.
        "linalg-ext-infer-compute-type",
    )
)

_TOSA = ",".join(
    (
        "func.func(tosa-optional-decompositions,canonicalize,tosa-infer-shapes)",
        # Branches, loops and scatters first: the legalization to linalg leaves none.
        "func.func(tosa-make-broadcastable,tosa-to-scf,tosa-to-linalg-named,canonicalize)",
        "func.func(tosa-layerwise-constant-fold,tosa-make-broadcastable,tosa-to-linalg)",
        "func.func(tosa-to-tensor,tosa-to-arith{include-apply-rescale=true})",
        "canonicalize",
        "cse",
    )
)

TORCH = (
    "func.func(torch-match-quantized-custom-ops),"
    "torchdynamo-export-to-torch-backend-pipeline{extra-library=},"
    "torch-backend-to-linalg-on-tensors-backend-pipeline{allow-non-finites=true}"
)
"""torch-mlir's way from its ops to linalg, as its own front door runs it."""

_PIPELINES = {"stablehlo": _STABLEHLO, "torch": TORCH, "tosa": _TOSA}


_HINTS: Mapping[str, str] = MappingProxyType(
    {
        "stablehlo.custom_call": "the call is to the exporter's runtime: compute it with "
        "other functions, or outside of the compiled function",
        "stablehlo.fft": "compile the function of JAX by lx.from_jax, which calls NumPy's "
        "transforms; or transform outside of the compiled function",
    }
)
"""The hint for an op of an exporter's dialect that has no lowering to linalg."""


def legalize_exported(module: Module, *, trusted: bool = False) -> None:
    """Write StableHLO's, TOSA's and PyTorch's ops as linalg on tensors, in place.

    Raises:
        LoweringError: there is one that neither upstream nor this library lowers; names it, and a
            remedy.
        CrashError: one of upstream's passes died; this module is as before.
    """
    root = module.ir.operation
    dialects = {op.name.partition(".")[0] for op in select(root, lambda op: _is_exported(op.name))}
    for dialect in sorted(dialects & set(_PIPELINES)):
        try:
            run_pipeline(module, _PIPELINES[dialect], trusted=trusted)
        except IRError as error:
            raise _refused(error, dialect) from error
    if not dialects:
        return
    remaining = select(module.ir.operation, lambda op: _is_exported(op.name))
    # The first op is an outermost one: the ops of its body are refused with it.
    if remaining:
        name = remaining[0].name
        callee = remaining[0].attributes.get("call_target_name")
        raise LoweringError(
            f"{name}{f' to {callee}' if callee else ''} has no known lowering to linalg",
            where=place(remaining[0]),
            hint=_HINTS.get(name, "write it with other ops before the module is exported"),
        )


def _is_exported(name: str) -> bool:
    return name.startswith(("stablehlo.", "chlo.", "torch.", "torch_c.", "tosa."))


def _refused(error: IRError, dialect: str) -> LoweringError:
    first = error.diagnostics[0] if error.diagnostics else error.what
    return LoweringError(
        f"upstream's passes cannot bring {dialect} to linalg: {str(first).splitlines()[0]}",
        where=error.where,
        hint="write the op with others before the module is exported",
        diagnostics=error.diagnostics,
    )
