// Adapted in part from tests of the gml_st dialect in MLIR-HLO: Copyright The TensorFlow Authors,
// Apache License, Version 2.0. See NOTICE.

// RUN: linalg-ext-lower-subset-loops,canonicalize,cse

// CHECK-LABEL: func.func @sets_of_tensors(
// CHECK-SAME:    %[[X:.*]]: tensor<8x6xf32>, %[[I:.*]]: index)
// CHECK-NOT:     gml_st
// CHECK-DAG:     %[[A:.*]] = tensor.extract_slice %[[X]][%[[I]], 0] [4, 3] [1, 2] : tensor<8x6xf32> to tensor<4x3xf32>
// CHECK-DAG:     %[[B:.*]] = tensor.extract %[[X]][%{{.*}}, %{{.*}}] : tensor<8x6xf32>
// CHECK:         return %[[X]], %[[A]], %[[B]]
func.func @sets_of_tensors(%x: tensor<8x6xf32>, %i: index)
    -> (tensor<8x6xf32>, tensor<4x3xf32>, f32) {
  %space = gml_st.space [8, 6] : !gml_st.tile<8x6>
  %tile = gml_st.tile %space [%i, 0] [4, 3] [1, 2] : !gml_st.tile<8x6> to !gml_st.tile<4x3>
  %point = gml_st.point %tile [2, 1] : !gml_st.tile<4x3> to !gml_st.point
  %all = gml_st.materialize %x[%space] : tensor<8x6xf32>[!gml_st.tile<8x6>]
  %part = gml_st.materialize %x[%tile] : tensor<8x6xf32>[!gml_st.tile<4x3>]
  %one = gml_st.materialize %x[%point] : tensor<8x6xf32>[!gml_st.point]
  return %all, %part, %one : tensor<8x6xf32>, tensor<4x3xf32>, f32
}

// CHECK-LABEL: func.func @sets_of_memrefs(
// CHECK-SAME:    %[[X:.*]]: memref<8x6xf32>, %[[I:.*]]: index)
// CHECK:         %[[A:.*]] = memref.subview %[[X]][%[[I]], 1] [4, 3] [1, 1]
// CHECK:         memref.load %[[X]]
func.func @sets_of_memrefs(%x: memref<8x6xf32>, %i: index) -> f32 {
  %tile = gml_st.tile %x [%i, 1] [4, 3] [1, 1] : memref<8x6xf32> to !gml_st.subset<4x3xf32>
  %part = gml_st.materialize %x[%tile] : memref<8x6xf32>[!gml_st.subset<4x3xf32>]
      to memref<4x3xf32, strided<[6, 1], offset: ?>>
  %two = arith.constant 2.0 : f32
  linalg.fill ins(%two : f32) outs(%part : memref<4x3xf32, strided<[6, 1], offset: ?>>)
  %point = gml_st.point %tile [2, 1] : !gml_st.subset<4x3xf32> to !gml_st.point
  %one = gml_st.materialize %x[%point] : memref<8x6xf32>[!gml_st.point]
  return %one : f32
}

