"""Every named op of linalg, on tensors and on memory, with static and with open shapes."""

from __future__ import annotations

import importlib
import inspect
import math
import re
from typing import Any

import numpy as np
import pytest

from kernels import kernel
from linalg_ext.bindings import provider

SIZES = dict(zip("bmnkhwdpqrcfguvx", (2, 3, 4, 5, 3, 2, 2, 2, 3, 2, 3, 4, 2, 2, 3, 2), strict=True))
"""The extent of each letter: b batch, m n k as in a product, d h w the image, r p q the window."""

# Subscripts in linalg's order of dimensions; (h+p) walks a window over an image with stride 1,
# (2h+p) with stride 2, which the op takes as an attribute.
PRODUCTS = {
    "dot": "k, k -> ",
    "matvec": "mk, k -> m",
    "vecmat": "k, kn -> n",
    "matmul": "mk, kn -> mn",
    "batch_matmul": "bmk, bkn -> bmn",
    "batch_matvec": "bmk, bk -> bm",
    "batch_vecmat": "bk, bkn -> bn",
    "batch_reduce_matmul": "bmk, bkn -> mn",
    "mmt4d": "mkuv, nkxv -> mnux",
    "batch_mmt4d": "bmkuv, bnkxv -> bmnux",
    "conv_1d": "(h+p), p -> h",
    "conv_2d": "(h+p)(w+q), pq -> hw",
    "conv_3d": "(d+r)(h+p)(w+q), rpq -> dhw",
    "conv_1d_ncw_fcw": "bc(2w+q), fcq -> bfw",
    "conv_1d_nwc_wcf": "b(2w+q)c, qcf -> bwf",
    "conv_2d_nchw_fchw": "bc(2h+p)(2w+q), fcpq -> bfhw",
    "conv_2d_nhwc_fhwc": "b(2h+p)(2w+q)c, fpqc -> bhwf",
    "conv_2d_nhwc_hwcf": "b(2h+p)(2w+q)c, pqcf -> bhwf",
    "conv_2d_ngchw_fgchw": "bgc(2h+p)(2w+q), fgcpq -> bgfhw",
    "conv_2d_ngchw_gfchw": "bgc(2h+p)(2w+q), gfcpq -> bgfhw",
    "conv_2d_nhwgc_gfhwc": "b(2h+p)(2w+q)gc, gfpqc -> bhwgf",
    "conv_3d_ncdhw_fcdhw": "bc(2d+r)(2h+p)(2w+q), fcrpq -> bfdhw",
    "conv_3d_ndhwc_dhwcf": "b(2d+r)(2h+p)(2w+q)c, rpqcf -> bdhwf",
    "depthwise_conv_1d_ncw_cw": "bc(2w+q), cq -> bcw",
    "depthwise_conv_1d_nwc_wc": "b(2w+q)c, qc -> bwc",
    "depthwise_conv_1d_nwc_wcm": "b(2w+q)c, qcm -> bwcm",
    "depthwise_conv_2d_nchw_chw": "bc(2h+p)(2w+q), cpq -> bchw",
    "depthwise_conv_2d_nhwc_hwc": "b(2h+p)(2w+q)c, pqc -> bhwc",
    "depthwise_conv_2d_nhwc_hwcm": "b(2h+p)(2w+q)c, pqcm -> bhwcm",
    "depthwise_conv_3d_ncdhw_cdhw": "bc(2d+r)(2h+p)(2w+q), crpq -> bcdhw",
    "depthwise_conv_3d_ndhwc_dhwc": "b(2d+r)(2h+p)(2w+q)c, rpqc -> bdhwc",
    "depthwise_conv_3d_ndhwc_dhwcm": "b(2d+r)(2h+p)(2w+q)c, rpqcm -> bdhwcm",
}
QUANTIZED = {
    "quantized_matmul": "mk, kn -> mn",
    "quantized_batch_matmul": "bmk, bkn -> bmn",
    "conv_2d_nchw_fchw_q": PRODUCTS["conv_2d_nchw_fchw"],
    "conv_2d_nhwc_fhwc_q": PRODUCTS["conv_2d_nhwc_fhwc"],
    "conv_2d_nhwc_hwcf_q": PRODUCTS["conv_2d_nhwc_hwcf"],
    "conv_2d_ngchw_gfchw_q": PRODUCTS["conv_2d_ngchw_gfchw"],
    "conv_2d_nhwgc_gfhwc_q": PRODUCTS["conv_2d_nhwgc_gfhwc"],
    "conv_3d_ndhwc_dhwcf_q": PRODUCTS["conv_3d_ndhwc_dhwcf"],
    "depthwise_conv_2d_nhwc_hwc_q": PRODUCTS["depthwise_conv_2d_nhwc_hwc"],
    "depthwise_conv_2d_nhwc_hwcm_q": PRODUCTS["depthwise_conv_2d_nhwc_hwcm"],
}
_POOLED = {
    "nchw": "bc(2h+p)(2w+q), pq -> bchw",
    "ncw": "bc(2w+q), q -> bcw",
    "ndhwc": "b(2d+r)(2h+p)(2w+q)c, rpq -> bdhwc",
    "nhwc": "b(2h+p)(2w+q)c, pq -> bhwc",
    "nwc": "b(2w+q)c, q -> bwc",
}
POOLINGS = {
    f"pooling_{layout}_{kind}": spec
    for layout, spec in _POOLED.items()
    for kind in ("max", "min", "sum", "max_unsigned", "min_unsigned")
    if not ("min" in kind and layout in ("nchw", "ncw"))
    and not ("unsigned" in kind and layout in ("nchw", "ncw", "ndhwc"))
}
UNARY: dict[str, Any] = {
    "abs": np.abs,
    "ceil": np.ceil,
    "erf": None,
    "exp": np.exp,
    "floor": np.floor,
    "log": np.log,
    "negf": np.negative,
    "reciprocal": np.reciprocal,
    "round": np.round,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sqrt": np.sqrt,
    "square": np.square,
    "tanh": np.tanh,
    "copy": np.positive,
}
BINARY: dict[str, Any] = {
    "add": np.add,
    "div": np.divide,
    "max": np.maximum,
    "min": np.minimum,
    "mul": np.multiply,
    "powf": np.power,
    "sub": np.subtract,
}
ELSEWHERE = {
    *("broadcast", "contract", "elementwise", "fill", "fill_rng_2d", "generic", "index", "map"),
    *("pack", "reduce", "select", "softmax", "transpose", "unpack", "yield", "div_unsigned"),
    *("winograd_filter_transform", "winograd_input_transform", "winograd_output_transform"),
}
"""In the other file on linalg."""


