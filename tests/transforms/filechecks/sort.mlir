// RUN: linalg-ext-lower-sort

// CHECK-LABEL: func.func @rows(
// CHECK-NOT:   cf.assert
// CHECK:       %[[COPY:.*]] = linalg.copy
// CHECK:       %[[SPARE:.*]] = tensor.empty() : tensor<9xf32>
// CHECK:       scf.for {{.*}} iter_args(%{{.*}} = %[[COPY]], %{{.*}} = %[[SPARE]])
// CHECK:       tensor.extract_slice %{{.*}} : tensor<4x9xf32> to tensor<9xf32>
// CHECK:       arith.cmpf olt
// CHECK:       tensor.insert_slice %{{.*}} : tensor<9xf32> into tensor<4x9xf32>
func.func @rows(%x: tensor<4x9xf32>, %o: tensor<4x9xf32>) -> tensor<4x9xf32> {
  %0 = "linalg_ext.sort"(%x, %o) ({
  ^bb0(%a: f32, %b: f32):
    %first = arith.cmpf olt, %a, %b : f32
    "linalg_ext.yield"(%first) : (i1) -> ()
  }) {dimension = 1 : i64, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>}
    : (tensor<4x9xf32>, tensor<4x9xf32>) -> tensor<4x9xf32>
  return %0 : tensor<4x9xf32>
}

// CHECK-LABEL: func.func @columns(
// CHECK:       linalg.generic {{.*}} ins(%{{.*}} : tensor<9x4xf32>) outs(%{{.*}} : tensor<4x9xf32>)
// CHECK:       %[[SORTED:.*]]:2 = scf.for
// CHECK:       linalg.generic {{.*}} ins(%[[SORTED]]#0 : tensor<4x9xf32>) outs(%{{.*}} : tensor<9x4xf32>)
func.func @columns(%x: tensor<9x4xf32>, %o: tensor<9x4xf32>) -> tensor<9x4xf32> {
  %0 = "linalg_ext.sort"(%x, %o) ({
  ^bb0(%a: f32, %b: f32):
    %first = arith.cmpf olt, %a, %b : f32
    "linalg_ext.yield"(%first) : (i1) -> ()
  }) {dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>}
    : (tensor<9x4xf32>, tensor<9x4xf32>) -> tensor<9x4xf32>
  return %0 : tensor<9x4xf32>
}

// CHECK-LABEL: func.func @nothing(
// CHECK-NOT:   scf.for
// CHECK:       return %{{.*}} : tensor<0x9xf32>
func.func @nothing(%x: tensor<0x9xf32>, %o: tensor<0x9xf32>) -> tensor<0x9xf32> {
  %0 = "linalg_ext.sort"(%x, %o) ({
  ^bb0(%a: f32, %b: f32):
    %first = arith.cmpf olt, %a, %b : f32
    "linalg_ext.yield"(%first) : (i1) -> ()
  }) {dimension = 1 : i64, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>}
    : (tensor<0x9xf32>, tensor<0x9xf32>) -> tensor<0x9xf32>
  return %0 : tensor<0x9xf32>
}

// A row of 200: four passes by digits, of which the first two are always made: from the input, and
// back from a spare row. Integers are counted from the least; near to it two digits are all.

// CHECK-LABEL: func.func @digits(
// CHECK-SAME:  %[[X:[a-z0-9]+]]: tensor<200xi32>, %[[O:[a-z0-9]+]]: tensor<200xi32>
// CHECK:       %[[SPARE:.*]] = tensor.empty() : tensor<200xi32>
// CHECK:       %[[TABLE:.*]] = tensor.empty() : tensor<1024xindex>
// CHECK:       scf.for {{.*}} iter_args(%{{.*}} = %[[TABLE]]) -> (tensor<1024xindex>)
// CHECK:       %[[EXTREMES:.*]]:2 = scf.for
// CHECK:         tensor.extract %[[X]]
// CHECK:       arith.subi %[[EXTREMES]]#1, %[[EXTREMES]]#0 : i32
// CHECK-COUNT-2: arith.select {{.*}} : index
// CHECK:       %[[FIRST:.*]]:2 = scf.for {{.*}} iter_args(%{{.*}} = %[[SPARE]]
// CHECK:         tensor.extract %[[X]]
// CHECK:       scf.for {{.*}} iter_args(%{{.*}} = %[[O]]
// CHECK:         tensor.extract %[[FIRST]]#0
// CHECK:       scf.for
// CHECK:         scf.if
// CHECK-NEXT:      scf.yield
// CHECK-NEXT:    } else {
func.func @digits(%x: tensor<200xi32>, %o: tensor<200xi32>) -> tensor<200xi32> {
  %0 = "linalg_ext.sort"(%x, %o) ({
  ^bb0(%a: i32, %b: i32):
    %first = arith.cmpi slt, %a, %b : i32
    "linalg_ext.yield"(%first) : (i1) -> ()
  }) {dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>}
    : (tensor<200xi32>, tensor<200xi32>) -> tensor<200xi32>
  return %0 : tensor<200xi32>
}

