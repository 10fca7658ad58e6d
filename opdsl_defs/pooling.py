"""Pooling over windows: one number for each, by a sum, an extremum or a mean."""

from functools import partial

from ._windows import pooling

__all__ = [
    "pooling_ncdhw_average",
    "pooling_ncdhw_max",
    "pooling_ncdhw_min",
    "pooling_ncdhw_sum",
    "pooling_ncdhw_weighted",
    "pooling_nchw_average",
    "pooling_nchw_max",
    "pooling_nchw_min",
    "pooling_nchw_squares",
    "pooling_nchw_sum",
    "pooling_nchw_weighted",
    "pooling_ncw_average",
    "pooling_ncw_max",
    "pooling_ncw_min",
    "pooling_ncw_sum",
    "pooling_ncw_weighted",
    "pooling_ndhwc_average",
    "pooling_ndhwc_max",
    "pooling_ndhwc_min",
    "pooling_ndhwc_sum",
    "pooling_ndhwc_weighted",
    "pooling_nhwc_average",
    "pooling_nhwc_max",
    "pooling_nhwc_max_unsigned",
    "pooling_nhwc_min",
    "pooling_nhwc_min_unsigned",
    "pooling_nhwc_squares",
    "pooling_nhwc_sum",
    "pooling_nhwc_weighted",
    "pooling_nwc_average",
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

pooling_ndhwc_sum = _pooling("ndhwc", "sum")
pooling_ndhwc_max = _pooling("ndhwc", "max")
pooling_ndhwc_min = _pooling("ndhwc", "min")
pooling_ndhwc_weighted = _pooling("ndhwc", "weighted")
pooling_ncdhw_sum = _pooling("ncdhw", "sum", is_upstream=False)
pooling_ncdhw_max = _pooling("ncdhw", "max", is_upstream=False)
pooling_ncdhw_min = _pooling("ncdhw", "min", is_upstream=False)
pooling_ncdhw_weighted = _pooling("ncdhw", "weighted")

pooling_nwc_average = _pooling("nwc", "average")
pooling_ncw_average = _pooling("ncw", "average")
pooling_nhwc_average = _pooling("nhwc", "average")
pooling_nchw_average = _pooling("nchw", "average")
pooling_ndhwc_average = _pooling("ndhwc", "average")
pooling_ncdhw_average = _pooling("ncdhw", "average")
pooling_nhwc_squares = _pooling("nhwc", "squares")
pooling_nchw_squares = _pooling("nchw", "squares")
