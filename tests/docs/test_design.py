"""The tree in the design is the tree of the repository."""

from __future__ import annotations

import re

from docs.generator.page import REPOSITORY


def _drawn(root: str) -> set[str]:
    """The entries below a folder in the drawing."""
    text = (REPOSITORY / "docs" / "design.md").read_text(encoding="utf-8")
    drawing = re.search(rf"^{root}/\n((?:  .*\n|\n(?=  ))+)", text, re.M)
    assert drawing is not None, root
    return set(re.findall(r"^  ([\w.]+)", drawing[1], re.M))


def _there(root: str) -> set[str]:
    folder = REPOSITORY / root
    rooms = {each.parent.name for each in folder.glob("*/__init__.py")}
    files = {each.name for each in folder.glob("[a-z]*.py")}
    return rooms | files


def test_every_room_is_drawn_and_nothing_else() -> None:
    assert _drawn("linalg_ext") == _there("linalg_ext")
    assert _drawn("transforms") == _there("transforms")


def test_rooms_are_drawn_in_the_order_of_their_imports() -> None:
    from room_order import TIERS

    text = (REPOSITORY / "docs" / "design.md").read_text(encoding="utf-8")
    drawn = re.findall(r"^  (\w+)(?:/|\.py) ", text.partition("\ntransforms/\n")[0], re.M)
    places = [next(at for at, tier in enumerate(TIERS) if room in tier) for room in drawn]
    assert places == sorted(places)


def test_every_facade_is_listed_with_its_file_and_they_are_few() -> None:
    import linalg_ext  # which registers them
    from linalg_ext.utils import hooks

    text = (REPOSITORY / "docs" / "design.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| `(\w+)` \| `([\w/]+?)(?:/__init__)?\.py` \| ", text, re.M))
    assert {
        name: f"{linalg_ext.__name__}.{file.replace('/', '.')}" for name, file in listed.items()
    } == (hooks._FACADES)
    assert len(listed) <= 8
