"""Convolutions and poolings: families that differ in layout, rank and function, declared once.

The name of one says all: `depthwise_conv_2d_nhwc_hwcm_q` is of 2-D images of layout NHWC, by
kernels of layout HWCM, and quantized. A window of KH elements starts at every SH-th element and
takes every DH-th; likewise for depth and width.
"""

from textwrap import fill

from linalg_ext.opdsl import (
    I32,
    T1,
    T2,
    ConvolutionOpInterface,
    D,
    ReduceFn,
    ScalarDef,
    StructuredOp,
    TensorDef,
    TypeFn,
    U,
    domain,
    implements,
)

from ._layouts import attribute, axes_of, is_axis, listed, order_of, symbol
from ._values import cast, declared, mean_weight, product, shifted_product


def convolution(module: str, name: str, source: str | None = None) -> StructuredOp:
    """Declare the convolution of a name.

    Args:
        module: the `__name__` of the family.
        name: of the op.
        source: the source of one that upstream lacks.
    """
    indices = _Indices(name)
    image, kernel, result = indices.image, indices.kernel, indices.result
    image_at, kernel_at = tuple(map(image_index, image)), tuple(map(kernel_index, kernel))
    result_at = tuple(map(result_index, result))

    def plain(
        I=TensorDef(T1, *map(image_size, image)),
        K=TensorDef(T2, *map(kernel_size, kernel)),
        O=TensorDef(U, *map(result_size, result), output=True),
        strides=attribute("S", indices.axes, 1),
        dilations=attribute("D", indices.axes, 1),
    ):
        implements(ConvolutionOpInterface)
        domain(*(getattr(D, dim) for dim in indices.domain))
        O[result_at] += product(I[image_at], K[kernel_at])

    def quantized(
        I=TensorDef(T1, *map(image_size, image)),
        K=TensorDef(T2, *map(kernel_size, kernel)),
        IZp=ScalarDef(I32),
        KZp=ScalarDef(I32),
        O=TensorDef(U, *map(result_size, result), output=True),
        strides=attribute("S", indices.axes, 1),
        dilations=attribute("D", indices.axes, 1),
    ):
        implements(ConvolutionOpInterface)
        domain(*(getattr(D, dim) for dim in indices.domain))
        O[result_at] += shifted_product(I[image_at], IZp, K[kernel_at], KZp)

    op = quantized if indices.is_quantized else plain
    words = _text_of_convolution(name, indices, source or f"upstream's `linalg.{name}`.")
    return declared(op, module, name, words)


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
        self.axes = axes_of(self.image)
        written = [outer.get("f", "f")]
        if self.is_depthwise:
            written = ["ic", "cm"] if "cm" in self.kernel else ["ic"]
        self.result = [
            out for index in self.image for out in (written if index in ("c", "ic") else [index])
        ]
        self.domain = self._domain(written)
        own = [f"o{index}" if is_axis(index) else index for index in self.result]
        self.reduced = [dim for dim in self.domain if dim not in own]

    def _domain(self, written: list[str]) -> list[str]:
        outer, inner = [f"o{axis}" for axis in self.axes], [f"k{axis}" for axis in self.axes]
        if not self.is_depthwise:
            summed = [
                f"k{index}" if is_axis(index) else index
                for index in self.image
                if is_axis(index) or index == "c"
            ]
            return [*(f"o{i}" if is_axis(i) else i for i in self.result), *summed]
        if len(self.axes) == 3:  # as upstream has it
            return ["n", *outer, *written[1:], *inner, "ic"]
        return ["n", *outer, *written, *inner]


def image_size(index: str):
    if not is_axis(index):
        return symbol("", index)
    return symbol("O", index) * symbol("S", index) + symbol("K", index) * symbol("D", index)


def kernel_size(index: str):
    return symbol("K" if is_axis(index) else "", index)


def result_size(index: str):
    return symbol("O" if is_axis(index) else "", index)


def image_index(index: str):
    if not is_axis(index):
        return getattr(D, index)
    outer, inner = getattr(D, f"o{index}"), getattr(D, f"k{index}")
    return outer * symbol("S", index) + inner * symbol("D", index)


def kernel_index(index: str):
    return getattr(D, f"k{index}" if is_axis(index) else index)


def result_index(index: str):
    return getattr(D, f"o{index}" if is_axis(index) else index)


