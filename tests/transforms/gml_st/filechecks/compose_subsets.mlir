// Adapted in part from tests of the gml_st dialect in MLIR-HLO: Copyright The TensorFlow Authors,
// Apache License, Version 2.0. See NOTICE.

// RUN: linalg-ext-compose-subsets,cse

// CHECK-LABEL: func.func @tile_of_tile(
// CHECK-SAME:    %[[X:.*]]: tensor<?x?xf32>, %[[I:.*]]: index, %[[J:.*]]: index, %[[K:.*]]: index, %[[M:.*]]: index, %[[N:.*]]: index, %[[A:.*]]: index, %[[B:.*]]: index)
// CHECK-DAG:     %[[SPACE:.*]] = gml_st.space [16, %[[M]]] :
// CHECK-DAG:     %[[AK:.*]] = arith.muli %[[A]], %[[K]]
// CHECK-DAG:     %[[OFFSET:.*]] = affine.apply #{{.*}}(%[[J]], %[[AK]])
// CHECK-DAG:     %[[AB:.*]] = arith.muli %[[A]], %[[B]]
// CHECK:         %[[T:.*]] = gml_st.tile %[[SPACE]] [%[[I]], %[[OFFSET]]] [4, %[[N]]] [2, %[[AB]]]
// CHECK-NEXT:    gml_st.materialize %[[X]][%[[T]]]
func.func @tile_of_tile(%x: tensor<?x?xf32>, %i: index, %j: index, %k: index, %m: index,
    %n: index, %a: index, %b: index) -> tensor<4x?xf32> {
  %space = gml_st.space [16, %m] : !gml_st.tile<16x?>
  %outer = gml_st.tile %space [%i, %j] [4, 12] [2, %a] : !gml_st.tile<16x?> to !gml_st.tile<4x12>
  %inner = gml_st.tile %outer [0, %k] [4, %n] [1, %b] : !gml_st.tile<4x12> to !gml_st.tile<4x?>
  %r = gml_st.materialize %x[%inner] : tensor<?x?xf32>[!gml_st.tile<4x?>]
  return %r : tensor<4x?xf32>
}

// CHECK-LABEL: func.func @three_deep_all_constant(
// CHECK:         %[[SPACE:.*]] = gml_st.space [40, 96]
// CHECK-NEXT:    %[[T:.*]] = gml_st.tile %[[SPACE]] [18, 64] [4, 6] [4, 0]
// CHECK-NEXT:    gml_st.materialize %{{.*}}[%[[T]]] : tensor<40x96xf32>
func.func @three_deep_all_constant(%x: tensor<40x96xf32>) -> tensor<4x6xf32> {
  %s = gml_st.space [40, 96] : !gml_st.tile<40x96>
  %t = gml_st.tile %s [0, 32] [40, 32] [1, 2] : !gml_st.tile<40x96> to !gml_st.tile<40x32>
  %tt = gml_st.tile %t [2, 16] [8, 16] [4, 0] : !gml_st.tile<40x32> to !gml_st.tile<8x16>
  %ttt = gml_st.tile %tt [4, 8] [4, 6] [1, 1] : !gml_st.tile<8x16> to !gml_st.tile<4x6>
  %r = gml_st.materialize %x[%ttt] : tensor<40x96xf32>[!gml_st.tile<4x6>]
  return %r : tensor<4x6xf32>
}

// Zeros and ones need no arithmetic.
// CHECK-LABEL: func.func @zeros_and_ones(
// CHECK-SAME:    %[[X:.*]]: tensor<8x64x64xf32>, %[[I:.*]]: index, %[[J:.*]]: index, %[[K:.*]]: index, %[[M:.*]]: index, %[[N:.*]]: index, %[[O:.*]]: index, %[[A:.*]]: index, %[[B:.*]]: index, %[[C:.*]]: index)
// CHECK-NOT:     arith.muli
// CHECK-DAG:     %[[SPACE:.*]] = gml_st.space [8, 64, 64]
// CHECK-DAG:     %[[J16:.*]] = affine.apply #{{.*}}(%[[J]])
// CHECK-DAG:     %[[K32:.*]] = affine.apply #{{.*}}(%[[K]])
// CHECK-DAG:     %[[C2:.*]] = affine.apply #{{.*}}(%[[C]])
// CHECK:         gml_st.tile %[[SPACE]] [0, %[[J16]], %[[K32]]] [%[[M]], %[[N]], %[[O]]] [0, %[[B]], %[[C2]]]
func.func @zeros_and_ones(%x: tensor<8x64x64xf32>, %i: index, %j: index, %k: index, %m: index,
    %n: index, %o: index, %a: index, %b: index, %c: index) -> tensor<?x?x?xf32> {
  %space = gml_st.space [8, 64, 64] : !gml_st.tile<8x64x64>
  %outer = gml_st.tile %space [0, 16, 32] [8, 24, 12] [0, 1, 2]
      : !gml_st.tile<8x64x64> to !gml_st.tile<8x24x12>
  %inner = gml_st.tile %outer [%i, %j, %k] [%m, %n, %o] [%a, %b, %c]
      : !gml_st.tile<8x24x12> to !gml_st.tile<?x?x?>
  %r = gml_st.materialize %x[%inner] : tensor<8x64x64xf32>[!gml_st.tile<?x?x?>]
  return %r : tensor<?x?x?xf32>
}

