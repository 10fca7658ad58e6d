// Adapted in part from tests of the gml_st dialect in MLIR-HLO: Copyright The TensorFlow Authors,
// Apache License, Version 2.0. See NOTICE.

// RUN-0: linalg-ext-collapse-shapes
// RUN-1: linalg-ext-collapse-shapes{retain-trailing-dims=1}
// RUN-2: linalg-ext-collapse-shapes{retain-trailing-dims=2}
// RUN-3: linalg-ext-collapse-shapes{retain-trailing-dims=3}

// CHECK-0-LABEL: func.func @bcast(
// CHECK-0-NOT:     collapse_shape
// CHECK-0:         return

// CHECK-1-LABEL: func.func @bcast(
// CHECK-1-SAME:    %[[X:.*]]: tensor<2x4x6xf32>)
// CHECK-1:         %[[C:.*]] = tensor.collapse_shape %[[X]] {{\[}}[0, 1, 2]] : tensor<2x4x6xf32> into tensor<48xf32>
// CHECK-1:         %[[B:.*]] = linalg.broadcast ins(%[[C]] : tensor<48xf32>) outs(%{{.*}} : tensor<48x5xf32>) dimensions = [1]
// CHECK-1:         %[[E:.*]] = tensor.expand_shape %[[B]] {{\[}}[0, 1, 2], [3]]
// CHECK-1:         return %[[E]]

// CHECK-2-LABEL: func.func @bcast(
// CHECK-2:         tensor.collapse_shape %{{.*}} {{\[}}[0, 1], [2]] : tensor<2x4x6xf32> into tensor<8x6xf32>
// CHECK-2:         linalg.broadcast ins(%{{.*}} : tensor<8x6xf32>) outs(%{{.*}} : tensor<8x6x5xf32>) dimensions = [2]
// CHECK-2:         tensor.expand_shape %{{.*}} {{\[}}[0, 1], [2], [3]]

// CHECK-3-LABEL: func.func @bcast(
// CHECK-3-NOT:     collapse_shape
// CHECK-3:         return
func.func @bcast(%x: tensor<2x4x6xf32>) -> tensor<2x4x6x5xf32> {
  %0 = tensor.empty() : tensor<2x4x6x5xf32>
  %1 = linalg.broadcast ins(%x : tensor<2x4x6xf32>) outs(%0 : tensor<2x4x6x5xf32>) dimensions = [3]
  return %1 : tensor<2x4x6x5xf32>
}

// CHECK-0-LABEL: func.func @bcast_from_scalar(
// CHECK-0:         linalg.broadcast ins(%{{.*}} : tensor<f32>) outs(%{{.*}} : tensor<240xf32>) dimensions = [0]
// CHECK-0:         tensor.expand_shape %{{.*}} {{\[}}[0, 1, 2, 3]]

// CHECK-1-LABEL: func.func @bcast_from_scalar(
// CHECK-1:         linalg.broadcast ins(%{{.*}} : tensor<f32>) outs(%{{.*}} : tensor<48x5xf32>) dimensions = [0, 1]

// CHECK-2-LABEL: func.func @bcast_from_scalar(
// CHECK-2:         linalg.broadcast ins(%{{.*}} : tensor<f32>) outs(%{{.*}} : tensor<8x6x5xf32>) dimensions = [0, 1, 2]

// CHECK-3-LABEL: func.func @bcast_from_scalar(
// CHECK-3-NOT:     expand_shape
// CHECK-3:         return
func.func @bcast_from_scalar() -> tensor<2x4x6x5xf32> {
  %0 = tensor.empty() : tensor<2x4x6x5xf32>
  %cst = arith.constant 0xFF800000 : f32
  %1 = tensor.empty() : tensor<f32>
  %2 = linalg.fill ins(%cst : f32) outs(%1 : tensor<f32>) -> tensor<f32>
  %3 = linalg.broadcast ins(%2 : tensor<f32>) outs(%0 : tensor<2x4x6x5xf32>)
      dimensions = [0, 1, 2, 3]
  return %3 : tensor<2x4x6x5xf32>
}

