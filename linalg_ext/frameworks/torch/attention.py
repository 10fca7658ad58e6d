"""Attention as products and a softmax, which later passes make one loop.

PyTorch's own decompositions guard every softmax against rows that are masked whole. A causal mask
has no such row.
"""

from __future__ import annotations

import math
from typing import Any

from linalg_ext.frameworks.requirements import torch


def attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """`aten.scaled_dot_product_attention`."""
    if dropout_p > 0.0:
        return NotImplemented
    if enable_gqa:
        key, value = _for_each_query(query, key), _for_each_query(query, value)
    scores = _scores(query, key, attn_mask, is_causal, scale)
    weights = torch().softmax(scores, -1)
    if attn_mask is not None:
        # A row that is masked whole has zeros, not NaN.
        sees_none = (scores == -math.inf).all(-1, keepdim=True)
        weights = torch().where(sees_none, 0.0, weights)
    result = weights.to(value.dtype) @ value
    if result.ndim != 4 or query.shape[-1] != value.shape[-1]:
        return result
    # PyTorch's own kernel leaves the heads of a row side by side, and models take views of that.
    return result.transpose(1, 2).contiguous().transpose(1, 2)


def flash_attention(
    query: Any,
    key: Any,
    value: Any,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Any = None,
    scale: float | None = None,
) -> Any:
    """`aten._scaled_dot_product_flash_attention_for_cpu`, with a result for the backward pass."""
    if dropout_p > 0.0:
        return NotImplemented
    key, value = _for_each_query(query, key), _for_each_query(query, value)
    result = attention(query, key, value, attn_mask, 0.0, is_causal, scale=scale)
    scores = _scores(query, key, attn_mask, is_causal, scale)
    return result, torch().logsumexp(scores.float(), -1)


def flash_attention_backward(
    grad_out: Any,
    query: Any,
    key: Any,
    value: Any,
    out: Any,
    logsumexp: Any,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: Any = None,
    scale: float | None = None,
) -> Any:
    """Return the gradients of queries, keys and values."""
    if dropout_p > 0.0:
        return NotImplemented
    heads = key.shape[-3]
    key, value = _for_each_query(query, key), _for_each_query(query, value)
    scores = _scores(query, key, attn_mask, is_causal, scale)
    weights = torch().exp(scores - logsumexp.unsqueeze(-1)).to(scores.dtype)
    of_weights = grad_out @ value.transpose(-2, -1)
    of_rows = (grad_out * out).sum(-1, keepdim=True)
    of_scores = weights * (of_weights - of_rows) * _scale(query, scale)
    return (
        of_scores @ key,
        _for_each_key(of_scores.transpose(-2, -1) @ query, heads),
        _for_each_key(weights.transpose(-2, -1) @ grad_out, heads),
    )


def encoder_layer(
    src: Any,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Any,
    qkv_bias: Any,
    proj_weight: Any,
    proj_bias: Any,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Any,
    norm_bias_1: Any,
    norm_weight_2: Any,
    norm_bias_2: Any,
    ffn_weight_1: Any,
    ffn_bias_1: Any,
    ffn_weight_2: Any,
    ffn_bias_2: Any,
    mask: Any = None,
    mask_type: int | None = None,
) -> Any:
    """`aten._transformer_encoder_layer_fwd`, an encoder layer in inference."""
    if mask is not None or src.ndim != 3:
        return NotImplemented
    functional = torch().nn.functional

    def norm(x: Any, weight: Any, bias: Any) -> Any:
        return functional.layer_norm(x, (embed_dim,), weight, bias, eps)

    def attended(x: Any) -> Any:
        return _self_attention(x, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias)

    def fed_forward(x: Any) -> Any:
        hidden = functional.linear(x, ffn_weight_1, ffn_bias_1)
        hidden = functional.gelu(hidden) if use_gelu else functional.relu(hidden)
        return functional.linear(hidden, ffn_weight_2, ffn_bias_2)

    if norm_first:
        src = src + attended(norm(src, norm_weight_1, norm_bias_1))
        return src + fed_forward(norm(src, norm_weight_2, norm_bias_2))
    src = norm(src + attended(src), norm_weight_1, norm_bias_1)
    return norm(src + fed_forward(src), norm_weight_2, norm_bias_2)


def multi_head_attention(
    query: Any,
    key: Any,
    value: Any,
    embed_dim: int,
    num_head: int,
    qkv_weight: Any,
    qkv_bias: Any,
    proj_weight: Any,
    proj_bias: Any,
    mask: Any = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> Any:
    """`aten._native_multi_head_attention` of self-attention without weights as a result."""
    if mask is not None or need_weights or query is not key or query is not value:
        return NotImplemented
    result = _self_attention(query, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias)
    return result, query.new_empty(0)


def _self_attention(
    x: Any, heads: int, qkv_weight: Any, qkv_bias: Any, weight: Any, bias: Any
) -> Any:
    functional = torch().nn.functional
    batch, length, width = x.shape
    packed = functional.linear(x, qkv_weight, qkv_bias)
    packed = packed.view(batch, length, 3, heads, width // heads)
    query, key, value = (part.transpose(1, 2) for part in packed.unbind(2))
    joined = attention(query, key, value).transpose(1, 2).reshape(batch, length, width)
    return functional.linear(joined, weight, bias)


def _for_each_query(query: Any, keys: Any) -> Any:
    """Repeat keys, or values, that several heads of queries share, once for each head."""
    shared = query.shape[-3] // keys.shape[-3]
    return keys if shared == 1 else keys.repeat_interleave(shared, -3)


def _for_each_key(gradient: Any, heads: int) -> Any:
    """Sum the gradients of the heads of queries that share a head of keys."""
    if gradient.shape[-3] == heads:
        return gradient
    batch, _, length, width = gradient.shape
    return gradient.reshape(batch, heads, -1, length, width).sum(2)


def _scores(query: Any, key: Any, mask: Any, is_causal: bool, scale: float | None) -> Any:
    scores = (query @ key.transpose(-2, -1)) * _scale(query, scale)
    if is_causal:
        rows, columns = (torch().arange(count, device=query.device) for count in scores.shape[-2:])
        return torch().where(columns <= rows.unsqueeze(-1), scores, -math.inf)
    if mask is None:
        return scores
    if mask.dtype == torch().bool:
        return torch().where(mask, scores, -math.inf)
    return scores + mask


def _scale(query: Any, scale: float | None) -> float:
    return float(1.0 / math.sqrt(query.shape[-1])) if scale is None else scale
