"""Names that users of other libraries reach for, with their counterparts here.

An attribute or a keyword that is not here ends in an error anyhow; its hint is better than a list
of all names where the name is one of NumPy's, Numba's, JAX's, PyTorch's, MLIR's or xDSL's.
"""

from __future__ import annotations

from collections.abc import Mapping

_LOOP = "lx.loop(count, body, state), or a condition in the place of the count"
_BY_ITSELF = "leave it out: all code is compiled, without Python in it"
_TEXT = "f.lower(x).as_text(), and the stages of f.lower(x).compile().as_text(stage)"
_ASSEMBLY = "f.lower(x).compile().asm(), and the plans in .explain()"
_DERIVATIVE = "JAX differentiates, and lx.from_jax(jax.grad(f), x) brings the result"
_MATCHED = "the pattern has its op as an argument"
_UPSTREAM = "module.ir is upstream's ir.Module"

MODULE: Mapping[str, str] = {
    **dict.fromkeys(("njit", "generated_jit", "cfunc"), "lx.jit"),
    **dict.fromkeys(("vectorize", "guvectorize", "stencil"), "lx.jit of code on whole arrays"),
    "prange": "lx.loop, or whole arrays: threads share the work of both (lx.threads)",
    **dict.fromkeys(("set_num_threads", "get_num_threads"), "lx.threads(2)"),
    **dict.fromkeys(("vmap", "pmap"), "an axis for the batch: NumPy's functions broadcast over it"),
    **dict.fromkeys(("grad", "value_and_grad", "jacfwd", "jacrev", "vjp", "jvp"), _DERIVATIVE),
    **dict.fromkeys(("fori_loop", "while_loop", "map"), _LOOP),
    "scan": f"np.cumsum and its like for prefix sums, else {_LOOP}",
    "switch": "lx.cond(condition, then, otherwise)",
    "make_jaxpr": _TEXT,
    "eval_shape": "lx.jit(f).lower(lx.ShapeDtype(shape, dtype)), and its text",
    "ShapeDtypeStruct": "lx.ShapeDtype",
    **dict.fromkeys(("numpy", "array", "zeros", "arange"), "NumPy's own: import numpy as np"),
    "lax": f"NumPy's functions, {_LOOP}, and lx.cond",
    **dict.fromkeys(
        ("device_put", "devices", "cuda"), "arrays are NumPy's, in the memory of the processor"
    ),
    "PassManager": 'module.run("canonicalize,cse")',
    "Context": "linalg_ext.bindings.ir.Context",
    **dict.fromkeys(
        ("PatternRewriter", "RewritePattern"), "linalg_ext.rewriting.rewrite, a decorator"
    ),
    **dict.fromkeys(("export_and_import", "export"), "lx.from_torch(model, arguments)"),
}
"""Names asked of `linalg_ext` itself."""

FUNCTION: Mapping[str, str] = {
    "py_func": "f.__wrapped__",
    **dict.fromkeys(("inspect_asm", "inspect_llvm", "inspect_types"), f"{_TEXT}; {_ASSEMBLY}"),
    **dict.fromkeys(("as_text", "compile", "compiler_ir"), _TEXT),
    **dict.fromkeys(("trace", "eval_shape"), "f.lower(x)"),
    **dict.fromkeys(("recompile", "clear_cache"), "a new lx.jit(f.__wrapped__)"),
    "parallel_diagnostics": _ASSEMBLY,
}
"""Attributes asked of a jitted function."""

KEYWORDS: Mapping[str, str] = {
    **dict.fromkeys(("nopython", "nogil", "forceobj", "fullgraph", "inline"), _BY_ITSELF),
    "parallel": "leave it out: threads share work where it pays; lx.threads(2) bounds them",
    "cache": "leave it out: compiled code is kept on disk (lx.cache)",
    "fastmath": "leave it out: numbers are NumPy's, and sums are added in blocks",
    **dict.fromkeys(("boundscheck", "error_model"), "leave it out: every access is checked"),
    "locals": "x.astype(dtype) where a value is to be of another type",
    **dict.fromkeys(
        ("donate_argnums", "donate_argnames"), "f(x, out=array) says where the result goes"
    ),
    **dict.fromkeys(
        ("device", "in_shardings", "out_shardings"), "leave it out: there is one device"
    ),
    "backend": "lx.options(target=...) for code of another machine",
    "mode": "tune=True measures plans at the first call",
    **dict.fromkeys(("target_backend", "target"), "lx.options(target=...)"),
    **dict.fromkeys(
        ("keep_unused", "abstracted_axes"), "leave it out; open sizes are dynamic=True"
    ),
}
"""Keywords given to `jit`."""

REWRITER: Mapping[str, str] = {
    **dict.fromkeys(
        ("replace_matched_op", "replaceOp"), f"rewriter.replace_op(op, values): {_MATCHED}"
    ),
    **dict.fromkeys(("erase_matched_op", "eraseOp"), f"rewriter.erase_op(op): {_MATCHED}"),
    **dict.fromkeys(
        ("create", "insert_op", "insert_op_before_matched_op", "insert", "setInsertionPoint"),
        "build the op: it stands before the matched one (rewriter.ip is the insertion point)",
    ),
    **dict.fromkeys(
        ("notify_match_failure", "notifyMatchFailure"), 'return MatchFailure("the reason")'
    ),
    **dict.fromkeys(("modify_op_in_place", "notify_op_modified", "has_done_action"), "return True"),
}
"""Attributes asked of a `Rewriter`."""

OF_A_MODULE: Mapping[str, str] = {
    **dict.fromkeys(("body", "operation", "context_manager", "regions"), _UPSTREAM),
    **dict.fromkeys(("ops", "walk", "body_block"), f"module.ir.operation.walk(visit): {_UPSTREAM}"),
    **dict.fromkeys(("dump", "print"), "print(module), or module.to_text(...)"),
    **dict.fromkeys(("get_asm", "asm"), "module.to_text(...)"),
    **dict.fromkeys(("compile", "jit"), "lx.compile(module)"),
}
"""Attributes asked of a `Module`."""

MLIR_OPT: Mapping[str, str] = {
    **dict.fromkeys(
        ("load-pass-plugin", "load-dialect-plugin", "irdl-file"),
        "--load FILE.py runs a file of Python with rewrites, passes and dialects",
    ),
    "show-dialects": "the error of an op of an unknown dialect names all dialects",
    "mlir-pass-statistics": "--mlir-timing shows the time of each pass",
    "dump-pass-pipeline": "--mlir-print-ir-after-all names each pass",
    "mlir-print-local-scope": "--mlir-print-op-generic, or Module.ir.operation.get_asm",
    "emit-bytecode": "Module.bytecode() from Python",
    "run-reproducer": "the report of a pass that fails has the command that repeats it",
    "mlir-pass-pipeline-crash-reproducer": "the report of a pass that fails has it",
    "no-implicit-module": "a module is put around ops without one",
}
"""Options of mlir-opt that `linalg-ext opt` has not."""


def no_attribute(owner: str, name: str, instead: Mapping[str, str]) -> AttributeError:
    """Return the error of an attribute that an object has not."""
    message = f"{owner} has no attribute {name!r}"
    if name in instead:
        message = f"{message}; here: {instead[name]}"
    return AttributeError(message, name=name)