def test_the_tables_name_every_op() -> None:
    module = importlib.import_module(f"{provider()}.dialects._linalg_ops_gen")
    names = {
        value.OPERATION_NAME.removeprefix("linalg.")
        for _, value in inspect.getmembers(module, inspect.isclass)
        if hasattr(value, "OPERATION_NAME")
    }
    assert names == {*PRODUCTS, *QUANTIZED, *POOLINGS, *UNARY, *BINARY, *ELSEWHERE}


def positions(subscripts: str, letters: str) -> list[Any]:
    """For each dimension the index that it has at every point of the iteration space."""
    grid = dict(zip(letters, np.ogrid[tuple(slice(SIZES[at]) for at in letters)], strict=True))
    found = []
    for token in re.findall(r"\(.*?\)|\w", subscripts):
        terms = re.findall(r"(\d*)([a-z])", token)
        found.append(sum(int(scale or 1) * grid[letter] for scale, letter in terms))
    return found


def shape(subscripts: str) -> tuple[int, ...]:
    letters = "".join(dict.fromkeys(re.findall("[a-z]", subscripts)))
    return tuple(int(np.max(at)) + 1 for at in positions(subscripts, letters))


class Case:
    """A spec with its operands and its value."""

    def __init__(self, name: str, spec: str, dtype: Any) -> None:
        self.name = name
        inputs, self.out = (part.strip() for part in spec.split("->"))
        self.ins = [part.strip() for part in inputs.split(",")]
        self.strided = "(2" in spec
        rng = np.random.default_rng(len(name))
        self.arrays = [rng.integers(-7, 8, shape(one)).astype(dtype) for one in self.ins]
        self.window_rank = spec.count("(")

    @property
    def letters(self) -> str:
        reduced = [c for one in self.ins for c in re.findall("[a-z]", one)]
        return "".join(dict.fromkeys([*self.out, *reduced]))

    def values(self) -> list[Any]:
        """Each input at every point, the dimensions of the output first."""
        everywhere = tuple(SIZES[at] for at in self.letters)
        return [
            np.broadcast_to(array[tuple(positions(one, self.letters))], everywhere)
            for one, array in zip(self.ins, self.arrays, strict=True)
        ]

    @property
    def reduced(self) -> tuple[int, ...]:
        return tuple(range(len(self.out), len(self.letters)))

    def run(self, type_: str, start: Any, extra: tuple[tuple[str, int], ...] = ()) -> list[Any]:
        """What every combination of tensors, memory, static and open shapes makes of it."""
        found = []
        for container, is_open in (
            ("tensor", False),
            ("tensor", True),
            ("memref", False),
            ("memref", True),
        ):
            destination = start.copy()
            compiled = kernel(self.text(type_, start, container, is_open, extra))
            result = compiled(*self.arrays, *(value for _, value in extra), destination)
            found.append(destination if container == "memref" else result)
        return found

    def text(
        self, type_: str, start: Any, container: str, is_open: bool, extra: tuple[Any, ...]
    ) -> str:
        def spelled(array: Any, element: str) -> str:
            sizes = ["?" if is_open else str(size) for size in array.shape]
            return f"{container}<{'x'.join([*sizes, element])}>"

        types = [spelled(array, type_) for array in self.arrays] + [kind for kind, _ in extra]
        names = [f"%i{at}" for at in range(len(types))]
        accumulator = {"int32": "i32", "float32": "f32"}[str(start.dtype)]
        out = spelled(start, accumulator)
        attributes = ""
        if self.strided:
            rank = f"tensor<{self.window_rank}xi64>"
            attributes = f"{{strides = dense<2> : {rank}, dilations = dense<1> : {rank}}} "
        arguments = ", ".join(f"{n}: {t}" for n, t in zip(names, types, strict=True))
        op = (
            f"linalg.{self.name} {attributes}ins({', '.join(names)} : {', '.join(types)})"
            f" outs(%o : {out})"
        )
        if container == "memref":
            return f"func.func @f({arguments}, %o: {out}) {{ {op}\n return }}"
        return (
            f"func.func @f({arguments}, %o: {out}) -> {out} {{ %r = {op} -> {out}\n"
            f"return %r : {out} }}"
        )


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name: str) -> None:
    case = Case(name, PRODUCTS[name], np.float32)
    a, b = case.values()
    start = np.ones(shape(case.out), np.float32)
    expected = start + (a * b).sum(case.reduced)
    for result in case.run("f32", start):
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("name", QUANTIZED)
def test_quantized(name: str) -> None:
    case = Case(name, QUANTIZED[name], np.int8)
    a, b = (value.astype(np.int32) for value in case.values())
    start = np.ones(shape(case.out), np.int32)
    expected = start + ((a - 3) * (b + 2)).sum(case.reduced, dtype=np.int32)
    for result in case.run("i8", start, (("i32", 3), ("i32", -2))):
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("name", POOLINGS)
def test_poolings(name: str) -> None:
    unsigned = name.endswith("unsigned")
    case = Case(name, POOLINGS[name], np.int32 if unsigned else np.float32)
    image, _ = case.values()
    kind = name.removesuffix("_unsigned").rpartition("_")[2]
    start = np.full(shape(case.out), 0 if kind == "sum" else -1 if kind == "min" else 0)
    start = start.astype(np.int32 if unsigned else np.float32)
    if unsigned:
        image = image.view(np.uint32)
    combine = {"max": np.maximum, "min": np.minimum, "sum": np.add}[kind]
    reduced = combine.reduce(image, axis=case.reduced)
    expected = combine(start.view(reduced.dtype), reduced)
    for result in case.run("i32" if unsigned else "f32", start):
        np.testing.assert_array_equal(result.view(expected.dtype), expected)


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_one_element_at_a_time(name: str) -> None:
    spec = "mn -> mn" if name in UNARY else "mn, mn -> mn"
    case = Case(name, spec, np.float32)
    case.arrays = [np.abs(array) / 4 + np.float32(0.3) for array in case.arrays]
    function = UNARY.get(name) or BINARY.get(name)
    if function is None:
        function = np.vectorize(math.erf, otypes=[np.float32])
    expected = function(*case.arrays)
    for result in case.run("f32", np.zeros((3, 4), np.float32)):
        np.testing.assert_allclose(result, expected, rtol=4e-7)
