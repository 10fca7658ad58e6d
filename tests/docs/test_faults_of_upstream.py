"""Each fault of upstream that the page lists is still there; what works around it can go if not."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from linalg_ext.bindings import exporters, ir, passmanager
from linalg_ext.ir.context import new_context
from linalg_ext.transforms.legalization.legalize_exported import TORCH
from resources import REPOSITORY

PAGE = REPOSITORY / "docs" / "faults_of_upstream.md"


class Fault(NamedTuple):
    """What shows a fault: passes, a module, and what upstream makes of it."""

    passes: str
    module: str
    shows: Callable[[str], Any]


def _pad(low: int, high: int) -> str:
    size = 8 + low + high
    return f"""
    func.func @f(%a: tensor<8xf32>) -> tensor<{size}xf32> {{
      %z = arith.constant 0.0 : f32
      %r = tensor.pad %a low[{low}] high[{high}] {{
      ^bb0(%i: index):
        tensor.yield %z : f32
      }} : tensor<8xf32> to tensor<{size}xf32>
      return %r : tensor<{size}xf32>
    }}"""


BUFFERIZE = "one-shot-bufferize{bufferize-function-boundaries=true}"

FAULTS = {
    "cancelling pad": Fault("canonicalize", _pad(-1, 1), lambda text: "return %arg0" in text),
    "negative pad": Fault(BUFFERIZE, _pad(-1, 2), lambda text: "to be non-negative" in text),
    "division by itself": Fault(
        "canonicalize",
        """
        func.func @f(%a: i32) -> i32 {
          %r = arith.divsi %a, %a : i32
          return %r : i32
        }""",
        lambda text: "arith.divsi" not in text,
    ),
    "angle of zeros": Fault(
        "canonicalize",
        """
        func.func @f() -> f32 {
          %z = arith.constant 0.0 : f32
          %r = math.atan2 %z, %z : f32
          return %r : f32
        }""",
        lambda text: "0x7FC00000" in text,
    ),
    "masked reduction": Fault(
        "cse",
        """
        func.func @f(%x: vector<4xf32>, %k: vector<4xi1>) -> (f32, f32) {
          %all = vector.reduction <add>, %x : vector<4xf32> into f32
          %some = vector.mask %k { vector.reduction <add>, %x : vector<4xf32> into f32 }
            : vector<4xi1> -> f32
          return %all, %some : f32, f32
        }""",
        lambda text: text.count("vector.reduction") == 1,
    ),
    "pad put with steps": Fault(
        "canonicalize",
        """
        func.func @f(%a: tensor<2xf32>) -> tensor<9xf32> {
          %z = arith.constant 0.0 : f32
          %p = tensor.pad %a low[1] high[1] {
          ^bb0(%i: index):
            tensor.yield %z : f32
          } : tensor<2xf32> to tensor<4xf32>
          %e = tensor.empty() : tensor<9xf32>
          %f = linalg.fill ins(%z : f32) outs(%e : tensor<9xf32>) -> tensor<9xf32>
          %r = tensor.insert_slice %p into %f[1] [4] [2] : tensor<4xf32> into tensor<9xf32>
          return %r : tensor<9xf32>
        }""",
        lambda text: "[2] [2] [2]" in text,  # the first element belongs to place 3
    ),
    "shared destination": Fault(
        f"eliminate-empty-tensors,{BUFFERIZE}",
        """
        func.func @f(%a: tensor<4x4xf32>, %v: tensor<4xf32>, %p: memref<4xf32>, %q: memref<4xf32>) {
          %z = arith.constant 0.0 : f32
          %e = tensor.empty() : tensor<4xf32>
          %f = linalg.fill ins(%z : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
          %x = linalg.matvec ins(%a, %v : tensor<4x4xf32>, tensor<4xf32>)
              outs(%f : tensor<4xf32>) -> tensor<4xf32>
          %y = linalg.vecmat ins(%v, %a : tensor<4xf32>, tensor<4x4xf32>)
              outs(%f : tensor<4xf32>) -> tensor<4xf32>
          bufferization.materialize_in_destination %x in restrict writable %p
            : (tensor<4xf32>, memref<4xf32>) -> ()
          bufferization.materialize_in_destination %y in restrict writable %q
            : (tensor<4xf32>, memref<4xf32>) -> ()
          return
        }""",
        # The second result waits in the place of the first one, and is overwritten there.
        lambda text: re.search(r"memref.copy %alloc, %arg2.*\n.*memref.copy %arg2, %arg3", text),
    ),
    "bitcast of a tensor": Fault(
        BUFFERIZE,
        """
        func.func @f(%a: tensor<4xf32>) -> tensor<4xi32> {
          %r = tensor.bitcast %a : tensor<4xf32> to tensor<4xi32>
          return %r : tensor<4xi32>
        }""",
        lambda text: "op was not bufferized" in text,
    ),
    "gather of a tensor": Fault(
        BUFFERIZE,
        """
        func.func @f(%a: tensor<8xf32>, %i: tensor<3x1xindex>) -> tensor<3xf32> {
          %r = tensor.gather %a[%i] gather_dims([0])
            : (tensor<8xf32>, tensor<3x1xindex>) -> tensor<3xf32>
          return %r : tensor<3xf32>
        }""",
        lambda text: "op was not bufferized" in text,
    ),
    "slice at the end": Fault(
        "canonicalize",
        """
        func.func @f(%a: tensor<8xf32>) -> tensor<0xf32> {
          %r = tensor.extract_slice %a[8] [0] [1] : tensor<8xf32> to tensor<0xf32>
          return %r : tensor<0xf32>
        }""",
        lambda text: "out-of-bounds" in text,
    ),
    "logarithm near one": Fault(
        "convert-math-to-llvm",
        """
        func.func @f(%a: f32) -> f32 {
          %r = math.log1p %a : f32
          return %r : f32
        }""",
        lambda text: "llvm.fadd" in text,
    ),
    "scan of a vector": Fault(
        "convert-vector-to-scf,convert-vector-to-llvm,convert-to-llvm",
        """
        func.func @f(%v: vector<4xf32>, %i: vector<f32>) -> vector<4xf32> {
          %s, %t = vector.scan <add>, %v, %i {inclusive = true, reduction_dim = 0 : i64}
            : vector<4xf32>, vector<f32>
          return %s : vector<4xf32>
        }""",
        lambda text: "vector.scan" in text,
    ),
    "GELU by tanh": Fault(
        TORCH,
        """
        func.func @f(%a: !torch.vtensor<[4],f64>) -> !torch.vtensor<[4],f64> {
          %t = torch.constant.str "tanh"
          %r = torch.aten.gelu %a, %t
            : !torch.vtensor<[4],f64>, !torch.str -> !torch.vtensor<[4],f64>
          return %r : !torch.vtensor<[4],f64>
        }""",
        lambda text: "0.797724" in text,
    ),
}


def outcome(fault: Fault) -> str:
    """The module that upstream's passes make, or upstream's message."""
    with new_context() as context:
        if fault.passes == TORCH:
            exporters.register_dialect(context)
        try:
            module = ir.Module.parse(fault.module)
            manager = passmanager.PassManager.parse(f"builtin.module({fault.passes})")
            manager.run(module.operation)
        except ir.MLIRError as error:
            return str(error)
        return str(module)


@pytest.mark.parametrize("name", FAULTS)
def test_the_fault_is_there(name: str) -> None:
    made = outcome(FAULTS[name])
    assert FAULTS[name].shows(made), f"upstream has mended it: see {PAGE.name}\n{made}"


def test_the_page_lists_them_and_the_files_are_there() -> None:
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| `([^`]+)` \|$", PAGE.read_text(), re.MULTILINE)
    assert [name for name, _ in rows] == list(FAULTS)
    for _, path in rows:
        assert (REPOSITORY / path).is_file(), path
