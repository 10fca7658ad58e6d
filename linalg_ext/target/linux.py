"""The machine as Linux shows it: /proc/cpuinfo, /sys/devices/system/cpu, and control groups.

Each fact that cannot be read has a conservative value in its place: a file may be missing in a
container, and a virtual machine may tell little.
"""

from __future__ import annotations

import ctypes
import math
import os
import platform
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from linalg_ext.target.features import USUAL, MultiplyAdd, from_linux, of_arm, of_x86
from linalg_ext.target.model import HUGE_PAGES, Cache, Target, vector_registers, widest_vector

_ARCHITECTURES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}


def read(root: Path = Path("/"), cpus: Iterable[int] | None = None) -> Target:
    """Return this machine, or the one whose files lie under `root`.

    Args:
        root: the folder of `proc` and `sys`.
        cpus: the logical cores that may be used; by default those that the scheduler grants.
    """
    allowed = sorted(_affinity() if cpus is None else cpus)
    used = _used(root, allowed)
    architecture = _architecture(used)
    features = from_linux(architecture, _common_flags(used))
    # The length of SVE's vectors is in no file: vectors of 128 bits are right on every such CPU.
    bits = 128 if architecture == "aarch64" else widest_vector(architecture, features)
    multiply_add = _multiply_add(architecture, used[0], bits) if used else USUAL
    logical = _quota(root, len(allowed))
    facts: dict[str, Any] = {
        "name": "host",
        "architecture": architecture,
        "features": features,
        "vector_bits": bits,
        "vector_registers": vector_registers(architecture, features),
        "fma_units": multiply_add.units,
        "fma_latency": multiply_add.latency,
        "logical_cores": logical,
        "physical_cores": min(logical, _physical(root, allowed)),
        "page_bytes": _page_bytes(),
        **_huge_pages(root),
    }
    if caches := tuple(_caches(root, allowed)):
        facts["caches"] = caches
    return Target(**facts)


def flags() -> frozenset[str]:
    """Return the extensions that every usable core has, by Linux's names."""
    return _common_flags(_used(Path("/"), sorted(_affinity())))


def allow_tiles() -> bool:
    """Ask the kernel for AMX's tiles, which it grants once and for the whole process.

    Without its leave the first instruction on a tile ends the process. Source: Linux,
    Documentation/arch/x86/xstate.rst.
    """
    arch_prctl, request_permission, tile_data = 158, 0x1023, 18
    try:
        return bool(ctypes.CDLL(None).syscall(arch_prctl, request_permission, tile_data) == 0)
    except (OSError, AttributeError):
        return False


def _used(root: Path, allowed: list[int]) -> list[dict[str, str]]:
    """Return the blocks of /proc/cpuinfo for the allowed cores, or else all blocks."""
    processors = list(_processors(root))
    return [
        processor for processor in processors if int(processor.get("processor", "-1")) in allowed
    ] or processors


def _common_flags(processors: list[dict[str, str]]) -> frozenset[str]:
    # Cores may differ, and a thread may move between them.
    flags = [
        (processor.get("flags") or processor.get("Features") or "").split()
        for processor in processors
    ]
    return frozenset(flags[0]).intersection(*flags[1:]) if flags else frozenset()


def _affinity() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def _processors(root: Path) -> Iterator[dict[str, str]]:
    """Yield the blocks of /proc/cpuinfo, one for each logical core."""
    for block in _text(root / "proc/cpuinfo").split("\n\n"):
        pairs = (line.partition(":") for line in block.splitlines() if ":" in line)
        fields = {name.strip(): value.strip() for name, _, value in pairs}
        if "processor" in fields:
            yield fields


def _architecture(processors: list[dict[str, str]]) -> str:
    if processors and "flags" in processors[0]:
        return "x86_64"
    if processors and "Features" in processors[0]:
        return "aarch64"
    return _ARCHITECTURES.get(platform.machine().lower(), "x86_64")