// CHECK-LABEL: func.func @sums(
// CHECK-SAME:    %{{.*}}: tensor<32x32x32xf32>, %[[I:.*]]: index, %[[J:.*]]: index)
// CHECK:         %[[SUM:.*]] = affine.apply #{{.*}}(%[[I]], %[[J]])
// CHECK-NEXT:    gml_st.tile %{{.*}} [%[[J]], %[[I]], %[[SUM]]] [8, 8, 8] [1, 1, 1]
func.func @sums(%x: tensor<32x32x32xf32>, %i: index, %j: index) -> tensor<8x8x8xf32> {
  %space = gml_st.space [32, 32, 32] : !gml_st.tile<32x32x32>
  %outer = gml_st.tile %space [0, %i, %i] [16, 16, 16] [1, 1, 1]
      : !gml_st.tile<32x32x32> to !gml_st.tile<16x16x16>
  %inner = gml_st.tile %outer [%j, 0, %j] [8, 8, 8] [1, 1, 1]
      : !gml_st.tile<16x16x16> to !gml_st.tile<8x8x8>
  %r = gml_st.materialize %x[%inner] : tensor<32x32x32xf32>[!gml_st.tile<8x8x8>]
  return %r : tensor<8x8x8xf32>
}

// CHECK-LABEL: func.func @products(
// CHECK-SAME:    %{{.*}}: tensor<4x4x4x4x4xf32>, %[[A:.*]]: index, %[[B:.*]]: index)
// CHECK:         %[[AB:.*]] = arith.muli %[[A]], %[[B]]
// CHECK-NEXT:    gml_st.tile %{{.*}} [0, 0, 0, 0, 0] [2, 2, 2, 2, 2] [0, %[[B]], 0, %[[A]], %[[AB]]]
func.func @products(%x: tensor<4x4x4x4x4xf32>, %a: index, %b: index) -> tensor<2x2x2x2x2xf32> {
  %space = gml_st.space [4, 4, 4, 4, 4] : !gml_st.tile<4x4x4x4x4>
  %outer = gml_st.tile %space [0, 0, 0, 0, 0] [2, 2, 2, 2, 2] [0, 1, %a, %a, %a]
      : !gml_st.tile<4x4x4x4x4> to !gml_st.tile<2x2x2x2x2>
  %inner = gml_st.tile %outer [0, 0, 0, 0, 0] [2, 2, 2, 2, 2] [%b, %b, 0, 1, %b]
      : !gml_st.tile<2x2x2x2x2> to !gml_st.tile<2x2x2x2x2>
  %r = gml_st.materialize %x[%inner] : tensor<4x4x4x4x4xf32>[!gml_st.tile<2x2x2x2x2>]
  return %r : tensor<2x2x2x2x2xf32>
}

// CHECK-LABEL: func.func @point_of_tile(
// CHECK-SAME:    %{{.*}}: tensor<?x?xf32>, %[[I:.*]]: index, %[[J:.*]]: index, %[[K:.*]]: index, %[[A:.*]]: index)
// CHECK-DAG:     %[[AK:.*]] = arith.muli %[[A]], %[[K]]
// CHECK-DAG:     %[[SUM:.*]] = affine.apply #{{.*}}(%[[J]], %[[AK]])
// CHECK:         gml_st.point %{{.*}} [%[[I]], %[[SUM]]]
func.func @point_of_tile(%x: tensor<?x?xf32>, %i: index, %j: index, %k: index, %a: index) -> f32 {
  %outer = gml_st.tile %x [%i, %j] [4, 12] [2, %a] : tensor<?x?xf32> to !gml_st.subset<4x12xf32>
  %point = gml_st.point %outer [0, %k] : !gml_st.subset<4x12xf32> to !gml_st.point
  %r = gml_st.materialize %x[%point] : tensor<?x?xf32>[!gml_st.point]
  return %r : f32
}