// CHECK-0-LABEL: func.func @reduction(
// CHECK-0:         linalg.reduce { arith.maximumf } ins(%{{.*}} : tensor<2x4x6x5xf32>)

// CHECK-1-LABEL: func.func @reduction(
// CHECK-1:         %[[C:.*]] = tensor.collapse_shape %{{.*}} {{\[}}[0, 1, 2], [3]]
// CHECK-1:         %[[F:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<48xf32>)
// CHECK-1:         %[[R:.*]] = linalg.reduce { arith.maximumf } ins(%[[C]] : tensor<48x5xf32>) outs(%[[F]] : tensor<48xf32>) dimensions = [1]
// CHECK-1:         tensor.expand_shape %[[R]] {{\[}}[0, 1, 2]]

// CHECK-2-LABEL: func.func @reduction(
// CHECK-2:         linalg.reduce { arith.maximumf } ins(%{{.*}} : tensor<8x6x5xf32>) outs(%{{.*}} : tensor<8x6xf32>) dimensions = [2]

// CHECK-3-LABEL: func.func @reduction(
// CHECK-3-NOT:     collapse_shape
// CHECK-3:         return
func.func @reduction(%x: tensor<2x4x6x5xf32>) -> tensor<2x4x6xf32> {
  %cst = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<2x4x6xf32>
  %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %2 = linalg.reduce { arith.maximumf } ins(%x : tensor<2x4x6x5xf32>)
      outs(%1 : tensor<2x4x6xf32>) dimensions = [3]
  return %2 : tensor<2x4x6xf32>
}

// CHECK-0-LABEL: func.func @cwise(
// CHECK-0:         linalg.map { arith.subf } ins(%{{.*}}, %{{.*}} : tensor<240xf32>, tensor<240xf32>) outs(%{{.*}} : tensor<240xf32>)

// CHECK-1-LABEL: func.func @cwise(
// CHECK-1:         linalg.map { arith.subf } ins(%{{.*}}, %{{.*}} : tensor<48x5xf32>, tensor<48x5xf32>)

// CHECK-2-LABEL: func.func @cwise(
// CHECK-2:         linalg.map { arith.subf } ins(%{{.*}}, %{{.*}} : tensor<8x6x5xf32>, tensor<8x6x5xf32>)

// CHECK-3-LABEL: func.func @cwise(
// CHECK-3-NOT:     collapse_shape
// CHECK-3:         return
func.func @cwise(%x: tensor<2x4x6x5xf32>, %y: tensor<2x4x6x5xf32>) -> tensor<2x4x6x5xf32> {
  %0 = tensor.empty() : tensor<2x4x6x5xf32>
  %1 = linalg.map { arith.subf } ins(%x, %y : tensor<2x4x6x5xf32>, tensor<2x4x6x5xf32>)
      outs(%0 : tensor<2x4x6x5xf32>)
  return %1 : tensor<2x4x6x5xf32>
}

// CHECK-1-LABEL: func.func @partial_softmax(
// CHECK-1-SAME:    %[[X:.*]]: tensor<2x4x6x5xf32>)
// CHECK-1:         %[[R:.*]] = linalg.reduce { arith.maximumf } ins(%{{.*}} : tensor<48x5xf32>)
// CHECK-1-NOT:     expand_shape
// CHECK-1:         %[[B:.*]] = linalg.broadcast ins(%[[R]] : tensor<48xf32>) outs(%{{.*}} : tensor<48x5xf32>) dimensions = [1]
// CHECK-1-NOT:     expand_shape
// CHECK-1:         %[[M:.*]] = linalg.map { arith.subf } ins(%{{.*}}, %[[B]] : tensor<48x5xf32>, tensor<48x5xf32>)
// CHECK-1:         tensor.expand_shape %[[M]] {{\[}}[0, 1, 2], [3]]

