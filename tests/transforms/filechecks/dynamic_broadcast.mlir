// RUN: linalg-ext-lower-dynamic-broadcast

// CHECK:       #[[MAP:.*]] = affine_map<(d0, d1) -> (0, d1)>
// CHECK-LABEL: func.func @static(
// CHECK-NOT:   cf.assert
// CHECK:       linalg.generic {indexing_maps = [#[[MAP]], #{{.*}}]{{.*}} ins(%{{.*}} : tensor<1x5xf32>)
func.func @static(%x: tensor<1x5xf32>, %o: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %0 = "linalg_ext.dynamic_broadcast_in_dim"(%x, %o) {broadcast_dimensions = array<i64: 0, 1>}
    : (tensor<1x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

// CHECK-LABEL: func.func @the_run_tells(
// CHECK:       %[[SIZE:.*]] = tensor.dim %{{.*}} : tensor<?xf32>
// CHECK:       %[[WANTED:.*]] = tensor.dim %{{.*}} : tensor<3x?xf32>
// CHECK:       %[[ONE:.*]] = arith.cmpi eq, %[[SIZE]], %{{.*}}
// CHECK:       %[[SAME:.*]] = arith.cmpi eq, %[[SIZE]], %[[WANTED]]
// CHECK:       arith.ori %[[ONE]], %[[SAME]]
// CHECK:       cf.assert
// CHECK:       linalg.generic
// CHECK:       %[[AT:.*]] = arith.select %[[ONE]]
// CHECK:       tensor.extract %{{.*}}[%[[AT]]]
func.func @the_run_tells(%x: tensor<?xf32>, %o: tensor<3x?xf32>) -> tensor<3x?xf32> {
  %0 = "linalg_ext.dynamic_broadcast_in_dim"(%x, %o) {broadcast_dimensions = array<i64: 1>}
    : (tensor<?xf32>, tensor<3x?xf32>) -> tensor<3x?xf32>
  return %0 : tensor<3x?xf32>
}

// CHECK-LABEL: func.func @known_not_to(
// CHECK-NOT:   arith.ori
// CHECK:       cf.assert
// CHECK:       linalg.generic {{.*}} ins(%{{.*}} : tensor<?xf32>)
// CHECK-NOT:   arith.select
// CHECK:       return
func.func @known_not_to(%x: tensor<?xf32>, %o: tensor<3x?xf32>) -> tensor<3x?xf32> {
  %0 = "linalg_ext.dynamic_broadcast_in_dim"(%x, %o) {broadcast_dimensions = array<i64: 1>, known_nonexpanding = array<i64: 0>}
    : (tensor<?xf32>, tensor<3x?xf32>) -> tensor<3x?xf32>
  return %0 : tensor<3x?xf32>
}

// CHECK-LABEL: func.func @scalar(
// CHECK:       linalg.generic {{.*}} ins(%{{.*}} : tensor<f32>) outs(%{{.*}} : tensor<4xf32>)
func.func @scalar(%x: tensor<f32>, %o: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "linalg_ext.dynamic_broadcast_in_dim"(%x, %o) {broadcast_dimensions = array<i64>}
    : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
