// RUN: linalg-ext-lower-concatenate

// CHECK-LABEL: func.func @static(
// CHECK-NOT:   cf.assert
// CHECK:       %[[ONE:.*]] = tensor.insert_slice %{{.*}} into %{{.*}}[0, 0] [4, 2] [1, 1]
// CHECK:       tensor.insert_slice %{{.*}} into %[[ONE]][0, 2] [4, 3] [1, 1]
func.func @static(%x: tensor<4x2xf32>, %y: tensor<4x3xf32>, %o: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %0 = "linalg_ext.concatenate"(%x, %y, %o) {
    dimension = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1>}
    : (tensor<4x2xf32>, tensor<4x3xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

// CHECK-LABEL: func.func @dynamic(
// CHECK:       %[[WANTED:.*]] = tensor.dim
// CHECK:       %[[SIZE:.*]] = tensor.dim
// CHECK:       arith.cmpi eq
// CHECK:       cf.assert {{.*}}the sizes of the inputs do not fit the destination
// CHECK:       tensor.insert_slice
func.func @dynamic(%x: tensor<?x3xf32>, %o: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %0 = "linalg_ext.concatenate"(%x, %o) {
    dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1>}
    : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}

// CHECK-LABEL: func.func @one_is_empty(
// CHECK:       tensor.insert_slice %{{.*}} into %{{.*}}[0, 0] [2, 3] [1, 1] : tensor<2x3xf32> into tensor<2x3xf32>
// CHECK-NOT:   tensor.insert_slice
// CHECK:       return
func.func @one_is_empty(%x: tensor<0x3xf32>, %y: tensor<2x3xf32>, %o: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = "linalg_ext.concatenate"(%x, %y, %o) {
    dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1>}
    : (tensor<0x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
