"""What is read of a machine, from the files of several."""

from __future__ import annotations

from pathlib import Path

import pytest

from linalg_ext import target
from linalg_ext.target import Cache, features, linux, macos
from resources import skip_machine

ZEN_4 = """\
processor\t: {cpu}
vendor_id\t: AuthenticAMD
cpu family\t: 25
model\t\t: 17
flags\t\t: fpu pni ssse3 sse4_1 sse4_2 fma f16c aes avx avx2 abm avx512f avx512bw avx512_bf16{more}
"""
NEOVERSE_V1 = """\
processor\t: 0
Features\t: fp asimd evtstrm aes asimdhp asimddp sve i8mm bf16
CPU implementer\t: 0x41
CPU part\t: 0xd40
"""


def _machine(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def _cache(cpu: int, index: int, level: int, kind: str, size: str, shared: str) -> dict[str, str]:
    folder = f"sys/devices/system/cpu/cpu{cpu}/cache/index{index}"
    return {
        f"{folder}/level": f"{level}\n",
        f"{folder}/type": f"{kind}\n",
        f"{folder}/size": f"{size}\n",
        f"{folder}/coherency_line_size": "64\n",
        f"{folder}/ways_of_associativity": "12\n",
        f"{folder}/shared_cpu_list": f"{shared}\n",
    }


def _zen_4(cores: int = 2, **more: str) -> str:
    return "\n".join(ZEN_4.format(cpu=cpu, more=more.get(f"cpu{cpu}", "")) for cpu in range(cores))


def test_a_cpu_of_x86(tmp_path: Path) -> None:
    found = linux.read(_machine(tmp_path, {"proc/cpuinfo": _zen_4()}), cpus=[0, 1])
    assert found.architecture == "x86_64"
    assert {"sse3", "sse4.2", "lzcnt", "fma", "avx512bf16", "sse2"} <= found.features
    assert "fpu" not in found.features
    assert (found.vector_bits, found.vector_registers) == (512, 32)
    assert (found.fma_units, found.fma_latency) == (1, 4)  # two halves, one after the other
    assert found.logical_cores == 2


def test_a_cpu_of_arm(tmp_path: Path) -> None:
    found = linux.read(_machine(tmp_path, {"proc/cpuinfo": NEOVERSE_V1}), cpus=[0])
    assert found.architecture == "aarch64"
    assert {"neon", "fullfp16", "dotprod", "sve", "i8mm", "bf16"} <= found.features
    assert (found.vector_bits, found.vector_registers) == (128, 32)
    assert found.fma_units == 4


def test_an_extension_that_one_core_lacks_is_not_used(tmp_path: Path) -> None:
    root = _machine(tmp_path, {"proc/cpuinfo": _zen_4(cpu0=" vaes")})
    assert "vaes" not in linux.read(root, cpus=[0, 1]).features
    assert "vaes" in linux.read(root, cpus=[0]).features


def test_caches(tmp_path: Path) -> None:
    files = {
        "proc/cpuinfo": _zen_4(),
        **_cache(1, 0, 1, "Data", "32K", "1"),
        **_cache(1, 1, 1, "Instruction", "64K", "1"),
        **_cache(1, 3, 3, "Unified", "32M", "0-3,8-11"),
        **_cache(1, 2, 2, "Unified", "1024K", "1"),
        **_cache(0, 0, 1, "Data", "16K", "0"),
    }
    found = linux.read(_machine(tmp_path, files), cpus=[1])
    assert found.caches == (
        Cache(1, 32 << 10, 64, 12, 1),
        Cache(2, 1 << 20, 64, 12, 1),
        Cache(3, 32 << 20, 64, 12, 8),
    )


def test_a_cache_that_tells_its_size_alone(tmp_path: Path) -> None:
    folder = "sys/devices/system/cpu/cpu0/cache/index0"
    files = {f"{folder}/level": "1", f"{folder}/type": "Data", f"{folder}/size": "48K"}
    assert linux.read(_machine(tmp_path, files), cpus=[0]).caches == (Cache(1, 48 << 10, 64, 8, 1),)


def test_two_threads_of_one_core(tmp_path: Path) -> None:
    topology = "sys/devices/system/cpu/cpu{}/topology/{}"
    files = {"proc/cpuinfo": _zen_4(3)}
    for cpu, core in enumerate((0, 0, 1)):
        files[topology.format(cpu, "core_id")] = str(core)
        files[topology.format(cpu, "physical_package_id")] = "0"
    found = linux.read(_machine(tmp_path, files), cpus=[0, 1, 2])
    assert (found.logical_cores, found.physical_cores) == (3, 2)


@pytest.mark.parametrize(
    ("groups", "files", "cores"),
    [
        ("0::/a/b", {"a/cpu.max": "150000 100000"}, 2),
        ("0::/a/b", {"a/cpu.max": "300000 100000", "a/b/cpu.max": "50000 100000"}, 1),
        ("0::/a/b", {"a/b/cpu.max": "max 100000"}, 4),
        ("0::/outside", {"cpu.max": "100000 100000"}, 1),
        (
            "4:cpu,cpuacct:/x\n3:cpuset:/",
            {"cpu,cpuacct/x/cpu.cfs_quota_us": "200000", "cpu,cpuacct/x/cpu.cfs_period_us": "1e5"},
            4,
        ),
        (
            "4:cpu,cpuacct:/x",
            {
                "cpu,cpuacct/x/cpu.cfs_quota_us": "200000",
                "cpu,cpuacct/x/cpu.cfs_period_us": "100000",
            },
            2,
        ),
        (
            "4:cpu:/",
            {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"},
            4,
        ),
        ("3:cpuset:/x", {"x/cpu.max": "100000 100000"}, 4),
    ],
)
def test_what_control_groups_grant(
    tmp_path: Path, groups: str, files: dict[str, str], cores: int
) -> None:
    here = {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
    root = _machine(
        tmp_path, {"proc/cpuinfo": _zen_4(4), "proc/self/cgroup": groups + "\n", **here}
    )
    assert linux.read(root, cpus=range(4)).logical_cores == cores


@pytest.mark.parametrize(
    ("enabled", "size", "mode"),
    [
        ("always [madvise] never", 2 << 20, "madvise"),
        ("[always] madvise never", 2 << 20, "always"),
        ("always madvise [never]", 0, "never"),
    ],
)
def test_huge_pages(tmp_path: Path, enabled: str, size: int, mode: str) -> None:
    folder = "sys/kernel/mm/transparent_hugepage"
    files = {f"{folder}/enabled": enabled, f"{folder}/hpage_pmd_size": "2097152\n"}
    found = linux.read(_machine(tmp_path, files), cpus=[0])
    assert (found.huge_page_bytes, found.huge_pages) == (size, mode)


def test_a_machine_that_tells_nothing(tmp_path: Path) -> None:
    found = linux.read(tmp_path, cpus=[])
    assert found.vector_bits == 128
    assert [cache.level for cache in found.caches] == [1, 2, 3]
    assert (found.logical_cores, found.physical_cores, found.huge_page_bytes) == (1, 1, 0)


def test_files_that_make_no_sense(tmp_path: Path) -> None:
    files = {
        "proc/cpuinfo": "processor: 0\nflags: avx512_bf16 fma\nmodel: many\n",
        "proc/self/cgroup": "nonsense\n0::/\n",
        "sys/fs/cgroup/cpu.max": "0 0",
        **_cache(0, 0, 1, "Data", "none", "x-y"),
    }
    found = linux.read(_machine(tmp_path, files), cpus=[0])
    assert found.vector_bits == 128
    assert not {"fma", "avx512bf16"} & found.features  # neither can be without AVX
    assert found.logical_cores == 1


def test_this_machine_reads() -> None:
    found = linux.read()
    assert found.name == "host"
    assert found.logical_cores >= found.physical_cores >= 1


def test_llvm_finds_the_same_extensions() -> None:
    """It asks the CPU itself."""
    if target.host().architecture != "x86_64":
        skip_machine("a CPU of x86-64")
    backend = pytest.importorskip("llvmlite.binding", reason="absent: llvmlite")
    found = {name for name, has in backend.get_host_cpu_features().items() if has}
    assert target.host().features - found == set()
    assert found & {"avx", "avx2", "fma", "avx512f", "avx512vnni"} <= target.host().features


def test_an_apple_processor() -> None:
    found = macos.describe(
        {
            "hw.optional.arm64": "1",
            "hw.optional.arm.FEAT_DotProd": "1",
            "hw.optional.arm.FEAT_BF16": "0",
            "hw.logicalcpu": "8",
            "hw.physicalcpu": "8",
            "hw.pagesize": "16384",
            "hw.cachelinesize": "128",
            "hw.l1dcachesize": "65536",
            "hw.perflevel0.l1dcachesize": "131072",
            "hw.l2cachesize": "4194304",
        }
    )
    assert found.features == {"fp-armv8", "neon", "dotprod"}
    assert [(cache.level, cache.size, cache.line) for cache in found.caches] == [
        (1, 131072, 128),
        (2, 4194304, 128),
    ]
    assert (found.logical_cores, found.page_bytes, found.fma_units) == (8, 16384, 4)


def test_an_intel_processor_under_macos() -> None:
    found = macos.describe(
        {
            "machdep.cpu.features": "FPU SSE3 SSSE3 SSE4.1 SSE4.2 AVX1.0 FMA",
            "machdep.cpu.leaf7_features": "AVX2 BMI1",
        }
    )
    assert found.vector_bits == 256
    assert {"fma", "bmi"} <= found.features


@pytest.mark.parametrize(
    ("vendor", "family", "model", "bits", "expected"),
    [
        ("AuthenticAMD", 0x17, 0x01, 256, (1, 5)),
        ("AuthenticAMD", 0x17, 0x31, 256, (2, 5)),
        ("AuthenticAMD", 0x19, 0x21, 256, (2, 4)),
        ("AuthenticAMD", 0x19, 0x11, 512, (1, 4)),
        ("AuthenticAMD", 0x1A, 0x02, 512, (2, 4)),
        ("AuthenticAMD", 0x1A, 0x24, 512, (1, 4)),
        ("GenuineIntel", 6, 0x3C, 256, (2, 5)),
        ("GenuineIntel", 6, 0x8F, 512, (2, 4)),
        ("GenuineIntel", 6, 0x8C, 512, (1, 4)),
        ("", -1, -1, 128, (2, 4)),
    ],
)
def test_multiply_adds_by_cpu(
    vendor: str, family: int, model: int, bits: int, expected: tuple[int, int]
) -> None:
    assert features.of_x86(vendor, family, model, bits) == expected
