"""Pooling over all of an image: one number for each of its channels."""

from linalg_ext.opdsl import (
    T1,
    D,
    ReduceFn,
    S,
    TensorDef,
    U,
    domain,
    structured_op,
)

from ._values import cast, mean_weight

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


@structured_op
def global_pooling_nwc_average(
    I=TensorDef(T1, S.N, S.W, S.C),
    O=TensorDef(U, S.N, S.C, output=True),
):
    """Mean of each channel of each sequence, channels last.

        O[n, c] += mean over w of I[n, w, c]

    Shapes: I (N, W, C), O (N, C).
    Dtypes: I any numbers, cast to those of O, as signed; O any float.
    Source: this library; PyTorch's `torch.nn.AdaptiveAvgPool1d` to one element.
    """
    domain(D.n, D.c, D.w)
    O[D.n, D.c] += cast(I[D.n, D.w, D.c]) * mean_weight(S.W)


@structured_op
def global_pooling_ncw_average(
    I=TensorDef(T1, S.N, S.C, S.W),
    O=TensorDef(U, S.N, S.C, output=True),
):
    """Mean of each channel of each sequence, channels first.

        O[n, c] += mean over w of I[n, c, w]

    Shapes: I (N, C, W), O (N, C).
    Dtypes: I any numbers, cast to those of O, as signed; O any float.
    Source: this library; PyTorch's `torch.nn.AdaptiveAvgPool1d` to one element.
    """
    domain(D.n, D.c, D.w)
    O[D.n, D.c] += cast(I[D.n, D.c, D.w]) * mean_weight(S.W)


@structured_op
def global_pooling_nhwc_average(
    I=TensorDef(T1, S.N, S.H, S.W, S.C),
    O=TensorDef(U, S.N, S.C, output=True),
):
    """Mean of each channel of each image, channels last.

        O[n, c] += mean over h, w of I[n, h, w, c]

    Shapes: I (N, H, W, C), O (N, C).
    Dtypes: I any numbers, cast to those of O, as signed; O any float.
    Source: this library; PyTorch's `torch.nn.AdaptiveAvgPool2d` to one element.
    """
    domain(D.n, D.c, D.h, D.w)
    O[D.n, D.c] += cast(I[D.n, D.h, D.w, D.c]) * mean_weight(S.H, S.W)


@structured_op
def global_pooling_nchw_average(
    I=TensorDef(T1, S.N, S.C, S.H, S.W),
    O=TensorDef(U, S.N, S.C, output=True),
):
    """Mean of each channel of each image, channels first.

        O[n, c] += mean over h, w of I[n, c, h, w]

    Shapes: I (N, C, H, W), O (N, C).
    Dtypes: I any numbers, cast to those of O, as signed; O any float.
    Source: this library; PyTorch's `torch.nn.AdaptiveAvgPool2d` to one element.
    """
    domain(D.n, D.c, D.h, D.w)
    O[D.n, D.c] += cast(I[D.n, D.c, D.h, D.w]) * mean_weight(S.H, S.W)


@structured_op
def global_pooling_ndhwc_average(
    I=TensorDef(T1, S.N, S.D, S.H, S.W, S.C),
    O=TensorDef(U, S.N, S.C, output=True),
):
    """Mean of each channel of each volume, channels last.

        O[n, c] += mean over d, h, w of I[n, d, h, w, c]

    Shapes: I (N, D, H, W, C), O (N, C).
    Dtypes: I any numbers, cast to those of O, as signed; O any float.
    Source: this library; PyTorch's `torch.nn.AdaptiveAvgPool3d` to one element.
    """
    domain(D.n, D.c, D.d, D.h, D.w)
    O[D.n, D.c] += cast(I[D.n, D.d, D.h, D.w, D.c]) * mean_weight(S.D, S.H, S.W)


@structured_op
def global_pooling_ncdhw_average(
    I=TensorDef(T1, S.N, S.C, S.D, S.H, S.W),
    O=TensorDef(U, S.N, S.C, output=True),
):
    """Mean of each channel of each volume, channels first.

        O[n, c] += mean over d, h, w of I[n, c, d, h, w]

    Shapes: I (N, C, D, H, W), O (N, C).
    Dtypes: I any numbers, cast to those of O, as signed; O any float.
    Source: this library; PyTorch's `torch.nn.AdaptiveAvgPool3d` to one element.
    """
    domain(D.n, D.c, D.d, D.h, D.w)
    O[D.n, D.c] += cast(I[D.n, D.c, D.d, D.h, D.w]) * mean_weight(S.D, S.H, S.W)


