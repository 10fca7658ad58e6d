"""Between torch's types and MLIR's own: torch-mlir's passes leave what is on these as it is."""

from __future__ import annotations

from linalg_ext.bindings import ir


def converted(op: str, type_: ir.Type, value: ir.Value) -> ir.Value:
    """A value as one of another type, by an op such as `torch_c.to_builtin_tensor`."""
    return ir.Operation.create(op, [type_], [value]).results[0]


def own_type(type_: ir.Type) -> ir.RankedTensorType:
    """MLIR's type for one of torch's: `!torch.vtensor<[5,?],f32>`."""
    text = str(type_).removeprefix("!torch.vtensor<[").removesuffix(">")
    sizes, _, element = text.partition("],")
    own = f"{sizes.replace(',', 'x')}x{element}" if sizes else element
    return ir.RankedTensorType(ir.Type.parse(f"tensor<{own}>"))
