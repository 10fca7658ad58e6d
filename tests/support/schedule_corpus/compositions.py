"""Random schedules: steps and arguments that may or may not fit an op."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from hypothesis import strategies as st

import linalg_ext as lx
from linalg_ext.errors import ScheduleError
from schedule_corpus.tally import Tally

Composition: TypeAlias = Sequence[tuple[str, Mapping[str, Any]]]
"""Steps by name, each with its arguments."""

SIZES = st.lists(st.sampled_from((0, 1, 2, 3, 4, 8)), min_size=1, max_size=4)
FACTORS = st.sampled_from((2, 3, 4))
LOOP = st.integers(0, 2)
ORDERS = st.integers(1, 5).flatmap(lambda count: st.permutations(range(count)))
OPERANDS = st.lists(st.integers(0, 2), max_size=2, unique=True)

STEPS: Mapping[str, st.SearchStrategy[dict[str, Any]]] = {
    "match": st.fixed_dictionaries({"position": st.integers(-3, 3)}),
    "allocate": st.fixed_dictionaries({}, optional={"memory": st.sampled_from(("heap", "stack"))}),
    "bufferize": st.fixed_dictionaries({}, optional={"in_place": st.booleans()}),
    "tile": st.fixed_dictionaries({"sizes": SIZES}, optional={"interchange": ORDERS}),
    "promote": st.fixed_dictionaries({}, optional={"operands": OPERANDS, "stack": st.booleans()}),
    "fuse": st.fixed_dictionaries({"sizes": SIZES}, optional={"parallel": st.booleans()}),
    "tile_subsets": st.fixed_dictionaries(
        {"sizes": SIZES},
        optional={"form": st.sampled_from(("parallel", "for", "loop")), "fuse": st.booleans()},
    ),
    "lower_subsets": st.fixed_dictionaries({}),
    "parallelize": st.one_of(
        st.fixed_dictionaries({"sizes": SIZES}), st.fixed_dictionaries({"threads": SIZES})
    ),
    "tile_reduction": st.fixed_dictionaries({"sizes": SIZES}, optional={"parallel": st.booleans()}),
    "split_reduction": st.fixed_dictionaries(
        {"factor": FACTORS}, optional={"inner_parallel": st.booleans(), "dimension": LOOP}
    ),
    "vectorize": st.fixed_dictionaries({}, optional={"sizes": st.just([8, 8, 8])}),
    "lower_to_loops": st.fixed_dictionaries(
        {}, optional={"kind": st.sampled_from(("scf", "affine", "parallel"))}
    ),
    "lower_vectors": st.fixed_dictionaries(
        {}, optional={"contraction": st.sampled_from(("outerproduct", "dot", "parallelarith"))}
    ),
    "raise_loops": st.fixed_dictionaries({}),
    "finer": st.fixed_dictionaries({"sizes": SIZES}, optional={"name": st.just("mmt4d")}),
    "interchange": st.fixed_dictionaries({"order": ORDERS}),
    "peel": st.fixed_dictionaries({}, optional={"loop": LOOP, "front": st.booleans()}),
    "pad": st.fixed_dictionaries({"multiples": SIZES}),
    "hoist_pads": st.fixed_dictionaries({}, optional={"operand": LOOP, "loops": LOOP}),
    "pack": st.fixed_dictionaries({"sizes": SIZES}),
    "propagate_packs": st.fixed_dictionaries({}),
    "unroll": st.fixed_dictionaries({"factor": FACTORS}, optional={"loop": LOOP}),
    "unroll_and_jam": st.fixed_dictionaries({"factor": FACTORS}, optional={"loop": LOOP}),
    "hoist": st.fixed_dictionaries({}, optional={"loop": LOOP}),
    "generalize": st.fixed_dictionaries({}),
    "specialize": st.fixed_dictionaries({}),
    "decompose": st.fixed_dictionaries({}),
    "tile_evenly": st.fixed_dictionaries({"loop": LOOP, "size": st.integers(1, 8)}),
    "tile_continuously": st.fixed_dictionaries({"loop": LOOP, "size": st.integers(1, 8)}),
    "fuse_elementwise": st.fixed_dictionaries({}),
    "fold_unit_extents": st.fixed_dictionaries({}),
    "simplify": st.fixed_dictionaries({}),
}


@st.composite
def compositions(draw: st.DrawFn, around: str = "", most: int = 6) -> Composition:
    """Up to `most` steps, the one called `around` among them."""
    names = draw(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=most))
    if around:
        names[draw(st.integers(0, len(names) - 1))] = around
    return [(name, draw(STEPS[name])) for name in names]


def compose(schedule: lx.Schedule, steps: Composition) -> Tally:
    """Take those steps that can be; each that is refused must leave the module as it was."""
    tally = Tally()
    for name, arguments in steps:
        before = schedule.module.ir
        try:
            if name == "match":
                schedule.match(**arguments)
            else:
                schedule.take(name, **arguments)
        except ScheduleError as error:
            tally.refuse(name, error)
            assert schedule.module.ir is before
            continue
        tally.take(name)
        schedule.module.verify()
    return tally
