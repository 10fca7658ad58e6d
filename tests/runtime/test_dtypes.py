"""The table of element types."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from linalg_ext import errors
from linalg_ext.bindings import ir
from linalg_ext.runtime import dtypes
from linalg_ext.runtime.dtypes import ElementType, element_types


@pytest.mark.parametrize("element", element_types(), ids=str)
def test_mlir_knows_every_name_and_spells_it_so(element: ElementType) -> None:
    with ir.Context():
        type_ = ir.Type.parse(element.mlir)
        assert str(type_) == element.mlir
        width = getattr(type_, "width", None)
    assert width in (None, element.width)
    assert dtypes.by_mlir(element.mlir) is element


@pytest.mark.parametrize("element", element_types(), ids=str)
def test_names_and_dtypes_go_both_ways(element: ElementType) -> None:
    for dtype in element.dtypes:
        known = dtypes.mlir_text(dtype)
        assert known == ("i64" if element.kind == "index" else element.mlir)
        assert element.storage == dtype.itemsize == max(1, element.width // 8)


def test_every_float_of_ml_dtypes_that_mlir_has_is_there() -> None:
    names = [name for name in dir(ml_dtypes) if name.startswith("float8_")]
    assert len(names) == 8
    for name in names:
        assert dtypes.by_dtype(getattr(ml_dtypes, name)).kind == "float"


def test_what_mlir_does_not_have() -> None:
    assert dtypes.by_mlir("f128") is None
    with pytest.raises(errors.DTypeError, match=r"(?s)dtype object.*astype"):
        dtypes.by_dtype(object)
    with pytest.raises(errors.DTypeError, match=r"(?s)float32 \(big-endian\).*newbyteorder"):
        dtypes.by_dtype(">f4")
    with pytest.raises(errors.DTypeError, match="one field at a time"):
        dtypes.by_dtype("f4,f4")


def test_unused_bits_are_cleared() -> None:
    i4, i1 = dtypes.by_dtype(ml_dtypes.int4), dtypes.by_dtype(np.bool_)
    dirty = np.array([0xFB, 0x03], np.uint8).view(ml_dtypes.int4)
    clean = dtypes.to_machine(dirty, i4)
    assert clean.tobytes() == b"\x0b\x03"
    assert clean.astype(int).tolist() == dirty.astype(int).tolist() == [-5, 3]
    assert dtypes.to_machine(clean, i4) is clean
    flags = np.array([2, 0, 1], np.uint8).view(np.bool_)
    assert dtypes.to_machine(flags, i1).tobytes() == b"\1\0\1"
    empty = np.zeros(0, np.bool_)
    assert dtypes.to_machine(empty, i1) is empty


def test_integer_ranges() -> None:
    assert dtypes.integer_range(np.dtype(np.uint8)) == (0, 255)
    assert dtypes.integer_range(np.dtype(ml_dtypes.int4)) == (-8, 7)
