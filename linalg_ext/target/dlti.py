"""A target in upstream's DLTI dialect (data layout and target information).

    module attributes {
      dlti.dl_spec = #dlti.dl_spec<index = 64 : i32, "dlti.endianness" = "little">,
      dlti.target_system_spec = #dlti.target_system_spec<
        "CPU" = #dlti.target_device_spec<"L1_cache_size_in_bytes" = 49152 : i64, ...>>
    } { ... }

`L1_cache_size_in_bytes` and `max_vector_op_width` are the keys of upstream's own examples; the
others follow their manner.
"""

from __future__ import annotations

import json

from linalg_ext.target.model import Target


def to_dlti(target: Target) -> str:
    """The text of a `#dlti.target_system_spec` with the device `CPU`."""
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
    listed = ", ".join(f'"{key}" = {_attribute(value)}' for key, value in entries.items())
    return f'#dlti.target_system_spec<"CPU" = #dlti.target_device_spec<{listed}>>'


def data_layout(target: Target) -> str:
    """The text of a `#dlti.dl_spec`: the width of `index`, and the order of bytes."""
    del target  # both architectures have 64-bit addresses and the little end first
    return '#dlti.dl_spec<index = 64 : i32, "dlti.endianness" = "little">'


def _attribute(value: int | str) -> str:
    return json.dumps(value) if isinstance(value, str) else f"{value} : i64"
