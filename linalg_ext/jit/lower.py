"""Stopgap."""
from types import SimpleNamespace
from linalg_ext.bindings import passmanager
LOWER = ("inline,canonicalize,cse,convert-elementwise-to-linalg,one-shot-bufferize{bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map},"
  "buffer-deallocation-pipeline,convert-bufferization-to-memref,"
  "convert-linalg-to-loops,lower-affine,convert-vector-to-scf{full-unroll=true},"
  "convert-scf-to-cf,expand-strided-metadata,lower-affine,arith-expand{include-bf16=true include-f8e8m0=true},"
  "convert-vector-to-llvm{enable-x86=true reassociate-fp-reductions=true},convert-math-to-llvm,convert-complex-to-llvm,convert-arith-to-llvm,convert-index-to-llvm,"
  "finalize-memref-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,convert-ub-to-llvm,reconcile-unrealized-casts,canonicalize,cse")
def lower_to_llvm(module, on_stage=None):
    pm=passmanager.PassManager.parse('builtin.module('+LOWER+')', module.context)
    pm.run(module.operation)
    return SimpleNamespace(assertions=(), suggested_opt_level=None)