def _text_of_convolution(name: str, indices: _Indices, source: str) -> str:
    image = ", ".join(map(str.upper, indices.image))
    kernel, result = (
        listed(map(kernel_size, indices.kernel)),
        listed(map(result_size, indices.result)),
    )
    before = "the product."
    if indices.is_quantized:
        before = "the difference; the zero\npoints IZp and KZp are int32 scalars."
    return f"""\
{_summary_of_convolution(name, indices)}

{_formula_of_convolution(indices)}

{fill(f"Shapes: I ({image}), K ({kernel}), O ({result}).", 96)}
{without_padding(indices.axes)}
Dtypes: I and K are cast to that of O, as signed numbers, before {before}
{attributes_line(indices.axes)}
Source: {source}"""


def _summary_of_convolution(name: str, indices: _Indices) -> str:
    words = [
        *(["quantized"] if indices.is_quantized else []),
        *(["depthwise"] if indices.is_depthwise else []),
        *(["grouped"] if indices.is_grouped else []),
        f"{len(indices.axes)}-D convolution",
    ]
    title = " ".join(words)
    is_plain = len(words) == 1
    order = order_of(indices.image)
    text = f"{title}{' over channels' if is_plain else ''}, {order}"
    if "cm" in indices.kernel:
        text += ", with a channel multiplier"
    elif indices.kernel[0] == "f" and order.endswith("last"):
        text += ", output channels of the kernel first"
    elif indices.kernel[:2] == ["fg", "g"]:
        text += ", output channels of the kernel before its groups"
    return f"{text[0].upper()}{text[1:]}."


def _formula_of_convolution(indices: _Indices) -> str:
    image = listed(map(image_index, indices.image))
    kernel, result = (
        listed(map(kernel_index, indices.kernel)),
        listed(map(result_index, indices.result)),
    )
    head = f"    O[{result}] += sum over {', '.join(indices.reduced)} of"
    if indices.is_quantized:
        return f"{head}\n        (I[{image}] - IZp)\n        * (K[{kernel}] - KZp)"
    line = f"{head} I[{image}] * K[{kernel}]"
    return line if len(line) <= 96 else f"{head}\n        I[{image}]\n        * K[{kernel}]"


_SUMMARIES = {
    "sum": "Sum",
    "max": "Largest element",
    "min": "Smallest element",
    "weighted": "Weighted sum",
    "average": "Mean",
    "squares": "Sum of the squares",
}
_DTYPES = {
    "sum": "I is cast to that of O, as signed numbers.",
    "max": "I is cast to that of O, as signed numbers; a NaN in a window makes its result NaN.",
    "min": "I is cast to that of O, as signed numbers; a NaN in a window makes its result NaN.",
    "weighted": "I and K are cast to that of O, as signed numbers before the product.",
    "average": "I any numbers, cast to those of O, as signed; O any float.",
    "squares": "any numbers; I is cast to that of O, as signed, before the square.",
}


def pooling(module: str, layout: str, kind: str, *, is_upstream: bool = True) -> StructuredOp:
    """Declare `pooling_LAYOUT_KIND`.

    Args:
        module: the `__name__` of the family.
        layout: of the image: `"nwc"`, `"nchw"`, ...
        kind: `"sum"`, `"max"`, `"max_unsigned"`, ..., `"weighted"`, `"average"` or `"squares"`.
        is_upstream: whether upstream has a sum or extremum in this layout, too.
    """
    axes = axes_of(layout)
    inner = [kernel_index(axis) for axis in axes]
    sizes = [kernel_size(axis) for axis in axes]
    at, result = tuple(map(image_index, layout)), tuple(map(result_index, layout))
    is_read = kind == "weighted"

    def op(
        I=TensorDef(T1, *map(image_size, layout)),
        K=TensorDef(T2, *sizes, index_dims=None if is_read else inner),
        O=TensorDef(U, *map(result_size, layout), output=True),
        strides=attribute("S", axes, 1),
        dilations=attribute("D", axes, 1),
    ):
        if kind not in ("average", "squares"):
            implements(ConvolutionOpInterface)
        domain(*result, *inner)
        match kind.split("_"):
            case ["sum"]:
                O[result] += cast(I[at])
            case ["weighted"]:
                O[result] += product(I[at], K[tuple(inner)])
            case ["average"]:
                O[result] += cast(I[at]) * mean_weight(*sizes)
            case ["squares"]:
                O[result] += cast(I[at]) * cast(I[at])
            case [extremum, "unsigned"]:
                reducer = getattr(ReduceFn, f"{extremum}_unsigned")[inner]
                O[result] = reducer(TypeFn.cast_unsigned(U, I[at]))
            case [extremum]:
                O[result] = getattr(ReduceFn, f"{extremum}_signed")[inner](cast(I[at]))

    words = _text_of_pooling(layout, axes, kind, is_upstream)
    return declared(op, module, f"pooling_{layout}_{kind}", words)


