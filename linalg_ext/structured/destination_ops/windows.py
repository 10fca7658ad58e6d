"""Windows of a tensor that rows of indices place: what gather reads and scatter writes.

`indices` is n x k: row r places a window in the first k dimensions of a whole of rank d; it begins
at 0 in the others. The windows stand one behind another in a tensor of n x sizes:

    n x w0 x ... x w(d-1)    windows of any sizes: one is whole[i0 : i0 + w0, ..., 0 : wk, ...]
    n x wk x ... x w(d-1)    windows of size 1 along what is indexed, without those dimensions
"""

from __future__ import annotations

from dataclasses import dataclass

from linalg_ext.bindings import ir
from linalg_ext.errors import DTypeError, ShapeError
from linalg_ext.structured.destination_ops.op_fields import differ, ranked_tensor
from linalg_ext.structured.utils.constants import is_integer
from linalg_ext.structured.utils.operands import static_sizes


@dataclass(frozen=True)
class Windows:
    """The layout of windows in a tensor.

    Attributes:
        indices: n x k integers.
        index_count: k, the number of leading dimensions of the tensor that are indexed.
        dims: for each dimension of the tensor, the dimension of the stacked windows that runs along
            it; None where the windows have size 1 and lack the dimension.
    """

    indices: ir.Value
    index_count: int
    dims: tuple[int | None, ...]


def windows_of(
    indices: ir.Value, whole: ir.Value, stacked: ir.Value, names: tuple[str, str]
) -> Windows:
    """Read how windows stand in a whole.

    Args:
        indices: n x k integers.
        whole: the tensor that the windows are part of.
        stacked: the windows, one behind another.
        names: what errors call these two.

    Raises:
        ArgumentError: they do not fit together.
    """
    type_ = ranked_tensor(indices, "indices")
    if type_.rank != 2:
        raise ShapeError(
            f"indices is of type {type_}",
            expected="rank 2: a row for each window, a column for each indexed dimension",
        )
    if not is_integer(type_.element_type):
        raise DTypeError(f"indices is of type {type_}", expected="elements of type index, i64, ...")
    rows, count = static_sizes(indices)
    rank = ranked_tensor(whole, names[0]).rank
    if count is None:
        raise ShapeError(
            f"indices is of type {type_}: how many dimensions it indexes is not known",
            expected="a static second dimension",
        )
    if count > rank:
        raise ShapeError(
            f"indices has {count} columns",
            expected=f"{rank} at most: {names[0]} is of type {whole.type}",
        )
    given = ranked_tensor(stacked, names[1]).rank
    if given not in (1 + rank, 1 + rank - count):
        raise ShapeError(
            f"{names[1]} is of rank {given}: {stacked.type}",
            expected=f"rank {1 + rank - count}, or {1 + rank} with the indexed dimensions kept",
        )
    if differ(rows, static_sizes(stacked)[0]):
        raise ShapeError(
            f"indices has {rows} rows, {names[1]} has {static_sizes(stacked)[0]} windows",
            expected="a row for each window",
        )
    is_whole = given == 1 + rank
    dims = tuple(
        1 + dim if is_whole else (1 + dim - count if dim >= count else None) for dim in range(rank)
    )
    return Windows(indices, count, dims)