// Rows of 3, as many at a time as a vector has lanes: a block is transposed, and three exchanges.

// CHECK-LABEL: func.func @lanes(
// CHECK:       %[[SCRATCH:.*]] = tensor.empty() : tensor<3x64xi32>
// CHECK:       linalg.generic {{.*}} ins(%{{.*}} : tensor<64x3xi32>) outs(%{{.*}} : tensor<3x64xi32>)
// CHECK:       scf.for
// CHECK-COUNT-3: vector.transfer_read
// CHECK-NOT:   vector.transfer_read
// CHECK-COUNT-3: arith.maxsi
// CHECK-NOT:   arith.maxsi
// CHECK-COUNT-3: vector.transfer_write
// CHECK:       linalg.generic {{.*}} ins(%{{.*}} : tensor<3x64xi32>) outs(%{{.*}} : tensor<64x3xi32>)
func.func @lanes(%x: tensor<100x3xi32>, %o: tensor<100x3xi32>) -> tensor<100x3xi32> {
  %0 = "linalg_ext.sort"(%x, %o) ({
  ^bb0(%a: i32, %b: i32):
    %first = arith.cmpi slt, %a, %b : i32
    "linalg_ext.yield"(%first) : (i1) -> ()
  }) {dimension = 1 : i64, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>}
    : (tensor<100x3xi32>, tensor<100x3xi32>) -> tensor<100x3xi32>
  return %0 : tensor<100x3xi32>
}

// The first 3 of 1000 are all that is read: a buffer holds what may be among them.

// CHECK-LABEL: func.func @first(
// CHECK:       %[[FOUND:.*]] = tensor.empty() : tensor<3xi32>
// CHECK:       %[[BUFFER:.*]] = tensor.empty() : tensor<70xi32>
// CHECK:       scf.for
// CHECK:       vector.transfer_read
// CHECK:       vector.reduction <or>
// CHECK:       scf.if
// CHECK:       tensor.insert_slice %{{.*}} : tensor<3xi32> into tensor<3xi32>
func.func @first(%x: tensor<1000xi32>, %o: tensor<1000xi32>) -> tensor<3xi32> {
  %0 = "linalg_ext.sort"(%x, %o) ({
  ^bb0(%a: i32, %b: i32):
    %first = arith.cmpi slt, %a, %b : i32
    "linalg_ext.yield"(%first) : (i1) -> ()
  }) {dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>}
    : (tensor<1000xi32>, tensor<1000xi32>) -> tensor<1000xi32>
  %1 = tensor.extract_slice %0[0] [3] [1] : tensor<1000xi32> to tensor<3xi32>
  return %1 : tensor<3xi32>
}

// CHECK-LABEL: func.func @dynamic(
// CHECK:       cf.assert {{.*}}the inputs and the destinations are of other shapes
// CHECK:       linalg.copy
// CHECK:       scf.for
// CHECK:       arith.cmpf ogt
// CHECK:       return %{{.*}} : tensor<?xf32>
func.func @dynamic(%x: tensor<?xf32>, %o: tensor<?xf32>) -> tensor<?xf32> {
  %0 = "linalg_ext.sort"(%x, %o) ({
  ^bb0(%a: f32, %b: f32):
    %first = arith.cmpf ogt, %a, %b : f32
    "linalg_ext.yield"(%first) : (i1) -> ()
  }) {dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>}
    : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
