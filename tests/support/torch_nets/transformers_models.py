"""Architectures of the package transformers, small and of random weights.

A configuration is made small by the names of its sizes, whatever model it is of; what PyTorch
itself does not run then is left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from torch_nets.subject import Subject, of

_SIZES = {
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "dim", "embed_dim"), 64),
    **dict.fromkeys(("intermediate_size", "ffn_dim", "d_ff", "n_inner", "hidden_dim"), 128),
    **dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim", "moe_intermediate_size"), 128),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers"), 2),
    **dict.fromkeys(("encoder_layers", "decoder_layers", "num_decoder_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads"), 4),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 4),
    **dict.fromkeys(("num_key_value_heads", "num_kv_heads"), 2),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts"), 4),
    **dict.fromkeys(("num_experts_per_tok", "top_k_experts"), 2),
    "vocab_size": 500,
    "head_dim": 16,
    "d_kv": 16,
    "image_size": 32,
    "patch_size": 8,
    "max_position_embeddings": 64,
}

_TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}


class _Named(torch.nn.Module):
    """A model that is called by the names of its inputs."""

    def __init__(self, model: Any, names: tuple[str, ...]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *inputs: Any) -> Any:
        results = self.model(**dict(zip(self.names, inputs, strict=True)), use_cache=False)
        return [leaf for leaf in results.to_tuple() if isinstance(leaf, torch.Tensor)]


def subjects(names: Sequence[str] = ()) -> Iterator[Subject]:
    """Yield those architectures that are made, and that PyTorch runs, in order of their names."""
    import transformers
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

    transformers.logging.set_verbosity_error()
    for kind in sorted(MODEL_MAPPING_NAMES):
        if names and not any(name in kind for name in names):
            continue
        torch.manual_seed(0)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                config = _small(transformers.AutoConfig.for_model(kind))
                model = transformers.AutoModel.from_config(config).eval()
                inputs = _inputs(model)
                subject = of(kind, _Named(model, tuple(inputs)), *inputs.values())
                with torch.no_grad():
                    subject.model(*subject.inputs)
        except Exception:  # a model checks its configuration in any way
            continue
        yield subject


def _small(config: Any) -> Any:
    """Make all sizes of a configuration small, those of its parts too."""
    for part in vars(config).values():
        if hasattr(part, "to_diff_dict"):
            _small(part)
    for name, value in {**_SIZES, **_TOKENS}.items():
        if isinstance(getattr(config, name, None), int):
            setattr(config, name, value)
    return config


def _inputs(model: Any) -> dict[str, Any]:
    tokens = torch.randint(3, 400, (2, 17))
    config = model.config
    match model.main_input_name:
        case "pixel_values":
            size = getattr(config, "image_size", 32)
            height, width = (size, size) if isinstance(size, int) else size
            inputs = {
                "pixel_values": torch.randn(2, getattr(config, "num_channels", 3), height, width)
            }
        case "input_values":
            inputs = {"input_values": torch.randn(2, 4000)}
        case "input_features":
            bins = getattr(config, "num_mel_bins", 80)
            inputs = {"input_features": torch.randn(2, bins, 2 * config.max_source_positions)}
        case _:
            inputs = {"input_ids": tokens}
    if getattr(config, "is_encoder_decoder", False):
        inputs["decoder_input_ids"] = tokens[:, :5]
    return inputs
