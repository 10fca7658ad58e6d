// Adapted in part from tests of the gml_st dialect in MLIR-HLO: Copyright The TensorFlow Authors,
// Apache License, Version 2.0. See NOTICE.

// RUN: linalg-ext-canonicalize-subset-loops

// A loop that never runs is gone.
// CHECK-LABEL: func.func @remove_empty_loop(
// CHECK-SAME:    %{{.*}}: tensor<16xf32>, %[[OUT:.*]]: tensor<4xf32>
// CHECK-NEXT:    return %[[OUT]]
func.func @remove_empty_loop(%in: tensor<16xf32>, %out: tensor<4xf32>, %buf: memref<f32>)
    -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %r = gml_st.loop (%i, %j) = (%c0, %c0) to (%c16, %c0) step (%c4, %c4)
      ins (%in_ = %in: tensor<16xf32>) outs (%out_ = %out: tensor<4xf32>, %buf_ = %buf: memref<f32>)
      iterators["reduction", "parallel"] {
    %part = tensor.extract_slice %in_[%i] [4] [1] : tensor<16xf32> to tensor<4xf32>
    %sum = linalg.add ins(%part, %out_ : tensor<4xf32>, tensor<4xf32>) outs(%out_ : tensor<4xf32>)
        -> tensor<4xf32>
    gml_st.yield %sum : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// An iterator that runs once is gone, the other one stays.
// CHECK-LABEL: func.func @one_of_two_iterators_runs_once(
// CHECK-SAME:    %[[X:.*]]: tensor<4x8xf32>, %[[Y:.*]]: tensor<4x8xf32>
// CHECK:         gml_st.parallel (%[[J:.*]]) = (%c0) to (%c8) step (%c2)
// CHECK-NEXT:      gml_st.tile %[[X]] [0, %[[J]]] [4, 2] [1, 1]
func.func @one_of_two_iterators_runs_once(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>)
    -> tensor<4x8xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %r = gml_st.parallel (%i, %j) = (%c0, %c0) to (%c4, %c8) step (%c4, %c2) {
    %t = gml_st.tile %x [%i, %j] [4, 2] [1, 1] : tensor<4x8xf32> to !gml_st.subset<4x2xf32>
    %v = gml_st.materialize %x[%t] : tensor<4x8xf32>[!gml_st.subset<4x2xf32>]
    %u = gml_st.tile %y [%i, %j] [4, 2] [1, 1] : tensor<4x8xf32> to !gml_st.subset<4x2xf32>
    gml_st.set_yield %v into %y[%u] : tensor<4x2xf32> into tensor<4x8xf32>[!gml_st.subset<4x2xf32>]
  } : tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// Of a loop that runs once its body is left, accumulators and all.
// CHECK-LABEL: func.func @a_loop_that_runs_once(
// CHECK-SAME:    %[[X:.*]]: tensor<8xf32>, %[[Y:.*]]: tensor<8xf32>
// CHECK-NOT:     gml_st.for
// CHECK:         %[[S:.*]] = arith.addf
// CHECK:         %[[R:.*]] = tensor.insert_slice %[[S]] into %[[Y]][4] [4] [1]
// CHECK-NEXT:    return %[[R]]
func.func @a_loop_that_runs_once(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %r = gml_st.for (%i) = (%c4) to (%c8) step (%c4) outs (%y_ = %y: tensor<8xf32>) {
    %t = gml_st.tile %x [%i] [4] [1] : tensor<8xf32> to !gml_st.subset<4xf32>
    %v = gml_st.materialize %x[%t] : tensor<8xf32>[!gml_st.subset<4xf32>]
    %u = gml_st.tile %y_ [%i] [4] [1] : tensor<8xf32> to !gml_st.subset<4xf32>
    gml_st.set_yield %v into %y_[%u] acc (%new, %old: tensor<4xf32>) {
      %s = arith.addf %new, %old : tensor<4xf32>
      gml_st.yield %s : tensor<4xf32>
    } : tensor<4xf32> into tensor<8xf32>[!gml_st.subset<4xf32>]
  } : tensor<8xf32>
  return %r : tensor<8xf32>
}

// Bounds need not be numbers.
// CHECK-LABEL: func.func @once_from_a_bound(
// CHECK-NOT:     gml_st.loop
// CHECK:         return
func.func @once_from_a_bound(%x: tensor<8xf32>, %y: tensor<8xf32>, %n: index) -> tensor<8xf32> {
  %c4 = arith.constant 4 : index
  %m = arith.addi %n, %c4 : index
  %r = gml_st.loop (%i) = (%n) to (%m) step (%c4) ins (%x_ = %x: tensor<8xf32>)
      outs (%y_ = %y: tensor<8xf32>) {
    %t = gml_st.tile %x_ [%i] [4] [1] : tensor<8xf32> to !gml_st.subset<4xf32>
    %v = gml_st.materialize %x_[%t] : tensor<8xf32>[!gml_st.subset<4xf32>]
    %u = gml_st.tile %y_ [%i] [4] [1] : tensor<8xf32> to !gml_st.subset<4xf32>
    gml_st.yield %v to %u : tensor<4xf32> to !gml_st.subset<4xf32>
  }
  return %r : tensor<8xf32>
}

// CHECK-LABEL: func.func @fold_loop_inputs(
// CHECK-SAME:    %[[A:.*]]: memref<8xf32>, %{{.*}}: tensor<8xf32>, %[[B:.*]]: tensor<8xf32>
// CHECK:         gml_st.loop
// CHECK-NEXT:    ins (%{{.*}} = %[[A]]: memref<8xf32>)
// CHECK-NEXT:    outs (%{{.*}} = %[[B]]: tensor<8xf32>)
func.func @fold_loop_inputs(%a: memref<8xf32>, %unused: tensor<8xf32>, %b: tensor<8xf32>)
    -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %r = gml_st.loop (%i) = (%c0) to (%c8) step (%c1)
      ins (%a_ = %a: memref<8xf32>, %unused_ = %unused: tensor<8xf32>)
      outs (%b_ = %b: tensor<8xf32>) iterators["sequential"] {
    %v = memref.load %a_[%i] : memref<8xf32>
    %w = tensor.insert %v into %b_[%i] : tensor<8xf32>
    gml_st.yield %w : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// CHECK-LABEL: func.func @fold_loop_results(
// CHECK-SAME:    %[[A:.*]]: memref<8xf32>, %[[B:.*]]: tensor<8xf32>, %[[C:.*]]: memref<8xf32>, %[[D:.*]]: tensor<8xf32>
// CHECK:         %[[R:.*]] = gml_st.loop
// CHECK-NEXT:    ins (%{{.*}} = %[[A]]: memref<8xf32>)
// CHECK-NEXT:    outs (%{{.*}} = %[[B]]: tensor<8xf32>, %{{.*}} = %[[C]]: memref<8xf32>)
// CHECK:         return %[[R]], %[[D]]
func.func @fold_loop_results(%a: memref<8xf32>, %b: tensor<8xf32>, %c: memref<8xf32>,
    %d: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %useful, %useless = gml_st.loop (%i) = (%c0) to (%c8) step (%c1)
      ins (%a_ = %a: memref<8xf32>)
      outs (%b_ = %b: tensor<8xf32>, %d_ = %d: tensor<8xf32>, %c_ = %c: memref<8xf32>)
      iterators["sequential"] {
    %v = memref.load %a_[%i] : memref<8xf32>
    memref.store %v, %c_[%i] : memref<8xf32>
    %w = tensor.insert %v into %b_[%i] : tensor<8xf32>
    gml_st.yield %w, %d_ : tensor<8xf32>, tensor<8xf32>
  }
  return %useful, %useless : tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @memref_cast_into_loop(
// CHECK-SAME:    %[[A:.*]]: memref<192xf32>
// CHECK:         gml_st.loop
// CHECK-NEXT:    outs (%{{.*}} = %[[A]]: memref<192xf32>)
func.func @memref_cast_into_loop(%a: memref<192xf32>) {
  %0 = memref.cast %a : memref<192xf32> to memref<192xf32, strided<[?], offset: ?>>
  %cst = arith.constant 0.0 : f32
  %c24 = arith.constant 24 : index
  %c0 = arith.constant 0 : index
  %c192 = arith.constant 192 : index
  gml_st.loop (%i) = (%c0) to (%c192) step (%c24)
      outs (%out = %0: memref<192xf32, strided<[?], offset: ?>>) {
    %s = memref.subview %out[%i] [24] [1] : memref<192xf32, strided<[?], offset: ?>>
        to memref<24xf32, strided<[?], offset: ?>>
    linalg.fill ins(%cst : f32) outs(%s : memref<24xf32, strided<[?], offset: ?>>)
    gml_st.yield
  }
  return
}

// CHECK-LABEL: func.func @fold_tensor_cast(
// CHECK-SAME:    %[[IN:.*]]: tensor<4x24xf32>, %[[OUT:.*]]: tensor<4xf32>)
// CHECK:         %[[R:.*]] = gml_st.loop
// CHECK-NEXT:    ins (%[[X:.*]] = %[[IN]]: tensor<4x24xf32>)
// CHECK-NEXT:    outs (%[[Y:.*]] = %[[OUT]]: tensor<4xf32>)
// CHECK:           tensor.extract_slice %[[X]][0, %{{.*}}] [4, 4] [1, 1] : tensor<4x24xf32> to tensor<4x4xf32>
// CHECK:           gml_st.yield %{{.*}} : tensor<4xf32>
// CHECK:         return %[[R]] : tensor<4xf32>
func.func @fold_tensor_cast(%in: tensor<4x24xf32>, %out: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c24 = arith.constant 24 : index
  %in_cast = tensor.cast %in : tensor<4x24xf32> to tensor<?x24xf32>
  %out_cast = tensor.cast %out : tensor<4xf32> to tensor<?xf32>
  %r = gml_st.loop (%i) = (%c0) to (%c24) step (%c4)
      ins (%in_ = %in_cast: tensor<?x24xf32>) outs (%out_ = %out_cast: tensor<?xf32>)
      iterators["reduction"] {
    %rows = tensor.dim %in_, %c0 : tensor<?x24xf32>
    %size = tensor.dim %out_, %c0 : tensor<?xf32>
    %part = tensor.extract_slice %in_[0, %i] [%rows, 4] [1, 1] : tensor<?x24xf32> to tensor<?x4xf32>
    %old = tensor.extract_slice %out_[0] [%size] [1] : tensor<?xf32> to tensor<?xf32>
    %new = linalg.reduce {arith.addf} ins(%part : tensor<?x4xf32>) outs(%old : tensor<?xf32>)
        dimensions = [1]
    %all = tensor.insert_slice %new into %out_[0] [%size] [1] : tensor<?xf32> into tensor<?xf32>
    gml_st.yield %all : tensor<?xf32>
  }
  %r_cast = tensor.cast %r : tensor<?xf32> to tensor<4xf32>
  return %r_cast : tensor<4xf32>
}

// CHECK-LABEL: func.func @fold_cast_with_subsets(
// CHECK-SAME:    %[[X:.*]]: tensor<8xf32>, %[[Y:.*]]: tensor<8xf32>)
// CHECK:         %[[R:.*]] = gml_st.for
// CHECK-NEXT:    outs (%[[O:.*]] = %[[Y]]: tensor<8xf32>)
// CHECK:           %[[T:.*]] = gml_st.tile %[[O]]
// CHECK:           gml_st.set_yield %{{.*}} into %[[O]][%[[T]]] : tensor<4xf32> into tensor<8xf32>
// CHECK:         return %[[R]]
func.func @fold_cast_with_subsets(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %y_cast = tensor.cast %y : tensor<8xf32> to tensor<?xf32>
  %r = gml_st.for (%i) = (%c0) to (%c8) step (%c4) outs (%y_ = %y_cast: tensor<?xf32>) {
    %t = gml_st.tile %x [%i] [4] [1] : tensor<8xf32> to !gml_st.subset<4xf32>
    %v = gml_st.materialize %x[%t] : tensor<8xf32>[!gml_st.subset<4xf32>]
    %u = gml_st.tile %y_ [%i] [4] [1] : tensor<?xf32> to !gml_st.subset<4xf32>
    gml_st.set_yield %v into %y_[%u] : tensor<4xf32> into tensor<?xf32>[!gml_st.subset<4xf32>]
  } : tensor<?xf32>
  %r_cast = tensor.cast %r : tensor<?xf32> to tensor<8xf32>
  return %r_cast : tensor<8xf32>
}

// The yielded tensor may have other sizes than the output.
// CHECK-LABEL: func.func @dim_of_loop_input_no_canonicalize(
// CHECK:         gml_st.loop
// CHECK-NEXT:    outs (%[[O:.*]] =
// CHECK:           tensor.dim %[[O]], %c0
func.func @dim_of_loop_input_no_canonicalize(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %r = gml_st.loop (%i) = (%c0) to (%c2) step (%c1) outs (%o = %x: tensor<?xf32>)
      iterators["sequential"] {
    %d = tensor.dim %o, %c0 : tensor<?xf32>
    %k = arith.index_cast %d : index to i32
    %v = arith.sitofp %k : i32 to f32
    %fill = linalg.fill ins(%v : f32) outs(%o : tensor<?xf32>) -> tensor<?xf32>
    %s = tensor.extract_slice %fill[0] [%n] [1] : tensor<?xf32> to tensor<?xf32>
    gml_st.yield %s : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}

// CHECK-LABEL: func.func @dim_of_loop_input(
// CHECK-SAME:    %{{.*}}: tensor<?xf32>, %[[Y:.*]]: tensor<?xf32>
// CHECK-DAG:     tensor.dim %[[Y]], %c0
// CHECK-NOT:     ins (
// CHECK:         return
func.func @dim_of_loop_input(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %r = gml_st.loop (%i) = (%c0) to (%c2) step (%c1) ins (%y_ = %y: tensor<?xf32>)
      outs (%o = %x: tensor<?xf32>) iterators["sequential"] {
    %d = tensor.dim %y_, %c0 : tensor<?xf32>
    %k = arith.index_cast %d : index to i32
    %v = arith.sitofp %k : i32 to f32
    %w = tensor.insert %v into %o[%i] : tensor<?xf32>
    gml_st.yield %w : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}

// CHECK-LABEL: func.func @dim_of_loop_result(
// CHECK-SAME:    %{{.*}}: tensor<2xf32>, %[[Y:.*]]: tensor<?xf32>
// CHECK:         %[[D:.*]] = tensor.dim %[[Y]], %c0
// CHECK:         return %{{.*}}, %[[D]]
func.func @dim_of_loop_result(%x: tensor<2xf32>, %y: tensor<?xf32>) -> (tensor<?xf32>, index) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %r = gml_st.loop (%i) = (%c0) to (%c4) step (%c2) outs (%o = %y: tensor<?xf32>)
      iterators["sequential"] {
    %w = tensor.insert_slice %x into %o[%i] [2] [1] : tensor<2xf32> into tensor<?xf32>
    gml_st.yield %w : tensor<?xf32>
  }
  %d = tensor.dim %r, %c0 : tensor<?xf32>
  return %r, %d : tensor<?xf32>, index
}

// CHECK-LABEL: func.func @dim_of_loop_result_no_canonicalize(
// CHECK:         %[[R:.*]] = gml_st.loop
// CHECK:         tensor.dim %[[R]], %c0
func.func @dim_of_loop_result_no_canonicalize(%x: tensor<2xf32>, %y: tensor<?xf32>,
    %z: tensor<?xf32>) -> (tensor<?xf32>, index) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %r = gml_st.loop (%i) = (%c0) to (%c4) step (%c2) ins (%z_ = %z: tensor<?xf32>)
      outs (%o = %y: tensor<?xf32>) iterators["sequential"] {
    %w = tensor.insert_slice %x into %z_[%i] [2] [1] : tensor<2xf32> into tensor<?xf32>
    gml_st.yield %w : tensor<?xf32>
  }
  %d = tensor.dim %r, %c0 : tensor<?xf32>
  return %r, %d : tensor<?xf32>, index
}

// Constants become numbers of a tile, and its size one of its type.
// CHECK-LABEL: func.func @constants_into_tiles(
// CHECK:         gml_st.parallel (%[[I:.*]]) =
// CHECK:           %[[A:.*]] = gml_st.tile %{{.*}} [%[[I]], 2] [1, 4] [1, 1] : tensor<6x8xf32> to !gml_st.subset<1x4xf32>
// CHECK:           %[[V:.*]] = gml_st.materialize %{{.*}}[%[[A]]] : {{.*}} to tensor<1x4xf32>
// CHECK:           %[[B:.*]] = gml_st.tile %{{.*}} [%[[I]], 0] [1, 4] [1, 1]
// CHECK:           gml_st.set_yield %[[V]] into %{{.*}}[%[[B]]] : tensor<1x4xf32>
func.func @constants_into_tiles(%x: tensor<6x8xf32>, %y: tensor<6x4xf32>) -> tensor<6x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c6 = arith.constant 6 : index
  %r = gml_st.parallel (%i) = (%c0) to (%c6) step (%c1) {
    %t = gml_st.tile %x [%i, %c2] [1, %c4] [1, %c1] : tensor<6x8xf32> to !gml_st.subset<1x?xf32>
    %v = gml_st.materialize %x[%t] : tensor<6x8xf32>[!gml_st.subset<1x?xf32>]
    %u = gml_st.tile %y [%i, %c0] [1, %c4] [1, 1] : tensor<6x4xf32> to !gml_st.subset<1x?xf32>
    gml_st.set_yield %v into %y[%u] : tensor<1x?xf32> into tensor<6x4xf32>[!gml_st.subset<1x?xf32>]
  } : tensor<6x4xf32>
  return %r : tensor<6x4xf32>
}

// CHECK-LABEL: func.func @constants_into_points(
// CHECK:         %[[S:.*]] = gml_st.space [6, 8]
// CHECK-NEXT:    gml_st.point %[[S]] [2, 4]
func.func @constants_into_points(%x: tensor<6x8xf32>) -> f32 {
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %s = gml_st.space [6, %c8] : !gml_st.tile<6x?>
  %p = gml_st.point %s [%c2, %c4] : !gml_st.tile<6x?> to !gml_st.point
  %r = gml_st.materialize %x[%p] : tensor<6x8xf32>[!gml_st.point]
  return %r : f32
}

// CHECK-LABEL: func.func @fold_offset(
// CHECK-SAME:    %[[I:.*]]: index, %[[J:.*]]: index, %{{.*}}: index, %{{.*}}: index)
// CHECK-DAG:     %[[JJ:.*]] = affine.apply #{{.*}}()[%[[J]]]
// CHECK:         return %[[J]], %c16, %[[J]], %c0, %c0, %[[JJ]], %c16
func.func @fold_offset(%i: index, %j: index, %a: index, %b: index)
    -> (index, index, index, index, index, index, index) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %space = gml_st.space [%a, %b, 128, 256] : !gml_st.tile<?x?x128x256>
  %tile = gml_st.tile %space [%i, %j, 16, 32] [16, 32, 64, 128] [1, 1, 1, 1]
      : !gml_st.tile<?x?x128x256> to !gml_st.tile<16x32x64x128>
  %point = gml_st.point %space [%i, %j, 0, 8] : !gml_st.tile<?x?x128x256> to !gml_st.point
  %inner = gml_st.tile %tile [%i, %j, 0, 8] [2, 4, 8, 16] [1, 1, 1, 1]
      : !gml_st.tile<16x32x64x128> to !gml_st.tile<2x4x8x16>
  %inner_point = gml_st.point %tile [%i, %j, 0, 8] : !gml_st.tile<16x32x64x128> to !gml_st.point
  %1 = gml_st.offset %tile[%c1] : !gml_st.tile<16x32x64x128>
  %2 = gml_st.offset %tile[%c2] : !gml_st.tile<16x32x64x128>
  %3 = gml_st.offset %point[%c1] : !gml_st.point
  %4 = gml_st.offset %point[%c2] : !gml_st.point
  %5 = gml_st.offset %space[%c2] : !gml_st.tile<?x?x128x256>
  %6 = gml_st.offset %inner[%c1] : !gml_st.tile<2x4x8x16>
  %7 = gml_st.offset %inner_point[%c2] : !gml_st.point
  return %1, %2, %3, %4, %5, %6, %7 : index, index, index, index, index, index, index
}

// CHECK-LABEL: func.func @fold_size(
// CHECK-SAME:    %[[I:.*]]: index, %[[A:.*]]: index, %[[B:.*]]: index)
// CHECK:         return %c32, %c64, %[[B]], %c4
func.func @fold_size(%i: index, %a: index, %b: index) -> (index, index, index, index) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %space = gml_st.space [%a, %b, 128] : !gml_st.tile<?x?x128>
  %tile = gml_st.tile %space [%i, %i, 16] [16, 32, 64] [1, 1, 1]
      : !gml_st.tile<?x?x128> to !gml_st.tile<16x32x64>
  %inner = gml_st.tile %tile [%i, %i, 0] [2, 4, 8] [1, 1, 1]
      : !gml_st.tile<16x32x64> to !gml_st.tile<2x4x8>
  %1 = gml_st.size %tile[%c1] : !gml_st.tile<16x32x64>
  %2 = gml_st.size %tile[%c2] : !gml_st.tile<16x32x64>
  %3 = gml_st.size %space[%c1] : !gml_st.tile<?x?x128>
  %4 = gml_st.size %inner[%c1] : !gml_st.tile<2x4x8>
  return %1, %2, %3, %4 : index, index, index, index
}

// CHECK-LABEL: func.func @fold_stride(
// CHECK:         return %c1, %c2, %c1, %c6, %true
func.func @fold_stride(%i: index, %a: index) -> (index, index, index, index, i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %space = gml_st.space [%a, 256] : !gml_st.tile<?x256>
  %tile = gml_st.tile %space [%i, 16] [16, 64] [1, 2] : !gml_st.tile<?x256> to !gml_st.tile<16x64>
  %inner = gml_st.tile %tile [%i, 0] [2, 8] [1, 3] : !gml_st.tile<16x64> to !gml_st.tile<2x8>
  %1 = gml_st.stride %tile[%c0] : !gml_st.tile<16x64>
  %2 = gml_st.stride %tile[%c1] : !gml_st.tile<16x64>
  %3 = gml_st.stride %space[%c1] : !gml_st.tile<?x256>
  %4 = gml_st.stride %inner[%c1] : !gml_st.tile<2x8>
  %part = gml_st.tile %space [%i, 18] [2, 8] [1, 4] : !gml_st.tile<?x256> to !gml_st.tile<2x8>
  %5 = gml_st.contains %tile, %part : !gml_st.tile<16x64>, !gml_st.tile<2x8>
  return %1, %2, %3, %4, %5 : index, index, index, index, i1
}
