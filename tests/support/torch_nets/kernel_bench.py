"""Models of KernelBench (Ouyang and others, 2025), from a checkout of it, sizes scaled down.

Each is a file with a class `Model`, and functions that give its inputs and what it is made with.
The sizes are numbers at the top of the file, which are made so small that a model takes
milliseconds where it still works with them.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from torch_nets.subject import Subject, of

_LARGEST = (40, 70, 140, 300, 600)
"""Sizes that are tried, one after another: images of 224 are cut into patches, say."""

_SMALL = re.compile("batch|group", re.IGNORECASE)
"""What there may be few of; as many groups as channels would leave rounding errors alone."""

_FEW = 4
_MOST_ELEMENTS = 30_000_000


def subjects(folder: Path) -> Iterator[Subject]:
    """The models of levels 1 to 3, in order.

    Args:
        folder: of a checkout, with `KernelBench/level1` and so on.

    Raises:
        FileNotFoundError: it has none.
    """
    files = [path for n in (1, 2, 3) for path in folder.glob(f"KernelBench/level{n}/*.py")]
    if not files:
        raise FileNotFoundError(f"no models of KernelBench in {folder}")
    for file in sorted(files, key=lambda path: (path.parent.name, _number(path))):
        yield _subject(file)


def _number(path: Path) -> int:
    return int(path.name.partition("_")[0])


def _subject(file: Path) -> Subject:
    for largest, few in [(n, _FEW) for n in _LARGEST] + [(n, n) for n in _LARGEST]:
        try:
            return _scaled(file, largest, few)
        except (RuntimeError, ValueError, AssertionError, IndexError, ZeroDivisionError) as error:
            last = error
    raise last


def _scaled(file: Path, largest: int, few: int) -> Subject:
    """A model with sizes of at most `largest`, and `few` groups and images, seen to run."""
    tree = ast.parse(file.read_text())
    for place, node in enumerate(tree.body):
        if isinstance(node, ast.Assign):
            is_small = any(_SMALL.search(ast.unparse(target)) for target in node.targets)
            tree.body[place] = _Shrink(few if is_small else largest).visit(node)
        elif isinstance(node, ast.FunctionDef):
            tree.body[place] = _Shrink(largest).visit(node)
    names: dict[str, Any] = {"__name__": file.stem}
    exec(compile(tree, str(file), "exec"), names)
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = names["Model"](*names["get_init_inputs"]()).eval()
    inputs = tuple(names["get_inputs"]())
    if sum(each.numel() for each in inputs if isinstance(each, torch.Tensor)) > _MOST_ELEMENTS:
        raise ValueError("its inputs are too large")
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model(*inputs)
    return of(f"{file.parent.name}/{file.stem}", model, *inputs, batch=False)


class _Shrink(ast.NodeTransformer):
    """Divides numbers that are too large, so that what divided them still does."""

    def __init__(self, largest: int) -> None:
        self._largest = largest

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        value = node.value
        if type(value) is not int or value <= self._largest:
            return node
        while value > self._largest:
            divisor = next((d for d in (2, 3, 5) if value % d == 0), None)
            value = self._largest - 1 if divisor is None else value // divisor
        return ast.copy_location(ast.Constant(value), node)
