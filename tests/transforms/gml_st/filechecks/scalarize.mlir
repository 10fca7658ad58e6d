// Adapted in part from tests of the gml_st dialect in MLIR-HLO: Copyright The TensorFlow Authors,
// Apache License, Version 2.0. See NOTICE.

// RUN: linalg-ext-scalarize,canonicalize,cse

// CHECK-LABEL: func.func @zero_rank(
// CHECK-SAME:    %[[X:.*]]: tensor<f32>, %[[Y:.*]]: tensor<f32>)
// CHECK-DAG:     %[[A:.*]] = tensor.extract %[[X]][]
// CHECK-DAG:     %[[B:.*]] = tensor.extract %[[Y]][]
// CHECK:         %[[S:.*]] = arith.addf %[[A]], %[[B]]
// CHECK-NEXT:    %[[T:.*]] = tensor.from_elements %[[S]] : tensor<f32>
// CHECK-NEXT:    return %[[T]]
func.func @zero_rank(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %0 = tensor.empty() : tensor<f32>
  %1 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>,
      affine_map<() -> ()>], iterator_types = []}
      ins(%x, %y: tensor<f32>, tensor<f32>) outs(%0: tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %2 = arith.addf %a, %b: f32
    linalg.yield %2: f32
  } -> tensor<f32>
  return %1: tensor<f32>
}

// CHECK-LABEL: func.func @index(
// CHECK-NOT:     linalg
// CHECK:         return
func.func @index(%x: tensor<1xf64>) -> tensor<1xf64> {
  %0 = tensor.empty() : tensor<1xf64>
  %1 = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>], iterator_types = ["parallel"]}
      outs(%0 : tensor<1xf64>) {
  ^bb0(%c: f64):
    %2 = linalg.index 0 : index
    %3 = tensor.extract %x[%2] : tensor<1xf64>
    linalg.yield %3 : f64
  } -> tensor<1xf64>
  return %1 : tensor<1xf64>
}

// CHECK-LABEL: func.func @nonzero_rank(
// CHECK-DAG:     tensor.extract %{{.*}}[%c0] : tensor<1xf32>
// CHECK-DAG:     tensor.extract %{{.*}}[%c0, %c0] : tensor<1x1xf32>
// CHECK:         tensor.from_elements %{{.*}} : tensor<1x1x1xf32>
func.func @nonzero_rank(%x: tensor<1xf32>, %y: tensor<1x1xf32>) -> tensor<1x1x1xf32> {
  %0 = tensor.empty() : tensor<1x1x1xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a)>,
      affine_map<(a, b, c) -> (a, b)>, affine_map<(a, b, c) -> (a, b, c)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %y: tensor<1xf32>, tensor<1x1xf32>) outs(%0: tensor<1x1x1xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %2 = arith.addf %a, %b: f32
    linalg.yield %2: f32
  } -> tensor<1x1x1xf32>
  return %1: tensor<1x1x1xf32>
}

// Between ops there are scalars.
// CHECK-LABEL: func.func @op_sequence(
// CHECK:         %[[A:.*]] = arith.addf
// CHECK-NEXT:    %[[B:.*]] = arith.mulf %{{.*}}, %[[A]]
// CHECK-NEXT:    %[[C:.*]] = arith.subf %[[A]], %[[B]]
// CHECK-NEXT:    tensor.from_elements %[[C]]
func.func @op_sequence(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %0 = tensor.empty() : tensor<f32>
  %1 = linalg.map {arith.addf} ins(%x, %y : tensor<f32>, tensor<f32>) outs(%0 : tensor<f32>)
  %2 = linalg.map {arith.mulf} ins(%x, %1 : tensor<f32>, tensor<f32>) outs(%0 : tensor<f32>)
  %3 = linalg.map {arith.subf} ins(%1, %2 : tensor<f32>, tensor<f32>) outs(%0 : tensor<f32>)
  return %3: tensor<f32>
}

// CHECK-LABEL: func.func @outside_yield(
// CHECK:         arith.constant dense<true> : tensor<1x1xi1>
func.func @outside_yield() -> tensor<1x1xi1> {
  %true = arith.constant true
  %0 = tensor.empty() : tensor<1x1xi1>
  %1 = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>],
      iterator_types = ["parallel", "parallel"]} outs(%0 : tensor<1x1xi1>) {
  ^bb0(%a: i1):
    linalg.yield %true : i1
  } -> tensor<1x1xi1>
  return %1: tensor<1x1xi1>
}

