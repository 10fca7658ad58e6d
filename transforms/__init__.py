"""Transformations of MLIR modules, one a file. Import as `linalg_ext.transforms`.

Each is an attribute here, whatever folder its file is in: `transforms.fold_transposes(module)`. A
file is imported when its name is asked for.
"""

from __future__ import annotations

from typing import Any

if __name__ != "linalg_ext.transforms":
    raise ImportError(
        f"import linalg_ext.transforms, not {__name__}: "
        "a second copy would register every pass twice"
    )

from linalg_ext.rewriting.registry import Catalogue

_catalogue = Catalogue(__name__)


def __getattr__(name: str) -> Any:
    return _catalogue.attribute(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_catalogue.names()})
