"""Lower `vector.scan`, for which upstream has patterns but no pass.

before:
    %s, %t = vector.scan <add>, %v, %init {inclusive = true, reduction_dim = 0 : i64}
      : vector<2x3xf32>, vector<3xf32>
after:
    %zero = arith.constant dense<0.0> : vector<2x3xf32>
    %0 = vector.extract_strided_slice %v {offsets = [0, 0], sizes = [1, 3], strides = [1, 1]}
      : vector<2x3xf32> to vector<1x3xf32>
    %1 = vector.insert_strided_slice %0, %zero {offsets = [0, 0], strides = [1, 1]}
      : vector<1x3xf32> into vector<2x3xf32>
    %2 = vector.extract_strided_slice %v {offsets = [1, 0], sizes = [1, 3], strides = [1, 1]}
      : vector<2x3xf32> to vector<1x3xf32>
    %3 = arith.addf %0, %2 : vector<1x3xf32>
    %s = vector.insert_strided_slice %3, %1 {offsets = [1, 0], strides = [1, 1]}
      : vector<1x3xf32> into vector<2x3xf32>
    %t = vector.shape_cast %3 : vector<1x3xf32> to vector<3xf32>
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.transform_scripts import apply_script
from linalg_ext.transforms.ir_utils.walking import functions, operations

NAME = "linalg-ext-lower-vector-scan"

_SCRIPT = """
      %0 = transform.structured.match ops{["func.func"]} in %root
        : (!transform.any_op) -> !transform.any_op
      transform.apply_patterns to %0 { transform.apply_patterns.vector.lower_scan }
        : !transform.any_op
"""


@module_pass(NAME, on="vector.scan")
def lower_vector_scan(module: ir.Operation) -> Report:
    """Lower vector.scan to arithmetic on slices of its vector."""
    report = Report(NAME)
    scans = sum(len(operations(function, {"vector.scan"})) for function in functions(module))
    if scans:
        apply_script(module, _SCRIPT)
        report.matched["vector.scan"] += scans
        report.changed["vector.scan"] += scans
    return report
