"""One-shot bufferization: preparation of destinations, and the ops that exist on buffers alone."""

from __future__ import annotations

PASSES = (
    # `eliminate-empty-tensors` is wrong for two results that share an empty tensor.
    "linalg-ext-prepare-destinations",
    # The producer of a tensor may then write to where `tensor.insert_slice` puts it.
    "linalg-ext-hoist-assertions",
    "eliminate-empty-tensors",
    "one-shot-bufferize{bufferize-function-boundaries=true"
    " function-boundary-type-conversion=identity-layout-map allow-return-allocs-from-loops=true}",
    # A constant that was not fused into its readers becomes data in the object file.
    "linalg-ext-legalize-constants",
    "linalg-ext-link-library-calls",
    "linalg-ext-prepare-deallocation",
    "linalg-ext-deallocate-buffers",
    "convert-bufferization-to-memref",
    # Named contractions and windows, and the copies of bufferization.
    "linalg-generalize-named-ops",
    # The parts of a loop may be shared between threads, and are fit for vectors.
    "linalg-ext-split-index-sets",
)
"""Tensors become memrefs, and each allocation gets its deallocation."""