def _text_of_pooling(layout: str, axes: list[str], kind: str, is_upstream: bool) -> str:
    reduction, _, sign = kind.partition("_")
    unsigned = ", integers read as unsigned" if sign else ""
    dtypes = "I is cast to that of O, as unsigned numbers." if sign else _DTYPES[reduction]
    parts = [
        f"{_SUMMARIES[reduction]} of each {len(axes)}-D window, {order_of(layout)}{unsigned}.",
        _formula_of_pooling(layout, axes, kind),
        *_remarks(layout, axes, kind),
        "\n".join(
            [
                _shapes(layout, axes, kind),
                without_padding(axes, "H and D" if kind == "average" else "D and H"),
                f"Dtypes: {dtypes}",
                attributes_line(axes),
                _source(layout, axes, kind, is_upstream),
            ]
        ),
    ]
    return "\n\n".join(parts)


def _formula_of_pooling(layout: str, axes: list[str], kind: str) -> str:
    reduction = kind.partition("_")[0]
    element, result = (
        f"I[{listed(map(image_index, layout))}]",
        f"O[{listed(map(result_index, layout))}]",
    )
    over = ", ".join(f"k{a}" for a in axes)
    match reduction:
        case "max" | "min":
            head = f"{result} = the {reduction}imum of {result} and, over {over},"
        case "average":
            head = f"{result} += mean over {over} of"
        case _:
            head = f"{result} += sum over {over} of"
    tail = {"weighted": f" * K[{over}]", "squares": " ** 2"}.get(reduction, "")
    line = f"    {head} {element}{tail}"
    is_short = len(line) <= 96 and reduction not in ("average", "squares")
    return line if is_short else f"    {head}\n        {element}{tail}"


def _remarks(layout: str, axes: list[str], kind: str) -> list[str]:
    match kind:
        case "weighted":
            size = " / ".join(f"K{a.upper()}" for a in axes)
            return [
                f"Weights of 1 / {size} give average pooling; zeros leave elements of a window out."
            ]
        case "average":
            return [
                "The caller's padding counts as elements; a mean without it is "
                f"`pooling_{layout}_sum`\nover the padded input, divided by the same of ones."
            ]
        case "squares":
            return ["Its square root is L2 pooling."]
        case _:
            return []


def _shapes(layout: str, axes: list[str], kind: str) -> str:
    result, window = listed(map(result_size, layout)), listed(map(kernel_size, axes))
    if kind == "weighted":
        use = "."
    elif kind == "average" and len(axes) == 3:
        use = ", its shape alone used."
    else:
        use = ", of which only the shape is used."
    return fill(f"Shapes: I ({', '.join(layout.upper())}), O ({result}), K ({window}){use}", 96)


def without_padding(axes: list[str], outer: str = "D and H") -> str:
    alike = {1: "", 2: ", H alike", 3: f", {outer} alike"}[len(axes)]
    return f"Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1{alike}."


def attributes_line(axes: list[str]) -> str:
    strides, dilations = (", ".join(f"{letter}{a.upper()}" for a in axes) for letter in ("S", "D"))
    if len(axes) == 1:
        return f"Attributes: strides = [{strides}], dilations = [{dilations}], 1 unless given."
    return f"Attributes: strides = ({strides}), dilations = ({dilations}), all 1 unless given."


def _source(layout: str, axes: list[str], kind: str, is_upstream: bool) -> str:
    match kind:
        case "weighted":
            return "Source: this library; as upstream's `linalg.pooling_nhwc_sum`, with weights."
        case "average":
            return f"Source: this library; PyTorch's `torch.nn.AvgPool{len(axes)}d`."
        case "squares":
            return (
                "Source: this library; PyTorch's `torch.nn.LPPool2d` of order 2, before the root."
            )
    if is_upstream:
        return f"Source: upstream's `linalg.pooling_{layout}_{kind}`."
    similar = f"`linalg.pooling_nhwc_{kind}`, in another layout or rank"
    return f"Source: this library; as upstream's {similar}."
