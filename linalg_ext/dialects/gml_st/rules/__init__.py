"""Rules: for a part of a result, the parts of the operands, and the op on those parts.

    rule = rule_of(op)
    part = rule.part_for_result(wanted)
    rule.operand_parts(part)
    rule.build(part, take)

`protocol.py` describes the answers of a rule. A family of ops is a file, and a line for each op
here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from linalg_ext.bindings import ir
from linalg_ext.dialects.gml_st.rules.concatenation import ConcatenateRule, ConcatRule
from linalg_ext.dialects.gml_st.rules.creation import (
    ConstantRule,
    EmptyRule,
    GenerateRule,
    SplatRule,
)
from linalg_ext.dialects.gml_st.rules.gather_scatter import (
    GatherRowsRule,
    GatherRule,
    ScatterRowsRule,
    ScatterRule,
)
from linalg_ext.dialects.gml_st.rules.moving import DynamicBroadcastRule, ReverseRule
from linalg_ext.dialects.gml_st.rules.protocol import (
    PARALLEL,
    REDUCTION,
    Accumulation,
    Domain,
    Rule,
    Take,
    TakeElement,
    Unserved,
)
from linalg_ext.dialects.gml_st.rules.reshapes import CastRule, CollapseShapeRule, ExpandShapeRule
from linalg_ext.dialects.gml_st.rules.slices import ExtractSliceRule, InsertSliceRule, PadRule
from linalg_ext.dialects.gml_st.rules.structured import StructuredRule, maps_tensors
from linalg_ext.dialects.gml_st.rules.whole_dimensions import ScanRule, SoftmaxRule, SortRule

__all__ = [
    "PARALLEL",
    "REDUCTION",
    "Accumulation",
    "Domain",
    "Rule",
    "Take",
    "TakeElement",
    "Unserved",
    "has_rule",
    "rule_of",
]

_RULES: Mapping[str, Callable[[ir.Operation], Rule]] = MappingProxyType(
    {
        "arith.constant": ConstantRule,
        "linalg.softmax": SoftmaxRule,
        "linalg_ext.concatenate": ConcatenateRule,
        "linalg_ext.dynamic_broadcast_in_dim": DynamicBroadcastRule,
        "linalg_ext.gather": GatherRowsRule,
        "linalg_ext.reverse": ReverseRule,
        "linalg_ext.scan": ScanRule,
        "linalg_ext.scatter": ScatterRowsRule,
        "linalg_ext.sort": SortRule,
        "tensor.cast": CastRule,
        "tensor.collapse_shape": CollapseShapeRule,
        "tensor.concat": ConcatRule,
        "tensor.empty": EmptyRule,
        "tensor.expand_shape": ExpandShapeRule,
        "tensor.extract_slice": ExtractSliceRule,
        "tensor.gather": GatherRule,
        "tensor.generate": GenerateRule,
        "tensor.insert_slice": InsertSliceRule,
        "tensor.pad": PadRule,
        "tensor.scatter": ScatterRule,
        "tensor.splat": SplatRule,
    }
)
"""The rule of each op that has no indexing maps, by its name."""


def rule_of(op: ir.Operation) -> Rule:
    """The rule that serves an op.

    Raises:
        Unserved: there is none, or this op is not one that it serves.
    """
    rule_class = _RULES.get(op.name) or (StructuredRule if maps_tensors(op) else None)
    if rule_class is None:
        raise Unserved(f"{op.name} has no tiling rule")
    if any(not isinstance(result.type, ir.RankedTensorType) for result in op.results):
        raise Unserved(f"{op.name} gives something that is not a ranked tensor")
    return rule_class(op)


def has_rule(op: ir.Operation) -> bool:
    """Return whether some rule serves an op."""
    try:
        rule_of(op)
    except Unserved:
        return False
    return True
