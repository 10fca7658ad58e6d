"""Compiling small modules for the tests of the way down, and comparing with NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np

from linalg_ext import compile
from linalg_ext.bindings import arith, ir

FLOATS: Mapping[str, Any] = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E4M3": ml_dtypes.float8_e4m3,
    "f8E3M4": ml_dtypes.float8_e3m4,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
}
"""NumPy's dtype for each of MLIR's float types."""

EIGHT_BIT = tuple(name for name in FLOATS if name.startswith("f8"))


def run(text: str, *args: Any, entry: str | None = None, **options: Any) -> Any:
    """Compile `text` (quickly: unchecked, no guard) and call it once."""
    return kernel(text, entry, **options)(*args)


def kernel(text: str, entry: str | None = None, **options: Any) -> Any:
    """Compile `text`, by default without run-time checks and at LLVM's lowest level."""
    return compile(text, entry, trusted=True, **{"checked": False, "opt_level": 0, **options})


def entry_of(compiled: Any) -> str:
    """The entry of a kernel when structured ops have become loops and calls, without the nests."""
    stage: str = compiled.as_text("loops")
    return stage[stage.index("func.func @lx_entry") :].partition("func.func private")[0]


def elementwise(
    operands: Mapping[str, str], results: Mapping[str, str], body: str, **options: Any
) -> Any:
    """A kernel on vectors of any length: `body` computes `results` from `operands` as scalars.

    Args:
        operands: the type of each scalar that `body` reads, by its name without the `%`.
        results: the type of each scalar that `body` defines and the kernel gives back.
    """
    names, outs = list(operands), list(results)
    inputs = ", ".join(f"%{name}_all: tensor<?x{type_}>" for name, type_ in operands.items())
    given = ", ".join(f"tensor<?x{type_}>" for type_ in results.values())
    empties = "\n".join(
        f"%{name}_e = tensor.empty(%n) : tensor<?x{type_}>" for name, type_ in results.items()
    )
    maps = ", ".join(["affine_map<(i) -> (i)>"] * (len(names) + len(outs)))
    block = ", ".join(
        [f"%{name}: {type_}" for name, type_ in operands.items()]
        + [f"%{name}_o: {type_}" for name, type_ in results.items()]
    )
    text = f"""
    func.func @f({inputs}) -> ({given}) {{
      %c0 = arith.constant 0 : index
      %n = tensor.dim %{names[0]}_all, %c0 : tensor<?x{operands[names[0]]}>
      {empties}
      %r:{len(outs)} = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel"]}}
        ins({", ".join(f"%{name}_all" for name in names)} :
            {", ".join(f"tensor<?x{type_}>" for type_ in operands.values())})
        outs({", ".join(f"%{name}_e" for name in outs)} : {given}) {{
      ^bb0({block}):
        {body}
        linalg.yield {", ".join(f"%{name}" for name in outs)} : {", ".join(results.values())}
      }} -> ({given})
      return {", ".join(f"%r#{at}" for at in range(len(outs)))} : {given}
    }}
    """
    return kernel(text, **options)


def ulps(actual: Any, expected: Any) -> Any:
    """How many numbers of the dtype lie between, elementwise; 0 between two NaNs."""
    assert actual.dtype == expected.dtype
    signed = np.dtype(f"i{actual.dtype.itemsize}")
    both_nan = np.isnan(actual) & np.isnan(expected)
    distance = np.abs(_ordered(actual, signed) - _ordered(expected, signed))
    return np.where(both_nan, 0, distance)


def _ordered(values: Any, signed: Any) -> Any:
    bits = values.view(signed).astype(object)
    least = -(1 << (8 * signed.itemsize - 1))
    return np.where(bits < 0, least - bits, bits)


def same_bits(actual: Any, expected: Any) -> None:
    """Equal bit for bit, NaNs aside: those need only be NaNs."""
    assert actual.dtype == expected.dtype
    unsigned = np.dtype(f"u{actual.dtype.itemsize}")
    differ = actual.view(unsigned) != expected.view(unsigned)
    differ &= ~(np.isnan(actual) & np.isnan(expected))
    assert not differ.any(), (
        f"{differ.sum()} of {differ.size} differ, the first: "
        f"{actual[differ][:5]} instead of {expected[differ][:5]}"
    )


def normalized(module: str | ir.Module) -> str:
    """The text of a module with its constants merged and sorted, and its values renamed.

    So that two spellings of one example can be compared as texts.
    """
    if isinstance(module, str):
        with ir.Context():
            return normalized(ir.Module.parse(module))
    from linalg_ext.bindings import passmanager

    passmanager.PassManager.parse("builtin.module(cse)", module.context).run(module.operation)
    for function in module.body.operations:
        blocks: Any = function.operation.regions[0].blocks
        if not len(blocks):
            continue
        found: list[Any] = []

        def visit(op: Any, found: list[Any] = found) -> Any:
            if op.name == arith.ConstantOp.OPERATION_NAME:
                found.append(op)
            return ir.WalkResult.ADVANCE

        function.operation.walk(visit)
        for constant in sorted(found, key=lambda op: op.get_asm().partition("=")[2], reverse=True):
            first = blocks[0].operations[0].operation
            if first != constant:
                constant.move_before(first)
    return str(module)
