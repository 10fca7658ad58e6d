"""Running a short script of the transform dialect on a module."""

from __future__ import annotations

from linalg_ext.bindings import interpreter, ir


def apply_script(module: ir.Operation, body: str) -> None:
    """Apply the transform operations in `body`, in which `%root` is the module.

    Raises:
        ValueError, RuntimeError or MLIRError: a transform failed.
    """
    script = f"""
    module attributes {{transform.with_named_sequence}} {{
    transform.named_sequence @apply(%root: !transform.any_op {{transform.readonly}}) {{
      {body}
      transform.yield
    }}
    }}"""
    parsed = ir.Module.parse(script)
    interpreter.apply_named_sequence(module, parsed.body.operations[0], parsed)
