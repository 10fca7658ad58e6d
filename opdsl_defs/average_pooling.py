"""Average pooling and L2 pooling over windows: means and sums of squares."""

from functools import partial

from ._windows import pooling

__all__ = [
    "pooling_ncdhw_average",
    "pooling_nchw_average",
    "pooling_nchw_squares",
    "pooling_ncw_average",
    "pooling_ndhwc_average",
    "pooling_nhwc_average",
    "pooling_nhwc_squares",
    "pooling_nwc_average",
]

_pooling = partial(pooling, __name__)

pooling_nwc_average = _pooling("nwc", "average")
pooling_ncw_average = _pooling("ncw", "average")
pooling_nhwc_average = _pooling("nhwc", "average")
pooling_nchw_average = _pooling("nchw", "average")
pooling_ndhwc_average = _pooling("ndhwc", "average")
pooling_ncdhw_average = _pooling("ncdhw", "average")
pooling_nhwc_squares = _pooling("nhwc", "squares")
pooling_nchw_squares = _pooling("nchw", "squares")
