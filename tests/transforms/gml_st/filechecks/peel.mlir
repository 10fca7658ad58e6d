// Adapted in part from tests of the gml_st dialect in MLIR-HLO: Copyright The TensorFlow Authors,
// Apache License, Version 2.0. See NOTICE.

// RUN: linalg-ext-tile-into-subset-loops{tile-sizes=8,0},linalg-ext-peel-subset-loops
// RUN-ONCE: linalg-ext-tile-into-subset-loops{tile-sizes=8,0},linalg-ext-peel-subset-loops,linalg-ext-canonicalize-subset-loops

// CHECK-LABEL: func.func @remainder(
// CHECK:         %[[FIRST:.*]] = gml_st.parallel (%[[I:.*]]) = (%c0) to (%c16) step (%c8)
// CHECK:           gml_st.tile %{{.*}} [%[[I]], 0] [8, 6] [1, 1]
// CHECK:         gml_st.parallel (%{{.*}}) = (%c16) to (%c20) step (%c8)
// CHECK:           gml_st.tile %{{.*}} [16, 0] [4, 6] [1, 1]
// CHECK:           gml_st.set_yield %{{.*}} into %[[FIRST]][

// What is left over runs once: its loop goes.
// CHECK-ONCE-LABEL: func.func @remainder(
// CHECK-ONCE:         %[[FIRST:.*]] = gml_st.parallel (%{{.*}}) = (%c0) to (%c16) step (%c8)
// CHECK-ONCE-NOT:     gml_st.parallel
// CHECK-ONCE:         %[[LAST:.*]] = linalg.abs ins(%{{.*}} : tensor<4x6xf32>)
// CHECK-ONCE:         tensor.insert_slice %[[LAST]] into %[[FIRST]][16, 0] [4, 6] [1, 1]
func.func @remainder(%x: tensor<20x6xf32>, %o: tensor<20x6xf32>) -> tensor<20x6xf32> {
  %r = linalg.abs ins(%x : tensor<20x6xf32>) outs(%o : tensor<20x6xf32>) -> tensor<20x6xf32>
  return %r : tensor<20x6xf32>
}

// CHECK-LABEL: func.func @divides_evenly(
// CHECK-COUNT-1: gml_st.parallel
// CHECK-NOT:     gml_st.parallel
// CHECK:         return
func.func @divides_evenly(%x: tensor<16x6xf32>, %o: tensor<16x6xf32>) -> tensor<16x6xf32> {
  %r = linalg.abs ins(%x : tensor<16x6xf32>) outs(%o : tensor<16x6xf32>) -> tensor<16x6xf32>
  return %r : tensor<16x6xf32>
}
