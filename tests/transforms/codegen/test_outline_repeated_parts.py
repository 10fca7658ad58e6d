"""Parts of an entry that are alike are one function: code is made once, and nothing is copied."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from examples import examples
from linalg_ext.module import Module
from linalg_ext.transforms.codegen import outline_repeated_parts as file


@pytest.mark.parametrize(
    ("difference", "old", "new"),
    [
        ("the op", "addf", "subf"),
        ("the order of operands", "arith.mulf %p, %q", "arith.mulf %q, %p"),
        ("a map", "(m, n, k) -> (k, n)", "(m, n, k) -> (n, k)"),
        ("equal operands", "ins(%y, %v", "ins(%y, %y"),
    ],
)
def test_parts_stay_apart_that_differ_in(difference: str, old: str, new: str) -> None:
    before, generic, second = examples(file)[0][0].rpartition("linalg.generic")
    module = Module.parse(before + generic + second.replace(old, new), trusted=True)
    assert not file.outline_repeated_parts(module, least=1), difference


def test_parts_stay_whose_operands_may_overlap() -> None:
    """A function takes its arguments to be apart; the second part would read what it writes."""
    text = examples(file)[0][0].replace("ins(%y, %v", "ins(%out, %y")
    assert not file.outline_repeated_parts(Module.parse(text, trusted=True), least=1)


def _layers(count: int) -> tuple[Any, list[Any]]:
    def model(x: Any, *weights: Any) -> Any:
        for weight in weights:
            hidden = np.tanh(x @ weight)
            x = x + hidden @ weight
        return x

    rng = np.random.default_rng(0)
    return model, [rng.standard_normal((32, 32), np.float32) / 8 for _ in range(count + 1)]


def test_code_does_not_grow_with_the_number_of_layers() -> None:
    lengths = []
    for count in (4, 8):
        model, arrays = _layers(count)
        kernel = lx.jit(model).lower(*arrays).compile().kernel
        wanted = model(*(array.astype(np.float64) for array in arrays))
        np.testing.assert_allclose(kernel(*arrays), wanted, rtol=1e-4, atol=1e-4)
        text = kernel.as_text("loops")
        assert len(re.findall(r"call @linalg_ext_part_0", text)) == count
        lengths.append(len(re.findall(r"vector\.", text)))
    assert lengths[0] == lengths[1]


def test_nothing_is_copied_between_layers() -> None:
    model, arrays = _layers(6)
    kernel = lx.jit(model).lower(*arrays).compile().kernel
    assert "memref.copy" not in kernel.as_text("buffers")


def test_threads_share_layers_that_are_alike() -> None:
    model, arrays = _layers(4)
    arrays = [np.tile(array, (8, 8)) for array in arrays]
    with lx.threads.using(2):
        found = lx.jit(model)(*arrays)
    with lx.threads.using(1):
        np.testing.assert_allclose(found, lx.jit(model)(*arrays), rtol=1e-4, atol=1e-4)


def test_an_op_that_reads_memory_in_its_body_is_not_a_fill() -> None:
    """It has the operand of a fill alone; the memory that it reads is freed behind it."""

    def backwards(x: Any) -> Any:
        return np.argsort(x)[::-1]

    kernel = lx.jit(backwards, dynamic=True).lower(np.arange(9)).compile().kernel
    text = kernel.as_text("loops")
    (freed,) = re.findall(r"extract_strided_metadata (%\w+)", text)
    read = [found.start() for found in re.finditer(rf"memref.load {freed}\[", text)]
    assert read
    assert max(read) < text.index("memref.extract_strided_metadata")
