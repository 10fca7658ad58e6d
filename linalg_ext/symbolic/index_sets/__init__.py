"""The algebra of subsets of index spaces: parts of a tensor, apart from their elements.

    >>> i = Symbol("i", lower=0, upper=76, step=4)
    >>> rows = Tile((i, 0), (4, 60))
    >>> compose(Tile((2, 10), (1, 5), (1, 2)), rows)
    Tile[i + 2, 10][1, 5][1, 2]
    >>> intersection(Tile((0,), (10,)), Tile((1,), (5,), (3,)))
    Tile[1][3][3]
    >>> difference(Tile((0,), (10,)), Tile((4,), (2,)))
    (Tile[0][4][1], Tile[6][4][1])

Every set is a set of index vectors of its *root*, the space (or tensor) that all of them are parts
of. Offsets are relative to it; `compose` gives those of a subset of a subset. Numbers that are not
known yet may stand anywhere, see `linalg_ext.symbolic.integers`.
"""

from linalg_ext.symbolic.index_sets.images import Image, Preimage, image, preimage
from linalg_ext.symbolic.index_sets.relations import (
    containment,
    contains,
    convex_union,
    difference,
    difference_boxes,
    emptiness,
    intersection,
    is_empty,
    tile_of,
)
from linalg_ext.symbolic.index_sets.tile import (
    Filter,
    Point,
    Subset,
    Tile,
    as_tile,
    check_within,
    compose,
    drop_dims,
    full,
    indices,
    replaced,
    transpose_dims,
)

__all__ = [
    "Filter",
    "Image",
    "Point",
    "Preimage",
    "Subset",
    "Tile",
    "as_tile",
    "check_within",
    "compose",
    "containment",
    "contains",
    "convex_union",
    "difference",
    "difference_boxes",
    "drop_dims",
    "emptiness",
    "full",
    "image",
    "indices",
    "intersection",
    "is_empty",
    "preimage",
    "replaced",
    "tile_of",
    "transpose_dims",
]
