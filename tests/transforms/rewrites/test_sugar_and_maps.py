"""`linalg-ext-sugar-to-maps` and `linalg-ext-maps-to-sugar`: their documentation, numbers, both."""

from __future__ import annotations

import numpy as np

import linalg_ext as lx

SUGARED = """func.func @f(%x: tensor<2xf32>, %y: tensor<3x2xf32>, %s: f32, %o: tensor<2x3xf32>)
    -> tensor<2x3xf32> {
  %r = linalg_ext.elementwise ins(%x, %y, %s : tensor<2xf32>, tensor<3x2xf32>, f32)
         outs(%o : tensor<2x3xf32>) kind = fma broadcast_a = [1], my.note = 1 permute_b = [1, 0]
         -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}""".replace(", my.note = 1", "").replace("elementwise ins", "elementwise {my.note} ins")


def test_there_and_back_with_the_same_numbers() -> None:
    rng = np.random.default_rng(0)
    x, y, o = (rng.random(shape).astype("f4") for shape in ((2,), (3, 2), (2, 3)))
    module = lx.parse(SUGARED)
    texts = [str(module)]
    for rewrite in (lx.transforms.sugar_to_maps, lx.transforms.maps_to_sugar):
        assert rewrite(module).changed.total() == 1
        assert rewrite(module).changed.total() == 0
        texts.append(str(module))
    assert "indexing_maps" in texts[1]
    assert "_b" not in texts[1]
    assert texts[2] == texts[0].replace("permute_b", "permutation_b")
    assert all("my.note" in text for text in texts)
    for text in texts:
        result = lx.compile(text)(x, y, np.float32(0.5), o)
        np.testing.assert_allclose(result, x[:, None] * y.T + np.float32(0.5), rtol=1e-6)


def test_a_diagonal_is_left() -> None:
    module = lx.parse("""func.func @f(%y: tensor<3x3xf32>, %o: tensor<3xf32>) -> tensor<3xf32> {
      %r = linalg_ext.elementwise ins(%y : tensor<3x3xf32>) outs(%o : tensor<3xf32>)
        indexing_maps = [affine_map<(i) -> (i, i)>, affine_map<(i) -> (i)>] kind = exp
        -> tensor<3xf32>
      return %r : tensor<3xf32> }""")
    before = str(module)
    report = lx.transforms.maps_to_sugar(module)
    assert report.changed.total() == 0
    assert "neither a transpose nor a broadcast" in str(report)
    assert str(module) == before


def test_identities_need_no_word() -> None:
    module = lx.parse("""func.func @f(%y: tensor<?xf32>) -> tensor<?xf32> {
      %r = linalg_ext.elementwise ins(%y : tensor<?xf32>) outs(%y : tensor<?xf32>)
        indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>] kind = exp
        -> tensor<?xf32>
      return %r : tensor<?xf32> }""")
    lx.transforms.maps_to_sugar(module)
    assert "{kind = #linalg.elementwise_kind<exp>, operandSegmentSizes" in str(module)
