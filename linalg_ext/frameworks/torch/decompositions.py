"""The ops that PyTorch decomposes into others before a graph is imported."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from linalg_ext.frameworks.requirements import decomposition_table, torch
from linalg_ext.frameworks.torch import (
    attention,
    convolutions,
    elementwise,
    fft,
    grouped_products,
    indexing,
    recurrent,
    reductions,
)


def decompositions() -> Mapping[Any, Callable[..., Any]]:
    """Return the decompositions that torch-mlir asks for, and those of ops that it cannot lower."""
    # A package may register its ops at any time.
    return {**_known(), **grouped_products.decompositions()}


@functools.cache
def _known() -> Mapping[Any, Callable[..., Any]]:
    aten, prims = torch().ops.aten, torch().ops.prims
    own: dict[Any, Callable[..., Any]] = {
        **_named(convolutions, "convolution"),
        **_named(elementwise, "clamp gelu hardsigmoid hardtanh hypot"),
        **_named(elementwise, "isfinite reciprocal rrelu signbit"),
        **_named(indexing, "as_strided as_strided_scatter diagonal_scatter empty_strided"),
        **_named(indexing, "index_put masked_select roll"),
        **dict.fromkeys((aten.copysign.Tensor, aten.copysign.Scalar), elementwise.copysign),
        **dict.fromkeys((aten.fmod.Tensor, aten.fmod.Scalar), elementwise.fmod),
        aten.searchsorted.Tensor: indexing.searchsorted,
        aten.maximum.default: functools.partial(elementwise.extremum, "gt"),
        aten.minimum.default: functools.partial(elementwise.extremum, "lt"),
        aten.mul.Tensor: elementwise.product,
        aten.block_diag.default: indexing.block_diagonal,
        aten.abs.default: elementwise.absolute,
        aten._to_copy.default: elementwise.converted,
        aten.rrelu_with_noise_functional.default: elementwise.rrelu_with_noise,
        aten.fmax.default: functools.partial(elementwise.number_of_two, "ge"),
        aten.fmin.default: functools.partial(elementwise.number_of_two, "le"),
        aten.neg.default: elementwise.negated,
        aten.remainder.Scalar_Tensor: elementwise.remainder_of_number,
        aten.rsub.Scalar: elementwise.reverse_difference,
        aten.div.Tensor_mode: elementwise.quotient,
        aten.pow.Tensor_Scalar: elementwise.power_of_number,
        aten.pow.Tensor_Tensor: elementwise.power,
        aten.pow.Scalar: elementwise.power,
        aten.bitwise_xor.Scalar: functools.partial(elementwise.with_number, "bitwise_xor"),
        aten.bitwise_or.Scalar: functools.partial(elementwise.with_number, "bitwise_or"),
        aten.__lshift__.Tensor: torch().bitwise_left_shift,
        aten.__rshift__.Tensor: torch().bitwise_right_shift,
        aten.mean.dim: elementwise.mean,
        aten.adaptive_max_pool2d.default: reductions.adaptive_maxima,
        aten.adaptive_max_pool3d.default: reductions.adaptive_maxima,
        aten.amax.default: reductions.of_scalar,
        aten.amin.default: reductions.of_scalar,
        aten.argmax.default: functools.partial(reductions.place, "amax"),
        aten.argmin.default: functools.partial(reductions.place, "amin"),
        aten.max.dim: functools.partial(reductions.extremum, "amax"),
        aten.min.dim: functools.partial(reductions.extremum, "amin"),
        aten.median.dim: reductions.median,
        aten.median.default: reductions.median_of_all,
        aten.dist.default: reductions.distance,
        aten.histc.default: reductions.histogram,
        aten.linalg_norm.default: reductions.norm,
        aten.linalg_norm.ord_str: reductions.norm,
        aten.var.correction: reductions.variance,
        aten.var_mean.correction: reductions.variance_and_mean,
        aten.native_group_norm.default: reductions.group_norm,
        aten._native_batch_norm_legit_no_training.default: reductions.batch_norm,
        aten.cumsum.default: reductions.cumulative_sum,
        aten.cummax.default: functools.partial(reductions.running, "ge"),
        aten.cummin.default: functools.partial(reductions.running, "le"),
        aten.logcumsumexp.default: reductions.log_sum_exp,
        aten.sort.stable: indexing.sort,
        aten.topk.default: indexing.top_k,
        aten._fft_c2c.default: fft.normalized(fft.of_complex, "forward"),
        aten._fft_r2c.default: fft.normalized(fft.of_real, "onesided"),
        aten._fft_c2r.default: fft.normalized(fft.to_real, "last_dim_size"),
        prims.fft_c2c.default: fft.of_complex,
        prims.fft_r2c.default: fft.of_real,
        prims.fft_c2r.default: fft.to_real,
        aten._embedding_bag.default: indexing.embedding_bag,
        aten._embedding_bag_forward_only.default: indexing.embedding_bag,
        aten._cdist_forward.default: reductions.distances,
        aten.scaled_dot_product_attention.default: attention.attention,
        aten._scaled_dot_product_flash_attention_for_cpu.default: attention.flash_attention,
        aten._scaled_dot_product_flash_attention_for_cpu_backward.default: (
            attention.flash_attention_backward
        ),
        aten._transformer_encoder_layer_fwd.default: attention.encoder_layer,
        aten._native_multi_head_attention.default: attention.multi_head_attention,
    }
    scatters = aten.scatter.src, aten.scatter.value, aten.scatter_add.default
    for op in (*scatters, aten.scatter_reduce.two):
        own[op] = functools.partial(indexing.from_the_first, op)
    ours = {**own, **recurrent.decompositions()}
    table = {**decomposition_table(), **_by_pytorch(), **ours}
    return table | {op: _first_of(way, table.get(op)) for op, way in elementwise.ops().items()}


def _named(module: Any, names: str) -> dict[Any, Callable[..., Any]]:
    """Return functions of a module by the ops of their names."""
    aten = torch().ops.aten
    return {getattr(aten, name).default: getattr(module, name) for name in names.split()}


def _first_of(way: Callable[..., Any], other: Callable[..., Any] | None) -> Callable[..., Any]:
    """Return a decomposition with another one for the operands that it does not implement."""

    def written(*operands: Any, **keywords: Any) -> Any:
        result = way(*operands, **keywords)
        if result is NotImplemented and other is not None:
            return other(*operands, **keywords)
        return result

    return written


_TRANSFORMS = [
    f"fft_{back}{kind}{axes}"
    for back in ("", "i")
    for kind in ("fft", "rfft", "hfft")
    for axes in ("", "2", "n")
]

_WRITTEN_BY_PYTORCH = (
    *("addmv", "linalg_matrix_norm", "fft_fftshift", "fft_ifftshift", "aminmax", "istft"),
    *("narrow_copy", "permute_copy", "stft", "unbind_copy", "view_copy"),
    *_TRANSFORMS,
)
"""Ops that torch-mlir lacks, and PyTorch decomposes."""


def _by_pytorch() -> Mapping[Any, Callable[..., Any]]:
    packets = [getattr(torch().ops.aten, name) for name in _WRITTEN_BY_PYTORCH]
    table = {**torch()._decomp.core_aten_decompositions(), **torch()._decomp.decomposition_table}
    overloads = (getattr(packet, name) for packet in packets for name in packet.overloads())
    return {overload: table[overload] for overload in overloads if overload in table}
