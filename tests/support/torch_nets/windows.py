"""Models of a single op that reads windows: poolings, resamplings, convolutions."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from torch_nets.subject import Subject, of

rand = torch.randn

POOLINGS = [
    of("max pooling 1d, dilated", nn.MaxPool1d(3, 2, 1, 2), rand(2, 5, 33)),
    of("max pooling 3d", nn.MaxPool3d(3, 2, 1, ceil_mode=True), rand(2, 3, 8, 7, 9)),
    of("max pooling with indices", nn.MaxPool2d(2, return_indices=True), rand(2, 3, 8, 10)),
    of(
        "max unpooling",
        lambda x: functional.max_unpool2d(*functional.max_pool2d(x, 2, return_indices=True), 2),
        rand(2, 3, 8, 10),
        batch=False,
    ),
    of("average pooling 1d", nn.AvgPool1d(4, 3, 1, ceil_mode=True), rand(2, 5, 33)),
    of(
        "average pooling 2d",
        nn.AvgPool2d((3, 2), (2, 3), (1, 0), count_include_pad=False),
        rand(2, 5, 11, 13),
    ),
    of("adaptive average 1d", nn.AdaptiveAvgPool1d(5), rand(2, 3, 17)),
    of("adaptive average 3d", nn.AdaptiveAvgPool3d((2, 1, 3)), rand(2, 3, 7, 5, 9)),
    of("adaptive maximum 2d", nn.AdaptiveMaxPool2d((3, 4)), rand(2, 3, 10, 13)),
    of("power average", nn.LPPool2d(2, 3, stride=2), rand(2, 3, 10, 13).abs()),
    of(
        "bilinear upsampling",
        lambda x: functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True),
        rand(2, 3, 5, 7),
    ),
    of(
        "nearest upsampling 1d",
        lambda x: functional.interpolate(x, size=13, mode="nearest"),
        rand(2, 3, 5),
    ),
    of(
        "bicubic upsampling",
        lambda x: functional.interpolate(x, size=(9, 11), mode="bicubic"),
        rand(2, 3, 5, 7),
    ),
    of(
        "grid sampling",
        lambda x, g: functional.grid_sample(x, g, align_corners=False),
        rand(2, 3, 5, 7),
        rand(2, 4, 6, 2).tanh(),
    ),
    of(
        "unfold and fold",
        lambda x: functional.fold(functional.unfold(x, 3, padding=1), (6, 8), 3, padding=1),
        rand(2, 3, 6, 8),
    ),
    of("pixel shuffle", nn.PixelShuffle(2), rand(2, 8, 3, 5)),
    of("reflected padding", nn.ReflectionPad2d((1, 2, 3, 0)), rand(2, 3, 5, 7)),
    of("circular padding", lambda x: functional.pad(x, (2, 1), mode="circular"), rand(2, 3, 9)),
]


def _conv(name: str, layer: nn.Module, *shape: int) -> Subject:
    return of(name, layer, rand(*shape))


CONVOLUTIONS = [
    _conv("convolution 1d", nn.Conv1d(3, 8, 5), 2, 3, 31),
    _conv(
        "convolution 2d, dilated and padded",
        nn.Conv2d(3, 7, (3, 5), 2, (2, 4), (2, 3)),
        2,
        3,
        19,
        23,
    ),
    _conv("convolution 2d, grouped", nn.Conv2d(6, 9, 3, groups=3, bias=False), 2, 6, 11, 13),
    _conv("convolution 2d, same", nn.Conv2d(3, 5, (4, 3), padding="same"), 2, 3, 9, 10),
    _conv(
        "convolution 2d, reflected",
        nn.Conv2d(3, 5, 3, padding=1, padding_mode="reflect"),
        2,
        3,
        9,
        10,
    ),
    _conv("convolution 3d", nn.Conv3d(3, 4, 3, 1, 1), 1, 3, 7, 9, 8),
    _conv(
        "convolution 3d, asymmetric",
        nn.Conv3d(3, 4, (3, 5, 7), (2, 1, 3), (1, 2, 0), bias=False),
        1,
        3,
        9,
        11,
        16,
    ),
    _conv(
        "convolution 3d, grouped, dilated",
        nn.Conv3d(4, 6, 2, dilation=(2, 1, 2), groups=2),
        1,
        4,
        6,
        7,
        5,
    ),
    _conv(
        "depthwise, asymmetric",
        nn.Conv2d(5, 5, (3, 1), (2, 1), (1, 0), (1, 2), groups=5),
        2,
        5,
        13,
        12,
    ),
    _conv("depthwise, two a channel", nn.Conv2d(5, 10, 3, groups=5), 2, 5, 13, 12),
    _conv("pointwise", nn.Conv2d(7, 11, 1), 2, 7, 9, 10),
    _conv(
        "depthwise separable",
        nn.Sequential(nn.Conv2d(5, 5, 3, 1, 1, groups=5, bias=False), nn.Conv2d(5, 9, 1)),
        2,
        5,
        9,
        10,
    ),
    _conv("transposed 1d, dilated", nn.ConvTranspose1d(3, 5, 5, dilation=3), 2, 3, 17),
    _conv(
        "transposed 1d, padded, strided, dilated",
        nn.ConvTranspose1d(3, 5, 3, 2, 1, dilation=2, output_padding=1),
        2,
        3,
        17,
    ),
    _conv("transposed 2d", nn.ConvTranspose2d(3, 5, 3), 2, 3, 7, 9),
    _conv(
        "transposed 2d, asymmetric",
        nn.ConvTranspose2d(3, 4, (3, 5), (2, 3), (1, 2), bias=False),
        2,
        3,
        7,
        9,
    ),
    _conv(
        "transposed 2d, grouped, dilated",
        nn.ConvTranspose2d(6, 4, 3, (2, 3), 1, (1, 2), groups=2, dilation=(2, 1)),
        2,
        6,
        5,
        6,
    ),
    _conv("transposed 3d", nn.ConvTranspose3d(2, 3, (3, 2, 4), 2, 1, 1), 1, 2, 4, 5, 3),
    _conv(
        "transposed 3d, grouped",
        nn.ConvTranspose3d(4, 4, 3, (1, 2, 3), (0, 1, 1), groups=4),
        1,
        4,
        3,
        4,
        5,
    ),
    of(
        "convolution with given weights",
        lambda x, w: functional.conv2d(x, w, stride=2),
        rand(2, 3, 9, 9),
        rand(5, 3, 3, 3),
        batch=False,
    ),
]

SUBJECTS = [*POOLINGS, *CONVOLUTIONS]
