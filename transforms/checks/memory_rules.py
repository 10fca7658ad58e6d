"""For each op that holds or reaches memory: what may not fit, and which check holds it.

The table has every op of the dialects linalg, tensor, memref, vector and bufferization, and of
`linalg_ext` and `gml_st`. A row has the check of the op's sizes (`linalg-ext-check-sizes`, before
lowering), that of its accesses (`linalg-ext-check-accesses`, where they are computed), or the
reason why the op needs no check. An op that is not in the table is refused if checks are on. The
documentation shows the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ._accesses_of_slices import (
    check_dimension,
    check_extraction,
    check_insertion,
    check_read,
    check_reinterpretation,
    check_view,
    check_written,
)
from ._accesses_of_vectors import (
    check_affine,
    check_gather,
    check_load,
    check_masked,
    check_packed,
    check_position,
    check_store,
    check_transfer,
)
from ._assertions import Bounds
from ._sizes_of_shapes import (
    check_alignment,
    check_cast,
    check_collapse,
    check_concat,
    check_equal_shapes,
    check_expand,
    check_given_sizes,
    check_pack,
    check_pad,
    check_reshape,
    check_scatter,
    check_unpack,
    check_winograd_filter,
    check_winograd_input,
    check_winograd_output,
    forget_promise,
)
from ._sizes_of_structured import check_structured

Check = Callable[[Any, Bounds], None]

DIALECTS = ("linalg", "tensor", "memref", "vector", "bufferization", "linalg_ext", "gml_st")
"""The dialects that have all of their ops in the table."""

SIZES = "linalg-ext-check-sizes"
ACCESSES = "linalg-ext-check-accesses"


@dataclass(frozen=True)
class Rule:
    """The checks of an op.

    Attributes:
        misfit: what may not fit; or why nothing can be a misfit.
        sizes: asserts that its sizes fit, before it is lowered.
        accesses: asserts that what it reads and writes is in bounds, where it stands.
        held_by: the pass that asserts it.
    """

    misfit: str
    sizes: Check | None = None
    accesses: Check | None = None
    held_by: str = ""


def _sizes(check: Check, misfit: str, *names: str) -> dict[str, Rule]:
    return dict.fromkeys(names, Rule(misfit, sizes=check, held_by=SIZES))


def _accesses(check: Check, misfit: str, *names: str) -> dict[str, Rule]:
    return dict.fromkeys(names, Rule(misfit, accesses=check, held_by=ACCESSES))


def _lowered(by: str, misfit: str, *names: str) -> dict[str, Rule]:
    return dict.fromkeys(names, Rule(misfit, held_by=by))


def _safe(reason: str, *names: str) -> dict[str, Rule]:
    return dict.fromkeys(names, Rule(reason))


def _of(dialect: str, names: str) -> list[str]:
    return [f"{dialect}.{name}" for name in names.split()]


_LINALG = """
abs add batch_matmul batch_matvec batch_mmt4d batch_reduce_matmul batch_vecmat broadcast ceil
contract conv_1d conv_1d_ncw_fcw conv_1d_nwc_wcf conv_2d conv_2d_nchw_fchw conv_2d_nchw_fchw_q
conv_2d_ngchw_fgchw conv_2d_ngchw_gfchw conv_2d_ngchw_gfchw_q conv_2d_nhwc_fhwc
conv_2d_nhwc_fhwc_q conv_2d_nhwc_hwcf conv_2d_nhwc_hwcf_q conv_2d_nhwgc_gfhwc
conv_2d_nhwgc_gfhwc_q conv_3d conv_3d_ncdhw_fcdhw conv_3d_ndhwc_dhwcf conv_3d_ndhwc_dhwcf_q copy
depthwise_conv_1d_ncw_cw depthwise_conv_1d_nwc_wc depthwise_conv_1d_nwc_wcm
depthwise_conv_2d_nchw_chw depthwise_conv_2d_nhwc_hwc depthwise_conv_2d_nhwc_hwc_q
depthwise_conv_2d_nhwc_hwcm depthwise_conv_2d_nhwc_hwcm_q depthwise_conv_3d_ncdhw_cdhw
depthwise_conv_3d_ndhwc_dhwc depthwise_conv_3d_ndhwc_dhwcm div div_unsigned dot elementwise erf
exp fill fill_rng_2d floor generic log map matmul matvec max min mmt4d mul negf pooling_nchw_max
pooling_nchw_sum pooling_ncw_max pooling_ncw_sum pooling_ndhwc_max pooling_ndhwc_min
pooling_ndhwc_sum pooling_nhwc_max pooling_nhwc_max_unsigned pooling_nhwc_min
pooling_nhwc_min_unsigned pooling_nhwc_sum pooling_nwc_max pooling_nwc_max_unsigned
pooling_nwc_min pooling_nwc_min_unsigned pooling_nwc_sum powf quantized_batch_matmul
quantized_matmul reciprocal reduce round rsqrt select sqrt square sub tanh transpose vecmat
"""
_STATIC_VECTORS = """
bitcast broadcast constant_mask contract create_mask deinterleave extract_strided_slice fma
from_elements insert_strided_slice interleave mask multi_reduction outerproduct reduction scan
shape_cast shuffle step to_elements transpose yield
"""
_ENDS = "the op ends a region, and reaches no memory"

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **_sizes(
            check_structured,
            "two sizes of one loop; a window, or another index that is computed, and its size",
            *_of("linalg", _LINALG),
            *_of("linalg_ext", "contract elementwise"),
        ),
        **_sizes(check_pack, "tiles and what is packed; a tile of no size", "linalg.pack"),
        **_sizes(check_unpack, "tiles and what is unpacked; a tile of no size", "linalg.unpack"),
        **_sizes(check_equal_shapes, "the shapes of operand and result", "linalg.softmax"),
        **_sizes(check_winograd_filter, "filters and tiles", "linalg.winograd_filter_transform"),
        **_sizes(check_winograd_input, "the image and tiles", "linalg.winograd_input_transform"),
        **_sizes(check_winograd_output, "the image and tiles", "linalg.winograd_output_transform"),
        **_safe("the position of a loop, which the verifier knows", "linalg.index"),
        **_safe(_ENDS, "linalg.yield", "tensor.yield", "linalg_ext.yield"),
        # tensor
        **_sizes(
            check_equal_shapes, "a size that is open and what the type says", "tensor.bitcast"
        ),
        **_sizes(
            check_cast,
            "a size that is open and what the type says; the rank; the layout",
            "tensor.cast",
            "memref.cast",
            "bufferization.clone",
        ),
        **_sizes(
            check_expand,
            "a size and the product of those that it becomes",
            "tensor.expand_shape",
            "memref.expand_shape",
        ),
        **_sizes(check_collapse, "memory that does not lie in one piece", "memref.collapse_shape"),
        **_safe(
            "the verifier has its type follow from that of its operand", "tensor.collapse_shape"
        ),
        **_sizes(check_concat, "the sizes of its operands, and their sum", "tensor.concat"),
        **_sizes(
            check_given_sizes,
            "a size that is negative; more than memory can hold is found when it is allocated",
            *_of("tensor", "empty generate splat"),
            *_of("memref", "alloc alloca realloc"),
            "bufferization.alloc_tensor",
        ),
        **_sizes(
            check_reshape,
            "the number of elements of a shape that is computed",
            "tensor.reshape",
            "memref.reshape",
        ),
        **_sizes(
            check_pad,
            "amounts that are negative; the sum of amounts and size, where the type says it",
            "tensor.pad",
        ),
        **_lowered(ACCESSES, "each index: the op becomes single elements", "tensor.gather"),
        **_sizes(
            check_scatter,
            "the numbers of indices and of slices; each index, when it has become single elements",
            "tensor.scatter",
        ),
        **_accesses(
            check_read,
            "each index, or place",
            "tensor.extract",
            "memref.load",
        ),
        **_accesses(
            check_written,
            "each index, or place",
            "tensor.insert",
            "memref.store",
            "memref.atomic_rmw",
        ),
        **_accesses(check_dimension, "the dimension, by its number", "tensor.dim", "memref.dim"),
        **_accesses(
            check_extraction,
            "the begin and the end of a slice",
            "tensor.extract_slice",
            "memref.subview",
        ),
        **_accesses(
            check_insertion,
            "the begin and the end of a slice, and the size of the inserted value",
            "tensor.insert_slice",
            "tensor.parallel_insert_slice",
        ),
        **_safe("the verifier counts its operands", "tensor.from_elements"),
        **_safe("a rank is no access", "tensor.rank", "memref.rank"),
        # memref
        **_sizes(check_equal_shapes, "the shapes of source and destination", "memref.copy"),
        **_sizes(check_alignment, "the place of the first element", "memref.assume_alignment"),
        **_sizes(forget_promise, "operands that share memory", "memref.distinct_objects"),
        **_accesses(
            check_reinterpretation,
            "the memory of the result and that of the source",
            "memref.reinterpret_cast",
        ),
        **_accesses(check_view, "the bytes of the view and those of the buffer", "memref.view"),
        **_safe(
            "the op frees nothing: the compiler places the deallocations",
            "memref.dealloc",
            "bufferization.dealloc_tensor",
        ),
        **_safe("the verifier compares its type with that of the global", "memref.get_global"),
        **_safe("the type is static, and the initial value of that type", "memref.global"),
        **_safe(
            "the op takes a memref apart, and reads no element",
            *_of("memref", "extract_aligned_pointer_as_index extract_strided_metadata"),
        ),
        **_safe("the result has the same elements, in another order", "memref.transpose"),
        **_safe("the result has the same elements", "memref.memory_space_cast"),
        **_safe(
            "the op changes nothing, and processors ignore a prefetch outside of memory",
            "memref.prefetch",
        ),
        **_safe("the region runs once, in place", "memref.alloca_scope"),
        **_safe(_ENDS, "memref.alloca_scope.return", "memref.atomic_yield"),
        **_safe(
            "the op is refused: it has no lowering",
            *_of("memref", "dma_start dma_wait generic_atomic_rmw"),
            *_of("vector", "print type_cast vscale"),
            "bufferization.dealloc",
        ),
        # vector
        **_accesses(check_load, "the begin and the length of the access", "vector.load"),
        **_accesses(check_store, "the begin and the length of the access", "vector.store"),
        **_accesses(
            check_transfer,
            "the begin of the access, and its length along dimensions that are marked in bounds",
            "vector.transfer_read",
            "vector.transfer_write",
        ),
        **_accesses(
            check_masked, "each lane that is chosen", "vector.maskedload", "vector.maskedstore"
        ),
        **_accesses(
            check_packed, "as many lanes as are chosen", "vector.expandload", "vector.compressstore"
        ),
        **_accesses(
            check_gather, "the index of each lane that is chosen", "vector.gather", "vector.scatter"
        ),
        **_accesses(
            check_position, "a position that is computed", "vector.extract", "vector.insert"
        ),
        **_safe(
            "the sizes are in the types, and the op reaches no memory",
            *_of("vector", _STATIC_VECTORS),
        ),
        **_safe(
            "the op is refused: vectors are of a fixed size",
            "vector.scalable.extract",
            "vector.scalable.insert",
        ),
        # bufferization
        **_sizes(
            check_equal_shapes,
            "the shapes of source and destination",
            "bufferization.materialize_in_destination",
        ),
        **_safe(
            "tensor and buffer are of one shape by their types",
            "bufferization.to_buffer",
            "bufferization.to_tensor",
        ),
        # affine
        **_accesses(
            check_affine,
            "the indices that the map gives",
            *_of("affine", "load store vector_load vector_store"),
        ),
        # linalg_ext
        **_lowered(
            "linalg-ext-lower-concatenate",
            "the sizes of its operands, and their sum",
            "linalg_ext.concatenate",
        ),
        **_lowered(
            "linalg-ext-lower-reverse",
            "the shapes of operand and destination",
            "linalg_ext.reverse",
        ),
        **_lowered(
            "linalg-ext-lower-dynamic-broadcast",
            "a size that is neither 1 nor that of the destination",
            "linalg_ext.dynamic_broadcast_in_dim",
        ),
        **_lowered(
            "linalg-ext-lower-gather",
            "the number of indices, and a window larger than its operand; an index is clamped",
            "linalg_ext.gather",
        ),
        **_lowered(
            "linalg-ext-lower-scatter",
            "the numbers of indices and windows; a window out of bounds is left out",
            "linalg_ext.scatter",
        ),
        **_lowered("linalg-ext-lower-scan", "the shapes of what is scanned", "linalg_ext.scan"),
        **_lowered("linalg-ext-lower-sort", "the shapes of what is sorted", "linalg_ext.sort"),
        **_lowered(
            ACCESSES,
            "the begin and the end of a view: the op becomes a memref.subview",
            *_of("linalg_ext", "slice tile intersection convex_union difference"),
        ),
        **_safe(
            "three numbers, which the slice that takes them is asked about", "linalg_ext.range"
        ),
        **_safe(
            "the ops in the region are checked one by one",
            *_of("linalg_ext", "group isolated_group group_yield"),
        ),
        # gml_st
        **_lowered(
            ACCESSES,
            "the begin and the end of a set, and each of its elements: the op becomes "
            "slices, views, and single elements",
            *_of("gml_st", "tile point filter materialize set_yield yield"),
        ),
        **_lowered(
            "linalg-ext-lower-subset-loops",
            "a step that is 0 or negative",
            *_of("gml_st", "loop for parallel"),
        ),
        **_safe(
            "a set: what takes its elements is asked about",
            *_of(
                "gml_st", "space full drop_dims transpose_dims intersection convex_union difference"
            ),
        ),
        **_safe(
            "a number, or an answer: it reaches no memory",
            *_of("gml_st", "offset size stride contains is_empty"),
        ),
        **_safe("the op is replaced right after parsing", "linalg_ext.spelled"),
    }
)
"""The rule of each op, by its name."""


def is_held(name: str) -> bool:
    """Return whether every op of the dialect of an op is in the table."""
    return name.partition(".")[0] in DIALECTS


def checked_by(part: str) -> Iterable[str]:
    """Return the ops that have a check of one part, `"sizes"` or `"accesses"`."""
    return [name for name, rule in RULES.items() if getattr(rule, part) is not None]
