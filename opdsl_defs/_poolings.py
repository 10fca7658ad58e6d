"""Poolings, which differ in layout, rank and in what they make of a window: declared once."""

from textwrap import fill

from linalg_ext.opdsl import (
    T1,
    T2,
    ConvolutionOpInterface,
    D,
    IndexAttrDef,
    ReduceFn,
    S,
    StructuredOp,
    TensorDef,
    TypeFn,
    U,
    domain,
    implements,
    structured_op,
)

from ._values import cast, mean_weight, product

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
    axes = [axis for axis in layout if axis not in "nc"]
    outer = [getattr(D, f"o{axis}") for axis in axes]
    inner = [getattr(D, f"k{axis}") for axis in axes]
    sizes = [getattr(S, f"K{axis.upper()}") for axis in axes]
    strides = [getattr(S, f"S{axis.upper()}") for axis in axes]
    dilations = [getattr(S, f"D{axis.upper()}") for axis in axes]
    results = [getattr(S, f"O{axis.upper()}") for axis in axes]
    windows = list(zip(outer, strides, inner, dilations, strict=True))
    at = _placed(layout, D.n, D.c, [o * s + k * d for o, s, k, d in windows])
    image = _placed(
        layout,
        S.N,
        S.C,
        [o * s + k * d for o, s, k, d in zip(results, strides, sizes, dilations, strict=True)],
    )
    result = _placed(layout, D.n, D.c, outer)
    is_read = kind == "weighted"

    def op(
        I=TensorDef(T1, *image),
        K=TensorDef(T2, *sizes, index_dims=None if is_read else inner),
        O=TensorDef(U, *_placed(layout, S.N, S.C, results), output=True),
        strides=IndexAttrDef(*strides, default=[1] * len(axes)),
        dilations=IndexAttrDef(*dilations, default=[1] * len(axes)),
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

    op.__name__ = op.__qualname__ = f"pooling_{layout}_{kind}"
    op.__module__ = module
    op.__doc__ = _documentation(layout, axes, kind, is_upstream)
    return structured_op(op)


def _placed(layout, batch, channel, spatial):
    """The indices or sizes of an image, in the order of its layout."""
    is_last = layout.endswith("c")
    return (batch, *spatial, channel) if is_last else (batch, channel, *spatial)


def _documentation(layout: str, axes: list[str], kind: str, is_upstream: bool) -> str:
    what, _, sign = kind.partition("_")
    order = "last" if layout.endswith("c") else "first"
    unsigned = ", integers read as unsigned" if sign else ""
    dtypes = "I is cast to that of O, as unsigned numbers." if sign else _DTYPES[what]
    parts = [
        f"{_SUMMARIES[what]} of each {len(axes)}-D window, channels {order}{unsigned}.",
        _formula(layout, axes, kind),
        *_remarks(layout, axes, kind),
        "\n".join(
            [
                _shapes(layout, axes, kind),
                f"Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1{_alike(axes, kind)}.",
                f"Dtypes: {dtypes}",
                _attributes(axes),
                _source(layout, axes, kind, is_upstream),
            ]
        ),
    ]
    return "\n\n".join(parts)


def _formula(layout: str, axes: list[str], kind: str) -> str:
    what = kind.partition("_")[0]
    windows = [f"o{a} * S{a.upper()} + k{a} * D{a.upper()}" for a in axes]
    element = f"I[{', '.join(_placed(layout, 'n', 'c', windows))}]"
    result = f"O[{', '.join(_placed(layout, 'n', 'c', [f'o{a}' for a in axes]))}]"
    over = ", ".join(f"k{a}" for a in axes)
    match what:
        case "max" | "min":
            head = f"{result} = the {what}imum of {result} and, over {over},"
        case "average":
            head = f"{result} += mean over {over} of"
        case _:
            head = f"{result} += sum over {over} of"
    tail = {"weighted": f" * K[{over}]", "squares": " ** 2"}.get(what, "")
    line = f"    {head} {element}{tail}"
    is_short = len(line) <= 96 and what not in ("average", "squares")
    return line if is_short else f"    {head}\n        {element}{tail}"


def _remarks(layout: str, axes: list[str], kind: str) -> list[str]:
    match kind:
        case "weighted":
            ones = " / ".join(f"K{a.upper()}" for a in axes)
            return [
                f"Weights of 1 / {ones} give average pooling; zeros leave elements of a window out."
            ]
        case "average":
            return [
                "What the caller padded with counts as an element; a mean without it is "
                f"`pooling_{layout}_sum`\nover the padded input, divided by the same of ones."
            ]
        case "squares":
            return ["Its square root is L2 pooling."]
        case _:
            return []


def _shapes(layout: str, axes: list[str], kind: str) -> str:
    spatial = [a.upper() for a in axes]
    image = ", ".join(_placed(layout, "N", "C", spatial))
    result = ", ".join(_placed(layout, "N", "C", [f"O{a}" for a in spatial]))
    window = ", ".join(f"K{a}" for a in spatial)
    if kind == "weighted":
        use = "."
    elif kind == "average" and len(axes) == 3:
        use = ", its shape alone used."
    else:
        use = ", of which only the shape is used."
    return fill(f"Shapes: I ({image}), O ({result}), K ({window}){use}", 96)


def _alike(axes: list[str], kind: str) -> str:
    if len(axes) == 3:
        return ", H and D alike" if kind == "average" else ", D and H alike"
    return ", H alike" if len(axes) == 2 else ""


def _attributes(axes: list[str]) -> str:
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
