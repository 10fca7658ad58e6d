"""Sequences and images made larger: repeated, padded, with zeros between their elements."""

from linalg_ext.opdsl import (
    BinaryFn,
    D,
    IndexAttrDef,
    S,
    ScalarDef,
    T,
    TensorDef,
    TernaryFn,
    domain,
    structured_op,
)

from ._values import length, position
from ._windows import STRIDES_1D, STRIDES_2D

__all__ = [
    "dilate_nchw",
    "dilate_ncw",
    "dilate_nhwc",
    "dilate_nwc",
    "pad_nchw",
    "pad_ncw",
    "pad_nhwc",
    "pad_nwc",
    "upsample_nearest_nchw",
    "upsample_nearest_ncw",
    "upsample_nearest_nhwc",
    "upsample_nearest_nwc",
]


def _divides(dim, stride):
    """Return whether a position is a multiple of a stride."""
    return BinaryFn.eq(BinaryFn.rem(position(dim), length(stride)), 0)


def _is_inside(dim, before, size):
    """Return whether a position is that of an element, not of the padding."""
    place = position(dim) - length(before)
    return (place >= 0) & (place < length(size))


@structured_op
def upsample_nearest_nwc(
    I=TensorDef(T, S.N, S.W, S.C),
    O=TensorDef(T, S.N, S.W * S.FW, S.C, output=True),
    factors=IndexAttrDef(S.FW, default=[2]),
):
    """Each element repeated along the axis, channels last: nearest-neighbor upsampling.

        O[n, w, c] = I[n, w // FW, c]

    Shapes: I (N, W, C), O (N, W * FW, C).
    Dtypes: any; I and O alike.
    Attributes: factors = [FW], 2 unless given.
    Source: this library; PyTorch's `torch.nn.Upsample`, mode nearest.
    """
    domain(D.n, D.w, D.c)
    O[D.n, D.w, D.c] = I[D.n, D.w // S.FW, D.c]


@structured_op
def upsample_nearest_ncw(
    I=TensorDef(T, S.N, S.C, S.W),
    O=TensorDef(T, S.N, S.C, S.W * S.FW, output=True),
    factors=IndexAttrDef(S.FW, default=[2]),
):
    """Each element repeated along the axis, channels first: nearest-neighbor upsampling.

        O[n, c, w] = I[n, c, w // FW]

    Shapes: I (N, C, W), O (N, C, W * FW).
    Dtypes: any; I and O alike.
    Attributes: factors = [FW], 2 unless given.
    Source: this library; PyTorch's `torch.nn.Upsample`, mode nearest.
    """
    domain(D.n, D.c, D.w)
    O[D.n, D.c, D.w] = I[D.n, D.c, D.w // S.FW]


@structured_op
def upsample_nearest_nhwc(
    I=TensorDef(T, S.N, S.H, S.W, S.C),
    O=TensorDef(T, S.N, S.H * S.FH, S.W * S.FW, S.C, output=True),
    factors=IndexAttrDef(S.FH, S.FW, default=[2, 2]),
):
    """Each element repeated along both axes, channels last: nearest-neighbor upsampling.

        O[n, h, w, c] = I[n, h // FH, w // FW, c]

    Shapes: I (N, H, W, C), O (N, H * FH, W * FW, C).
    Dtypes: any; I and O alike.
    Attributes: factors = (FH, FW), both 2 unless given.
    Source: this library; PyTorch's `torch.nn.Upsample`, mode nearest.
    """
    domain(D.n, D.h, D.w, D.c)
    O[D.n, D.h, D.w, D.c] = I[D.n, D.h // S.FH, D.w // S.FW, D.c]


@structured_op
def upsample_nearest_nchw(
    I=TensorDef(T, S.N, S.C, S.H, S.W),
    O=TensorDef(T, S.N, S.C, S.H * S.FH, S.W * S.FW, output=True),
    factors=IndexAttrDef(S.FH, S.FW, default=[2, 2]),
):
    """Each element repeated along both axes, channels first: nearest-neighbor upsampling.

        O[n, c, h, w] = I[n, c, h // FH, w // FW]

    Shapes: I (N, C, H, W), O (N, C, H * FH, W * FW).
    Dtypes: any; I and O alike.
    Attributes: factors = (FH, FW), both 2 unless given.
    Source: this library; PyTorch's `torch.nn.Upsample`, mode nearest.
    """
    domain(D.n, D.c, D.h, D.w)
    O[D.n, D.c, D.h, D.w] = I[D.n, D.c, D.h // S.FH, D.w // S.FW]


@structured_op
def dilate_nwc(
    I=TensorDef(T, S.N, S.W, S.C),
    O=TensorDef(T, S.N, (S.W - 1) * S.SW + 1, S.C, output=True),
    strides=STRIDES_1D,
):
    """Zeros put between the elements of a sequence, channels last.

        O[n, w * SW, c] = I[n, w, c], and 0 elsewhere

    Shapes: I (N, W, C), O (N, OW, C) with OW = (W - 1) * SW + 1.
    Dtypes: any number; I and O alike.
    Attributes: strides = [SW], 1 unless given.
    Source: this library; the first step of a transposed convolution, see transposed_convolution.py.
    """
    domain(D.n, D.w, D.c)
    is_taken = _divides(D.w, S.SW)
    O[D.n, D.w, D.c] = TernaryFn.select(is_taken, I[D.n, D.w // S.SW, D.c], 0)


@structured_op
def dilate_ncw(
    I=TensorDef(T, S.N, S.C, S.W),
    O=TensorDef(T, S.N, S.C, (S.W - 1) * S.SW + 1, output=True),
    strides=STRIDES_1D,
):
    """Zeros put between the elements of a sequence, channels first.

        O[n, c, w * SW] = I[n, c, w], and 0 elsewhere

    Shapes: I (N, C, W), O (N, C, OW) with OW = (W - 1) * SW + 1.
    Dtypes: any number; I and O alike.
    Attributes: strides = [SW], 1 unless given.
    Source: this library; the first step of a transposed convolution, see transposed_convolution.py.
    """
    domain(D.n, D.c, D.w)
    is_taken = _divides(D.w, S.SW)
    O[D.n, D.c, D.w] = TernaryFn.select(is_taken, I[D.n, D.c, D.w // S.SW], 0)


@structured_op
def dilate_nhwc(
    I=TensorDef(T, S.N, S.H, S.W, S.C),
    O=TensorDef(T, S.N, (S.H - 1) * S.SH + 1, (S.W - 1) * S.SW + 1, S.C, output=True),
    strides=STRIDES_2D,
):
    """Zeros put between the elements of an image, channels last.

        O[n, h * SH, w * SW, c] = I[n, h, w, c], and 0 elsewhere

    Shapes: I (N, H, W, C), O (N, OH, OW, C) with OW = (W - 1) * SW + 1, OH alike.
    Dtypes: any number; I and O alike.
    Attributes: strides = (SH, SW), both 1 unless given.
    Source: this library; the first step of a transposed convolution, see transposed_convolution.py.
    """
    domain(D.n, D.h, D.w, D.c)
    is_taken = _divides(D.h, S.SH) & _divides(D.w, S.SW)
    O[D.n, D.h, D.w, D.c] = TernaryFn.select(is_taken, I[D.n, D.h // S.SH, D.w // S.SW, D.c], 0)


@structured_op
def dilate_nchw(
    I=TensorDef(T, S.N, S.C, S.H, S.W),
    O=TensorDef(T, S.N, S.C, (S.H - 1) * S.SH + 1, (S.W - 1) * S.SW + 1, output=True),
    strides=STRIDES_2D,
):
    """Zeros put between the elements of an image, channels first.

        O[n, c, h * SH, w * SW] = I[n, c, h, w], and 0 elsewhere

    Shapes: I (N, C, H, W), O (N, C, OH, OW) with OW = (W - 1) * SW + 1, OH alike.
    Dtypes: any number; I and O alike.
    Attributes: strides = (SH, SW), both 1 unless given.
    Source: this library; the first step of a transposed convolution, see transposed_convolution.py.
    """
    domain(D.n, D.c, D.h, D.w)
    is_taken = _divides(D.h, S.SH) & _divides(D.w, S.SW)
    O[D.n, D.c, D.h, D.w] = TernaryFn.select(is_taken, I[D.n, D.c, D.h // S.SH, D.w // S.SW], 0)


@structured_op
def pad_nwc(
    I=TensorDef(T, S.N, S.W, S.C),
    value=ScalarDef(T),
    O=TensorDef(T, S.N, S.L + S.W + S.R, S.C, output=True),
    low=IndexAttrDef(S.L, default=[0], minimum=0),
    high=IndexAttrDef(S.R, default=[0], minimum=0),
):
    """A number put around a sequence, channels last: the padding of convolutions and poolings.

        O[n, w + L, c] = I[n, w, c], and value elsewhere

    Shapes: I (N, W, C), value a scalar, O (N, L + W + R, C).
    Dtypes: any; all alike.
    Attributes: low = [L], high = [R], 0 unless given.
    Source: this library; NumPy's `numpy.pad`, mode constant.
    """
    domain(D.n, D.w, D.c)
    is_inside = _is_inside(D.w, S.L, S.W)
    O[D.n, D.w, D.c] = TernaryFn.select(is_inside, I[D.n, (D.w - S.L) % S.W, D.c], value)


@structured_op
def pad_ncw(
    I=TensorDef(T, S.N, S.C, S.W),
    value=ScalarDef(T),
    O=TensorDef(T, S.N, S.C, S.L + S.W + S.R, output=True),
    low=IndexAttrDef(S.L, default=[0], minimum=0),
    high=IndexAttrDef(S.R, default=[0], minimum=0),
):
    """A number put around a sequence, channels first: the padding of convolutions and poolings.

        O[n, c, w + L] = I[n, c, w], and value elsewhere

    Shapes: I (N, C, W), value a scalar, O (N, C, L + W + R).
    Dtypes: any; all alike.
    Attributes: low = [L], high = [R], 0 unless given.
    Source: this library; NumPy's `numpy.pad`, mode constant.
    """
    domain(D.n, D.c, D.w)
    is_inside = _is_inside(D.w, S.L, S.W)
    O[D.n, D.c, D.w] = TernaryFn.select(is_inside, I[D.n, D.c, (D.w - S.L) % S.W], value)


@structured_op
def pad_nhwc(
    I=TensorDef(T, S.N, S.H, S.W, S.C),
    value=ScalarDef(T),
    O=TensorDef(T, S.N, S.T + S.H + S.B, S.L + S.W + S.R, S.C, output=True),
    low=IndexAttrDef(S.T, S.L, default=[0, 0], minimum=0),
    high=IndexAttrDef(S.B, S.R, default=[0, 0], minimum=0),
):
    """A number put around an image, channels last: the padding of convolutions and poolings.

        O[n, h + T, w + L, c] = I[n, h, w, c], and value elsewhere

    Shapes: I (N, H, W, C), value a scalar, O (N, T + H + B, L + W + R, C).
    Dtypes: any; all alike.
    Attributes: low = (T, L), high = (B, R): rows and columns before and after, 0 unless given.
    Source: this library; NumPy's `numpy.pad`, mode constant.
    """
    domain(D.n, D.h, D.w, D.c)
    is_inside = _is_inside(D.h, S.T, S.H) & _is_inside(D.w, S.L, S.W)
    O[D.n, D.h, D.w, D.c] = TernaryFn.select(
        is_inside, I[D.n, (D.h - S.T) % S.H, (D.w - S.L) % S.W, D.c], value
    )


@structured_op
def pad_nchw(
    I=TensorDef(T, S.N, S.C, S.H, S.W),
    value=ScalarDef(T),
    O=TensorDef(T, S.N, S.C, S.T + S.H + S.B, S.L + S.W + S.R, output=True),
    low=IndexAttrDef(S.T, S.L, default=[0, 0], minimum=0),
    high=IndexAttrDef(S.B, S.R, default=[0, 0], minimum=0),
):
    """A number put around an image, channels first: the padding of convolutions and poolings.

        O[n, c, h + T, w + L] = I[n, c, h, w], and value elsewhere

    Shapes: I (N, C, H, W), value a scalar, O (N, C, T + H + B, L + W + R).
    Dtypes: any; all alike.
    Attributes: low = (T, L), high = (B, R): rows and columns before and after, 0 unless given.
    Source: this library; NumPy's `numpy.pad`, mode constant.
    """
    domain(D.n, D.c, D.h, D.w)
    is_inside = _is_inside(D.h, S.T, S.H) & _is_inside(D.w, S.L, S.W)
    O[D.n, D.c, D.h, D.w] = TernaryFn.select(
        is_inside, I[D.n, D.c, (D.h - S.T) % S.H, (D.w - S.L) % S.W], value
    )