def _multiply_add(architecture: str, processor: Mapping[str, str], bits: int) -> MultiplyAdd:
    if architecture == "aarch64":
        return of_arm(
            _integer(processor.get("CPU implementer")), _integer(processor.get("CPU part"))
        )
    return of_x86(
        processor.get("vendor_id", ""),
        _integer(processor.get("cpu family")),
        _integer(processor.get("model")),
        bits,
    )


def _caches(root: Path, cpus: list[int]) -> Iterator[Cache]:
    first = cpus[0] if cpus else 0
    folders = (root / f"sys/devices/system/cpu/cpu{first}/cache").glob("index*")
    caches: dict[int, Cache] = {}
    for folder in folders:
        level = _integer(_text(folder / "level"))
        size = _size(_text(folder / "size"))
        if _text(folder / "type") not in ("Data", "Unified") or level < 1 or size < 1:
            continue
        sharing = _cpu_list(_text(folder / "shared_cpu_list"))
        line = _integer(_text(folder / "coherency_line_size"))
        # 0 stands for fully associative, and for not known.
        associativity = _integer(_text(folder / "ways_of_associativity"))
        caches[level] = Cache(
            level=level,
            size=size,
            line=line if line > 0 else 64,
            associativity=associativity if associativity > 0 else 8,
            shared_by=max(1, len(sharing)),
        )
    return iter(caches[level] for level in sorted(caches))


def _physical(root: Path, cpus: list[int]) -> int:
    cores = set()
    for cpu in cpus:
        folder = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
        package, core = _text(folder / "physical_package_id"), _text(folder / "core_id")
        cores.add((package, core) if core else cpu)
    return max(1, len(cores))


def _quota(root: Path, cores: int) -> int:
    """Return how many of `cores` the control groups grant; a part of a core counts as one."""
    granted = float(max(1, cores))
    for folder in _control_groups(root):
        period_and_quota = _text(folder / "cpu.max").split()  # version 2: "<quota> <period>"
        quota, period = (
            period_and_quota
            if len(period_and_quota) == 2
            else (_text(folder / "cpu.cfs_quota_us"), _text(folder / "cpu.cfs_period_us"))
        )
        if _integer(quota) > 0 and _integer(period) > 0:
            granted = min(granted, _integer(quota) / _integer(period))
    return max(1, math.ceil(granted))


def _control_groups(root: Path) -> Iterator[Path]:
    """Yield the folders of the control groups that limit this process's time, and their parents."""
    mount = root / "sys/fs/cgroup"
    for line in _text(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number != "0" and "cpu" not in controllers.split(","):
            continue
        base = mount if number == "0" else mount / controllers
        inside = base / path.lstrip("/")
        # In a container the path may be that of the host: then only `base` exists.
        yield inside
        yield from (above for above in inside.parents if above.is_relative_to(base))


def _huge_pages(root: Path) -> dict[str, int | str]:
    folder = root / "sys/kernel/mm/transparent_hugepage"
    words = _text(folder / "enabled").split()
    mode = next((word.strip("[]") for word in words if word.startswith("[")), "never")
    size = _integer(_text(folder / "hpage_pmd_size"))
    if mode not in HUGE_PAGES or mode == "never" or size < 1:
        return {}
    return {"huge_page_bytes": size, "huge_pages": mode}


def _page_bytes() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 4096


def _cpu_list(text: str) -> set[int]:
    """Parse a list of cores: `0-2,5` as {0, 1, 2, 5}."""
    cpus: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        cpus.update(range(_integer(first), _integer(last or first) + 1))
    return cpus


def _size(text: str) -> int:
    """Parse a size such as `48K` into bytes."""
    factor = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:], 1)
    return factor * _integer(text.rstrip("KMG"))


def _integer(text: str | None) -> int:
    """Parse a number in decimal or, after 0x, in hexadecimal; -1 for other texts."""
    try:
        return int(text or "", 0)
    except ValueError:
        return -1


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
