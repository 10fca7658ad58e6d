"""Convolutions, which differ in layout, rank and in what becomes of channels: declared once.

The name of one says all: `depthwise_conv_2d_nhwc_hwcm_q` is of 2-D images of layout NHWC, by
kernels of layout HWCM, and quantized.
"""

from textwrap import fill

from linalg_ext.opdsl import (
    I32,
    T1,
    T2,
    ConvolutionOpInterface,
    D,
    IndexAttrDef,
    S,
    ScalarDef,
    StructuredOp,
    TensorDef,
    U,
    domain,
    implements,
    structured_op,
)

from ._values import product, shifted_product


def convolution(module: str, name: str, source: str | None = None) -> StructuredOp:
    """Declare the convolution of a name.

    Args:
        module: the `__name__` of the family.
        name: of the op.
        source: the source of one that upstream lacks.
    """
    indices = _Indices(name)
    image, kernel, result = indices.image, indices.kernel, indices.result
    if indices.is_quantized:

        def op(
            I=TensorDef(T1, *map(_image_size, image)),
            K=TensorDef(T2, *map(_kernel_size, kernel)),
            IZp=ScalarDef(I32),
            KZp=ScalarDef(I32),
            O=TensorDef(U, *map(_result_size, result), output=True),
            strides=_attribute("S", indices.axes),
            dilations=_attribute("D", indices.axes),
        ):
            implements(ConvolutionOpInterface)
            domain(*(getattr(D, dim) for dim in indices.domain))
            at = tuple(map(_image_index, image)), tuple(map(_kernel_index, kernel))
            O[tuple(map(_result_index, result))] += shifted_product(I[at[0]], IZp, K[at[1]], KZp)

    else:

        def op(
            I=TensorDef(T1, *map(_image_size, image)),
            K=TensorDef(T2, *map(_kernel_size, kernel)),
            O=TensorDef(U, *map(_result_size, result), output=True),
            strides=_attribute("S", indices.axes),
            dilations=_attribute("D", indices.axes),
        ):
            implements(ConvolutionOpInterface)
            domain(*(getattr(D, dim) for dim in indices.domain))
            at = tuple(map(_image_index, image)), tuple(map(_kernel_index, kernel))
            O[tuple(map(_result_index, result))] += product(I[at[0]], K[at[1]])

    op.__name__ = op.__qualname__ = name
    op.__module__ = module
    op.__doc__ = _documentation(name, indices, source or f"upstream's `linalg.{name}`.")
    return structured_op(op)


class _Indices:
    """The indices of image, kernel and result, by the layouts in a name.

    A spatial index is its axis, `h`; a channel of a depthwise convolution is `ic`, its multiplier
    `cm`; an output channel is `f`, of a group `fg`.
    """

    def __init__(self, name: str) -> None:
        layouts = name.removesuffix("_q").split("_")
        self.is_quantized = name.endswith("_q")
        self.is_depthwise = layouts[0] == "depthwise"
        self.is_grouped = "g" in layouts[-2]
        channels = {"c": "ic", "m": "cm"} if self.is_depthwise else {}
        outer = {"f": "fg"} if self.is_grouped else {}
        self.image = [channels.get(letter, letter) for letter in layouts[-2]]
        self.kernel = [{**channels, **outer}.get(letter, letter) for letter in layouts[-1]]
        self.axes = [index for index in self.image if _is_axis(index)]
        written = [outer.get("f", "f")]
        if self.is_depthwise:
            written = ["ic", "cm"] if "cm" in self.kernel else ["ic"]
        self.result = [
            out for index in self.image for out in (written if index in ("c", "ic") else [index])
        ]
        self.domain = self._domain(written)
        own = [f"o{index}" if _is_axis(index) else index for index in self.result]
        self.reduced = [dim for dim in self.domain if dim not in own]

    def _domain(self, written: list[str]) -> list[str]:
        outer, inner = [f"o{axis}" for axis in self.axes], [f"k{axis}" for axis in self.axes]
        if not self.is_depthwise:
            summed = [
                f"k{index}" if _is_axis(index) else index
                for index in self.image
                if _is_axis(index) or index == "c"
            ]
            return [*(f"o{i}" if _is_axis(i) else i for i in self.result), *summed]
        if len(self.axes) == 3:  # as upstream has it
            return ["n", *outer, *written[1:], *inner, "ic"]
        return ["n", *outer, *written, *inner]


