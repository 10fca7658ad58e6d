"""Data for the script of a page, as JSON: texts with their folds, places and neighbours."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from linalg_ext.errors import LinalgExtError
from linalg_ext.executable.kernel import Kernel
from linalg_ext.explain.comparison import compared
from linalg_ext.explain.hot_loops import hot_loop
from linalg_ext.explain.located_text import LocatedText, Place


def text_data(
    name: str,
    text: LocatedText,
    before: LocatedText | None,
    places: Sequence[Place],
    language: str = "mlir",
    numbers: Sequence[int] = (),
) -> dict[str, Any]:
    """A text of the page.

    Args:
        name: what it is called.
        text: its lines.
        before: the text that it stands beside, if any.
        places: those of all texts.
        language: of its lines.
        numbers: what the lines are numbered; by default from 1.

    Returns:
        `ends` has pairs of lines, `sets` the sets of places by number that some line comes of, `of`
        for each line the number of its set, and `runs` what `compared` gives, a `same` one as 1.
    """
    at = {place: number for number, place in enumerate(places)}
    sets: dict[tuple[Place, ...], int] = {(): 0}
    of = [sets.setdefault(own, len(sets)) for own in text.places]
    runs = [] if before is None else compared(before, text)
    return {
        "name": name,
        "language": language,
        "text": "\n".join(text.lines),
        "numbers": list(numbers),
        "ends": sorted(text.ends.items()),
        "sets": [[at[place] for place in each] for each in sets],
        "of": of,
        "runs": [[int(run.kind == "same"), *run[1:]] for run in runs],
    }


def assembly_data(kernel: Kernel) -> dict[str, Any]:
    """The machine code, and its hot loop: the lines of it, and what it is made of."""
    try:
        text = kernel.asm(whole=True)
    except LinalgExtError as error:
        return {"text": f"; {error.what}", "hot": [0, 0], "told": str(error.what)}
    found = hot_loop(text)
    if found is None:
        return {"text": text, "hot": [0, 0], "told": "the code has no loop"}
    lines, loop = found
    return {"text": text, "hot": [lines.start, lines.stop], "told": f"the hot loop: {loop}"}


def as_script(data: Any) -> str:
    """JSON that cannot end the element that it stands in."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
