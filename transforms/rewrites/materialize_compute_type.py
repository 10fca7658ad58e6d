"""Turn compute types into plain linalg: an accumulator, the op on it, one cast out.

An op that accumulates gets an accumulator of its compute type. It stays the named op that it is
where that means the same on the accumulator:

before:
    %r = linalg.matmul {linalg_ext.compute_type = f32}
           ins(%a, %b : tensor<16x64xbf16>, tensor<64x32xf32>)
           outs(%c : tensor<16x32xi8>) -> tensor<16x32xi8>
after:
    %e = tensor.empty() : tensor<16x32xf32>
    %i = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>,
                                          affine_map<(d0, d1) -> (d0, d1)>],
                         iterator_types = ["parallel", "parallel"]}
           ins(%c : tensor<16x32xi8>) outs(%e : tensor<16x32xf32>) {
    ^bb0(%in: i8, %out: f32):
      %x = arith.sitofp %in : i8 to f32
      linalg.yield %x : f32
    } -> tensor<16x32xf32>
    %m = linalg.matmul ins(%a, %b : tensor<16x64xbf16>, tensor<64x32xf32>)
           outs(%i : tensor<16x32xf32>) -> tensor<16x32xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>,
                                          affine_map<(d0, d1) -> (d0, d1)>],
                         iterator_types = ["parallel", "parallel"]}
           ins(%m : tensor<16x32xf32>) outs(%c : tensor<16x32xi8>) {
    ^bb0(%in: f32, %out: i8):
      %y = arith.fptosi %in : f32 to i8
      linalg.yield %y : i8
    } -> tensor<16x32xi8>

A fill of a constant is repeated in the compute type. On memrefs the accumulator is a buffer.
Any other op is one generic with the casts in its body, which element-wise fusion takes in:

before:
    %r = linalg.exp {linalg_ext.compute_type = f32}
           ins(%a : tensor<8xbf16>) outs(%c : tensor<8xbf16>) -> tensor<8xbf16>
after:
    %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
                         iterator_types = ["parallel"]}
           ins(%a : tensor<8xbf16>) outs(%c : tensor<8xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %x = arith.extf %in : bf16 to f32
      %y = math.exp %x : f32
      %z = arith.truncf %y : f32 to bf16
      linalg.yield %z : bf16
    } -> tensor<8xbf16>

An op whose body no definition can say is left as it is, its attribute with it; the way down to LLVM
refuses it.
"""

from __future__ import annotations

from linalg_ext.bindings import ir, memref
from linalg_ext.errors import ArgumentError, LoweringError, RecognitionError
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.compute_type import (
    NAME,
    OpInComputeType,
    check_compute_type,
    clear_compute_type,
    ops_with_compute_type,
)
from linalg_ext.transforms.ir_utils.walking import replace_op

PASS = "linalg-ext-materialize-compute-type"


@module_pass(PASS)
def materialize_compute_type(
    root: ir.Operation,
    *,
    per_iteration: bool = False,
    saturate: bool = False,
    strict: bool = False,
) -> Report:
    """Turn compute types into plain linalg.

    Options: `per_iteration` casts the result to its type at every step of an accumulation, which
    is another operation: it rounds at every step, and needs no accumulator. `saturate` keeps the
    casts out to the range of the output's type, a NaN becoming the integer 0; else they are
    `arith.fptosi`, `arith.truncf` and `arith.trunci`. `strict` makes an error of an op that would
    be left.

    Raises:
        VerificationError: a compute type is not a type, or cannot hold the operation.
        LoweringError: an op would be left, and `strict` is given.
    """
    report = Report(PASS)
    for op in ops_with_compute_type(root):
        name = str(op.name)
        report.matched[name] += 1
        try:
            stated = OpInComputeType.of(op)
        except ArgumentError:
            check_compute_type(op)  # raises the error, with its place
            raise
        except RecognitionError as error:
            if strict:
                raise LoweringError(
                    f"{name} carries a compute type, and no definition describes it",
                    where=str(error.where),
                    hint=f"take {NAME} away, or write the casts into its body",
                    diagnostics=[str(error)],
                ) from None
            report.leave(name, error.reason)
            continue
        report.changed[name] += 1
        if stated.is_so_already:
            clear_compute_type(op)
            continue
        with ir.InsertionPoint(op), op.location:
            results = _materialize(stated, per_iteration=per_iteration, saturate=saturate)
        replace_op(op, *results)
    return report


def _materialize(stated: OpInComputeType, *, per_iteration: bool, saturate: bool) -> list[ir.Value]:
    """Return the values that the results are replaced by; none on memrefs."""
    # A saturating cast names its value several times: in a body, so would the op's expression be.
    in_the_body = per_iteration or not (stated.form.accumulates or saturate)
    if in_the_body:
        return list(stated.build_at_every_point(saturate=saturate).results)
    outputs = list(zip(stated.form.outputs, stated.recognized.outputs, strict=True))
    accumulators = [
        stated.accumulator(output, value) if output.is_cast else value for output, value in outputs
    ]
    computed = stated.build_on_accumulators(accumulators)
    sums = list(computed.results) if stated.is_on_tensors else accumulators
    results = []
    for (output, value), accumulator in zip(outputs, sums, strict=True):
        if not output.is_cast:
            results.append(accumulator)
            continue
        cast = stated.cast_out(output, accumulator, value, saturate=saturate)
        if stated.is_on_tensors:
            results.append(cast.results[0])
        else:
            memref.DeallocOp(accumulator)
    return results if stated.is_on_tensors else []
