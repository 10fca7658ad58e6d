"""Compute sums over positions under a condition in linear time: by a scan, or by look-ups.

before:
    %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (k, n)>,
                                          affine_map<(m, n, k) -> (m)>,
                                          affine_map<(m, n, k) -> (m, n)>],
                         iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%t, %l : tensor<9x4xf32>, tensor<5xi64>) outs(%z : tensor<5x4xf32>) {
    ^bb0(%a: f32, %label: i64, %o: f32):
      %k = linalg.index 2 : index
      %at = arith.index_cast %k : index to i64
      %named = arith.cmpi eq, %label, %at : i64
      %b = arith.select %named, %a, %zero : f32
      %s = arith.addf %o, %b : f32
      linalg.yield %s : f32
    } -> tensor<5x4xf32>
after:
    %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m)>,
                                          affine_map<(m, n) -> (m, n)>],
                         iterator_types = ["parallel", "parallel"]}
        ins(%l : tensor<5xi64>) outs(%z : tensor<5x4xf32>) {
    ^bb0(%label: i64, %o: f32):
      %c9 = arith.constant 9 : i64
      %within = arith.cmpi ult, %label, %c9 : i64
      %c0 = arith.constant 0 : i64
      %safe = arith.select %within, %label, %c0 : i64
      %at = arith.index_cast %safe : i64 to index
      %n = linalg.index 1 : index
      %a = tensor.extract %t[%at, %n] : tensor<9x4xf32>
      %b = arith.select %within, %a, %zero : f32
      %s = arith.addf %o, %b : f32
      linalg.yield %s : f32
    } -> tensor<5x4xf32>

Sums over all positions before one's own are carried, and sums of which a label selects one position
are looked up: see `linalg-ext-carry-prefixes` and `linalg-ext-look-up-labels`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass

from .carry_prefixes import carry_prefixes
from .look_up_labels import look_up_labels

NAME = "linalg-ext-linearize-sums"


@module_pass(NAME, on="linalg.generic")
def linearize_sums(module: ir.Operation) -> Report:
    """Carry sums over prefixes, and look up sums that a label selects."""
    report = Report(NAME)
    for part in (carry_prefixes, look_up_labels):
        report.merge(part.apply(module))
    return report
