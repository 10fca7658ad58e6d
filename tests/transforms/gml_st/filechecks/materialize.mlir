// Adapted in part from tests of the gml_st dialect in MLIR-HLO: Copyright The TensorFlow Authors,
// Apache License, Version 2.0. See NOTICE.

// RUN-COLLAPSE: linalg-ext-collapse-materialize
// RUN-EXPAND: linalg-ext-expand-materialize
// RUN-COMPOSED: linalg-ext-collapse-materialize,linalg-ext-compose-subsets

// CHECK-COLLAPSE-LABEL: func.func @collapsed(
// CHECK-COLLAPSE:         %[[T:.*]] = gml_st.tile %{{.*}} [%{{.*}}, %{{.*}}] [4, 12] [2, %{{.*}}]
// CHECK-COLLAPSE-NEXT:    %[[U:.*]] = gml_st.tile %[[T]] [0, %{{.*}}] [4, %{{.*}}] [1, %{{.*}}]
// CHECK-COLLAPSE-NEXT:    gml_st.materialize %{{.*}}[%[[U]]]

// CHECK-EXPAND-LABEL: func.func @collapsed(
// CHECK-EXPAND-SAME:    %[[X:.*]]: tensor<?x?xf32>
// CHECK-EXPAND:         %[[T:.*]] = gml_st.tile %{{.*}} [%{{.*}}, %{{.*}}] [4, 12] [2, %{{.*}}]
// CHECK-EXPAND-NEXT:    %[[A:.*]] = gml_st.materialize %[[X]][%[[T]]]
// CHECK-EXPAND-NEXT:    %[[U:.*]] = gml_st.tile %[[A]] [0, %{{.*}}] [4, %{{.*}}] [1, %{{.*}}] : tensor<4x12xf32>
// CHECK-EXPAND-NEXT:    gml_st.materialize %[[A]][%[[U]]]
func.func @collapsed(%x: tensor<?x?xf32>, %i: index, %j: index, %k: index, %m: index,
    %n: index, %a: index, %b: index) -> tensor<4x?xf32> {
  %0 = gml_st.space [16, %m] : !gml_st.tile<16x?>
  %1 = gml_st.tile %0 [%i, %j] [4, 12] [2, %a] : !gml_st.tile<16x?> to !gml_st.tile<4x12>
  %2 = gml_st.tile %1 [0, %k] [4, %n] [1, %b] : !gml_st.tile<4x12> to !gml_st.tile<4x?>
  %3 = gml_st.materialize %x[%2] : tensor<?x?xf32>[!gml_st.tile<4x?>]
  return %3 : tensor<4x?xf32>
}

// CHECK-COLLAPSE-LABEL: func.func @uncollapsed(
// CHECK-COLLAPSE-SAME:    %[[X:.*]]: tensor<?x?xf32>
// CHECK-COLLAPSE:         %[[T:.*]] = gml_st.tile %{{.*}} [4, 12]
// CHECK-COLLAPSE-NEXT:    %[[U:.*]] = gml_st.tile %[[T]]
// CHECK-COLLAPSE-NEXT:    %[[R:.*]] = gml_st.materialize %[[X]][%[[U]]]
// CHECK-COLLAPSE-NEXT:    return %[[R]]

// CHECK-EXPAND-LABEL: func.func @uncollapsed(
// CHECK-EXPAND:         %[[A:.*]] = gml_st.materialize
// CHECK-EXPAND:         gml_st.materialize %[[A]][%{{.*}}]
func.func @uncollapsed(%x: tensor<?x?xf32>, %i: index, %j: index, %k: index, %m: index,
    %n: index, %a: index, %b: index) -> tensor<4x?xf32> {
  %0 = gml_st.space [16, %m] : !gml_st.tile<16x?>
  %1 = gml_st.tile %0 [%i, %j] [4, 12] [2, %a] : !gml_st.tile<16x?> to !gml_st.tile<4x12>
  %2 = gml_st.space [4, 12] : !gml_st.tile<4x12>
  %3 = gml_st.tile %2 [0, %k] [4, %n] [1, %b] : !gml_st.tile<4x12> to !gml_st.tile<4x?>
  %4 = gml_st.materialize %x[%1] : tensor<?x?xf32>[!gml_st.tile<4x12>]
  %5 = gml_st.materialize %4[%3] : tensor<4x12xf32>[!gml_st.tile<4x?>]
  return %5 : tensor<4x?xf32>
}

