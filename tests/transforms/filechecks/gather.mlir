// RUN: linalg-ext-lower-gather

// CHECK-LABEL: func.func @rows(
// CHECK-NOT:   cf.assert
// CHECK:       linalg.generic
// CHECK:       %[[AT:.*]] = arith.index_cast %{{.*}} : i64 to index
// CHECK:       %[[LAST:.*]] = arith.constant 4 : index
// CHECK:       arith.minsi %[[AT]], %[[LAST]]
// CHECK:       %[[PLACE:.*]] = arith.maxsi
// CHECK:       %[[N:.*]] = linalg.index 1
// CHECK:       tensor.extract %{{.*}}[%[[PLACE]], %[[N]]] : tensor<5x7xf32>
func.func @rows(%x: tensor<5x7xf32>, %i: tensor<3x1xi64>, %o: tensor<3x7xf32>) -> tensor<3x7xf32> {
  %0 = "linalg_ext.gather"(%x, %i, %o) : (tensor<5x7xf32>, tensor<3x1xi64>, tensor<3x7xf32>) -> tensor<3x7xf32>
  return %0 : tensor<3x7xf32>
}

// CHECK-LABEL: func.func @windows(
// CHECK:       %[[SIZE:.*]] = tensor.dim %{{.*}} : tensor<?x7xf32>
// CHECK:       %[[LAST:.*]] = arith.subi %[[SIZE]]
// CHECK:       arith.cmpi sge, %[[SIZE]]
// CHECK:       cf.assert {{.*}}a window is larger than the operand
// CHECK:       linalg.generic
// CHECK:       arith.minsi %{{.*}}, %[[LAST]]
// CHECK:       %[[LAST1:.*]] = arith.constant 3 : index
// CHECK:       arith.minsi %{{.*}}, %[[LAST1]]
// CHECK:       tensor.extract %{{.*}} : tensor<?x7xf32>
func.func @windows(%x: tensor<?x7xf32>, %i: tensor<3x2xi64>, %o: tensor<3x2x4xf32>) -> tensor<3x2x4xf32> {
  %0 = "linalg_ext.gather"(%x, %i, %o) : (tensor<?x7xf32>, tensor<3x2xi64>, tensor<3x2x4xf32>) -> tensor<3x2x4xf32>
  return %0 : tensor<3x2x4xf32>
}

// CHECK-LABEL: func.func @nothing(
// CHECK:       linalg.generic
// CHECK:       } -> tensor<0x7xf32>
func.func @nothing(%x: tensor<5x7xf32>, %i: tensor<0x1xi64>, %o: tensor<0x7xf32>) -> tensor<0x7xf32> {
  %0 = "linalg_ext.gather"(%x, %i, %o) : (tensor<5x7xf32>, tensor<0x1xi64>, tensor<0x7xf32>) -> tensor<0x7xf32>
  return %0 : tensor<0x7xf32>
}
