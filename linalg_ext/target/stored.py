"""Descriptions of machines as plain data, in files, and in upstream's DLTI dialect.

lx.target.calibrate()                               # measures, and keeps the figures
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
from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from linalg_ext.cache.checked import read_file
from linalg_ext.cache.keys import digest
from linalg_ext.cache.store import RULE, chosen_folder, require_usable
from linalg_ext.errors import TargetError
from linalg_ext.target.analytic import analytic
from linalg_ext.target.model import Cache, Target
from linalg_ext.target.performance import PER_TYPE, Figures, Level
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
        target: a description, or the name of one; by default the one in force.

    Raises:
        TargetError: there is no target of that name.
    """
    chosen = named(target) if isinstance(target, str) else target or current()
    if not isinstance(chosen, Target):
        raise TargetError(f"{chosen!r} is not a target", expected="a name, or a description")
    if chosen.figures is not None:
        return chosen.figures
    is_here = replace(chosen, notes=()) == host()
    return (_stored_figures() if is_here else None) or analytic(chosen, is_here=is_here)


def calibrate(*, keep: bool = True) -> Target:
    """Measure this machine, in under ten seconds; returns its description with the figures.

    Args:
        keep: whether to write the figures to `figures_path()`, for later processes.

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
    """Return the file for figures of CPUs of this model; None where the cache is off."""
    folder = chosen_folder()
    return None if folder is None else folder / _file_name()


def save(target: Target, path: str | PathLike[str]) -> None:
    """Write a description to a file, as JSON, with its figures and notes.

    Raises:
        TargetError: it cannot be written.
    """
    try:
        replace_file(Path(path), json.dumps(to_data(target), indent=1) + "\n")
    except OSError as error:
        raise TargetError(f"{path} cannot be written: {error.strerror}") from error


def replace_file(file: Path, text: str) -> None:
    """Write a file in one step: a reader gets all of the new text or all of the old one."""
    import tempfile  # which takes long to load, and most processes write nothing

    handle, fresh = tempfile.mkstemp(prefix=file.name, dir=file.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.replace(fresh, file)
    except BaseException:
        Path(fresh).unlink(missing_ok=True)
        raise


def load(path: str | PathLike[str]) -> Target:
    """Return the description in a file.

    Raises:
        TargetError: it cannot be read, is not JSON, or lacks a field; names the file.
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
        raise TargetError(f"{where} is not JSON: {error}") from None
    try:
        return from_data(data)
    except TargetError as error:
        error.where = error.where or where
        raise


def _stored_figures() -> Figures | None:
    """Return the figures of this machine; None if it was not measured, or they are unusable."""
    name = _file_name()
    path = figures_path()
    if name not in _measured and path is not None:
        try:
            figures = _described(read_file(path, RULE), str(path)).figures
        except (TargetError, OSError):
            return None  # the file is absent, of another version, or writable by others
        if figures is not None:
            _measured[name] = figures
    return _measured.get(name)


