"""Pooling over 2-D windows: one number for each, by a sum, a maximum or a minimum."""

from functools import partial

from ._windows import pooling

__all__ = [
    "pooling_nchw_max",
    "pooling_nchw_min",
    "pooling_nchw_sum",
    "pooling_nchw_weighted",
    "pooling_nhwc_max",
    "pooling_nhwc_max_unsigned",
    "pooling_nhwc_min",
    "pooling_nhwc_min_unsigned",
    "pooling_nhwc_sum",
    "pooling_nhwc_weighted",
]

_pooling = partial(pooling, __name__)

pooling_nhwc_sum = _pooling("nhwc", "sum")
pooling_nhwc_max = _pooling("nhwc", "max")
pooling_nhwc_max_unsigned = _pooling("nhwc", "max_unsigned")
pooling_nhwc_min = _pooling("nhwc", "min")
pooling_nhwc_min_unsigned = _pooling("nhwc", "min_unsigned")
pooling_nhwc_weighted = _pooling("nhwc", "weighted")
pooling_nchw_sum = _pooling("nchw", "sum")
pooling_nchw_max = _pooling("nchw", "max")
pooling_nchw_min = _pooling("nchw", "min", is_upstream=False)
pooling_nchw_weighted = _pooling("nchw", "weighted")
