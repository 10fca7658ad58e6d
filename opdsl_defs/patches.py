"""Windows and blocks of sequences and images, laid out in another order."""

from linalg_ext.opdsl import (
    D,
    IndexAttrDef,
    S,
    T,
    TensorDef,
    domain,
    structured_op,
)

from ._windows import AT_H, AT_W, DILATIONS_1D, DILATIONS_2D, HEIGHT, STRIDES_1D, STRIDES_2D, WIDTH

__all__ = [
    "depth_to_space_nchw",
    "depth_to_space_nhwc",
    "im2col_nchw",
    "im2col_ncw",
    "im2col_nhwc",
    "im2col_nwc",
    "space_to_depth_nchw",
    "space_to_depth_nhwc",
]


@structured_op
def im2col_nwc(
    I=TensorDef(T, S.N, WIDTH, S.C),
    O=TensorDef(T, S.N, S.OW, S.KW, S.C, output=True),
    kernel=IndexAttrDef(S.KW, default=[3]),
    strides=STRIDES_1D,
    dilations=DILATIONS_1D,
):
    """The windows of a sequence, side by side, channels last: convolution as a product.

        O[n, ow, kw, c] =
            I[n, ow * SW + kw * DW, c]

    Shapes: I (N, W, C), O (N, OW, KW, C).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1.
    Dtypes: any; I and O alike.
    Attributes: kernel = [KW], 3 unless given; strides = [SW], dilations = [DW], 1 unless given.
    Source: this library; PyTorch's `torch.nn.Unfold`.
    """
    domain(D.n, D.ow, D.kw, D.c)
    O[D.n, D.ow, D.kw, D.c] = I[D.n, AT_W, D.c]


@structured_op
def im2col_ncw(
    I=TensorDef(T, S.N, S.C, WIDTH),
    O=TensorDef(T, S.N, S.C, S.KW, S.OW, output=True),
    kernel=IndexAttrDef(S.KW, default=[3]),
    strides=STRIDES_1D,
    dilations=DILATIONS_1D,
):
    """The windows of a sequence, side by side, channels first: convolution as a product.

        O[n, c, kw, ow] =
            I[n, c, ow * SW + kw * DW]

    Shapes: I (N, C, W), O (N, C, KW, OW).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1.
    Dtypes: any; I and O alike.
    Attributes: kernel = [KW], 3 unless given; strides = [SW], dilations = [DW], 1 unless given.
    Source: this library; PyTorch's `torch.nn.Unfold`.
    """
    domain(D.n, D.c, D.kw, D.ow)
    O[D.n, D.c, D.kw, D.ow] = I[D.n, D.c, AT_W]