// CHECK-2-LABEL: func.func @partial_softmax(
// CHECK-2:         linalg.reduce { arith.maximumf } ins(%{{.*}} : tensor<8x6x5xf32>)
// CHECK-2-NOT:     expand_shape
// CHECK-2:         linalg.map
// CHECK-2:         tensor.expand_shape

// CHECK-3-LABEL: func.func @partial_softmax(
// CHECK-3-NOT:     collapse_shape
// CHECK-3:         return
func.func @partial_softmax(%x: tensor<2x4x6x5xf32>) -> tensor<2x4x6x5xf32> {
  %cst = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<2x4x6xf32>
  %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %2 = linalg.reduce { arith.maximumf } ins(%x : tensor<2x4x6x5xf32>)
      outs(%1 : tensor<2x4x6xf32>) dimensions = [3]
  %3 = tensor.empty() : tensor<2x4x6x5xf32>
  %4 = linalg.broadcast ins(%2 : tensor<2x4x6xf32>) outs(%3 : tensor<2x4x6x5xf32>) dimensions = [3]
  %5 = linalg.map { arith.subf } ins(%x, %4 : tensor<2x4x6x5xf32>, tensor<2x4x6x5xf32>)
      outs(%3 : tensor<2x4x6x5xf32>)
  return %5 : tensor<2x4x6x5xf32>
}

// CHECK-0-LABEL: func.func @collapse_shape_of_cwise(
// CHECK-0-SAME:    %[[X:.*]]: tensor<2x4xf32>)
// CHECK-0:         %[[C:.*]] = tensor.collapse_shape %[[X]] {{\[}}[0, 1]]
// CHECK-0:         %[[M:.*]] = linalg.map { arith.negf } ins(%[[C]] : tensor<8xf32>)
// CHECK-0-NEXT:    return %[[M]]
func.func @collapse_shape_of_cwise(%x: tensor<2x4xf32>) -> tensor<8xf32> {
  %0 = tensor.empty() : tensor<2x4xf32>
  %1 = linalg.map { arith.negf } ins(%x : tensor<2x4xf32>) outs(%0 : tensor<2x4xf32>)
  %2 = tensor.collapse_shape %1 [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  return %2 : tensor<8xf32>
}

// Sizes that are not known, an operand without the leading dimensions, and one of another order.
// CHECK-1-LABEL: func.func @generic(
// CHECK-1:         linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]
// CHECK-1-SAME:    ins(%{{.*}}, %{{.*}} : tensor<?x5xf32>, tensor<5xf32>) outs(%{{.*}} : tensor<?xf32>)
func.func @generic(%x: tensor<?x3x5xf32>, %y: tensor<5xf32>, %o: tensor<?x3xf32>)
    -> tensor<?x3xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>,
      affine_map<(a, b, c) -> (c)>, affine_map<(a, b, c) -> (a, b)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %y : tensor<?x3x5xf32>, tensor<5xf32>) outs(%o : tensor<?x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %p, %c : f32
    linalg.yield %s : f32
  } -> tensor<?x3xf32>
  return %r : tensor<?x3xf32>
}

// CHECK-0-LABEL: func.func @left(
// CHECK-0-NOT:     collapse_shape
// CHECK-0:         return
func.func @left(%x: tensor<3x4xf32>, %o: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>) {
  %t = linalg.generic {indexing_maps = [affine_map<(a, b) -> (b, a)>, affine_map<(a, b) -> (a, b)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<3x4xf32>) outs(%o : tensor<4x3xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<4x3xf32>
  %0 = arith.constant dense<0.0> : tensor<3xf32>
  %r = linalg.reduce { arith.addf } ins(%x : tensor<3x4xf32>) outs(%0 : tensor<3xf32>)
      dimensions = [1]
  return %t, %r : tensor<4x3xf32>, tensor<3xf32>
}
