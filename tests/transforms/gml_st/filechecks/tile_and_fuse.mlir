// Adapted in part from tests of the gml_st dialect in MLIR-HLO: Copyright The TensorFlow Authors,
// Apache License, Version 2.0. See NOTICE.

// RUN-TILE: linalg-ext-tile-and-fuse{tile-sizes=4}
// RUN-POINT: linalg-ext-tile-and-fuse{tile-sizes=1,1 points=true}
// RUN-FOR: linalg-ext-tile-and-fuse{tile-sizes=4 form=for}
// RUN-NESTED: linalg-ext-tile-and-fuse{tile-sizes=[[4],[2]]}

// CHECK-TILE-LABEL: func.func @add(
// CHECK-TILE:         gml_st.parallel (%[[I:.*]]) = (%c0) to (%c8) step (%c4)
// CHECK-TILE-DAG:       gml_st.tile %{{.*}} [%[[I]], 0] [4, 6] [1, 1]
// CHECK-TILE:           linalg.map { arith.addf } ins(%{{.*}}, %{{.*}} : tensor<4x6xf32>, tensor<4x6xf32>)

// CHECK-POINT-LABEL: func.func @add(
// CHECK-POINT:         gml_st.parallel (%[[I:.*]], %[[J:.*]]) = (%c0, %c0) to (%c8, %c6)
// CHECK-POINT:           gml_st.point %{{.*}} [%[[I]], %[[J]]]
// CHECK-POINT:           arith.addf %{{.*}}, %{{.*}} : f32
// CHECK-POINT:           gml_st.set_yield %{{.*}} : f32 into

// CHECK-FOR-LABEL: func.func @add(
// CHECK-FOR:         gml_st.for (%[[I:.*]]) = (%c0) to (%c8) step (%c4)
// CHECK-FOR-NEXT:    outs (

// CHECK-NESTED-LABEL: func.func @add(
// CHECK-NESTED:         gml_st.parallel (%{{.*}}) = (%c0) to (%c8) step (%c4)
// CHECK-NESTED:           gml_st.parallel (%{{.*}}) = (%c0) to (%c4) step (%c2)
// CHECK-NESTED:             linalg.map { arith.addf } ins(%{{.*}}, %{{.*}} : tensor<2x6xf32>, tensor<2x6xf32>)
func.func @add(%x: tensor<8x6xf32>, %y: tensor<8x6xf32>, %o: tensor<8x6xf32>) -> tensor<8x6xf32> {
  %r = linalg.map {arith.addf} ins(%x, %y : tensor<8x6xf32>, tensor<8x6xf32>)
      outs(%o : tensor<8x6xf32>)
  return %r : tensor<8x6xf32>
}

// CHECK-TILE-LABEL: func.func @broadcast(
// CHECK-TILE-SAME:    %[[X:[a-z0-9]+]]: tensor<8xf32>
// CHECK-TILE:         gml_st.parallel (%[[I:.*]]) =
// CHECK-TILE:           %[[T:.*]] = gml_st.tile %[[X]] [%[[I]]] [4] [1]
// CHECK-TILE:           %[[P:.*]] = gml_st.materialize %[[X]][%[[T]]]
// CHECK-TILE:           linalg.broadcast ins(%[[P]] : tensor<4xf32>)
// CHECK-TILE:           linalg.map { arith.addf }

// CHECK-POINT-LABEL: func.func @broadcast(
// CHECK-POINT-SAME:    %[[X:[a-z0-9]+]]: tensor<8xf32>
// CHECK-POINT:         gml_st.parallel (%[[I:.*]], %{{.*}}) =
// CHECK-POINT:           gml_st.point %[[X]] [%[[I]]]
// CHECK-POINT-NOT:       linalg
// CHECK-POINT:           arith.addf
func.func @broadcast(%x: tensor<8xf32>, %y: tensor<8x6xf32>, %o: tensor<8x6xf32>)
    -> tensor<8x6xf32> {
  %e = tensor.empty() : tensor<8x6xf32>
  %b = linalg.broadcast ins(%x : tensor<8xf32>) outs(%e : tensor<8x6xf32>) dimensions = [1]
  %r = linalg.map {arith.addf} ins(%b, %y : tensor<8x6xf32>, tensor<8x6xf32>)
      outs(%o : tensor<8x6xf32>)
  return %r : tensor<8x6xf32>
}

// CHECK-TILE-LABEL: func.func @transpose(
// CHECK-TILE-SAME:    %[[X:[a-z0-9]+]]: tensor<6x8xf32>
// CHECK-TILE:         gml_st.parallel (%[[I:.*]]) =
// CHECK-TILE:           gml_st.tile %[[X]] [0, %[[I]]] [6, 4] [1, 1]
// CHECK-TILE:           linalg.transpose ins(%{{.*}} : tensor<6x4xf32>)

// CHECK-POINT-LABEL: func.func @transpose(
// CHECK-POINT-SAME:    %[[X:[a-z0-9]+]]: tensor<6x8xf32>
// CHECK-POINT:         gml_st.parallel (%[[I:.*]], %[[J:.*]]) =
// CHECK-POINT:           gml_st.point %[[X]] [%[[J]], %[[I]]]
func.func @transpose(%x: tensor<6x8xf32>, %o: tensor<8x6xf32>) -> tensor<8x6xf32> {
  %e = tensor.empty() : tensor<8x6xf32>
  %t = linalg.transpose ins(%x : tensor<6x8xf32>) outs(%e : tensor<8x6xf32>) permutation = [1, 0]
  %r = linalg.map {arith.negf} ins(%t : tensor<8x6xf32>) outs(%o : tensor<8x6xf32>)
  return %r : tensor<8x6xf32>
}

// CHECK-TILE-LABEL: func.func @reduce_cwise(
// CHECK-TILE:         gml_st.parallel (%[[I:.*]]) =
// CHECK-TILE:           %[[A:.*]] = linalg.map { math.absf } ins(%{{.*}} : tensor<4x6xf32>)
// CHECK-TILE:           %[[R:.*]] = linalg.reduce { arith.addf } ins(%[[A]] : tensor<4x6xf32>)
// CHECK-TILE:           gml_st.set_yield %[[R]]
func.func @reduce_cwise(%x: tensor<8x6xf32>, %o: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8x6xf32>
  %a = linalg.map {math.absf} ins(%x : tensor<8x6xf32>) outs(%e : tensor<8x6xf32>)
  %r = linalg.reduce {arith.addf} ins(%a : tensor<8x6xf32>) outs(%o : tensor<8xf32>)
      dimensions = [1]
  return %r : tensor<8xf32>
}

// One producer of two operands is computed once.
// CHECK-TILE-LABEL: func.func @add_two_users(
// CHECK-TILE:         gml_st.parallel
// CHECK-TILE-COUNT-1:   linalg.map { math.absf }
// CHECK-TILE-NOT:       linalg.map { math.absf }
// CHECK-TILE:           linalg.map { arith.addf }
func.func @add_two_users(%x: tensor<8x6xf32>, %o: tensor<8x6xf32>) -> tensor<8x6xf32> {
  %e = tensor.empty() : tensor<8x6xf32>
  %a = linalg.map {math.absf} ins(%x : tensor<8x6xf32>) outs(%e : tensor<8x6xf32>)
  %r = linalg.map {arith.addf} ins(%a, %a : tensor<8x6xf32>, tensor<8x6xf32>)
      outs(%o : tensor<8x6xf32>)
  return %r : tensor<8x6xf32>
}
