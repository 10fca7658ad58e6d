"""`linalg.tiled_loop` becomes `gml_st.loop`, and what it inserts is what it extracted."""

from __future__ import annotations

import pytest

from linalg_ext.dialects.gml_st.asm import changes, pretty
from linalg_ext.errors import ParseError
from linalg_ext.notations.mlir_text import apply_edits
from linalg_ext.notations.source_text import SourceText

LOOP = """%c4 = arith.constant 4 : index
%r = linalg.tiled_loop (%i) = (%c0) to (%c8) step (%c4)
    ins (%x_ = %x: tensor<8xf32>) outs (%o_ = %o: tensor<8xf32>) {
  %a = tensor.extract_slice %x_[%i] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %b = tensor.extract_slice %o_[%i] [%c4] [1] : tensor<8xf32> to tensor<?xf32>
  %s = "my.op"(%a, %b) ({ ^bb0(%z: f32): linalg.yield %z : f32 })
    : (tensor<4xf32>, tensor<?xf32>) -> tensor<4xf32>
  %u = tensor.insert_slice %s into %o_[%i] [4] [1] : tensor<4xf32> into tensor<8xf32>
  linalg.yield %u : tensor<8xf32>
}
"""


def translated(text: str) -> str:
    source = SourceText(text, "x.mlir")
    return " ".join(pretty(apply_edits(source, changes(source)).text).split())


def test_slices_become_tiles_and_what_is_inserted_is_yielded() -> None:
    text = translated(LOOP)
    assert "tensor." not in text
    assert "linalg.yield %u" not in text
    assert "linalg.yield %z" in text
    assert (
        "%a_tile = gml_st.tile %x_ [%i] [4] [1] : tensor<8xf32> to !gml_st.subset<4xf32> "
        "%a = gml_st.materialize %x_[%a_tile] : tensor<8xf32>[!gml_st.subset<4xf32>] to "
        "tensor<4xf32>"
    ) in text
    assert "gml_st.yield %s to %u_tile : tensor<4xf32> to !gml_st.subset<4xf32>" in text


@pytest.mark.parametrize(
    ("old", "new", "what", "marked"),
    [
        ("%o_[%i] [4]", "%o_[0] [4]", "other offsets than %b, which line 5", "[0]"),
        ("%o_[%i] [4]", "%o_[%i] [3]", "other sizes than %b, which line 5", "[3]"),
        ("%o_[%i] [4] [1]", "%o_[%i] [4] [2]", "other strides than %b, which line 5", "[2]"),
        ("%o_[%i] [4] [1]", "%o_[%i] [4]", "the strides of tensor.insert_slice cannot", ":"),
        ("linalg.yield %u :", "linalg.yield %u, u :", "cannot have `u` here", "u"),
        ("insert_slice %s into", "insert_slice %s at", "cannot have `at` here", "at"),
    ],
)
def test_another_tile_is_an_error_at_its_place(old: str, new: str, what: str, marked: str) -> None:
    source = SourceText(LOOP.replace(old, new), "x.mlir")
    with pytest.raises(ParseError) as caught:
        changes(source)
    assert what in caught.value.what
    _, shown, caret = str(caught.value.where).splitlines()
    assert shown[caret.index("^") :].startswith(marked)


def test_a_body_that_does_something_else_yields_whole_tensors() -> None:
    for old, new in (
        ("linalg.yield %u", "linalg.yield %o_"),
        ("tensor<4xf32> into tensor<8xf32>", "tensor<f32> into tensor<8xf32>"),
        ("into %o_[%i]", "into %x_[%i]"),  # the values of an input, with a part replaced
    ):
        text = translated(LOOP.replace(old, new))
        assert "%a = tensor.extract_slice %x_[%i] [4] [1]" in text
        assert f"gml_st.yield {'%o_' if 'linalg' in old else '%u'} : tensor<8xf32>" in text


def test_an_update_that_is_used_besides_stays() -> None:
    use = '"my.use"(%u) : (tensor<8xf32>) -> ()'
    more = LOOP.replace("linalg.yield %u", f"{use}\n  linalg.yield %u")
    text = translated(more)
    assert "%u = tensor.insert_slice" in text
    assert "gml_st.yield %s to %u_tile" in text


def test_buffers_are_written_in_place() -> None:
    text = translated(
        "linalg.tiled_loop (%i) = (%a) to (%b) step (%c) outs (%o_ = %o: memref<8xf32>) {\n"
        "  linalg.fill ins(%f : f32) outs(%o_ : memref<8xf32>)\n  linalg.yield\n}"
    )
    assert text == (
        "gml_st.loop (%i) = (%a) to (%b) step (%c) outs (%o_ = %o: memref<8xf32>) { "
        "linalg.fill ins(%f : f32) outs(%o_ : memref<8xf32>) gml_st.yield }"
    )