// CHECK-LABEL: func.func @dims(
// CHECK-SAME:    %[[X:.*]]: tensor<6x8xf32>, %[[Y:.*]]: tensor<8xf32>, %[[I:.*]]: index)
// CHECK-DAG:     tensor.extract_slice %[[X]][0, %[[I]]] [3, 4] [1, 1]
// CHECK-DAG:     tensor.extract_slice %[[Y]][%[[I]]] [4] [1]
func.func @dims(%x: tensor<6x8xf32>, %y: tensor<8xf32>, %i: index)
    -> (tensor<3x4xf32>, tensor<4xf32>) {
  %s = gml_st.space [8, 6] : !gml_st.tile<8x6>
  %t = gml_st.tile %s [%i, 0] [4, 3] [1, 1] : !gml_st.tile<8x6> to !gml_st.tile<4x3>
  %u = gml_st.transpose_dims %t, [1, 0] : !gml_st.tile<4x3> to !gml_st.tile<3x4>
  %d = gml_st.drop_dims %u, [1] : !gml_st.tile<3x4> to !gml_st.tile<4>
  %a = gml_st.materialize %x[%u] : tensor<6x8xf32>[!gml_st.tile<3x4>]
  %b = gml_st.materialize %y[%d] : tensor<8xf32>[!gml_st.tile<4>]
  return %a, %b : tensor<3x4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @queries(
// CHECK-SAME:    %[[X:.*]]: tensor<?xf32>, %[[I:.*]]: index)
// CHECK:         %[[N:.*]] = tensor.dim %[[X]], %c0
// CHECK:         return %[[I]], %[[N]], %c2
func.func @queries(%x: tensor<?xf32>, %i: index) -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %full = subset.full %x : tensor<?xf32> to !gml_st.subset<?xf32>
  %t = gml_st.tile %x [%i] [4] [2] : tensor<?xf32> to !gml_st.subset<4xf32>
  %o = gml_st.offset %t[%c0] : !gml_st.subset<4xf32>
  %n = gml_st.size %full[%c0] : !gml_st.subset<?xf32>
  %s = gml_st.stride %t[%c0] : !gml_st.subset<4xf32>
  return %o, %n, %s : index, index, index
}

// Parallel iterators outside, a sequential one inside.
// CHECK-LABEL: func.func @loop_reduction(
// CHECK-SAME:    %[[X:.*]]: tensor<8x12xf32>, %[[Y:.*]]: tensor<8xf32>)
// CHECK:         scf.forall (%[[I:.*]]) = (0) to (8) step (4) shared_outs(%[[O:.*]] = %[[Y]])
// CHECK:           tensor.extract_slice %[[O]][%[[I]]] [4] [1]
// CHECK:           scf.for %[[J:.*]] = %c0 to %c12 step %c4 iter_args
// CHECK:             tensor.extract_slice %[[X]][%[[I]], %[[J]]] [4, 4] [1, 1]
// CHECK:             linalg.reduce { arith.addf }
// CHECK:           scf.forall.in_parallel
// CHECK:             tensor.parallel_insert_slice %{{.*}} into %[[O]][%[[I]]] [4] [1]
func.func @loop_reduction(%x: tensor<8x12xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %r = gml_st.loop (%i, %j) = (%c0, %c0) to (%c8, %c12) step (%c4, %c4)
      ins (%x_ = %x: tensor<8x12xf32>) outs (%y_ = %y: tensor<8xf32>)
      iterators["parallel", "reduction"] {
    %t = gml_st.tile %x_ [%i, %j] [4, 4] [1, 1] : tensor<8x12xf32> to !gml_st.subset<4x4xf32>
    %u = gml_st.tile %y_ [%i] [4] [1] : tensor<8xf32> to !gml_st.subset<4xf32>
    %v = gml_st.materialize %t : !gml_st.subset<4x4xf32> to tensor<4x4xf32>
    %w = gml_st.materialize %u : !gml_st.subset<4xf32> to tensor<4xf32>
    %s = linalg.reduce {arith.addf} ins(%v : tensor<4x4xf32>) outs(%w : tensor<4xf32>)
        dimensions = [1]
    gml_st.yield %s to %u : tensor<4xf32> to !gml_st.subset<4xf32>
  }
  return %r : tensor<8xf32>
}

// CHECK-LABEL: func.func @parallel_with_tiles(
// CHECK:         scf.forall (%[[I:.*]]) = (0) to (8) step (4) shared_outs(%[[O:.*]] =
// CHECK:           tensor.parallel_insert_slice %{{.*}} into %[[O]][%[[I]]] [4] [1]
func.func @parallel_with_tiles(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %r = gml_st.parallel (%i) = (%c0) to (%c8) step (%c4) {
    %t = gml_st.tile %x [%i] [4] [1] : tensor<8xf32> to !gml_st.subset<4xf32>
    %v = gml_st.materialize %x[%t] : tensor<8xf32>[!gml_st.subset<4xf32>]
    %u = gml_st.tile %y [%i] [4] [1] : tensor<8xf32> to !gml_st.subset<4xf32>
    gml_st.set_yield %v into %y[%u] : tensor<4xf32> into tensor<8xf32>[!gml_st.subset<4xf32>]
  } : tensor<8xf32>
  return %r : tensor<8xf32>
}

// CHECK-LABEL: func.func @parallel_with_points(
// CHECK:         scf.forall (%[[I:.*]], %[[J:.*]]) in (4, 6)
// CHECK:           tensor.extract %{{.*}}[%[[I]], %[[J]]]
// CHECK:           tensor.parallel_insert_slice
func.func @parallel_with_points(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c6 = arith.constant 6 : index
  %r = gml_st.parallel (%i, %j) = (%c0, %c0) to (%c4, %c6) step (%c1, %c1) {
    %p = gml_st.point %x [%i, %j] : tensor<4x6xf32> to !gml_st.point
    %v = gml_st.materialize %x[%p] : tensor<4x6xf32>[!gml_st.point]
    %w = arith.addf %v, %v : f32
    %q = gml_st.point %y [%i, %j] : tensor<4x6xf32> to !gml_st.point
    gml_st.set_yield %w into %y[%q] : f32 into tensor<4x6xf32>[!gml_st.point]
  } : tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// A running sum: in order, each iteration sees the one before.
// CHECK-LABEL: func.func @for_with_points(
// CHECK:         scf.for %[[I:.*]] = %c1 to %c8 step %c1 iter_args(%[[A:.*]] =
// CHECK:           tensor.extract %[[A]]
// CHECK:           tensor.insert %{{.*}} into %[[A]][%[[I]]]
func.func @for_with_points(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %r = gml_st.for (%i) = (%c1) to (%c8) step (%c1) outs (%o = %x: tensor<8xf32>) {
    %k = arith.subi %i, %c1 : index
    %p = gml_st.point %o [%k] : tensor<8xf32> to !gml_st.point
    %q = gml_st.point %o [%i] : tensor<8xf32> to !gml_st.point
    %v = gml_st.materialize %o[%p] : tensor<8xf32>[!gml_st.point]
    gml_st.set_yield %v into %o[%q] acc (%new, %old: f32) {
      %s = arith.addf %new, %old : f32
      gml_st.yield %s : f32
    } : f32 into tensor<8xf32>[!gml_st.point]
  } : tensor<8xf32>
  return %r : tensor<8xf32>
}

// Accumulators are combined in the order of the iterations: no race.
// CHECK-LABEL: func.func @reduce_points(
// CHECK-NOT:     scf.forall
// CHECK:         scf.for
// CHECK:           tensor.extract
// CHECK:           arith.addf
// CHECK:           tensor.insert
func.func @reduce_points(%x: tensor<8xf32>, %y: tensor<f32>) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %r = gml_st.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %p = gml_st.point %x [%i] : tensor<8xf32> to !gml_st.point
    %v = gml_st.materialize %x[%p] : tensor<8xf32>[!gml_st.point]
    %q = gml_st.point %y [] : tensor<f32> to !gml_st.point
    gml_st.set_yield %v into %y[%q] acc (%new, %old: f32) {
      %s = arith.addf %new, %old : f32
      gml_st.yield %s : f32
    } : f32 into tensor<f32>[!gml_st.point]
  } : tensor<f32>
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @memory(
// CHECK-SAME:    %[[X:.*]]: memref<8xf32>, %[[Y:.*]]: memref<8xf32>)
// CHECK:         scf.forall (%[[I:.*]]) in (8)
// CHECK:           %[[V:.*]] = memref.load %[[X]][%[[I]]]
// CHECK:           memref.store %[[V]], %[[Y]][%[[I]]]
func.func @memory(%x: memref<8xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  gml_st.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %p = gml_st.point %x [%i] : memref<8xf32> to !gml_st.point
    %v = gml_st.materialize %x[%p] : memref<8xf32>[!gml_st.point]
    %q = gml_st.point %y [%i] : memref<8xf32> to !gml_st.point
    gml_st.set_yield %v into %y[%q] : f32 into memref<8xf32>[!gml_st.point]
  }
  return
}
