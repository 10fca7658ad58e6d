"""Pooling over all of an image: one number for each of its channels."""

from linalg_ext.opdsl import (
    T1,
    D,
    ReduceFn,
    S,
    StructuredOp,
    TensorDef,
    U,
    domain,
)

from ._layouts import axes_of, dims, order_of, sizes
from ._values import cast, declared, mean_weight

__all__ = [
    "global_pooling_ncdhw_average",
    "global_pooling_ncdhw_max",
    "global_pooling_nchw_average",
    "global_pooling_nchw_max",
    "global_pooling_ncw_average",
    "global_pooling_ncw_max",
    "global_pooling_ndhwc_average",
    "global_pooling_ndhwc_max",
    "global_pooling_nhwc_average",
    "global_pooling_nhwc_max",
    "global_pooling_nwc_average",
    "global_pooling_nwc_max",
]


def _global_pooling(layout: str, kind: str) -> StructuredOp:
    """Declare `global_pooling_LAYOUT_KIND`: a mean (`"average"`), or `"max"`."""
    axes = axes_of(layout)

    def op(I=TensorDef(T1, *sizes(layout)), O=TensorDef(U, S.N, S.C, output=True)):
        domain(D.n, D.c, *dims(axes))
        if kind == "max":
            O[D.n, D.c] = ReduceFn.max_signed[dims(axes)](cast(I[dims(layout)]))
        else:
            O[D.n, D.c] += cast(I[dims(layout)]) * mean_weight(*sizes(axes))

    element, over = f"I[{', '.join(layout)}]", ", ".join(axes)
    image = {1: "sequence", 2: "image", 3: "volume"}[len(axes)]
    if kind == "max":
        summary, formula = (
            "Largest element",
            f"= the maximum of O[n, c] and, over {over}, {element}",
        )
        dtypes = "floats and integers; I is cast to that of O. A NaN makes its result NaN."
        source = f"AdaptiveMaxPool{len(axes)}d"
    else:
        summary, formula = "Mean", f"+= mean over {over} of {element}"
        dtypes = "I any numbers, cast to those of O, as signed; O any float."
        source = f"AdaptiveAvgPool{len(axes)}d"
    words = f"""{summary} of each channel of each {image}, {order_of(layout)}.

    O[n, c] {formula}

Shapes: I ({", ".join(layout.upper())}), O (N, C).
Dtypes: {dtypes}
Source: this library; PyTorch's `torch.nn.{source}` to one element."""
    return declared(op, __name__, f"global_pooling_{layout}_{kind}", words)


global_pooling_nwc_average = _global_pooling("nwc", "average")
global_pooling_ncw_average = _global_pooling("ncw", "average")
global_pooling_nhwc_average = _global_pooling("nhwc", "average")
global_pooling_nchw_average = _global_pooling("nchw", "average")
global_pooling_ndhwc_average = _global_pooling("ndhwc", "average")
global_pooling_ncdhw_average = _global_pooling("ncdhw", "average")
global_pooling_nwc_max = _global_pooling("nwc", "max")
global_pooling_ncw_max = _global_pooling("ncw", "max")
global_pooling_nhwc_max = _global_pooling("nhwc", "max")
global_pooling_nchw_max = _global_pooling("nchw", "max")
global_pooling_ndhwc_max = _global_pooling("ndhwc", "max")
global_pooling_ncdhw_max = _global_pooling("ncdhw", "max")
