"""The plan of a convolution by Winograd's algorithm: its blocks and tiles. It prints as a table."""

from __future__ import annotations

from dataclasses import dataclass

from linalg_ext.target.text import table
from linalg_ext.transforms.codegen.contractions.contraction_plan import Tile

from ._window_problem import WindowProblem
from ._winograd_convolution import Convolution
from ._winograd_transforms import POINTS, TAPS


@dataclass(frozen=True)
class WinogradPlan:
    """The plan of a convolution by Winograd's algorithm. Its `repr` is a table.

    Attributes:
        convolution: what is computed.
        tile: of the products: filters by tiles, or tiles by filters where channels are in lanes.
        rows: of tiles, in a block.
        columns: of tiles, in a block.
        strips: of filters, whose sums are transformed back at once.
        is_prepared: whether the factors of the filters are there before a call.
    """

    convolution: Convolution
    tile: Tile
    rows: int
    columns: int
    strips: int
    is_prepared: bool = False

    @property
    def problem(self) -> WindowProblem:
        """The convolution as a reduction over windows."""
        return self.convolution.problem

    @property
    def strip(self) -> int:
        """The number of filters in a strip."""
        return self.tile.rows if self.convolution.lanes == "columns" else self.tile.columns

    @property
    def step(self) -> int:
        """The number of tiles that are multiplied at once."""
        return self.tile.columns if self.convolution.lanes == "columns" else self.tile.rows

    @property
    def all_strips(self) -> int:
        """The number of strips of all filters."""
        return -(-self.convolution.size(self.convolution.results) // self.strip)

    @property
    def filter_elements(self) -> int:
        """Elements of the transformed filters."""
        channels = self.convolution.size(self.convolution.channels)
        return self.all_strips * POINTS * channels * self.strip

    @property
    def filter_rows(self) -> int:
        """The number of rows of a strip's length that filters take in front of their factors."""
        c = self.convolution
        return -(-c.size(c.results) * c.size(c.channels) * TAPS * TAPS // self.strip)

    @property
    def block(self) -> int:
        """The number of tiles in a block."""
        return self.rows * self.columns

    def __repr__(self) -> str:
        c = self.convolution
        images = " ".join(f"{n}:{self.problem.size(n) or '?'}" for n in c.batch)
        sizes = " ".join(f"{n}:{c.size(n)}" for n in (c.results, c.rows, c.columns))
        start, epilogue = self.problem.start, self.problem.epilogue
        rows = [
            ("winograd", "f32, 2 x 2 results of 16 products, not 36"),
            ("results", f"{images} {sizes}".strip()),
            ("window", " ".join(f"{n}:{c.size(n)}" for n in (c.channels, *c.taps))),
            ("vectors", f"of {self.tile.lanes} {c.vector if c.lanes == 'columns' else 'channels'}"),
            ("tile", f"{self.tile.rows} x {self.tile.vectors} vectors"),
            ("block", f"{self.rows} x {self.columns} tiles, {self.strips * self.strip} filters"),
            ("filters", "transformed before" if self.is_prepared else "transformed at each call"),
            ("result", f"starts from {start or 'what is there'}"),
            *([("epilogue", epilogue.payload.summary)] if epilogue else []),
        ]
        return table(rows)
