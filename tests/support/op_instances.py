"""Every op that the bindings have in linalg, tensor and scf, each at least once, in IR."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import product

import linalg_ext as lx
from core_ops import Problem, types_of
from linalg_ext.bindings import func, ir, linalg, scf, tensor
from linalg_ext.errors import LinalgExtError
from linalg_ext.ir.context import new_context
from linalg_ext.module import Module
from named_op_modules import named_problem, upstream_ops

TENSOR_AND_SCF = """
func.func @tensors(%a: tensor<4x8xf32>, %d: tensor<?x8xf32>, %s: tensor<2x3xf32>,
    %i: index, %x: f32, %at: tensor<2x1xindex>, %shape: tensor<2xindex>, %rows: tensor<2x8xf32>) {
  %c0 = arith.constant 0 : index
  %bitcast = tensor.bitcast %a : tensor<4x8xf32> to tensor<4x8xi32>
  %cast = tensor.cast %a : tensor<4x8xf32> to tensor<?x8xf32>
  %collapsed = tensor.collapse_shape %a [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
  %joined = tensor.concat dim(0) %a, %a : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %dim = tensor.dim %d, %c0 : tensor<?x8xf32>
  %empty = tensor.empty(%i) : tensor<?x8xf32>
  %expanded = tensor.expand_shape %a [[0, 1], [2]] output_shape [2, 2, 8]
    : tensor<4x8xf32> into tensor<2x2x8xf32>
  %element = tensor.extract %a[%i, %i] : tensor<4x8xf32>
  %slice = tensor.extract_slice %a[%i, 0] [2, 3] [1, 1] : tensor<4x8xf32> to tensor<2x3xf32>
  %elements = tensor.from_elements %x, %x : tensor<2xf32>
  %gathered = tensor.gather %a[%at] gather_dims([0])
    : (tensor<4x8xf32>, tensor<2x1xindex>) -> tensor<2x1x8xf32>
  %generated = tensor.generate %i {
  ^bb0(%k: index, %l: index):
    tensor.yield %x : f32
  } : tensor<?x8xf32>
  %inserted = tensor.insert %x into %a[%i, %i] : tensor<4x8xf32>
  %into = tensor.insert_slice %s into %d[%i, 1] [2, 3] [1, 2] : tensor<2x3xf32> into tensor<?x8xf32>
  %whole = tensor.insert_slice %a into %a[0, 0] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<4x8xf32>
  %padded = tensor.pad %a low[1, %i] high[0, 0] {
  ^bb0(%k: index, %l: index):
    tensor.yield %x : f32
  } : tensor<4x8xf32> to tensor<5x?xf32>
  %rank = tensor.rank %a : tensor<4x8xf32>
  %reshaped = tensor.reshape %a(%shape) : (tensor<4x8xf32>, tensor<2xindex>) -> tensor<?x?xf32>
  %three = tensor.expand_shape %rows [[0, 1], [2]] output_shape [2, 1, 8]
    : tensor<2x8xf32> into tensor<2x1x8xf32>
  %scattered = tensor.scatter %three into %a[%at] scatter_dims([0]) unique
    : (tensor<2x1x8xf32>, tensor<4x8xf32>, tensor<2x1xindex>) -> tensor<4x8xf32>
  %splat = tensor.splat %x : tensor<4x8xf32>
  return
}
func.func @loops(%a: tensor<4x8xf32>, %d: tensor<?x8xf32>, %i: index, %x: f32, %p: i1) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %executed = scf.execute_region -> f32 { scf.yield %x : f32 }
  %for:2 = scf.for %k = %c0 to %i step %c4 iter_args(%o = %a, %q = %d)
      -> (tensor<4x8xf32>, tensor<?x8xf32>) {
    %n = tensor.insert %x into %o[%k, %k] : tensor<4x8xf32>
    scf.yield %n, %q : tensor<4x8xf32>, tensor<?x8xf32>
  }
  %runs = scf.for %k = %c0 to %c4 step %c4 iter_args(%o = %a) -> (tensor<4x8xf32>) {
    %n = tensor.splat %x : tensor<4x8xf32>
    scf.yield %n : tensor<4x8xf32>
  }
  scf.for %k = %c0 to %i step %c4 {
  }
  %forall:2 = scf.forall (%k, %l) in (%i, 4) shared_outs(%o = %a, %q = %d)
      -> (tensor<4x8xf32>, tensor<?x8xf32>) {
    %s = tensor.extract_slice %o[%k, %l] [1, 2] [1, 1] : tensor<4x8xf32> to tensor<1x2xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %o[%k, %l] [1, 2] [1, 1]
        : tensor<1x2xf32> into tensor<4x8xf32>
      tensor.parallel_insert_slice %s into %q[%k, %l] [1, 2] [1, 1]
        : tensor<1x2xf32> into tensor<?x8xf32>
    }
  }
  %if = scf.if %p -> (f32) { scf.yield %x : f32 } else { scf.yield %x : f32 }
  %switch = scf.index_switch %i -> f32
  case 0 { scf.yield %x : f32 }
  default { scf.yield %x : f32 }
  %parallel = scf.parallel (%k) = (%c0) to (%i) step (%c4) init (%x) -> f32 {
    scf.reduce(%x : f32) {
    ^bb0(%l: f32, %r: f32):
      %sum = arith.addf %l, %r : f32
      scf.reduce.return %sum : f32
    }
  }
  %while = scf.while (%o = %a) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
    scf.condition(%p) %o : tensor<4x8xf32>
  } do {
  ^bb0(%o: tensor<4x8xf32>):
    scf.yield %o : tensor<4x8xf32>
  }
  return
}
func.func @others(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %v: vector<8xf32>, %i: index,
    %m: memref<4x8xf32>, %t: tensor<4xf32>) {
  %r = bufferization.materialize_in_destination %a in %b
    : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %w = vector.transfer_write %v, %a[%i, %i] : vector<8xf32>, tensor<4x8xf32>
  vector.transfer_write %v, %m[%i, %i] : vector<8xf32>, memref<4x8xf32>
  %e = linalg_ext.elementwise ins(%t, %a : tensor<4xf32>, tensor<4x8xf32>)
    outs(%b : tensor<4x8xf32>) kind = #linalg.elementwise_kind<sub> broadcast_a = [1]
    -> tensor<4x8xf32>
  %c = linalg_ext.contract ins(%a, %b, %a : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>)
    outs(%t : tensor<4xf32>) indexing_maps = [affine_map<(i, j) -> (i, j)>,
    affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]
    kind = "max+" -> tensor<4xf32>
  return
}
"""

LINALG = """
#rows = affine_map<(i, j) -> (i, j)>
#sums = affine_map<(i, j) -> (i)>
#spread = affine_map<(i, j) -> (i * 2 + j)>
func.func @linalg(%a: tensor<4x8xf32>, %t: tensor<8x4xf32>, %r: tensor<4xf32>, %x: f32,
    %d: tensor<?x?xf32>, %dr: tensor<?xf32>, %w: tensor<8xf32>, %k: tensor<2xf32>) {
  %map = linalg.map { arith.addf } ins(%a, %a : tensor<4x8xf32>, tensor<4x8xf32>)
    outs(%a : tensor<4x8xf32>)
  %reduce = linalg.reduce { arith.addf } ins(%a : tensor<4x8xf32>) outs(%r : tensor<4xf32>)
    dimensions = [1]
  %transpose = linalg.transpose ins(%a : tensor<4x8xf32>) outs(%t : tensor<8x4xf32>)
    permutation = [1, 0]
  %broadcast = linalg.broadcast ins(%r : tensor<4xf32>) outs(%a : tensor<4x8xf32>) dimensions = [1]
  %elementwise = linalg.elementwise kind=#linalg.elementwise_kind<add>
    ins(%a, %a : tensor<4x8xf32>, tensor<4x8xf32>) outs(%a : tensor<4x8xf32>) -> tensor<4x8xf32>
  %contract = linalg.contract indexing_maps = [affine_map<(i, j, k) -> (i, k)>,
    affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
    ins(%d, %t : tensor<?x?xf32>, tensor<8x4xf32>) outs(%d : tensor<?x?xf32>) -> tensor<?x?xf32>
  %index:2 = linalg.generic {indexing_maps = [#sums, #rows, #sums, #rows],
      iterator_types = ["parallel", "reduction"]}
      ins(%r, %a : tensor<4xf32>, tensor<4x8xf32>) outs(%r, %a : tensor<4xf32>, tensor<4x8xf32>) {
  ^bb0(%u: f32, %v: f32, %o: f32, %p: f32):
    %j = linalg.index 1 : index
    %n = arith.index_cast %j : index to i32
    %f = arith.sitofp %n : i32 to f32
    %s = arith.subf %f, %o : f32
    linalg.yield %s, %v : f32, f32
  } -> (tensor<4xf32>, tensor<4x8xf32>)
  %dynamic = linalg.generic {indexing_maps = [#rows, #sums], library_call = "row_sums",
      iterator_types = ["parallel", "reduction"]}
      ins(%d : tensor<?x?xf32>) outs(%dr : tensor<?xf32>) {
  ^bb0(%u: f32, %o: f32):
    %s = arith.addf %u, %o : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  %window = linalg.generic {indexing_maps = [#spread, affine_map<(i, j) -> (j)>, #sums],
      iterator_types = ["parallel", "reduction"]}
      ins(%w, %k : tensor<8xf32>, tensor<2xf32>) outs(%r : tensor<4xf32>) {
  ^bb0(%u: f32, %v: f32, %o: f32):
    %m = arith.mulf %u, %v : f32
    %s = arith.addf %m, %o : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %softmax = linalg.softmax dimension(1) ins(%a : tensor<4x8xf32>) outs(%a : tensor<4x8xf32>)
    -> tensor<4x8xf32>
  return
}
func.func @packed(%a: tensor<4x8xf32>, %p: tensor<2x2x2x4xf32>, %f: tensor<2x3x3x5xf32>,
    %wf: tensor<6x6x5x2xf32>, %x: tensor<2x10x10x5xf32>, %wx: tensor<6x6x2x2x2x5xf32>,
    %wy: tensor<6x6x2x2x2x2xf32>, %y: tensor<2x8x8x2xf32>) {
  %pack = linalg.pack %a inner_dims_pos = [0, 1] inner_tiles = [2, 4] into %p
    : tensor<4x8xf32> -> tensor<2x2x2x4xf32>
  %unpack = linalg.unpack %p inner_dims_pos = [0, 1] inner_tiles = [2, 4] into %a
    : tensor<2x2x2x4xf32> -> tensor<4x8xf32>
  %1 = linalg.winograd_filter_transform fmr(F_4_3) ins(%f : tensor<2x3x3x5xf32>)
    outs(%wf : tensor<6x6x5x2xf32>) -> tensor<6x6x5x2xf32>
  %2 = linalg.winograd_input_transform fmr(F_4_3) ins(%x : tensor<2x10x10x5xf32>)
    outs(%wx : tensor<6x6x2x2x2x5xf32>) -> tensor<6x6x2x2x2x5xf32>
  %3 = linalg.winograd_output_transform fmr(F_4_3) ins(%wy : tensor<6x6x2x2x2x2xf32>)
    outs(%y : tensor<2x8x8x2xf32>) -> tensor<2x8x8x2xf32>
  return
}
func.func @buffers(%a: memref<4x8xf32>, %t: memref<8x4xf32>, %r: memref<4xf32>, %x: f32,
    %s: memref<4x8xf32, strided<[?, ?], offset: ?>>, %p: memref<2x2x2x4xf32>) {
  linalg.transpose ins(%a : memref<4x8xf32>) outs(%t : memref<8x4xf32>) permutation = [1, 0]
  linalg.reduce { arith.addf } ins(%a : memref<4x8xf32>) outs(%r : memref<4xf32>) dimensions = [1]
  linalg.generic {indexing_maps = [#rows, #sums], iterator_types = ["parallel", "parallel"]}
      ins(%s : memref<4x8xf32, strided<[?, ?], offset: ?>>) outs(%r : memref<4xf32>) {
  ^bb0(%u: f32, %o: f32):
    %i = linalg.index 0 : index
    %old = memref.atomic_rmw addf %u, %t[%i, %i] : (f32, memref<8x4xf32>) -> f32
    linalg.yield %u : f32
  }
  linalg.pack %a inner_dims_pos = [0, 1] inner_tiles = [2, 4] into %p
    : memref<4x8xf32> -> memref<2x2x2x4xf32>
  linalg.softmax dimension(1) ins(%a : memref<4x8xf32>) outs(%a : memref<4x8xf32>)
  return
}
"""

ALIKE = ("linalg", "tensor", "scf")
"""The dialects all of whose ops are here."""


def names_in_the_bindings() -> set[str]:
    """The ops of those dialects, by the classes that the bindings have."""
    return {
        str(getattr(op_class, "OPERATION_NAME", ""))
        for dialect in (linalg, tensor, scf)
        for op_class in vars(dialect).values()
        if isinstance(op_class, type)
        and issubclass(op_class, ir.OpView)
        and getattr(op_class, "OPERATION_NAME", "").partition(".")[0] in ALIKE
    }


@functools.cache
def named_ops(*, memref: bool) -> tuple[ir.Module, Mapping[str, ir.Operation]]:
    """Every named op that the library declares, each in a function of one module by its name."""
    found: dict[str, ir.Operation] = {}
    with new_context(), ir.Location.unknown():
        module = ir.Module.create()
        for name, types in product(upstream_ops(), ("f32", "i32")):
            if name not in found and (op := _built(module, name, types, memref=memref)):
                found[name] = op
    assert module.operation.verify()
    return module, found


def case_of(op: ir.Operation, name: str) -> Problem:
    """The arrays that one of those ops stands for."""
    is_float = "f32" in str(op.operands[len(op.operands) - 1].type)
    return named_problem(name, "f32" if is_float else "i32")


def _built(module: ir.Module, name: str, types: str, *, memref: bool) -> ir.Operation | None:
    """An op in a function that takes its operands; None where it is not for these types."""
    case = named_problem(name, types)
    with ir.InsertionPoint(module.body):
        kernel = func.FuncOp(name, (types_of(case, memref=memref), []))
    with ir.InsertionPoint(kernel.add_entry_block()):
        values, count = list(kernel.arguments), len(case.definition.inputs)
        try:
            case.op(*values[:count], outs=values[count:], **case.attributes)
        except LinalgExtError:
            kernel.operation.erase()
            return None
        func.ReturnOp([])
    for op in kernel.entry_block.operations:
        operation: ir.Operation = op.operation
        if operation.name == f"linalg.{name}":
            return operation
    kernel.operation.erase()
    return None


@functools.cache
def written_ops() -> Module:
    """The ops that the library does not declare, and all of tensor and scf."""
    return lx.parse(TENSOR_AND_SCF + LINALG)


def every_op(*, buffers: bool = True) -> Iterator[ir.Operation]:
    """Every op of these modules, those inside regions too, and each terminator.

    Args:
        buffers: whether the named ops come on buffers, too.
    """
    yield from ops_in(written_ops().ir)
    for memref in (False, True) if buffers else (False,):
        yield from ops_in(named_ops(memref=memref)[0])


def ops_in(module: ir.Module | ir.Operation) -> list[ir.Operation]:
    """The ops of the functions of a module, or those in an op and itself."""
    found: list[ir.Operation] = []

    def keep(op: ir.Operation) -> ir.WalkResult:
        found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(keep)
    return [op for op in found if op.name not in ("builtin.module", "func.func")]


@contextmanager
def scratch(op: ir.Operation) -> Iterator[None]:
    """Build before an op, for a while: what was built is gone afterwards."""
    block = op.block
    before = [each.operation for each in block.operations]
    with ir.InsertionPoint(op), op.location:
        yield
    for each in reversed([each.operation for each in block.operations]):
        if each not in before:
            each.erase()