// CHECK-COLLAPSE-LABEL: func.func @deep(
// CHECK-COLLAPSE-COUNT-1: gml_st.materialize
// CHECK-COLLAPSE-NOT:     gml_st.materialize
// CHECK-COLLAPSE:         return

// CHECK-EXPAND-LABEL: func.func @deep(
// CHECK-EXPAND-SAME:    %[[X:.*]]: tensor<?x?xf32>
// CHECK-EXPAND:         %[[A:.*]] = gml_st.materialize %[[X]][%{{.*}}]
// CHECK-EXPAND:         %[[B:.*]] = gml_st.materialize %[[A]][%{{.*}}]
// CHECK-EXPAND:         %[[C:.*]] = gml_st.materialize %[[B]][%{{.*}}]
// CHECK-EXPAND:         gml_st.materialize %[[C]][%{{.*}}]

// CHECK-COMPOSED-LABEL: func.func @deep(
// CHECK-COMPOSED-COUNT-1: gml_st.tile
// CHECK-COMPOSED-NOT:     gml_st.tile
// CHECK-COMPOSED:         return
func.func @deep(%x: tensor<?x?xf32>, %i: index, %j: index, %k: index, %n: index, %b: index)
    -> tensor<4x?xf32> {
  %1 = gml_st.tile %x [%i, %j] [4, 12] [2, 1] : tensor<?x?xf32> to !gml_st.subset<4x12xf32>
  %2 = gml_st.tile %1 [0, %k] [4, %n] [1, %b] : !gml_st.subset<4x12xf32> to !gml_st.subset<4x?xf32>
  %3 = gml_st.tile %2 [0, 0] [4, %n] [1, %b] : !gml_st.subset<4x?xf32> to !gml_st.subset<4x?xf32>
  %4 = gml_st.tile %3 [0, 0] [4, %n] [1, %b] : !gml_st.subset<4x?xf32> to !gml_st.subset<4x?xf32>
  %5 = gml_st.materialize %x[%4] : tensor<?x?xf32>[!gml_st.subset<4x?xf32>]
  return %5 : tensor<4x?xf32>
}

// CHECK-COLLAPSE-LABEL: func.func @element_of_a_view(
// CHECK-COLLAPSE-SAME:    %[[X:.*]]: memref<16x8xf32>
// CHECK-COLLAPSE:         %[[T:.*]] = gml_st.tile %[[X]]
// CHECK-COLLAPSE-NEXT:    %[[P:.*]] = gml_st.point %[[T]] [1, 2]
// CHECK-COLLAPSE-NEXT:    gml_st.materialize %[[X]][%[[P]]]
func.func @element_of_a_view(%x: memref<16x8xf32>, %i: index) -> f32 {
  %t = gml_st.tile %x [%i, 0] [4, 4] [2, 2] : memref<16x8xf32> to !gml_st.subset<4x4xf32>
  %a = gml_st.materialize %x[%t] : memref<16x8xf32>[!gml_st.subset<4x4xf32>]
      to memref<4x4xf32, strided<[16, 2], offset: ?>>
  %p = gml_st.point %a [1, 2] : memref<4x4xf32, strided<[16, 2], offset: ?>> to !gml_st.point
  %r = gml_st.materialize %a[%p] : memref<4x4xf32, strided<[16, 2], offset: ?>>[!gml_st.point]
  return %r : f32
}