@structured_op
def global_pooling_nwc_max(
    I=TensorDef(T1, S.N, S.W, S.C),
    O=TensorDef(U, S.N, S.C, output=True),
):
    """Largest element of each channel of each sequence, channels last.

        O[n, c] = the maximum of O[n, c] and, over w, I[n, w, c]

    Shapes: I (N, W, C), O (N, C).
    Dtypes: floats and integers; I is cast to that of O. A NaN makes its result NaN.
    Source: this library; PyTorch's `torch.nn.AdaptiveMaxPool1d` to one element.
    """
    domain(D.n, D.c, D.w)
    O[D.n, D.c] = ReduceFn.max_signed[D.w](cast(I[D.n, D.w, D.c]))


@structured_op
def global_pooling_ncw_max(
    I=TensorDef(T1, S.N, S.C, S.W),
    O=TensorDef(U, S.N, S.C, output=True),
):
    """Largest element of each channel of each sequence, channels first.

        O[n, c] = the maximum of O[n, c] and, over w, I[n, c, w]

    Shapes: I (N, C, W), O (N, C).
    Dtypes: floats and integers; I is cast to that of O. A NaN makes its result NaN.
    Source: this library; PyTorch's `torch.nn.AdaptiveMaxPool1d` to one element.
    """
    domain(D.n, D.c, D.w)
    O[D.n, D.c] = ReduceFn.max_signed[D.w](cast(I[D.n, D.c, D.w]))


@structured_op
def global_pooling_nhwc_max(
    I=TensorDef(T1, S.N, S.H, S.W, S.C),
    O=TensorDef(U, S.N, S.C, output=True),
):
    """Largest element of each channel of each image, channels last.

        O[n, c] = the maximum of O[n, c] and, over h, w, I[n, h, w, c]

    Shapes: I (N, H, W, C), O (N, C).
    Dtypes: floats and integers; I is cast to that of O. A NaN makes its result NaN.
    Source: this library; PyTorch's `torch.nn.AdaptiveMaxPool2d` to one element.
    """
    domain(D.n, D.c, D.h, D.w)
    O[D.n, D.c] = ReduceFn.max_signed[D.h, D.w](cast(I[D.n, D.h, D.w, D.c]))


@structured_op
def global_pooling_nchw_max(
    I=TensorDef(T1, S.N, S.C, S.H, S.W),
    O=TensorDef(U, S.N, S.C, output=True),
):
    """Largest element of each channel of each image, channels first.

        O[n, c] = the maximum of O[n, c] and, over h, w, I[n, c, h, w]

    Shapes: I (N, C, H, W), O (N, C).
    Dtypes: floats and integers; I is cast to that of O. A NaN makes its result NaN.
    Source: this library; PyTorch's `torch.nn.AdaptiveMaxPool2d` to one element.
    """
    domain(D.n, D.c, D.h, D.w)
    O[D.n, D.c] = ReduceFn.max_signed[D.h, D.w](cast(I[D.n, D.c, D.h, D.w]))


@structured_op
def global_pooling_ndhwc_max(
    I=TensorDef(T1, S.N, S.D, S.H, S.W, S.C),
    O=TensorDef(U, S.N, S.C, output=True),
):
    """Largest element of each channel of each volume, channels last.

        O[n, c] = the maximum of O[n, c] and, over d, h, w, I[n, d, h, w, c]

    Shapes: I (N, D, H, W, C), O (N, C).
    Dtypes: floats and integers; I is cast to that of O. A NaN makes its result NaN.
    Source: this library; PyTorch's `torch.nn.AdaptiveMaxPool3d` to one element.
    """
    domain(D.n, D.c, D.d, D.h, D.w)
    O[D.n, D.c] = ReduceFn.max_signed[D.d, D.h, D.w](cast(I[D.n, D.d, D.h, D.w, D.c]))


@structured_op
def global_pooling_ncdhw_max(
    I=TensorDef(T1, S.N, S.C, S.D, S.H, S.W),
    O=TensorDef(U, S.N, S.C, output=True),
):
    """Largest element of each channel of each volume, channels first.

        O[n, c] = the maximum of O[n, c] and, over d, h, w, I[n, c, d, h, w]

    Shapes: I (N, C, D, H, W), O (N, C).
    Dtypes: floats and integers; I is cast to that of O. A NaN makes its result NaN.
    Source: this library; PyTorch's `torch.nn.AdaptiveMaxPool3d` to one element.
    """
    domain(D.n, D.c, D.d, D.h, D.w)
    O[D.n, D.c] = ReduceFn.max_signed[D.d, D.h, D.w](cast(I[D.n, D.c, D.d, D.h, D.w]))
