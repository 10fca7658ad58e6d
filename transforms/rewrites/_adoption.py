"""Functions that were made in a module of their own, moved to where they are wanted."""

from __future__ import annotations

from linalg_ext.bindings import ir


def adopt(module: ir.Operation, made: ir.Module) -> None:
    """Move the functions of `made` to the end of `module`, but for what is declared there already.

    Args:
        module: the operation of a module; its own symbols stay as they are.
        made: in the same context, and alive until this is done; what is left of it is of no use.
    """
    table = ir.SymbolTable(module)
    for view in list(made.body.operations):
        op = view.operation
        if ir.StringAttr(op.attributes["sym_name"]).value not in table:
            op.detach_from_parent()
            module.regions[0].blocks[0].append(op)
