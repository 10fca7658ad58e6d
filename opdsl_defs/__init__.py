"""The op library, written in OpDSL, one family a file. Import as `linalg_ext.opdsl_defs`.

Public as `linalg_ext.ops`: `linalg_ext.ops.matmul`; `help(linalg_ext.ops.matmul)` shows its
formula, its shapes and its element types. A family is imported when one of its ops is asked for.
Beside each file stands the YAML that it gives; `make yaml` writes it again.

An op goes into the file of its family and into `__all__` there. A new family is a file, whose name
no op has, and a line below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if __name__ != "linalg_ext.opdsl_defs":
    raise ImportError(
        f"import linalg_ext.opdsl_defs, not {__name__}: a second copy defines every op twice"
    )

if TYPE_CHECKING:
    from .activation import *
    from .attention import *
    from .comparison import *
    from .conjugation import *
    from .contraction import *
    from .convolution import *
    from .creation import *
    from .depthwise_convolution import *
    from .distance import *
    from .elementwise import *
    from .exponential import *
    from .extremum import *
    from .floating_point import *
    from .global_pooling import *
    from .grouped_convolution import *
    from .logic import *
    from .lookup import *
    from .loss import *
    from .masking import *
    from .normalization import *
    from .patches import *
    from .pooling import *
    from .product import *
    from .quantization import *
    from .quantized_convolution import *
    from .rearrangement import *
    from .reduction import *
    from .resizing import *
    from .scan import *
    from .transposed_convolution import *
    from .trigonometry import *
    from .unary import *

_FAMILY_OF: dict[str, str] = {}
"""The family of each op; filled by `_index`."""


def _index() -> dict[str, str]:
    """Read which file defines which op from the files' `__all__`, importing none of them."""
    import re
    from pathlib import Path

    if not _FAMILY_OF:
        family_of: dict[str, str] = {}
        for file in sorted(Path(__file__).parent.glob("[a-z]*.py")):
            _, _, after = file.read_text(encoding="utf-8").partition("\n__all__ = ")
            # Not with `ast`, which some versions of Python cannot use in several threads at once.
            names = re.findall(r'"(\w+)"', after[: after.index("]")])
            family_of.update(dict.fromkeys(names, file.stem))
        _FAMILY_OF.update(family_of)  # at once: other threads look at it meanwhile
    return _FAMILY_OF


def _load(name: str) -> Any:
    from importlib import import_module

    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    family = _index().get(name)
    if family is not None:
        value = getattr(import_module(f"{__name__}.{family}"), name)
    elif name in _FAMILY_OF.values():
        value = import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(_unknown(name), name=name)
    globals()[name] = value
    return value


if not TYPE_CHECKING:  # a type checker that saw it would take every name for one that exists
    __getattr__ = _load


def __dir__() -> list[str]:
    return sorted(_index())


def _unknown(name: str) -> str:
    from difflib import get_close_matches

    names = sorted(_index())
    # `max_pool` finds `pooling_nhwc_max`: each of its words is a part of that name.
    words = [word for word in name.lower().split("_") if len(word) > 2]
    parts = [op for op in sorted(names, key=len) if words and all(word in op for word in words)]
    near = list(dict.fromkeys([*get_close_matches(name, names, n=3, cutoff=0.7), *parts]))[:5]
    if near:
        return f"the library has no op {name!r}; did you mean {' or '.join(near)}?"
    families = ", ".join(sorted(set(_index().values())))
    return (
        f"the library has no op {name!r}; dir(linalg_ext.ops) lists them all, by family: {families}"
    )
