"""Upstream's category ops, `linalg.elementwise` and `linalg.contract`, built without risk.

Their builders and their parser end the process where a kind has no meaning for an element type: it
is asked first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linalg_ext.bindings import ir, linalg
from linalg_ext.definition.affine import AffineMap
from linalg_ext.definition.functions import Function
from linalg_ext.structured.utils.constants import is_complex, is_float
from linalg_ext.structured.utils.maps import is_valid, maps_attribute, refusal

_INTEGERS_ONLY = frozenset(("div_unsigned", "max_unsigned", "min_unsigned"))
_ON_INTEGERS = frozenset(("add", "sub", "mul", "div", "max_signed", "min_signed", *_INTEGERS_ONLY))
_ON_BOOLEANS = frozenset(("add", "mul", "max_signed", "min_signed"))
_ON_COMPLEX = frozenset(("add", "sub", "mul", "div"))


def elementwise_refusal(
    function: Function, inputs: Sequence[ir.Value], output: ir.Value, maps: Sequence[AffineMap]
) -> str | None:
    """Why `linalg.elementwise` cannot say this; None where it can."""
    if not hasattr(linalg, "ElementwiseOp"):
        return "MLIR is built without linalg.elementwise"
    elements = [_element(value) for value in (*inputs, output)]
    computed = elements[1:] if function.name == "select" else elements
    if len({str(element) for element in computed}) > 1:
        return "linalg.elementwise casts nothing"
    if len(inputs) != function.kind.arity:
        # Its verifier would let more pass, and its body does not read them.
        return f"linalg.elementwise takes {function.kind.arity} operand(s) for {function.name}"
    if function.name not in _kinds():
        return f"linalg.elementwise has no kind {function.name}"
    if not _has_meaning(function.name, computed[-1]):
        return f"linalg.elementwise has no {function.name} of {computed[-1]}"
    return refusal("linalg.elementwise", maps)


def build_elementwise(
    function: Function,
    inputs: Sequence[ir.Value],
    output: ir.Value,
    maps: Sequence[AffineMap],
    attributes: Mapping[str, ir.Attribute] | None = None,
) -> ir.Operation | None:
    """Build `linalg.elementwise` at the current insertion point; None where it cannot say this."""
    if elementwise_refusal(function, inputs, output, maps) is not None:
        return None
    kind = ir.Attribute.parse(f"#linalg.elementwise_kind<{function.name}>")
    return _built("linalg.elementwise", inputs, output, maps, {**(attributes or {}), "kind": kind})


def build_contract(
    inputs: Sequence[ir.Value],
    output: ir.Value,
    maps: Sequence[AffineMap],
    *,
    cast: str = "cast_signed",
    attributes: Mapping[str, ir.Attribute] | None = None,
) -> ir.Operation | None:
    """Build `linalg.contract` at the current insertion point; None where it cannot say this."""
    if not hasattr(linalg, "ContractOp") or refusal("linalg.contract", maps) is not None:
        return None
    if not all(_multiplies(_element(value)) for value in (*inputs, output)):
        return None
    more = dict(attributes or {})
    if cast != "cast_signed":
        more["cast"] = ir.Attribute.parse(f"#linalg.type_fn<{cast}>")
    return _built("linalg.contract", inputs, output, maps, more)


def _built(
    name: str,
    inputs: Sequence[ir.Value],
    output: ir.Value,
    maps: Sequence[AffineMap],
    attributes: Mapping[str, ir.Attribute],
) -> ir.Operation | None:
    is_tensor = isinstance(output.type, ir.RankedTensorType)
    new = ir.Operation.create(
        name,
        results=[output.type] if is_tensor else [],
        operands=[*inputs, output],
        attributes={
            **attributes,
            "indexing_maps": maps_attribute(maps),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(inputs), 1]),
        },
        regions=1,
    )
    linalg.fill_builtin_region(new)
    if is_valid(new):
        return new
    new.erase()
    return None


def _has_meaning(name: str, element: ir.Type) -> bool:
    """Return whether upstream's body builder has an answer; else it would end the process."""
    if name == "select":
        return True
    if is_float(element):
        return name not in _INTEGERS_ONLY
    if is_complex(element):
        return name in _ON_COMPLEX
    if isinstance(element, ir.IntegerType):
        return name in (_ON_BOOLEANS if element.width == 1 else _ON_INTEGERS)
    return False


def _multiplies(element: ir.Type) -> bool:
    """Return whether upstream multiplies numbers of a type: its body builder does not survive
    index.
    """
    return isinstance(element, (ir.FloatType, ir.IntegerType))


def _kinds() -> frozenset[str]:
    """The kinds that this build of MLIR knows."""
    return frozenset(kind.name.lower() for kind in linalg.ElementwiseKind)


def _element(value: ir.Value) -> ir.Type:
    kind = value.type
    return ir.ShapedType(kind).element_type if isinstance(kind, ir.ShapedType) else kind