// CHECK-LABEL: func.func @reduce(
// CHECK:         %[[S:.*]] = arith.addf
// CHECK-NEXT:    tensor.from_elements %[[S]] : tensor<1x1xf32>
func.func @reduce(%x: tensor<1x1x1xf32>, %o: tensor<1x1xf32>) -> tensor<1x1xf32> {
  %r = linalg.reduce {arith.addf} ins(%x : tensor<1x1x1xf32>) outs(%o : tensor<1x1xf32>)
      dimensions = [1]
  return %r : tensor<1x1xf32>
}

// CHECK-LABEL: func.func @transpose(
// CHECK-NOT:     linalg
// CHECK:         return
func.func @transpose(%x: tensor<1x1xf32>, %o: tensor<1x1xf32>) -> tensor<1x1xf32> {
  %r = linalg.transpose ins(%x : tensor<1x1xf32>) outs(%o : tensor<1x1xf32>) permutation = [1, 0]
  return %r : tensor<1x1xf32>
}

// CHECK-LABEL: func.func @matmul(
// CHECK:         %[[P:.*]] = arith.mulf
// CHECK-NEXT:    arith.addf %{{.*}}, %[[P]]
func.func @matmul(%x: tensor<1x1xf32>, %y: tensor<1x1xf32>, %o: tensor<1x1xf32>)
    -> tensor<1x1xf32> {
  %r = linalg.matmul ins(%x, %y : tensor<1x1xf32>, tensor<1x1xf32>) outs(%o : tensor<1x1xf32>)
      -> tensor<1x1xf32>
  return %r : tensor<1x1xf32>
}

// CHECK-LABEL: func.func @fold_from_elements_into_insert_slice(
// CHECK-SAME:    %[[V:.*]]: f32, %[[O:.*]]: tensor<8x2xf32>
// CHECK:         tensor.insert %[[V]] into %[[O]][%{{.*}}, %{{.*}}] : tensor<8x2xf32>
func.func @fold_from_elements_into_insert_slice(%v: f32, %o: tensor<8x2xf32>, %i: index)
    -> tensor<8x2xf32> {
  %t = tensor.from_elements %v : tensor<1x1xf32>
  %r = tensor.insert_slice %t into %o[%i, 1] [1, 1] [1, 1]
      : tensor<1x1xf32> into tensor<8x2xf32>
  return %r: tensor<8x2xf32>
}

// CHECK-LABEL: func.func @ite(
// CHECK:         %[[R:.*]] = {{scf.if|arith.select}}
// CHECK:         tensor.from_elements %[[R]] : tensor<1x1xf32>
func.func @ite(%p: i1, %x: tensor<1x1xf32>, %y: tensor<1x1xf32>) -> tensor<1x1xf32> {
  %0 = scf.if %p -> (tensor<1x1xf32>) {
    scf.yield %y : tensor<1x1xf32>
  } else {
    scf.yield %x : tensor<1x1xf32>
  }
  return %0 : tensor<1x1xf32>
}

// CHECK-LABEL: func.func @scalarize_for_op(
// CHECK-SAME:    %[[I:.*]]: f32, %{{.*}}: tensor<10xf32>)
// CHECK:         %[[R:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[I]]) -> (f32)
// CHECK:         return %[[R]] : f32
func.func @scalarize_for_op(%v: f32, %x: tensor<10xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %t = tensor.from_elements %v : tensor<1x1xf32>
  %sum = scf.for %i = %c0 to %c10 step %c1 iter_args(%acc = %t) -> (tensor<1x1xf32>) {
    %a = tensor.extract %x[%i] : tensor<10xf32>
    %b = tensor.extract %acc[%c0, %c0] : tensor<1x1xf32>
    %s = arith.addf %a, %b : f32
    %u = tensor.from_elements %s : tensor<1x1xf32>
    scf.yield %u : tensor<1x1xf32>
  }
  %r = tensor.extract %sum[%c0, %c0] : tensor<1x1xf32>
  return %r : f32
}

// More than one element is left.
// CHECK-LABEL: func.func @left(
// CHECK:         linalg.map
func.func @left(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %0 = tensor.empty() : tensor<1x2xf32>
  %1 = linalg.map {arith.negf} ins(%x : tensor<1x2xf32>) outs(%0 : tensor<1x2xf32>)
  return %1 : tensor<1x2xf32>
}