@functools.cache
def _file_name() -> str:
    """Return the name of the file for CPUs of this model and targets with these fields."""
    machine = host()
    try:
        models = _MODEL.findall(_PROCESSORS.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        models = []
    model = models[0] if models else platform.processor() or machine.architecture
    words = re.sub(r"[^A-Za-z0-9]+", "-", model).strip("-").lower()
    return f"target-{words}-{digest(model, to_data(machine))[:8]}.json"


PlainTarget = dict[str, Any]
"""Texts, numbers, and lists and mappings of these."""

_NAMED = (*PER_TYPE, "functions")
"""The fields of figures that are mappings by name."""


def to_data(target: Target) -> PlainTarget:
    """Return every field of a target by its name; sets are sorted lists, caches mappings."""
    data = _by_name(target)
    data["features"] = sorted(target.features)
    data["caches"] = list(map(_by_name, target.caches))
    del data["figures"], data["notes"]
    # Keys that are made of this data stay the same for targets without figures or notes.
    if (figures := target.figures) is not None:
        named = {name: dict(getattr(figures, name)) for name in _NAMED}
        levels = list(map(_by_name, figures.levels))
        data["figures"] = {**_by_name(figures), "levels": levels, **named}
    if target.notes:
        data["notes"] = {
            name: list(value) if isinstance(value, tuple) else value for name, value in target.notes
        }
    return data


def from_data(data: Mapping[str, Any]) -> Target:
    """Return the target that `to_data` wrote.

    Raises:
        TargetError: a field is unknown, missing, or of the wrong kind.
    """
    _check_fields(data, Target, "a target")
    values = dict(data)
    features = _items(data["features"], "features")
    if not all(isinstance(feature, str) for feature in features):
        raise TargetError(f"features is {data['features']!r}", expected="a list of texts")
    values["features"] = frozenset(features)
    for name in ("name", "architecture", "huge_pages", "cpu"):
        if name in data and not isinstance(data[name], str):
            raise TargetError(f"{name} is {data[name]!r}", expected="a text")
    if "caches" in data:
        values["caches"] = _all_of(Cache, data["caches"], "caches", "a cache")
    if data.get("figures") is not None:
        figures = data["figures"]
        _check_fields(figures, Figures, "a set of figures")
        named = {name: tuple(_mapping(figures[name], name).items()) for name in _NAMED}
        levels = _all_of(Level, figures["levels"], "levels", "a level of memory")
        values["figures"] = Figures(**{**figures, "levels": levels, **named})
    if "notes" in data:
        notes = _mapping(data["notes"], "notes")
        values["notes"] = tuple(
            (name, tuple(value) if isinstance(value, list) else value)
            for name, value in sorted(notes.items())
        )
    return Target(**values)


_Described = TypeVar("_Described", Cache, Level)


def _by_name(value: Target | Cache | Figures | Level) -> PlainTarget:
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _all_of(kind: type[_Described], data: Any, name: str, title: str) -> tuple[_Described, ...]:
    items = _items(data, name)
    for item in items:
        _check_fields(item, kind, title)
    return tuple(kind(**item) for item in items)


def _mapping(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise TargetError(f"{name} is {value!r}", expected="a mapping by name")
    return value


def _check_fields(data: Any, kind: type[Target | Cache | Figures | Level], title: str) -> None:
    if not isinstance(data, Mapping):
        raise TargetError(f"{title} is {data!r}", expected="a mapping of its fields")
    names = [field.name for field in fields(kind)]
    required = [field.name for field in fields(kind) if field.default is MISSING]
    if unknown := [str(name) for name in data if name not in names]:
        raise TargetError(
            f"{title} has no field {', '.join(unknown)}", expected="one of " + ", ".join(names)
        )
    if missing := [name for name in required if name not in data]:
        raise TargetError(f"{title} lacks {', '.join(missing)}")


def _items(value: Any, name: str) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise TargetError(f"{name} is {value!r}", expected="a list")
    return list(value)


def to_dlti(target: Target) -> str:
    """Return the text of a `#dlti.target_system_spec` with the device `CPU`."""
    entries: dict[str, int | str] = {
        "architecture": target.architecture,
        "features": ",".join(f"+{feature}" for feature in sorted(target.features)),
        "max_vector_op_width": target.vector_bits,
        "num_vector_registers": target.vector_registers,
        "fma_units": target.fma_units,
        "fma_latency_in_cycles": target.fma_latency,
        "num_threads": target.logical_cores,
        "num_cores": target.physical_cores,
        "page_size_in_bytes": target.page_bytes,
        "huge_page_size_in_bytes": target.huge_page_bytes,
    }
    if target.cpu:
        entries["cpu"] = target.cpu
    for cache in target.caches:
        level = f"L{cache.level}_cache"
        entries[f"{level}_size_in_bytes"] = cache.size
        entries[f"{level}_line_size_in_bytes"] = cache.line
        entries[f"{level}_associativity"] = cache.associativity
        entries[f"{level}_num_sharing_threads"] = cache.shared_by
    listed = ", ".join(
        f'"{key}" = {json.dumps(value) if isinstance(value, str) else f"{value} : i64"}'
        for key, value in entries.items()
    )
    return f'#dlti.target_system_spec<"CPU" = #dlti.target_device_spec<{listed}>>'


def data_layout(target: Target) -> str:
    """Return the text of a `#dlti.dl_spec`: the width of `index`, and the order of bytes."""
    del target  # both architectures have 64-bit addresses and the little end first
    return '#dlti.dl_spec<index = 64 : i32, "dlti.endianness" = "little">'
