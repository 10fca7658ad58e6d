"""Lowerings to linalg on tensors: StableHLO, tm_tensor, and the ops of this library's dialect.

`OUTLINING` and `PASSES` run before the checks of bounds, so that these see every index.
`DESTINATION_OPS` runs after them: these ops stay in bounds by the sizes that they assert.
"""

from __future__ import annotations

OUTLINING = (
    # Rounds come first: a loop of them may be in a layer.
    "linalg-ext-roll-up-rounds",
    # The passes up to the end of fusion then see one of several layers that are alike.
    "linalg-ext-outline-repeated-layers",
    # Outlined groups are functions, which nothing is fused into or out of.
    "linalg-ext-outline-groups",
)
"""Equal layers, and groups, become functions."""

PASSES = (
    "linalg-ext-lower-tm-tensor",
    "linalg-ext-lower-views",
    # The body of a subset loop may hold ops of every kind below.
    "linalg-ext-lower-subset-loops",
    # A contract knows the compute type of its steps and the order of its operands.
    "linalg-ext-lower-contract",
    # Upstream's passes drop the attribute, and then compute in another type.
    "linalg-ext-materialize-compute-type{strict=true}",
    "linalg-ext-lower-elementwise",
    "linalg-ext-refuse-unsupported",
    # A library call is out of reach of every pass that would change the op.
    "linalg-ext-call-libraries",
    # `canonicalize` folds a `tensor.pad` whose low and high pad cancel to its source.
    "linalg-ext-crop-negative-pads",
    # `canonicalize` folds x / x to 1, for x = 0 too.
    "linalg-ext-guard-integer-division",
    # A masked region must hold one operation alone, and passes move constants into it.
    "func.func(lower-vector-multi-reduction,lower-vector-mask)",
    "linalg-ext-mark-masked-operations",
)
"""Ops that only this library or an exporter knows become upstream's."""

DESTINATION_OPS = (
    "linalg-ext-lower-destination-ops",
    "convert-elementwise-to-linalg",
    "func.func(lift-cf-to-scf)",
    # It takes functions that `canonicalize` has left simple: a scope of allocas that ends a
    # function is gone by then.
    "inline{op-pipelines=func.func(canonicalize)}",
)
"""Ops with destinations become generics and loops, and every function but the entry is inlined."""