// CHECK-LABEL: func.func @point_three_deep_all_constant(
// CHECK:         gml_st.point %{{.*}} [18, 64]
func.func @point_three_deep_all_constant(%x: tensor<40x96xf32>) -> f32 {
  %t = gml_st.tile %x [0, 32] [40, 32] [1, 2] : tensor<40x96xf32> to !gml_st.subset<40x32xf32>
  %tt = gml_st.tile %t [2, 16] [8, 16] [4, 0]
      : !gml_st.subset<40x32xf32> to !gml_st.subset<8x16xf32>
  %p = gml_st.point %tt [4, 8] : !gml_st.subset<8x16xf32> to !gml_st.point
  %r = gml_st.materialize %x[%p] : tensor<40x96xf32>[!gml_st.point]
  return %r : f32
}

// CHECK-LABEL: func.func @point_of_transposed_tile(
// CHECK:         %[[SPACE:.*]] = gml_st.space [64, 128]
// CHECK-NEXT:    gml_st.point %[[SPACE]] [40, 8]
func.func @point_of_transposed_tile(%x: tensor<64x128xf32>) -> f32 {
  %s = gml_st.space [128, 64] : !gml_st.tile<128x64>
  %t = gml_st.tile %s [0, 32] [128, 16] [1, 2] : !gml_st.tile<128x64> to !gml_st.tile<128x16>
  %tt = gml_st.transpose_dims %t, [1, 0] : !gml_st.tile<128x16> to !gml_st.tile<16x128>
  %p = gml_st.point %tt [4, 8] : !gml_st.tile<16x128> to !gml_st.point
  %r = gml_st.materialize %x[%p] : tensor<64x128xf32>[!gml_st.point]
  return %r : f32
}

// CHECK-LABEL: func.func @transposed_twice(
// CHECK-SAME:    %[[X:.*]]: tensor<10x?x5xf32>, %[[N:.*]]: index)
// CHECK:         %[[SPACE:.*]] = gml_st.space [10, %[[N]], 5]
// CHECK-NEXT:    %[[T:.*]] = gml_st.tile %[[SPACE]] [3, 0, 0] [4, %[[N]], 5] [2, %[[N]], 1]
// CHECK-NEXT:    gml_st.materialize %[[X]][%[[T]]]
func.func @transposed_twice(%x: tensor<10x?x5xf32>, %n: index) -> tensor<4x?x5xf32> {
  %s = gml_st.space [%n, 5, 10] : !gml_st.tile<?x5x10>
  %t = gml_st.tile %s [0, 0, 3] [%n, 5, 4] [%n, 1, 2] : !gml_st.tile<?x5x10> to !gml_st.tile<?x5x4>
  %u = gml_st.transpose_dims %t, [1, 0, 2] : !gml_st.tile<?x5x4> to !gml_st.tile<5x?x4>
  %v = gml_st.transpose_dims %u, [2, 1, 0] : !gml_st.tile<5x?x4> to !gml_st.tile<4x?x5>
  %r = gml_st.materialize %x[%v] : tensor<10x?x5xf32>[!gml_st.tile<4x?x5>]
  return %r : tensor<4x?x5xf32>
}

// CHECK-LABEL: func.func @transposed_space(
// CHECK-SAME:    %[[X:.*]]: tensor<5x10x?xf32>
// CHECK:         %[[SPACE:.*]] = gml_st.space [5, 10, %{{.*}}]
// CHECK-NEXT:    gml_st.materialize %[[X]][%[[SPACE]]]
func.func @transposed_space(%x: tensor<5x10x?xf32>) -> tensor<5x10x?xf32> {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %x, %c2 : tensor<5x10x?xf32>
  %s = gml_st.space [%n, 5, 10] : !gml_st.tile<?x5x10>
  %t = gml_st.transpose_dims %s, [1, 2, 0] : !gml_st.tile<?x5x10> to !gml_st.tile<5x10x?>
  %r = gml_st.materialize %x[%t] : tensor<5x10x?xf32>[!gml_st.tile<5x10x?>]
  return %r : tensor<5x10x?xf32>
}

// CHECK-LABEL: func.func @drop_dims_of_space(
// CHECK-SAME:    %[[N:.*]]: index)
// CHECK:         %[[SPACE:.*]] = gml_st.space [%[[N]], 10]
// CHECK-NEXT:    return %[[SPACE]]
func.func @drop_dims_of_space(%n: index) -> !gml_st.tile<?x10> {
  %s = gml_st.space [%n, 5, 10] : !gml_st.tile<?x5x10>
  %d = gml_st.drop_dims %s, [0, 2] : !gml_st.tile<?x5x10> to !gml_st.tile<?x10>
  return %d : !gml_st.tile<?x10>
}

