// Adapted in part from tests of the gml_st dialect in MLIR-HLO: Copyright The TensorFlow Authors,
// Apache License, Version 2.0. See NOTICE.

// RUN-TILED: linalg-ext-tile-into-subset-loops{tile-sizes=1,1}
// RUN: linalg-ext-tile-into-subset-loops{tile-sizes=1,1},linalg-ext-lower-subset-loops,linalg-ext-scalarize,canonicalize,cse

// CHECK-TILED-LABEL: func.func @map(
// CHECK-TILED:         gml_st.parallel (%[[I:.*]], %[[J:.*]]) =
// CHECK-TILED:           gml_st.tile %{{.*}} [%[[I]], %[[J]]] [1, 1] [1, 1]
// CHECK-TILED:           linalg.map { math.absf } ins(%{{.*}} : tensor<1x1xf32>)

// CHECK-LABEL: func.func @map(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x?xf32>
// CHECK:         scf.forall (%[[I:.*]], %[[J:.*]]) in
// CHECK:           %[[V:.*]] = tensor.extract %[[X]][%[[I]], %[[J]]]
// CHECK-NEXT:      math.absf %[[V]] : f32
// CHECK-NOT:       linalg
func.func @map(%x: tensor<?x?xf32>, %o: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %r = linalg.map {math.absf} ins(%x : tensor<?x?xf32>) outs(%o : tensor<?x?xf32>)
  return %r : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @matmul(
// CHECK:         scf.forall (%[[I:.*]], %[[J:.*]]) in (3, 4)
// CHECK:           linalg.matmul ins(%{{.*}}, %{{.*}} : tensor<1x5xf32>, tensor<5x1xf32>)
func.func @matmul(%x: tensor<3x5xf32>, %y: tensor<5x4xf32>, %o: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %r = linalg.matmul ins(%x, %y : tensor<3x5xf32>, tensor<5x4xf32>) outs(%o : tensor<3x4xf32>)
      -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}
