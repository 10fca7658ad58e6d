"""What a target says of itself, as fields, plain data, text for people and text for MLIR."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from linalg_ext import target
from linalg_ext.bindings import ir
from linalg_ext.errors import TargetError
from linalg_ext.target import Cache, Target
from linalg_ext.target.features import SPELLINGS

AVX2 = target.named("avx2")
AVX512 = target.named("avx512")
ALL = [target.named(name) for name in target.names()]


@pytest.mark.parametrize(
    ("dtype", "lanes"),
    [
        ("f32", 16),
        ("f64", 8),
        ("bf16", 32),
        ("i8", 64),
        ("u8", 64),
        ("s16", 32),
        ("f8E4M3FN", 64),
        ("index", 8),
        (np.float32, 16),
        (np.dtype(np.int64), 8),
        (ml_dtypes.bfloat16, 32),
        ("complex128", 4),
    ],
)
def test_lanes_of_each_element_type(dtype: object, lanes: int) -> None:
    assert AVX512.lanes(dtype) == lanes


def test_an_element_wider_than_a_register_takes_one_lane() -> None:
    assert target.named("generic-x86-64").lanes("i256") == 1


@pytest.mark.parametrize("dtype", ["float", "fp32", "tensor<4xf32>", object(), 3.5])
def test_no_lanes_of_what_is_no_element_type(dtype: object) -> None:
    if dtype == "float":  # NumPy's name of f64
        assert AVX512.lanes(dtype) == 8
        return
    with pytest.raises(TargetError, match="is not an element type"):
        AVX512.lanes(dtype)


def test_peak_work_counts_both_halves_of_a_multiply_add() -> None:
    assert AVX2.flops_per_cycle("f32") == 2 * 2 * 8


@pytest.mark.parametrize("one", ALL, ids=lambda one: str(one.name))
def test_plain_data_there_and_back(one: Target) -> None:
    assert target.from_data(json.loads(json.dumps(target.to_data(one)))) == one


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"colour": 1}, "a target has no field colour"),
        ({"features": "avx"}, "features is 'avx'"),
        ({"features": [1]}, "a list of texts"),
        ({"caches": [{"level": 1}]}, "a cache lacks size"),
        ({"caches": [[1, 2]]}, r"a cache is \[1, 2\]"),
        ({"vector_bits": "wide"}, "vector_bits is 'wide'"),
        ({"fma_units": True}, "fma_units is True"),
        ({"name": None}, "name is None"),
    ],
)
def test_plain_data_that_is_no_target(change: dict[str, Any], message: str) -> None:
    with pytest.raises(TargetError, match=message):
        target.from_data({**target.to_data(AVX2), **change})


def test_plain_data_without_a_field_that_must_be() -> None:
    data = target.to_data(AVX2)
    del data["vector_bits"]
    with pytest.raises(TargetError, match="a target lacks vector_bits"):
        target.from_data(data)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"architecture": "riscv64"}, "architecture 'riscv64'"),
        ({"features": AVX2.features | {"avx1024"}}, "x86_64 has no extension avx1024"),
        ({"features": AVX2.features | {"avx512bw"}}, "avx512bw and without avx512f"),
        ({"vector_bits": 512}, "vectors of 512 bits on a target whose widest are of 256"),
        ({"vector_bits": 96}, "vectors of 96 bits"),
        ({"caches": ()}, r"caches of levels \[\]"),
        ({"caches": (Cache(2, 1), Cache(1, 1))}, r"caches of levels \[2, 1\]"),
        ({"huge_pages": "sometimes"}, "huge_pages is 'sometimes'"),
        ({"logical_cores": 0}, "logical_cores is 0"),
    ],
)
def test_a_machine_that_cannot_be(change: dict[str, Any], message: str) -> None:
    with pytest.raises(TargetError, match=message):
        replace(AVX2, **change)


def test_a_cache_without_size() -> None:
    with pytest.raises(TargetError, match="size of a cache is 0"):
        Cache(1, 0)


def test_without_an_extension_all_that_builds_on_it_is_gone() -> None:
    narrow = replace(AVX512, features=AVX512.features | {"avx512vnni"}).without("avx512f")
    assert narrow.features == AVX2.features
    assert (narrow.vector_bits, narrow.vector_registers) == (256, 16)
    assert not narrow.dot_products
    assert narrow.without("avx").vector_bits == 128


def test_no_machine_is_without_what_every_one_has() -> None:
    with pytest.raises(TargetError, match="every CPU of x86_64 has sse2"):
        AVX2.without("sse2")


def test_dot_products_follow_from_the_extensions() -> None:
    vnni = replace(AVX512, features=AVX512.features | {"avx512vnni", "avxvnni", "avx512bf16"})
    assert [str(one) for one in vnni.dot_products] == [
        "bf16.bf16->f32 x2 (avx512bf16)",
        "u8.s8->i32 x4 (avx512vnni)",
        "s16.s16->i32 x2 (avx512vnni)",
        "u8.s8->i32 x4 (avxvnni)",
        "s16.s16->i32 x2 (avxvnni)",
    ]


def test_what_masks_and_multiply_adds_need() -> None:
    generic = target.named("generic-x86-64")
    assert not generic.has_fma
    assert not generic.has_masks
    assert AVX2.has_fma
    assert AVX2.has_masks
    assert target.named("aarch64-neon").has_fma
    assert not target.named("aarch64-neon").has_masks


def test_the_cache_of_a_level() -> None:
    two = replace(AVX2, caches=(Cache(1, 1 << 15), Cache(2, 1 << 20)))
    assert two.cache(2).size == 1 << 20
    assert two.cache(3) == two.cache(2)
    assert two.cache(1).sets == 64


def test_the_table() -> None:
    one = replace(AVX2, logical_cores=4, physical_cores=2, huge_page_bytes=0, page_bytes=4096)
    assert repr(one) == (
        "target avx2   x86_64 x86-64-v3\n"
        "cores         4 (2 physical)\n"
        "vectors       16 of 256 bits: 8 f32, 4 f64\n"
        "FMA           2 a cycle, 4 cycles each\n"
        "dot products  none\n"
        "caches        L1 32 KiB, 8 ways; L2 256 KiB, 8 ways; L3 4 MiB, 16 ways for 2 cores\n"
        "pages         4 KiB, no huge ones\n"
        "features      avx avx2 bmi bmi2 cmov cx16 cx8 f16c fma fxsr lzcnt mmx movbe popcnt sse"
        " sse2 sse3\n"
        "              sse4.1 sse4.2 ssse3 xsave"
    )


@pytest.mark.parametrize("one", ALL, ids=lambda one: str(one.name))
def test_mlir_reads_the_dlti_text(one: Target) -> None:
    text = (
        f"module attributes {{dlti.dl_spec = {target.data_layout(one)},"
        f" dlti.target_system_spec = {target.to_dlti(one)}}} {{}}"
    )
    with ir.Context():
        printed = str(ir.Module.parse(text))
    assert f'"L1_cache_size_in_bytes" = {one.caches[0].size} : i64' in printed
    assert f'"max_vector_op_width" = {one.vector_bits} : i64' in printed
    assert '"dlti.endianness" = "little"' in printed


def test_every_spelling_stands_for_one_extension() -> None:
    for spellings in SPELLINGS.values():
        assert len(set(spellings.values())) == len(spellings)
