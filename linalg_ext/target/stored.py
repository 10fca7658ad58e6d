"""Descriptions of machines in files, and the figures of this one that were measured once.

lx.target.calibrate()                               # measures, and keeps what it found
lx.target.save(lx.target.calibrate(), "server.json")
with lx.target.using(lx.target.load("server.json")):    # on another machine
    ...
"""

from __future__ import annotations

import functools
import json
import os
import platform
import re
from dataclasses import replace
from os import PathLike
from pathlib import Path

from linalg_ext.cache.checked import read_file
from linalg_ext.cache.keys import digest
from linalg_ext.cache.store import RULE, chosen_folder, require_usable
from linalg_ext.errors import TargetError
from linalg_ext.target.analytic import analytic
from linalg_ext.target.data import from_data, to_data
from linalg_ext.target.model import Target
from linalg_ext.target.performance import Figures
from linalg_ext.target.selection import current, host, named
from linalg_ext.utils.hooks import facade

_PROCESSORS = Path("/proc/cpuinfo")
_MODEL = re.compile(r"^(?:model name|CPU part|Hardware)\s*:\s*(.+)$", re.MULTILINE)

_measured: dict[str, Figures] = {}
"""Figures that this process measured or read, by the name of the file."""


def figures(target: Target | str | None = None) -> Figures:
    """Return the performance figures of a machine.

    They are the description's own where it has some. For this machine they are otherwise the
    figures that this process or an earlier one measured. In all other cases they are estimated from
    the description.

    Args:
        target: a description, or the name of one; the one in force where nothing is given.

    Raises:
        TargetError: there is no target of that name.
    """
    chosen = named(target) if isinstance(target, str) else target or current()
    if not isinstance(chosen, Target):
        raise TargetError(f"{chosen!r} is no target", expected="a name, or a description")
    if chosen.figures is not None:
        return chosen.figures
    is_here = replace(chosen, notes=()) == host()
    return (_kept() if is_here else None) or analytic(chosen, is_here=is_here)


def calibrate(*, keep: bool = True) -> Target:
    """Measure this machine, in under ten seconds; returns its description with the figures.

    Args:
        keep: whether later processes, too, find what was measured: `figures_path()` says where.

    Raises:
        CacheError: the folder cannot be used, or not be trusted.
    """
    path = figures_path() if keep else None
    if path is not None:
        require_usable(path.parent)
    target: Target = facade("compiler").calibrate(host())
    if target.figures is not None:
        _measured[_file_name()] = target.figures
    if path is not None:
        save(target, path)
    return target


def figures_path() -> Path | None:
    """The file that figures of CPUs of this model are kept in; None where nothing is kept."""
    folder = chosen_folder()
    return None if folder is None else folder / _file_name()


def save(target: Target, path: str | PathLike[str]) -> None:
    """Write a description to a file, as JSON, with its figures and notes.

    Raises:
        TargetError: it cannot be written.
    """
    import tempfile  # which takes long to load, and most processes write nothing

    text = json.dumps(to_data(target), indent=1)
    place = Path(path)
    try:
        # All of it or nothing, whenever a reader comes.
        handle, fresh = tempfile.mkstemp(prefix=place.name, dir=place.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text + "\n")
        os.replace(fresh, place)
    except OSError as error:
        raise TargetError(f"{place} cannot be written: {error.strerror}") from error


def load(path: str | PathLike[str]) -> Target:
    """The description that a file holds.

    Raises:
        TargetError: it cannot be read, is no JSON, or lacks a field; names the file.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise TargetError(f"{path} cannot be read: {error.strerror}") from error
    return _described(content, str(path))


def _described(content: bytes, where: str) -> Target:
    try:
        data = json.loads(content)
    except ValueError as error:
        raise TargetError(f"{where} is no JSON: {error}") from None
    try:
        return from_data(data)
    except TargetError as error:
        error.where = error.where or where
        raise


def _kept() -> Figures | None:
    """The figures of this machine; None where it was not measured, or they are unusable."""
    name = _file_name()
    path = figures_path()
    if name not in _measured and path is not None:
        try:
            found = _described(read_file(path, RULE), str(path)).figures
        except (TargetError, OSError):
            return None  # there is none, another version wrote it, or others could have
        if found is not None:
            _measured[name] = found
    return _measured.get(name)


@functools.cache
def _file_name() -> str:
    """By the model of the CPU, and how many of its cores may be used."""
    here = host()
    try:
        models = _MODEL.findall(_PROCESSORS.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        models = []
    model = models[0] if models else platform.processor() or here.architecture
    words = re.sub(r"[^A-Za-z0-9]+", "-", model).strip("-").lower()
    return f"target-{words}-{digest(model, to_data(here))[:8]}.json"
