// RUN: linalg-ext-lower-scatter

// CHECK-LABEL: func.func @rows(
// CHECK:       scf.for
// CHECK:       %[[AT:.*]] = arith.index_cast
// CHECK:       %[[LOW:.*]] = arith.cmpi sge, %[[AT]]
// CHECK:       %[[HIGH:.*]] = arith.cmpi sle, %[[AT]]
// CHECK:       %[[INSIDE:.*]] = arith.andi %[[LOW]], %[[HIGH]]
// CHECK:       scf.if %[[INSIDE]]
// CHECK-NOT:   linalg.generic
// CHECK:       tensor.insert_slice %{{.*}} into %{{.*}}[%[[AT]], 0] [1, 7] [1, 1]
func.func @rows(%i: tensor<3x1xi64>, %u: tensor<3x7xf32>, %o: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %0 = "linalg_ext.scatter"(%i, %u, %o) ({
  }) : (tensor<3x1xi64>, tensor<3x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

// CHECK-LABEL: func.func @sums(
// CHECK:       cf.assert {{.*}}indices and updates have other numbers of rows
// CHECK:       scf.for
// CHECK:       scf.if
// CHECK:       %[[NEW:.*]] = tensor.extract_slice %{{.*}} : tensor<?x7xf32> to tensor<7xf32>
// CHECK:       %[[OLD:.*]] = tensor.extract_slice %{{.*}} : tensor<5x7xf32> to tensor<7xf32>
// CHECK:       linalg.generic {{.*}} ins(%[[NEW]] : tensor<7xf32>) outs(%[[OLD]] : tensor<7xf32>)
// CHECK:       arith.addf
// CHECK:       tensor.insert_slice
func.func @sums(%i: tensor<?x1xi64>, %u: tensor<?x7xf32>, %o: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %0 = "linalg_ext.scatter"(%i, %u, %o) ({
  ^bb0(%new: f32, %old: f32):
    %s = arith.addf %new, %old : f32
    "linalg_ext.yield"(%s) : (f32) -> ()
  }) : (tensor<?x1xi64>, tensor<?x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

// CHECK-LABEL: func.func @no_window_fits(
// CHECK-NOT:   scf.for
// CHECK:       return %{{.*}} : tensor<5x7xf32>
func.func @no_window_fits(%i: tensor<3x1xi64>, %u: tensor<3x6x7xf32>, %o: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %0 = "linalg_ext.scatter"(%i, %u, %o) ({
  }) : (tensor<3x1xi64>, tensor<3x6x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}