@structured_op
def im2col_nhwc(
    I=TensorDef(T, S.N, HEIGHT, WIDTH, S.C),
    O=TensorDef(T, S.N, S.OH, S.OW, S.KH, S.KW, S.C, output=True),
    kernel=IndexAttrDef(S.KH, S.KW, default=[3, 3]),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """The windows of an image, side by side, channels last: convolution as a product.

        O[n, oh, ow, kh, kw, c] =
            I[n, oh * SH + kh * DH, ow * SW + kw * DW, c]

    Shapes: I (N, H, W, C), O (N, OH, OW, KH, KW, C).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H alike.
    Dtypes: any; I and O alike.
    Attributes: kernel = (KH, KW), both 3 unless given; strides = (SH, SW) and
    dilations = (DH, DW), all 1 unless given.
    Source: this library; PyTorch's `torch.nn.Unfold`.
    """
    domain(D.n, D.oh, D.ow, D.kh, D.kw, D.c)
    O[D.n, D.oh, D.ow, D.kh, D.kw, D.c] = I[D.n, AT_H, AT_W, D.c]


@structured_op
def im2col_nchw(
    I=TensorDef(T, S.N, S.C, HEIGHT, WIDTH),
    O=TensorDef(T, S.N, S.C, S.KH, S.KW, S.OH, S.OW, output=True),
    kernel=IndexAttrDef(S.KH, S.KW, default=[3, 3]),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """The windows of an image, side by side, channels first: convolution as a product.

        O[n, c, kh, kw, oh, ow] =
            I[n, c, oh * SH + kh * DH, ow * SW + kw * DW]

    Shapes: I (N, C, H, W), O (N, C, KH, KW, OH, OW).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H alike.
    Dtypes: any; I and O alike.
    Attributes: kernel = (KH, KW), both 3 unless given; strides = (SH, SW) and
    dilations = (DH, DW), all 1 unless given.
    Source: this library; PyTorch's `torch.nn.Unfold`.
    """
    domain(D.n, D.c, D.kh, D.kw, D.oh, D.ow)
    O[D.n, D.c, D.kh, D.kw, D.oh, D.ow] = I[D.n, D.c, AT_H, AT_W]


@structured_op
def depth_to_space_nhwc(
    I=TensorDef(T, S.N, S.H, S.W, S.C),
    O=TensorDef(T, S.N, S.H * S.R, S.W * S.R, S.C // (S.R * S.R), output=True),
    block=IndexAttrDef(S.R, default=[2]),
):
    """Channels laid out as blocks of R * R pixels, channels last: pixel shuffle.

        O[n, h, w, c] = I[n, h // R, w // R, (c * R + h mod R) * R + w mod R]

    Shapes: I (N, H, W, C), O (N, H * R, W * R, C // (R * R)); R * R divides C.
    Dtypes: any; I and O alike.
    Attributes: block = [R], 2 unless given.
    Source: this library; PyTorch's `torch.nn.PixelShuffle`.
    """
    domain(D.n, D.h, D.w, D.c)
    O[D.n, D.h, D.w, D.c] = I[
        D.n, D.h // S.R, D.w // S.R, (D.c * S.R + D.h % S.R) * S.R + D.w % S.R
    ]


@structured_op
def space_to_depth_nhwc(
    I=TensorDef(T, S.N, S.H, S.W, S.C),
    O=TensorDef(T, S.N, S.H // S.R, S.W // S.R, S.C * S.R * S.R, output=True),
    block=IndexAttrDef(S.R, default=[2]),
):
    """Blocks of R * R pixels laid out as channels, channels last: pixel unshuffle.

        O[n, h, w, c] =
            I[n, h * R + (c // R) mod R, w * R + c mod R, c // (R * R)]

    Shapes: I (N, H, W, C), O (N, H // R, W // R, (C * R) * R); R divides H and W.
    Dtypes: any; I and O alike.
    Attributes: block = [R], 2 unless given.
    Source: this library; PyTorch's `torch.nn.PixelUnshuffle`.
    """
    domain(D.n, D.h, D.w, D.c)
    O[D.n, D.h, D.w, D.c] = I[
        D.n, D.h * S.R + (D.c // S.R) % S.R, D.w * S.R + D.c % S.R, (D.c // S.R) // S.R
    ]


@structured_op
def depth_to_space_nchw(
    I=TensorDef(T, S.N, S.C, S.H, S.W),
    O=TensorDef(T, S.N, S.C // (S.R * S.R), S.H * S.R, S.W * S.R, output=True),
    block=IndexAttrDef(S.R, default=[2]),
):
    """Channels laid out as blocks of R * R pixels, channels first: pixel shuffle.

        O[n, c, h, w] = I[n, (c * R + h mod R) * R + w mod R, h // R, w // R]

    Shapes: I (N, C, H, W), O (N, C // (R * R), H * R, W * R); R * R divides C.
    Dtypes: any; I and O alike.
    Attributes: block = [R], 2 unless given.
    Source: this library; PyTorch's `torch.nn.PixelShuffle`.
    """
    domain(D.n, D.c, D.h, D.w)
    O[D.n, D.c, D.h, D.w] = I[
        D.n, (D.c * S.R + D.h % S.R) * S.R + D.w % S.R, D.h // S.R, D.w // S.R
    ]


@structured_op
def space_to_depth_nchw(
    I=TensorDef(T, S.N, S.C, S.H, S.W),
    O=TensorDef(T, S.N, S.C * S.R * S.R, S.H // S.R, S.W // S.R, output=True),
    block=IndexAttrDef(S.R, default=[2]),
):
    """Blocks of R * R pixels laid out as channels, channels first: pixel unshuffle.

        O[n, c, h, w] =
            I[n, c // (R * R), h * R + (c // R) mod R, w * R + c mod R]

    Shapes: I (N, C, H, W), O (N, (C * R) * R, H // R, W // R); R divides H and W.
    Dtypes: any; I and O alike.
    Attributes: block = [R], 2 unless given.
    Source: this library; PyTorch's `torch.nn.PixelUnshuffle`.
    """
    domain(D.n, D.c, D.h, D.w)
    O[D.n, D.c, D.h, D.w] = I[
        D.n, (D.c // S.R) // S.R, D.h * S.R + (D.c // S.R) % S.R, D.w * S.R + D.c % S.R
    ]