// CHECK-LABEL: func.func @drop_dims_of_tile(
// CHECK-SAME:    %[[N:.*]]: index)
// CHECK:         %[[SPACE:.*]] = gml_st.space [%[[N]], 10]
// CHECK-NEXT:    gml_st.tile %[[SPACE]] [2, 4] [2, 2] [1, 1]
func.func @drop_dims_of_tile(%n: index) -> !gml_st.tile<2x2> {
  %s = gml_st.space [%n, 5, 10] : !gml_st.tile<?x5x10>
  %t = gml_st.tile %s [2, 0, 4] [2, 4, 2] [1, 1, 1] : !gml_st.tile<?x5x10> to !gml_st.tile<2x4x2>
  %d = gml_st.drop_dims %t, [0, 2] : !gml_st.tile<2x4x2> to !gml_st.tile<2x2>
  return %d : !gml_st.tile<2x2>
}

// CHECK-LABEL: func.func @drop_dims_of_point(
// CHECK-SAME:    %[[N:.*]]: index)
// CHECK:         %[[SPACE:.*]] = gml_st.space [%[[N]], 10]
// CHECK-NEXT:    gml_st.point %[[SPACE]] [1, 3]
func.func @drop_dims_of_point(%n: index) -> !gml_st.point {
  %s = gml_st.space [%n, 5, 10] : !gml_st.tile<?x5x10>
  %p = gml_st.point %s [1, 2, 3] : !gml_st.tile<?x5x10> to !gml_st.point
  %d = gml_st.drop_dims %p, [0, 2] : !gml_st.point to !gml_st.point
  return %d : !gml_st.point
}

// What is left of a tensor's dimensions has a space of its own.
// CHECK-LABEL: func.func @drop_dims_of_a_tensor(
// CHECK-SAME:    %[[X:.*]]: tensor<6x8xf32>, %[[Y:.*]]: tensor<8xf32>
// CHECK:         %[[SPACE:.*]] = gml_st.space [8]
// CHECK-NEXT:    %[[T:.*]] = gml_st.tile %[[SPACE]] [%{{.*}}] [4] [1]
// CHECK-NEXT:    gml_st.materialize %[[Y]][%[[T]]]
func.func @drop_dims_of_a_tensor(%x: tensor<6x8xf32>, %y: tensor<8xf32>, %i: index)
    -> tensor<4xf32> {
  %t = gml_st.tile %x [0, %i] [3, 4] [1, 1] : tensor<6x8xf32> to !gml_st.subset<3x4xf32>
  %d = gml_st.drop_dims %t, [1] : !gml_st.subset<3x4xf32> to !gml_st.tile<4>
  %r = gml_st.materialize %y[%d] : tensor<8xf32>[!gml_st.tile<4>]
  return %r : tensor<4xf32>
}

// A box that is known is a tile; one that is not is left.
// CHECK-LABEL: func.func @boxes(
// CHECK-SAME:    %[[X:.*]]: tensor<16xf32>
// CHECK:         %[[A:.*]] = gml_st.tile %[[X]] [2] [8] [1]
// CHECK:         %[[B:.*]] = gml_st.tile %[[X]] [%{{.*}}] [8] [1]
// CHECK:         %[[KNOWN:.*]] = gml_st.tile %[[X]] [4] [%{{.*}}] [1]
// CHECK:         %[[OPEN:.*]] = gml_st.intersection %[[A]], %[[B]]
// CHECK:         gml_st.materialize %[[X]][%[[KNOWN]]]
// CHECK:         gml_st.materialize %[[X]][%[[OPEN]]]
func.func @boxes(%x: tensor<16xf32>, %i: index) -> (tensor<?xf32>, tensor<?xf32>) {
  %a = gml_st.tile %x [2] [8] [1] : tensor<16xf32> to !gml_st.subset<8xf32>
  %b = gml_st.tile %x [%i] [8] [1] : tensor<16xf32> to !gml_st.subset<8xf32>
  %c = gml_st.tile %x [4] [12] [1] : tensor<16xf32> to !gml_st.subset<12xf32>
  %known = gml_st.intersection %a, %c : !gml_st.subset<8xf32>, !gml_st.subset<12xf32>
      to !gml_st.subset<?xf32>
  %open = gml_st.intersection %a, %b : !gml_st.subset<8xf32>, !gml_st.subset<8xf32>
      to !gml_st.subset<?xf32>
  %r = gml_st.materialize %x[%known] : tensor<16xf32>[!gml_st.subset<?xf32>]
  %s = gml_st.materialize %x[%open] : tensor<16xf32>[!gml_st.subset<?xf32>]
  return %r, %s : tensor<?xf32>, tensor<?xf32>
}
