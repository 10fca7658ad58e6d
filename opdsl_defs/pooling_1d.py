"""Pooling over 1-D windows: one number for each, by a sum, a maximum or a minimum."""

from functools import partial

from ._windows import pooling

__all__ = [
    "pooling_ncw_max",
    "pooling_ncw_min",
    "pooling_ncw_sum",
    "pooling_ncw_weighted",
    "pooling_nwc_max",
    "pooling_nwc_max_unsigned",
    "pooling_nwc_min",
    "pooling_nwc_min_unsigned",
    "pooling_nwc_sum",
    "pooling_nwc_weighted",
]

_pooling = partial(pooling, __name__)

pooling_nwc_sum = _pooling("nwc", "sum")
pooling_nwc_max = _pooling("nwc", "max")
pooling_nwc_max_unsigned = _pooling("nwc", "max_unsigned")
pooling_nwc_min = _pooling("nwc", "min")
pooling_nwc_min_unsigned = _pooling("nwc", "min_unsigned")
pooling_nwc_weighted = _pooling("nwc", "weighted")
pooling_ncw_sum = _pooling("ncw", "sum")
pooling_ncw_max = _pooling("ncw", "max")
pooling_ncw_min = _pooling("ncw", "min", is_upstream=False)
pooling_ncw_weighted = _pooling("ncw", "weighted")
