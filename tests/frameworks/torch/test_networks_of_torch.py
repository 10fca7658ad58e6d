"""A few of `python -m torch_nets`, each on one of the ways that it tries."""

from __future__ import annotations

from typing import Any

import pytest

from resources import package

torch = package("torch", "pip install 'linalg-ext[torch]'")

from torch_nets import (  # noqa: E402
    chains,
    edges,
    images,
    mixtures,
    routing,
    sequences,
    single,
    windows,
)
from torch_nets.ways import FAILED, REFUSED, RIGHT, WRONG, outcome  # noqa: E402

# One worker imports PyTorch, and no other.
pytestmark = pytest.mark.xdist_group("torch")

ROOMS = (single, windows, chains, images, sequences, mixtures, routing, edges)
SUBJECTS = {subject.name: subject for room in ROOMS for subject in room.SUBJECTS}


def test_names_are_of_one_network_each() -> None:
    assert len(SUBJECTS) == sum(len(room.SUBJECTS) for room in ROOMS) > 200


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("cosine embedding", "from_torch"),
        ("transposed 1d, padded, strided, dilated", "text"),
        ("3d conv, softmax of the mean", "open"),
        ("up, norm, tanh, pool, norm", "torch.compile"),
        ("NetVLAD with ghosts", "open"),
        ("grouped queries", "torch.compile"),
        ("chunked scan", "from_torch"),
        ("experts", "text"),
        ("codebook", "from_torch"),
        ("chosen experts", "open"),
        ("messages of a graph", "from_torch"),
        ("windows of a rolled image", "from_torch"),
        ("partition function", "torch.compile"),
        ("computed filters", "from_torch"),
        ("tagger, projected", "torch.compile"),
        ("rotary attention", "from_torch"),
        ("padded, then spread", "open"),
        ("windows far apart", "open"),
    ],
)
def test_like_torch(name: str, way: str) -> None:
    word, said = outcome(SUBJECTS[name], way)
    assert word == RIGHT, said


def test_what_is_not_right_is_told(monkeypatch: Any) -> None:
    subject = SUBJECTS["count of nonzeros"]
    inputs = subject.inputs
    from linalg_ext.errors import ModelError

    def refusing(*_: Any, **__: Any) -> Any:
        raise ModelError("no way")

    import linalg_ext as lx

    monkeypatch.setattr(lx, "from_torch", lambda *_, **__: lambda *_: subject.model(*inputs) + 1)
    assert outcome(subject, "from_torch")[0] == WRONG
    monkeypatch.setattr(lx, "from_torch", refusing)
    assert outcome(subject, "from_torch") == (REFUSED, "ModelError: no way")

    def failing(*_: Any, **__: Any) -> Any:
        raise KeyError("no")

    monkeypatch.setattr(lx, "from_torch", failing)
    assert outcome(subject, "from_torch")[0] == FAILED
