"""Transposed convolutions, at any stride and dilation, in both layouts.

A structured op writes where its index says, and spreads nothing: each element of the output looks
at every element of the kernel and takes what meets it there. Compiled, each tap is a contraction
whose result is spread (`spread_transposed_convolutions`): no element of the kernel is looked at in
vain.
"""

from linalg_ext.opdsl import (
    T1,
    T2,
    BinaryFn,
    D,
    S,
    TensorDef,
    TernaryFn,
    U,
    domain,
    structured_op,
)

from ._values import length, position
from ._windows import (
    DILATIONS_1D,
    DILATIONS_2D,
    DILATIONS_3D,
    STRIDES_1D,
    STRIDES_2D,
    STRIDES_3D,
    product,
)

__all__ = [
    "transposed_conv_1d_ncw_cfw",
    "transposed_conv_1d_nwc_wcf",
    "transposed_conv_2d_nchw_cfhw",
    "transposed_conv_2d_nhwc_hwcf",
    "transposed_conv_3d_ncdhw_cfdhw",
    "transposed_conv_3d_ndhwc_dhwcf",
]


def _source(out, tap, stride, dilation, size):
    """Return the position that a tap reads for an element of the output, always inside."""
    return ((out - tap * dilation) // stride) % size


def _is_met(out, tap, stride, dilation, size):
    """Return whether a tap spreads an element of the input to an element of the output."""
    offset = position(out) - position(tap) * length(dilation)
    inside = (offset >= 0) & (offset <= (length(size) - 1) * length(stride))
    return inside & BinaryFn.eq(BinaryFn.rem(offset, length(stride)), 0)


@structured_op
def transposed_conv_1d_nwc_wcf(
    I=TensorDef(T1, S.N, S.W, S.C),
    K=TensorDef(T2, S.KW, S.C, S.F),
    O=TensorDef(U, S.N, (S.W - 1) * S.SW + (S.KW - 1) * S.DW + 1, S.F, output=True),
    strides=STRIDES_1D,
    dilations=DILATIONS_1D,
):
    """Transposed 1-D convolution, channels last: each element spread by the kernel.

        O[n, w * SW + kw * DW, f] +=
            sum over c of I[n, w, c] * K[kw, c, f], for all w and kw

    Shapes: I (N, W, C), K (KW, C, F), O (N, OW, F) with
    OW = (W - 1) * SW + (KW - 1) * DW + 1: all; the caller cuts off a padding.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Attributes: strides = [SW], dilations = [DW], 1 unless given.
    Source: this library; PyTorch's `torch.nn.ConvTranspose1d`.
    """
    domain(D.n, D.ow, D.f, D.kw, D.c)
    is_met = _is_met(D.ow, D.kw, S.SW, S.DW, S.W)
    O[D.n, D.ow, D.f] += TernaryFn.select(
        is_met, product(I[D.n, _source(D.ow, D.kw, S.SW, S.DW, S.W), D.c], K[D.kw, D.c, D.f]), 0
    )


@structured_op
def transposed_conv_1d_ncw_cfw(
    I=TensorDef(T1, S.N, S.C, S.W),
    K=TensorDef(T2, S.C, S.F, S.KW),
    O=TensorDef(U, S.N, S.F, (S.W - 1) * S.SW + (S.KW - 1) * S.DW + 1, output=True),
    strides=STRIDES_1D,
    dilations=DILATIONS_1D,
):
    """Transposed 1-D convolution, channels first: each element spread by the kernel.

        O[n, f, w * SW + kw * DW] +=
            sum over c of I[n, c, w] * K[c, f, kw], for all w and kw

    Shapes: I (N, C, W), K (C, F, KW), O (N, F, OW) with
    OW = (W - 1) * SW + (KW - 1) * DW + 1: all; the caller cuts off a padding.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Attributes: strides = [SW], dilations = [DW], 1 unless given.
    Source: this library; PyTorch's `torch.nn.ConvTranspose1d`.
    """
    domain(D.n, D.f, D.ow, D.kw, D.c)
    is_met = _is_met(D.ow, D.kw, S.SW, S.DW, S.W)
    O[D.n, D.f, D.ow] += TernaryFn.select(
        is_met, product(I[D.n, D.c, _source(D.ow, D.kw, S.SW, S.DW, S.W)], K[D.c, D.f, D.kw]), 0
    )


@structured_op
def transposed_conv_2d_nhwc_hwcf(
    I=TensorDef(T1, S.N, S.H, S.W, S.C),
    K=TensorDef(T2, S.KH, S.KW, S.C, S.F),
    O=TensorDef(
        U,
        S.N,
        (S.H - 1) * S.SH + (S.KH - 1) * S.DH + 1,
        (S.W - 1) * S.SW + (S.KW - 1) * S.DW + 1,
        S.F,
        output=True,
    ),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """Transposed 2-D convolution, channels last: each element spread by the kernel.

        O[n, h * SH + kh * DH, w * SW + kw * DW, f] +=
            sum over c of I[n, h, w, c] * K[kh, kw, c, f], for all h, w and kh, kw

    Shapes: I (N, H, W, C), K (KH, KW, C, F), O (N, OH, OW, F) with
    OW = (W - 1) * SW + (KW - 1) * DW + 1, OH alike: all; the caller cuts off a padding.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Attributes: strides = (SH, SW), dilations = (DH, DW), all 1 unless given.
    Source: this library; PyTorch's `torch.nn.ConvTranspose2d`.
    """
    domain(D.n, D.oh, D.ow, D.f, D.kh, D.kw, D.c)
    is_met = _is_met(D.oh, D.kh, S.SH, S.DH, S.H) & _is_met(D.ow, D.kw, S.SW, S.DW, S.W)
    O[D.n, D.oh, D.ow, D.f] += TernaryFn.select(
        is_met,
        product(
            I[D.n, _source(D.oh, D.kh, S.SH, S.DH, S.H), _source(D.ow, D.kw, S.SW, S.DW, S.W), D.c],
            K[D.kh, D.kw, D.c, D.f],
        ),
        0,
    )


@structured_op
def transposed_conv_2d_nchw_cfhw(
    I=TensorDef(T1, S.N, S.C, S.H, S.W),
    K=TensorDef(T2, S.C, S.F, S.KH, S.KW),
    O=TensorDef(
        U,
        S.N,
        S.F,
        (S.H - 1) * S.SH + (S.KH - 1) * S.DH + 1,
        (S.W - 1) * S.SW + (S.KW - 1) * S.DW + 1,
        output=True,
    ),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """Transposed 2-D convolution, channels first: each element spread by the kernel.

        O[n, f, h * SH + kh * DH, w * SW + kw * DW] +=
            sum over c of I[n, c, h, w] * K[c, f, kh, kw], for all h, w and kh, kw

    Shapes: I (N, C, H, W), K (C, F, KH, KW), O (N, F, OH, OW) with
    OW = (W - 1) * SW + (KW - 1) * DW + 1, OH alike: all; the caller cuts off a padding.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Attributes: strides = (SH, SW), dilations = (DH, DW), all 1 unless given.
    Source: this library; PyTorch's `torch.nn.ConvTranspose2d`.
    """
    domain(D.n, D.f, D.oh, D.ow, D.kh, D.kw, D.c)
    is_met = _is_met(D.oh, D.kh, S.SH, S.DH, S.H) & _is_met(D.ow, D.kw, S.SW, S.DW, S.W)
    O[D.n, D.f, D.oh, D.ow] += TernaryFn.select(
        is_met,
        product(
            I[D.n, D.c, _source(D.oh, D.kh, S.SH, S.DH, S.H), _source(D.ow, D.kw, S.SW, S.DW, S.W)],
            K[D.c, D.f, D.kh, D.kw],
        ),
        0,
    )


@structured_op
def transposed_conv_3d_ndhwc_dhwcf(
    I=TensorDef(T1, S.N, S.D, S.H, S.W, S.C),
    K=TensorDef(T2, S.KD, S.KH, S.KW, S.C, S.F),
    O=TensorDef(
        U,
        S.N,
        (S.D - 1) * S.SD + (S.KD - 1) * S.DD + 1,
        (S.H - 1) * S.SH + (S.KH - 1) * S.DH + 1,
        (S.W - 1) * S.SW + (S.KW - 1) * S.DW + 1,
        S.F,
        output=True,
    ),
    strides=STRIDES_3D,
    dilations=DILATIONS_3D,
):
    """Transposed 3-D convolution, channels last: each element spread by the kernel.

        O[n, d * SD + kd * DD, h * SH + kh * DH, w * SW + kw * DW, f] +=
            sum over c of I[n, d, h, w, c] * K[kd, kh, kw, c, f], for all d, h, w and kd, kh, kw

    Shapes: I (N, D, H, W, C), K (KD, KH, KW, C, F), O (N, OD, OH, OW, F) with
    OW = (W - 1) * SW + (KW - 1) * DW + 1, OH and OD alike: all; the caller cuts off a padding.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Attributes: strides = (SD, SH, SW), dilations = (DD, DH, DW), all 1 unless given.
    Source: this library; PyTorch's `torch.nn.ConvTranspose3d`.
    """
    domain(D.n, D.od, D.oh, D.ow, D.f, D.kd, D.kh, D.kw, D.c)
    is_met = (
        _is_met(D.od, D.kd, S.SD, S.DD, S.D)
        & _is_met(D.oh, D.kh, S.SH, S.DH, S.H)
        & _is_met(D.ow, D.kw, S.SW, S.DW, S.W)
    )
    O[D.n, D.od, D.oh, D.ow, D.f] += TernaryFn.select(
        is_met,
        product(
            I[
                D.n,
                _source(D.od, D.kd, S.SD, S.DD, S.D),
                _source(D.oh, D.kh, S.SH, S.DH, S.H),
                _source(D.ow, D.kw, S.SW, S.DW, S.W),
                D.c,
            ],
            K[D.kd, D.kh, D.kw, D.c, D.f],
        ),
        0,
    )


@structured_op
def transposed_conv_3d_ncdhw_cfdhw(
    I=TensorDef(T1, S.N, S.C, S.D, S.H, S.W),
    K=TensorDef(T2, S.C, S.F, S.KD, S.KH, S.KW),
    O=TensorDef(
        U,
        S.N,
        S.F,
        (S.D - 1) * S.SD + (S.KD - 1) * S.DD + 1,
        (S.H - 1) * S.SH + (S.KH - 1) * S.DH + 1,
        (S.W - 1) * S.SW + (S.KW - 1) * S.DW + 1,
        output=True,
    ),
    strides=STRIDES_3D,
    dilations=DILATIONS_3D,
):
    """Transposed 3-D convolution, channels first: each element spread by the kernel.

        O[n, f, d * SD + kd * DD, h * SH + kh * DH, w * SW + kw * DW] +=
            sum over c of I[n, c, d, h, w] * K[c, f, kd, kh, kw], for all d, h, w and kd, kh, kw

    Shapes: I (N, C, D, H, W), K (C, F, KD, KH, KW), O (N, F, OD, OH, OW) with
    OW = (W - 1) * SW + (KW - 1) * DW + 1, OH and OD alike: all; the caller cuts off a padding.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Attributes: strides = (SD, SH, SW), dilations = (DD, DH, DW), all 1 unless given.
    Source: this library; PyTorch's `torch.nn.ConvTranspose3d`.
    """
    domain(D.n, D.f, D.od, D.oh, D.ow, D.kd, D.kh, D.kw, D.c)
    is_met = (
        _is_met(D.od, D.kd, S.SD, S.DD, S.D)
        & _is_met(D.oh, D.kh, S.SH, S.DH, S.H)
        & _is_met(D.ow, D.kw, S.SW, S.DW, S.W)
    )
    O[D.n, D.f, D.od, D.oh, D.ow] += TernaryFn.select(
        is_met,
        product(
            I[
                D.n,
                D.c,
                _source(D.od, D.kd, S.SD, S.DD, S.D),
                _source(D.oh, D.kh, S.SH, S.DH, S.H),
                _source(D.ow, D.kw, S.SW, S.DW, S.W),
            ],
            K[D.c, D.f, D.kd, D.kh, D.kw],
        ),
        0,
    )