def _is_axis(index: str) -> bool:
    return index in ("d", "h", "w")


def _symbol(letter: str, axis: str):
    return getattr(S, f"{letter}{axis.upper()}")


def _image_size(index: str):
    if not _is_axis(index):
        return _symbol("", index)
    return _symbol("O", index) * _symbol("S", index) + _symbol("K", index) * _symbol("D", index)


def _kernel_size(index: str):
    return _symbol("K" if _is_axis(index) else "", index)


def _result_size(index: str):
    return _symbol("O" if _is_axis(index) else "", index)


def _image_index(index: str):
    if not _is_axis(index):
        return getattr(D, index)
    outer, inner = getattr(D, f"o{index}"), getattr(D, f"k{index}")
    return outer * _symbol("S", index) + inner * _symbol("D", index)


def _kernel_index(index: str):
    return getattr(D, f"k{index}" if _is_axis(index) else index)


def _result_index(index: str):
    return getattr(D, f"o{index}" if _is_axis(index) else index)


def _attribute(letter: str, axes: list[str]) -> IndexAttrDef:
    return IndexAttrDef(*(_symbol(letter, axis) for axis in axes), default=[1] * len(axes))


def _documentation(name: str, indices: _Indices, source: str) -> str:
    image = ", ".join(map(str.upper, indices.image))
    kernel = ", ".join(map(str, map(_kernel_size, indices.kernel)))
    result = ", ".join(map(str, map(_result_size, indices.result)))
    alike = {1: "", 2: ", H alike", 3: ", D and H alike"}[len(indices.axes)]
    strides, dilations = (
        ", ".join(f"{letter}{axis.upper()}" for axis in indices.axes) for letter in ("S", "D")
    )
    given = f"strides = ({strides}), dilations = ({dilations}), all 1 unless given."
    if len(indices.axes) == 1:
        given = f"strides = [{strides}], dilations = [{dilations}], 1 unless given."
    before = "the product."
    if indices.is_quantized:
        before = "the difference; the zero\npoints IZp and KZp are int32 scalars."
    return f"""\
{_summary(name, indices)}

{_formula(indices)}

{fill(f"Shapes: I ({image}), K ({kernel}), O ({result}).", 96)}
Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1{alike}.
Dtypes: I and K are cast to that of O, as signed numbers, before {before}
Attributes: {given}
Source: {source}"""


def _summary(name: str, indices: _Indices) -> str:
    words = [
        *(["quantized"] if indices.is_quantized else []),
        *(["depthwise"] if indices.is_depthwise else []),
        *(["grouped"] if indices.is_grouped else []),
        f"{len(indices.axes)}-D convolution",
    ]
    title = " ".join(words)
    is_plain = len(words) == 1
    order = "first" if indices.image[-1] in ("d", "h", "w") else "last"
    text = f"{title}{' over channels' if is_plain else ''}, channels {order}"
    if "cm" in indices.kernel:
        text += ", with a channel multiplier"
    elif indices.kernel[0] == "f" and order == "last":
        text += ", output channels of the kernel first"
    elif indices.kernel[:2] == ["fg", "g"]:
        text += ", output channels of the kernel before its groups"
    return f"{text[0].upper()}{text[1:]}."


def _formula(indices: _Indices) -> str:
    image = ", ".join(map(str, map(_image_index, indices.image)))
    kernel = ", ".join(map(str, map(_kernel_index, indices.kernel)))
    result = ", ".join(map(str, map(_result_index, indices.result)))
    head = f"    O[{result}] += sum over {', '.join(indices.reduced)} of"
    if indices.is_quantized:
        return f"{head}\n        (I[{image}] - IZp)\n        * (K[{kernel}] - KZp)"
    line = f"{head} I[{image}] * K[{kernel}]"
    return line if len(line) <= 96 else f"{head}\n        I[{image}]\n        * K[{kernel}]"
