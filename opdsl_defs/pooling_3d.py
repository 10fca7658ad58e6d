"""Pooling over 3-D windows: one number for each, by a sum, a maximum or a minimum."""

from functools import partial

from ._windows import pooling

__all__ = [
    "pooling_ncdhw_max",
    "pooling_ncdhw_min",
    "pooling_ncdhw_sum",
    "pooling_ncdhw_weighted",
    "pooling_ndhwc_max",
    "pooling_ndhwc_min",
    "pooling_ndhwc_sum",
    "pooling_ndhwc_weighted",
]

_pooling = partial(pooling, __name__)

pooling_ndhwc_sum = _pooling("ndhwc", "sum")
pooling_ndhwc_max = _pooling("ndhwc", "max")
pooling_ndhwc_min = _pooling("ndhwc", "min")
pooling_ndhwc_weighted = _pooling("ndhwc", "weighted")
pooling_ncdhw_sum = _pooling("ncdhw", "sum", is_upstream=False)
pooling_ncdhw_max = _pooling("ncdhw", "max", is_upstream=False)
pooling_ncdhw_min = _pooling("ncdhw", "min", is_upstream=False)
pooling_ncdhw_weighted = _pooling("ncdhw", "weighted")
