// RUN: linalg-ext-lower-reverse

// CHECK:       #[[MAP:.*]] = affine_map<(d0, d1) -> (d0, -d1 + 4)>
// CHECK-LABEL: func.func @static(
// CHECK-NOT:   cf.assert
// CHECK:       linalg.generic {indexing_maps = [#[[MAP]], #{{.*}}]
// CHECK-NOT:   tensor.extract
// CHECK:       return
func.func @static(%x: tensor<4x5xf32>, %o: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %0 = "linalg_ext.reverse"(%x, %o) {dimensions = array<i64: 1>} : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

// CHECK-LABEL: func.func @dynamic(
// CHECK:       %[[SIZE:.*]] = tensor.dim
// CHECK:       cf.assert {{.*}}of other shapes
// CHECK:       %[[AT:.*]] = linalg.index 0
// CHECK:       %[[LAST:.*]] = arith.subi %[[SIZE]]
// CHECK:       %[[MIRROR:.*]] = arith.subi %[[LAST]], %[[AT]]
// CHECK:       tensor.extract %{{.*}}[%[[MIRROR]], %{{.*}}]
func.func @dynamic(%x: tensor<?x5xf32>, %o: tensor<?x5xf32>) -> tensor<?x5xf32> {
  %0 = "linalg_ext.reverse"(%x, %o) {dimensions = array<i64: 0>} : (tensor<?x5xf32>, tensor<?x5xf32>) -> tensor<?x5xf32>
  return %0 : tensor<?x5xf32>
}

// CHECK-LABEL: func.func @open_but_not_reversed(
// CHECK:       cf.assert
// CHECK:       linalg.generic {indexing_maps = [#[[MAP]], #{{.*}}]
// CHECK-NOT:   tensor.extract
// CHECK:       return
func.func @open_but_not_reversed(%x: tensor<?x5xf32>, %o: tensor<?x5xf32>) -> tensor<?x5xf32> {
  %0 = "linalg_ext.reverse"(%x, %o) {dimensions = array<i64: 1>} : (tensor<?x5xf32>, tensor<?x5xf32>) -> tensor<?x5xf32>
  return %0 : tensor<?x5xf32>
}
