"""Models that PyTorch exported: how much is folded in each, and that they stay right."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from kernels import run
from linalg_ext import transforms
from linalg_ext.module import Module
from resources import shared_modules

REWRITES = (
    "fold_transposes",
    "fold_broadcasts",
    "fold_unit_dims",
    "fold_into_maps",
    "unfold_maps",
)
CHANGED = {
    "l1_011_4d_tensor_matrix_multiplication": (0, 0, 1, 1, 0),
    "l1_012_matmul_with_diagonal_matrices": (0, 0, 1, 1, 1),
    "l1_014_matmul_for_upper_triangular_matrices": (0, 0, 1, 1, 2),
    "l1_018_matmul_with_transposed_both": (1, 0, 0, 1, 1),
    "l1_020_leakyrelu": (0, 0, 0, 0, 2),
    "l1_023_softmax": (0, 0, 3, 3, 2),
    "l1_033_batchnorm": (0, 0, 4, 4, 4),
    "l1_035_groupnorm": (0, 0, 12, 12, 9),
    "l1_039_l2norm": (0, 0, 3, 3, 2),
    "l1_046_average_pooling_3d": (1, 0, 0, 1, 1),
    "l1_047_sum_reduction_over_a_dimension": (0, 0, 1, 1, 0),
    "l1_095_crossentropyloss": (0, 0, 5, 5, 6),
    "l1_097_scaleddotproductattention": (1, 0, 5, 6, 4),
    "l2_003_convtranspose3d_sum_layernorm_avgpool_gelu": (2, 0, 9, 11, 10),
    "l2_006_conv3d_softmax_maxpool_maxpool": (0, 0, 3, 3, 2),
    "l2_010_convtranspose2d_maxpool_hardtanh_mean_tanh": (0, 0, 2, 2, 3),
    "l2_013_convtranspose3d_mean_add_softmax_tanh_scaling": (0, 0, 6, 6, 4),
    "l2_018_matmul_sum_max_avgpool_logsumexp_logsumexp": (1, 0, 11, 12, 9),
    "l2_022_matmul_scale_residualadd_clamp_logsumexp_mish": (1, 0, 5, 6, 6),
    "l2_028_bmm_instancenorm_sum_residualadd_multiply": (1, 0, 10, 11, 9),
    "l2_030_gemm_groupnorm_hardtanh": (1, 0, 10, 11, 11),
    "l2_043_conv3d_max_logsumexp_relu": (0, 0, 5, 5, 4),
    "l2_052_conv2d_activation_batchnorm": (0, 0, 4, 4, 4),
    "l2_058_convtranspose3d_logsumexp_hardswish_subtract_cla": (0, 0, 6, 6, 5),
    "l2_066_matmul_dropout_softmax": (1, 0, 3, 4, 4),
    "l2_075_gemm_groupnorm_min_biasadd": (1, 0, 11, 12, 10),
    "l2_081_gemm_swish_divide_clamp_tanh_clamp": (1, 0, 0, 1, 2),
    "l2_092_conv2d_groupnorm_tanh_hardswish_residualadd_logs": (0, 0, 17, 17, 13),
    "l2_096_convtranspose3d_multiply_max_globalavgpool_clamp": (0, 0, 2, 2, 1),
    "l2_098_matmul_avgpool_gelu_scale_max": (1, 0, 0, 1, 2),
    "l3_001_mlp": (3, 0, 0, 3, 6),
    "l3_008_resnetbasicblock": (0, 0, 12, 12, 12),
    "l3_013_densenet121transitionlayer": (0, 0, 4, 4, 4),
    "l3_021_efficientnetmbconv": (0, 0, 12, 12, 16),
    "l3_025_shufflenetunit": (0, 0, 16, 16, 16),
    "l3_027_regnet": (1, 0, 24, 25, 26),
    "l3_031_visionattention": (5, 1, 12, 17, 16),
    "l3_034_vanillarnnhidden": (16, 0, 0, 16, 32),
    "l3_039_gru": (36, 0, 0, 36, 162),
    "l3_043_mingptcausalattention": (2, 0, 4, 6, 7),
    "l3_050_reluselfattention": (1, 0, 1, 2, 3),
}
"""How often each of `REWRITES` changes an op of a module, the last after the one before; none of
them changes any other module."""


@pytest.mark.parametrize("path", shared_modules())
def test_how_much_is_folded(path: Path) -> None:
    text = path.read_text()
    if "tm_tensor" in text:  # a dialect of the exporter's own, which does not parse
        return
    counts = []
    module = Module.parse(text, trusted=True)
    for name in REWRITES:
        if name != "unfold_maps":
            module = Module.parse(text, trusted=True)
        counts.append(getattr(transforms, name)(module).changed.total())
    assert tuple(counts) == CHANGED.get(path.stem, (0, 0, 0, 0, 0))


@pytest.mark.parametrize("path", shared_modules())
def test_folded_and_unfolded_modules_equal_pytorch(path: Path) -> None:
    if path.stem not in CHANGED:
        return
    listed = json.loads((path.parent / "index.json").read_text())["modules"]
    (described,) = (module for module in listed if module["name"] == path.stem)
    with np.load(path.with_suffix(".npz"), allow_pickle=False) as data:
        inputs = [data[f"in{number}"] for number in range(len(described["inputs"]))]
        expected = [data[f"out{number}"] for number in range(len(described["outputs"]))]
    module = Module.parse(path.read_text(), trusted=True)
    for rewrite in (transforms.fold_into_maps, transforms.unfold_maps):
        rewrite(module)
        results = run(str(module), *inputs, entry="main")
        results = results if isinstance(results, tuple) else (results,)
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_allclose(
                result, wanted, rtol=described["rtol"], atol=described["atol"]
            )
