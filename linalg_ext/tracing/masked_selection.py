"""`x[mask]` of a traced mask: the elements that it selects, whose number only a call tells.

x[x < 0] *= -1              # what becomes of them is computed everywhere, and written there
y = x[x > 0].sum()          # reductions leave the others out
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from linalg_ext.definition.initial import neutral_element
from linalg_ext.tracing.emission import demand
from linalg_ext.tracing.traced import Traced, xp
from linalg_ext.tracing.unsupported import refuse

_REDUCTIONS = ("sum", "prod", "mean", "var", "std", "any", "all")
_EXTREMA = {"max": "max_signed", "min": "min_signed", "amax": "max_signed", "amin": "min_signed"}


class Selection(NDArrayOperatorsMixin):
    """The elements of a value where a mask of its shape is true: a copy, as in NumPy.

    Attributes:
        value: all elements.
        mask: the mask.
    """

    __array_priority__ = 2000

    def __init__(self, value: Traced, mask: Traced) -> None:
        self.value, self.mask = value.apart(), mask.apart()

    @property
    def dtype(self) -> Any:
        """The dtype."""
        return self.value.dtype

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        """Compute everywhere, with numbers and with what an equal mask selects."""
        out = keywords.pop("out", None)
        is_other = any(not isinstance(each, Selection) and np.ndim(each) for each in inputs)
        if method != "__call__" or is_other or (out is not None and out[0] is not self):
            self.refuse(f"numpy.{ufunc.__name__} with an array")
        values = [self.chosen(each) if isinstance(each, Selection) else each for each in inputs]
        return Selection(ufunc(*values, **keywords), self.mask)

    def __array_function__(self, function: Any, types: Any, arguments: Any, keywords: Any) -> Any:
        """Reduce what is selected: sums, means, extrema."""
        name = function.__name__
        if name not in (*_REDUCTIONS, *_EXTREMA) or arguments != (self,) or keywords:
            self.refuse(f"numpy.{name}")
        if name in _EXTREMA:
            # NumPy raises a ValueError.
            demand(xp.any(self.mask), f"{name} of no elements: the mask is true nowhere")
            keywords = {"initial": neutral_element(_EXTREMA[name], self.dtype)}
        return function(self.value, where=self.mask, **keywords)

    def astype(self, dtype: Any, *_: Any, **__: Any) -> Selection:
        """The elements cast."""
        return Selection(self.value.astype(dtype), self.mask)

    def chosen(self, other: Selection) -> Traced:
        """All elements of a selection, which has to be by an equal mask."""
        if other.mask.tensor != self.mask.tensor:
            same = xp.all(other.mask == self.mask)
            demand(same, "two selections of elements are by masks that differ")
        return other.value

    def refuse(self, what: str) -> NoReturn:
        """Raise the TraceError for what needs the number of the elements."""
        refuse(
            f"{what} of x[mask]: how many elements a traced mask selects is not known",
            "write np.where(mask, x, otherwise), or say how many: x[lx.nonzero(mask, size=n)]",
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in (*_REDUCTIONS, *_EXTREMA):
            return lambda: getattr(np, name)(self)
        return self.refuse(f"`{name}`")

    def __len__(self) -> NoReturn:
        self.refuse("the length")

    def __getitem__(self, index: Any) -> NoReturn:
        self.refuse(f"the part {index}")

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        self.refuse("an array")
