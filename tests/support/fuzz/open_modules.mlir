// Ops that take a size from elsewhere, each in each of its forms, all sizes open.
//
// Each function is a module. The line before it has what fits for its arguments: `4x5` for an array
// of two axes, `4.` for one of one axis, `x` for one of none, and `4` for a number.

#id1 = affine_map<(i) -> (i)>
#id2 = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
#turned = affine_map<(i, j) -> (j, i)>
#none = affine_map<(i, j) -> ()>

// 4x5 5x4 4
func.func @matmul_into_empty(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %n: index) -> tensor<?x?xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n, %n) : tensor<?x?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%f : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 5x4 5x3 4x3
func.func @matmul_turned(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %c: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
    ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 4x5 5x3 4x3 3x6 4x6
func.func @matmul_chain(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %c: tensor<?x?xf32>, %d: tensor<?x?xf32>, %o: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>
  %1 = linalg.matmul ins(%0, %d : tensor<?x?xf32>, tensor<?x?xf32>) outs(%o : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %1 : tensor<?x?xf32>
}

// 4x5 5x3 4x3 3.
func.func @matmul_with_bias(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %c: tensor<?x?xf32>, %v: tensor<?xf32>) -> tensor<?x?xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>
  %1 = linalg.generic {indexing_maps = [#id2, #column, #id2], iterator_types = ["parallel", "parallel"]}
    ins(%0, %v : tensor<?x?xf32>, tensor<?xf32>) outs(%c : tensor<?x?xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  } -> tensor<?x?xf32>
  return %1 : tensor<?x?xf32>
}

// 2x4x5 2x5x3 2x4x3
func.func @contract(%a: tensor<?x?x?xf32>, %b: tensor<?x?x?xf32>, %c: tensor<?x?x?xf32>) -> tensor<?x?x?xf32> {
  %0 = linalg.contract indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>]
    ins(%a, %b : tensor<?x?x?xf32>, tensor<?x?x?xf32>) outs(%c : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  return %0 : tensor<?x?x?xf32>
}

// 4x5 5. 4.
func.func @contract_to_vector(%a: tensor<?x?xf64>, %b: tensor<?xf64>, %c: tensor<?xf64>) -> tensor<?xf64> {
  %0 = linalg.contract indexing_maps = [#id2, #column, #row]
    ins(%a, %b : tensor<?x?xf64>, tensor<?xf64>) outs(%c : tensor<?xf64>) -> tensor<?xf64>
  return %0 : tensor<?xf64>
}

// 4x5 4x5 4x5
func.func @elementwise_op(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %c: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = linalg.elementwise kind=#linalg.elementwise_kind<add>
    ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 5. 5x4 4x5
func.func @elementwise_op_maps(%a: tensor<?xf32>, %b: tensor<?x?xf32>, %c: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = linalg.elementwise kind=#linalg.elementwise_kind<mul> indexing_maps = [#column, #turned, #id2]
    ins(%a, %b : tensor<?xf32>, tensor<?x?xf32>) outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 4x6 2x2x2x3
func.func @pack(%a: tensor<?x?xf32>, %p: tensor<?x?x2x3xf32>) -> tensor<?x?x2x3xf32> {
  %0 = linalg.pack %a inner_dims_pos = [0, 1] inner_tiles = [2, 3] into %p : tensor<?x?xf32> -> tensor<?x?x2x3xf32>
  return %0 : tensor<?x?x2x3xf32>
}

// 4x6 2
func.func @pack_into_empty(%a: tensor<?x?xf32>, %n: index) -> tensor<?x2x2x3xf32> {
  %p = tensor.empty(%n) : tensor<?x2x2x3xf32>
  %0 = linalg.pack %a inner_dims_pos = [0, 1] inner_tiles = [2, 3] into %p : tensor<?x?xf32> -> tensor<?x2x2x3xf32>
  return %0 : tensor<?x2x2x3xf32>
}

// 5x7 3x3x2x3 0
func.func @pack_padded(%a: tensor<?x?xf32>, %p: tensor<?x?x2x3xf32>, %x: f32) -> tensor<?x?x2x3xf32> {
  %0 = linalg.pack %a padding_value(%x : f32) inner_dims_pos = [0, 1] inner_tiles = [2, 3] into %p : tensor<?x?xf32> -> tensor<?x?x2x3xf32>
  return %0 : tensor<?x?x2x3xf32>
}

// 4x6 3x2x2x2
func.func @pack_outer_permuted(%a: tensor<?x?xf32>, %p: tensor<?x?x2x2xf32>) -> tensor<?x?x2x2xf32> {
  %0 = linalg.pack %a outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [2, 2] into %p : tensor<?x?xf32> -> tensor<?x?x2x2xf32>
  return %0 : tensor<?x?x2x2xf32>
}

// 4x6 2 2x2x2x3
func.func @pack_open_tile(%a: tensor<?x?xf32>, %n: index, %p: tensor<?x?x?x3xf32>) -> tensor<?x?x?x3xf32> {
  %0 = linalg.pack %a inner_dims_pos = [0, 1] inner_tiles = [%n, 3] into %p : tensor<?x?xf32> -> tensor<?x?x?x3xf32>
  return %0 : tensor<?x?x?x3xf32>
}

// 5x6 2 3x2x2x3 0
func.func @pack_open_tile_padded(%a: tensor<?x?xf32>, %n: index, %p: tensor<?x?x?x3xf32>, %x: f32) -> tensor<?x?x?x3xf32> {
  %0 = linalg.pack %a padding_value(%x : f32) inner_dims_pos = [0, 1] inner_tiles = [%n, 3] into %p : tensor<?x?xf32> -> tensor<?x?x?x3xf32>
  return %0 : tensor<?x?x?x3xf32>
}

// 4x6 2x2x2x3
func.func @pack_memref(%a: memref<?x?xf32>, %p: memref<?x?x2x3xf32>) {
  linalg.pack %a inner_dims_pos = [0, 1] inner_tiles = [2, 3] into %p : memref<?x?xf32> -> memref<?x?x2x3xf32>
  return
}

// 2x2x2x3 4x6
func.func @unpack(%p: tensor<?x?x2x3xf32>, %a: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = linalg.unpack %p inner_dims_pos = [0, 1] inner_tiles = [2, 3] into %a : tensor<?x?x2x3xf32> -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 2x2x2x3 4 6
func.func @unpack_into_empty(%p: tensor<?x?x2x3xf32>, %n: index, %m: index) -> tensor<?x?xf32> {
  %a = tensor.empty(%n, %m) : tensor<?x?xf32>
  %0 = linalg.unpack %p inner_dims_pos = [0, 1] inner_tiles = [2, 3] into %a : tensor<?x?x2x3xf32> -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 3x2x2x2 4x6
func.func @unpack_outer_permuted(%p: tensor<?x?x2x2xf32>, %a: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = linalg.unpack %p outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [2, 2] into %a : tensor<?x?x2x2xf32> -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 2x2x2x3 2 4x6
func.func @unpack_open_tile(%p: tensor<?x?x?x3xf32>, %n: index, %a: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = linalg.unpack %p inner_dims_pos = [0, 1] inner_tiles = [%n, 3] into %a : tensor<?x?x?x3xf32> -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 2x2x2x3 4x6
func.func @unpack_memref(%p: memref<?x?x2x3xf32>, %a: memref<?x?xf32>) {
  linalg.unpack %p inner_dims_pos = [0, 1] inner_tiles = [2, 3] into %a : memref<?x?x2x3xf32> -> memref<?x?xf32>
  return
}

// 8x8 8x8
func.func @softmax(%a: tensor<?x?xf32>, %o: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = linalg.softmax dimension(1) ins(%a : tensor<?x?xf32>) outs(%o : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 3x8 3x8
func.func @softmax_first(%a: tensor<?x?xf64>, %o: tensor<?x?xf64>) -> tensor<?x?xf64> {
  %0 = linalg.softmax dimension(0) ins(%a : tensor<?x?xf64>) outs(%o : tensor<?x?xf64>) -> tensor<?x?xf64>
  return %0 : tensor<?x?xf64>
}

// 3x8 3x8
func.func @softmax_memref(%a: memref<?x?xf32>, %o: memref<?x?xf32>) {
  linalg.softmax dimension(1) ins(%a : memref<?x?xf32>) outs(%o : memref<?x?xf32>)
  return
}

// 2x3x3x5 6x6x5x2
func.func @winograd_filter(%f: tensor<?x3x3x?xf32>, %o: tensor<6x6x?x?xf32>) -> tensor<6x6x?x?xf32> {
  %0 = linalg.winograd_filter_transform fmr(F_4_3) ins(%f : tensor<?x3x3x?xf32>) outs(%o : tensor<6x6x?x?xf32>) -> tensor<6x6x?x?xf32>
  return %0 : tensor<6x6x?x?xf32>
}

// 2x10x10x5 6x6x2x2x2x5
func.func @winograd_input(%x: tensor<?x?x?x?xf32>, %o: tensor<6x6x?x?x?x?xf32>) -> tensor<6x6x?x?x?x?xf32> {
  %0 = linalg.winograd_input_transform fmr(F_4_3) ins(%x : tensor<?x?x?x?xf32>) outs(%o : tensor<6x6x?x?x?x?xf32>) -> tensor<6x6x?x?x?x?xf32>
  return %0 : tensor<6x6x?x?x?x?xf32>
}

// 6x6x2x2x2x2 2x8x8x2
func.func @winograd_output(%x: tensor<6x6x?x?x?x?xf32>, %o: tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32> {
  %0 = linalg.winograd_output_transform fmr(F_4_3) ins(%x : tensor<6x6x?x?x?x?xf32>) outs(%o : tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  return %0 : tensor<?x?x?x?xf32>
}

// 4. 4x5
func.func @broadcast(%a: tensor<?xf32>, %o: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = linalg.broadcast ins(%a : tensor<?xf32>) outs(%o : tensor<?x?xf32>) dimensions = [1]
  return %0 : tensor<?x?xf32>
}

// 4x5 3x4x5
func.func @broadcast_memref(%a: memref<?x?xf32>, %o: memref<?x?x?xf32>) {
  linalg.broadcast ins(%a : memref<?x?xf32>) outs(%o : memref<?x?x?xf32>) dimensions = [0]
  return
}

// 4x5 5x4
func.func @transpose(%a: tensor<?x?xf32>, %o: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = linalg.transpose ins(%a : tensor<?x?xf32>) outs(%o : tensor<?x?xf32>) permutation = [1, 0]
  return %0 : tensor<?x?xf32>
}

// 4x5x6 6x4x5
func.func @transpose_memref(%a: memref<?x?x?xi16>, %o: memref<?x?x?xi16>) {
  linalg.transpose ins(%a : memref<?x?x?xi16>) outs(%o : memref<?x?x?xi16>) permutation = [2, 0, 1]
  return
}

// 4x40 4.
func.func @reduce(%a: tensor<?x?xf32>, %o: tensor<?xf32>) -> tensor<?xf32> {
  %0 = linalg.reduce { arith.addf } ins(%a : tensor<?x?xf32>) outs(%o : tensor<?xf32>) dimensions = [1]
  return %0 : tensor<?xf32>
}

// 4x5 5.
func.func @reduce_first(%a: tensor<?x?xf32>, %o: tensor<?xf32>) -> tensor<?xf32> {
  %0 = linalg.reduce { arith.maximumf } ins(%a : tensor<?x?xf32>) outs(%o : tensor<?xf32>) dimensions = [0]
  return %0 : tensor<?xf32>
}

// 4x5 4x5 5. 5.
func.func @reduce_two(%a: tensor<?x?xf32>, %b: tensor<?x?xi32>, %o: tensor<?xf32>, %p: tensor<?xi32>) -> (tensor<?xf32>, tensor<?xi32>) {
  %0:2 = linalg.reduce ins(%a, %b : tensor<?x?xf32>, tensor<?x?xi32>) outs(%o, %p : tensor<?xf32>, tensor<?xi32>) dimensions = [0]
    (%x: f32, %i: i32, %y: f32, %j: i32) {
      %s = arith.addf %x, %y : f32
      %t = arith.addi %i, %j : i32
      linalg.yield %s, %t : f32, i32
    }
  return %0#0, %0#1 : tensor<?xf32>, tensor<?xi32>
}

// 4x5 4x5 4x5
func.func @map(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %o: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = linalg.map { arith.mulf } ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%o : tensor<?x?xf32>)
  return %0 : tensor<?x?xf32>
}

// 4x5 4x5 4x5
func.func @map_memref(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %o: memref<?x?xf32>) {
  linalg.map { arith.mulf } ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%o : memref<?x?xf32>)
  return
}

// 4x5 4 5
func.func @copy_into_empty(%a: tensor<?x?xf32>, %n: index, %m: index) -> tensor<?x?xf32> {
  %e = tensor.empty(%n, %m) : tensor<?x?xf32>
  %0 = linalg.copy ins(%a : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 4 5 0
func.func @fill_empty(%n: index, %m: index, %x: f32) -> tensor<?x?xf32> {
  %e = tensor.empty(%n, %m) : tensor<?x?xf32>
  %0 = linalg.fill ins(%x : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 4x5 4. 5. 4x5
func.func @generic_broadcasts(%a: tensor<?x?xf32>, %b: tensor<?xf32>, %c: tensor<?xf32>, %o: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = linalg.generic {indexing_maps = [#id2, #row, #column, #id2], iterator_types = ["parallel", "parallel"]}
    ins(%a, %b, %c : tensor<?x?xf32>, tensor<?xf32>, tensor<?xf32>) outs(%o : tensor<?x?xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32, %w: f32):
    %s = arith.addf %x, %y : f32
    %t = arith.mulf %s, %z : f32
    linalg.yield %t : f32
  } -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 4x5 5x4 4x5
func.func @generic_turned(%a: tensor<?x?xf64>, %b: tensor<?x?xf64>, %o: tensor<?x?xf64>) -> tensor<?x?xf64> {
  %0 = linalg.generic {indexing_maps = [#id2, #turned, #id2], iterator_types = ["parallel", "parallel"]}
    ins(%a, %b : tensor<?x?xf64>, tensor<?x?xf64>) outs(%o : tensor<?x?xf64>) {
  ^bb0(%x: f64, %y: f64, %w: f64):
    %s = arith.addf %x, %y : f64
    linalg.yield %s : f64
  } -> tensor<?x?xf64>
  return %0 : tensor<?x?xf64>
}

// 4x5 x
func.func @generic_to_scalar(%a: tensor<?x?xf32>, %o: tensor<f32>) -> tensor<f32> {
  %0 = linalg.generic {indexing_maps = [#id2, #none], iterator_types = ["reduction", "reduction"]}
    ins(%a : tensor<?x?xf32>) outs(%o : tensor<f32>) {
  ^bb0(%x: f32, %w: f32):
    %s = arith.addf %x, %w : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// 8. 3. 6.
func.func @generic_window(%a: tensor<?xf32>, %k: tensor<?xf32>, %o: tensor<?xf32>) -> tensor<?xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i + j)>, #column, #row], iterator_types = ["parallel", "reduction"]}
    ins(%a, %k : tensor<?xf32>, tensor<?xf32>) outs(%o : tensor<?xf32>) {
  ^bb0(%x: f32, %y: f32, %w: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %p, %w : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// 9. 3. 4.
func.func @generic_strided_window(%a: tensor<?xf32>, %k: tensor<?xf32>, %o: tensor<?xf32>) -> tensor<?xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i * 2 + j)>, #column, #row], iterator_types = ["parallel", "reduction"]}
    ins(%a, %k : tensor<?xf32>, tensor<?xf32>) outs(%o : tensor<?xf32>) {
  ^bb0(%x: f32, %y: f32, %w: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %p, %w : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// 5x5 5.
func.func @generic_diagonal(%a: tensor<?x?xf32>, %o: tensor<?xf32>) -> tensor<?xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i, i)>, #id1], iterator_types = ["parallel"]}
    ins(%a : tensor<?x?xf32>) outs(%o : tensor<?xf32>) {
  ^bb0(%x: f32, %w: f32):
    linalg.yield %x : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// 4x5 4.
func.func @generic_constant_index(%a: tensor<?x?xf32>, %o: tensor<?xf32>) -> tensor<?xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i, 3)>, #id1], iterator_types = ["parallel"]}
    ins(%a : tensor<?x?xf32>) outs(%o : tensor<?xf32>) {
  ^bb0(%x: f32, %w: f32):
    linalg.yield %x : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// 4. 8.
func.func @generic_divided(%a: tensor<?xf32>, %o: tensor<?xf32>) -> tensor<?xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i floordiv 2)>, #id1], iterator_types = ["parallel"]}
    ins(%a : tensor<?xf32>) outs(%o : tensor<?xf32>) {
  ^bb0(%x: f32, %w: f32):
    linalg.yield %x : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// 4x5 4x5 4.
func.func @generic_two_results(%a: tensor<?x?xf32>, %o: tensor<?x?xf32>, %p: tensor<?xf32>) -> (tensor<?x?xf32>, tensor<?xf32>) {
  %0:2 = linalg.generic {indexing_maps = [#id2, #id2, #row], iterator_types = ["parallel", "reduction"]}
    ins(%a : tensor<?x?xf32>) outs(%o, %p : tensor<?x?xf32>, tensor<?xf32>) {
  ^bb0(%x: f32, %u: f32, %v: f32):
    %s = arith.addf %x, %v : f32
    linalg.yield %s, %s : f32, f32
  } -> (tensor<?x?xf32>, tensor<?xf32>)
  return %0#0, %0#1 : tensor<?x?xf32>, tensor<?xf32>
}

// 4x5 5. 4x5
func.func @generic_memref(%a: memref<?x?xf32>, %b: memref<?xf32>, %o: memref<?x?xf32>) {
  linalg.generic {indexing_maps = [#id2, #column, #id2], iterator_types = ["parallel", "parallel"]}
    ins(%a, %b : memref<?x?xf32>, memref<?xf32>) outs(%o : memref<?x?xf32>) {
  ^bb0(%x: f32, %y: f32, %w: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  }
  return
}

// 4x5 4x5
func.func @arith_addf(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = arith.addf %a, %b : tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 4x5 4x5 4x5
func.func @arith_chain(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %c: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = arith.addf %a, %b : tensor<?x?xf32>
  %1 = math.exp %c : tensor<?x?xf32>
  %2 = arith.mulf %0, %1 : tensor<?x?xf32>
  return %2 : tensor<?x?xf32>
}

// 4x5 4x5 4x5
func.func @arith_select(%a: tensor<?x?xi1>, %b: tensor<?x?xi32>, %c: tensor<?x?xi32>) -> tensor<?x?xi32> {
  %0 = arith.select %a, %b, %c : tensor<?x?xi1>, tensor<?x?xi32>
  return %0 : tensor<?x?xi32>
}

// 4x5 4x5
func.func @arith_compare(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xi1> {
  %0 = arith.cmpf olt, %a, %b : tensor<?x?xf32>
  return %0 : tensor<?x?xi1>
}

// 4x5 4x5 4x5
func.func @math_fma(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %c: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = math.fma %a, %b, %c : tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 4x5
func.func @cast_to_static(%a: tensor<?x?xf32>) -> tensor<4x5xf32> {
  %0 = tensor.cast %a : tensor<?x?xf32> to tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

// 4x5
func.func @collapse_shape(%a: tensor<?x?xf32>) -> tensor<?xf32> {
  %0 = tensor.collapse_shape %a [[0, 1]] : tensor<?x?xf32> into tensor<?xf32>
  return %0 : tensor<?xf32>
}

// 4x5x6
func.func @collapse_shape_mixed(%a: tensor<?x5x?xf32>) -> tensor<?x?xf32> {
  %0 = tensor.collapse_shape %a [[0, 1], [2]] : tensor<?x5x?xf32> into tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 20. 4 5
func.func @expand_shape(%a: tensor<?xf32>, %n: index, %m: index) -> tensor<?x?xf32> {
  %0 = tensor.expand_shape %a [[0, 1]] output_shape [%n, %m] : tensor<?xf32> into tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 20. 5
func.func @expand_shape_mixed(%a: tensor<?xf32>, %n: index) -> tensor<?x4xf32> {
  %0 = tensor.expand_shape %a [[0, 1]] output_shape [%n, 4] : tensor<?xf32> into tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// 20x6 4 5 2 3
func.func @expand_shape_twice(%a: tensor<?x?xf32>, %n: index, %m: index, %k: index, %l: index) -> tensor<?x?x?x?xf32> {
  %0 = tensor.expand_shape %a [[0, 1], [2, 3]] output_shape [%n, %m, %k, %l] : tensor<?x?xf32> into tensor<?x?x?x?xf32>
  return %0 : tensor<?x?x?x?xf32>
}

// 20. 4 5
func.func @expand_and_add(%a: tensor<?xf32>, %n: index, %m: index) -> tensor<?x?xf32> {
  %0 = tensor.expand_shape %a [[0, 1]] output_shape [%n, %m] : tensor<?xf32> into tensor<?x?xf32>
  %1 = arith.addf %0, %0 : tensor<?x?xf32>
  return %1 : tensor<?x?xf32>
}

// 33x16 33x16
func.func @concat_first(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = tensor.concat dim(0) %a, %b : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 3x6 3x5 3x7
func.func @concat_second(%a: tensor<?x?xi16>, %b: tensor<?x?xi16>, %c: tensor<?x?xi16>) -> tensor<?x?xi16> {
  %0 = tensor.concat dim(1) %a, %b, %c : (tensor<?x?xi16>, tensor<?x?xi16>, tensor<?x?xi16>) -> tensor<?x?xi16>
  return %0 : tensor<?x?xi16>
}

// 3x6 2x6
func.func @concat_to_static(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<5x6xf32> {
  %0 = tensor.concat dim(0) %a, %b : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<5x6xf32>
  return %0 : tensor<5x6xf32>
}

// 4x5 1 2
func.func @pad(%a: tensor<?x?xf32>, %l: index, %h: index) -> tensor<?x?xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.pad %a low[%l, 1] high[%h, %l] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<?x?xf32> to tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 5. 2 1
func.func @pad_to_static(%a: tensor<?xf32>, %l: index, %h: index) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.pad %a low[%l] high[%h] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<?xf32> to tensor<8xf32>
  return %0 : tensor<8xf32>
}

// 5. 2
func.func @pad_static_rest(%a: tensor<?xf32>, %l: index) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.pad %a low[%l] high[1] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<?xf32> to tensor<8xf32>
  return %0 : tensor<8xf32>
}

// 5. 2 1
func.func @pad_computed(%a: tensor<?xindex>, %l: index, %h: index) -> tensor<?xindex> {
  %0 = tensor.pad %a low[%l] high[%h] {
  ^bb0(%i: index):
    tensor.yield %i : index
  } : tensor<?xindex> to tensor<?xindex>
  return %0 : tensor<?xindex>
}

// 8x9 1 2 3 4
func.func @extract_slice(%a: tensor<?x?xf32>, %i: index, %j: index, %n: index, %m: index) -> tensor<?x?xf32> {
  %0 = tensor.extract_slice %a[%i, %j] [%n, %m] [1, 1] : tensor<?x?xf32> to tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 9x9 1 2 3 2
func.func @extract_slice_strided(%a: tensor<?x?xf32>, %i: index, %j: index, %n: index, %s: index) -> tensor<?x3xf32> {
  %0 = tensor.extract_slice %a[%i, %j] [%n, 3] [%s, %s] : tensor<?x?xf32> to tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}

// 9x9 1 3
func.func @extract_slice_row(%a: tensor<?x?xf32>, %i: index, %n: index) -> tensor<?xf32> {
  %0 = tensor.extract_slice %a[%i, 0] [1, %n] [1, 1] : tensor<?x?xf32> to tensor<?xf32>
  return %0 : tensor<?xf32>
}

// 3x4 8x9 1 2 3 4
func.func @insert_slice(%a: tensor<?x?xf32>, %o: tensor<?x?xf32>, %i: index, %j: index, %n: index, %m: index) -> tensor<?x?xf32> {
  %0 = tensor.insert_slice %a into %o[%i, %j] [%n, %m] [1, 1] : tensor<?x?xf32> into tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 3x3 9x9 1 2 3 2
func.func @insert_slice_strided(%a: tensor<?x3xf32>, %o: tensor<?x?xf32>, %i: index, %j: index, %n: index, %s: index) -> tensor<?x?xf32> {
  %0 = tensor.insert_slice %a into %o[%i, %j] [%n, 3] [%s, %s] : tensor<?x3xf32> into tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 4. 9x9 1 4
func.func @insert_slice_row(%a: tensor<?xf32>, %o: tensor<?x?xf32>, %i: index, %n: index) -> tensor<?x?xf32> {
  %0 = tensor.insert_slice %a into %o[%i, 0] [1, %n] [1, 1] : tensor<?xf32> into tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 3x4 12x4 4 3
func.func @parallel_insert_slice(%a: tensor<?x?xf32>, %o: tensor<?x?xf32>, %n: index, %s: index) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %h = tensor.dim %a, %c0 : tensor<?x?xf32>
  %w = tensor.dim %a, %c1 : tensor<?x?xf32>
  %0 = scf.forall (%i) in (%n) shared_outs(%t = %o) -> tensor<?x?xf32> {
    %at = arith.muli %i, %s : index
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %a into %t[%at, 0] [%h, %w] [1, 1] : tensor<?x?xf32> into tensor<?x?xf32>
    }
  }
  return %0 : tensor<?x?xf32>
}

// 4x5 2.
func.func @reshape(%a: tensor<?x?xf32>, %s: tensor<2xindex>) -> tensor<?x?xf32> {
  %0 = tensor.reshape %a(%s) : (tensor<?x?xf32>, tensor<2xindex>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 4x5 4 5
func.func @reshape_to_sizes(%a: tensor<?x?xf32>, %n: index, %m: index) -> tensor<?x?xf32> {
  %s = tensor.from_elements %n, %m : tensor<2xindex>
  %0 = tensor.reshape %a(%s) : (tensor<?x?xf32>, tensor<2xindex>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 4x5 20
func.func @reshape_to_static(%a: tensor<?x?xf32>, %n: index) -> tensor<20xf32> {
  %s = tensor.from_elements %n : tensor<1xindex>
  %0 = tensor.reshape %a(%s) : (tensor<?x?xf32>, tensor<1xindex>) -> tensor<20xf32>
  return %0 : tensor<20xf32>
}

// 4x5 2 3
func.func @extract(%a: tensor<?x?xf32>, %i: index, %j: index) -> f32 {
  %0 = tensor.extract %a[%i, %j] : tensor<?x?xf32>
  return %0 : f32
}

// 4x5 2 3 1
func.func @insert(%a: tensor<?x?xf32>, %i: index, %j: index, %x: f32) -> tensor<?x?xf32> {
  %0 = tensor.insert %x into %a[%i, %j] : tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 4x5 1
func.func @dim(%a: tensor<?x?xf32>, %i: index) -> index {
  %0 = tensor.dim %a, %i : tensor<?x?xf32>
  return %0 : index
}

// 4 5 1
func.func @generate(%n: index, %m: index, %x: f32) -> tensor<?x?xf32> {
  %0 = tensor.generate %n, %m {
  ^bb0(%i: index, %j: index):
    tensor.yield %x : f32
  } : tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 4 5 1
func.func @splat(%n: index, %m: index, %x: f32) -> tensor<?x?xf32> {
  %0 = tensor.splat %x[%n, %m] : tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 4x8 3.
func.func @gather_in_generic(%table: tensor<?x?xf32>, %at: tensor<?xi64>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %at, %c0 : tensor<?xi64>
  %m = tensor.dim %table, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%n, %m) : tensor<?x?xf32>
  %0 = linalg.generic {indexing_maps = [#row, #id2], iterator_types = ["parallel", "parallel"]}
    ins(%at : tensor<?xi64>) outs(%e : tensor<?x?xf32>) {
  ^bb0(%i: i64, %o: f32):
    %k = arith.index_cast %i : i64 to index
    %j = linalg.index 1 : index
    %x = tensor.extract %table[%k, %j] : tensor<?x?xf32>
    linalg.yield %x : f32
  } -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 4x8 2x3x1
func.func @gather(%a: tensor<?x?xf32>, %at: tensor<?x?x1xindex>) -> tensor<?x?x1x?xf32> {
  %0 = tensor.gather %a[%at] gather_dims([0]) : (tensor<?x?xf32>, tensor<?x?x1xindex>) -> tensor<?x?x1x?xf32>
  return %0 : tensor<?x?x1x?xf32>
}

// 2x1x8 4x8 2x1
func.func @scatter(%s: tensor<?x1x?xf32>, %a: tensor<?x?xf32>, %at: tensor<?x1xindex>) -> tensor<?x?xf32> {
  %0 = tensor.scatter %s into %a[%at] scatter_dims([0]) unique : (tensor<?x1x?xf32>, tensor<?x?xf32>, tensor<?x1xindex>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 3x5 6x5 9x5
func.func @own_concatenate(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %o: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = "linalg_ext.concatenate"(%a, %b, %o) {dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1>} : (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 4x5 4x5
func.func @own_reverse(%a: tensor<?x?xf32>, %o: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = "linalg_ext.reverse"(%a, %o) {dimensions = array<i64: 1>} : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 5. 4x5
func.func @own_dynamic_broadcast(%a: tensor<?xf32>, %o: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = "linalg_ext.dynamic_broadcast_in_dim"(%a, %o) {broadcast_dimensions = array<i64: 1>} : (tensor<?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 6x5 3x1 3x5
func.func @own_gather(%a: tensor<?x?xf32>, %at: tensor<?x1xi64>, %o: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = "linalg_ext.gather"(%a, %at, %o) : (tensor<?x?xf32>, tensor<?x1xi64>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 3x1 3x1x5 6x5
func.func @own_scatter(%at: tensor<?x1xi64>, %u: tensor<?x1x?xf32>, %o: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = "linalg_ext.scatter"(%at, %u, %o) ({
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %y : f32
    "linalg_ext.yield"(%s) : (f32) -> ()
  }) : (tensor<?x1xi64>, tensor<?x1x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 40. 40. 40. 40.
func.func @own_sort(%a: tensor<?xf32>, %b: tensor<?xi32>, %o: tensor<?xf32>, %p: tensor<?xi32>) -> (tensor<?xf32>, tensor<?xi32>) {
  %0:2 = "linalg_ext.sort"(%a, %b, %o, %p) ({
  ^bb0(%x: f32, %y: f32, %i: i32, %j: i32):
    %before = arith.cmpf olt, %x, %y : f32
    "linalg_ext.yield"(%before) : (i1) -> ()
  }) {dimension = 0 : i64, is_stable = true, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>}
    : (tensor<?xf32>, tensor<?xi32>, tensor<?xf32>, tensor<?xi32>) -> (tensor<?xf32>, tensor<?xi32>)
  return %0#0, %0#1 : tensor<?xf32>, tensor<?xi32>
}

// 4x9 4x9
func.func @own_sort_rows(%a: tensor<?x?xi32>, %o: tensor<?x?xi32>) -> tensor<?x?xi32> {
  %0 = "linalg_ext.sort"(%a, %o) ({
  ^bb0(%x: i32, %y: i32):
    %before = arith.cmpi slt, %x, %y : i32
    "linalg_ext.yield"(%before) : (i1) -> ()
  }) {dimension = 1 : i64, is_stable = true, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>}
    : (tensor<?x?xi32>, tensor<?x?xi32>) -> tensor<?x?xi32>
  return %0 : tensor<?x?xi32>
}

// 5. 4x5 4x5
func.func @own_elementwise(%a: tensor<?xf32>, %b: tensor<?x?xf32>, %o: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = linalg_ext.elementwise ins(%a, %b : tensor<?xf32>, tensor<?x?xf32>)
    outs(%o : tensor<?x?xf32>) kind = #linalg.elementwise_kind<sub> broadcast_a = [0]
    -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 4x5 4x5 4x5 4.
func.func @own_contract(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %c: tensor<?x?xf32>, %o: tensor<?xf32>) -> tensor<?xf32> {
  %0 = linalg_ext.contract ins(%a, %b, %c : tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>)
    outs(%o : tensor<?xf32>) indexing_maps = [#id2, #id2, #id2, #row]
    kind = "max+" -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// 6x9 1 2 7
func.func @own_tile(%a: memref<?x?xf32>, %i: index, %j: index, %x: f32) {
  %v = "linalg_ext.tile"(%a, %i, %j) {sizes = array<i64: 4, 3>} : (memref<?x?xf32>, index, index) -> memref<?x?xf32, strided<[?, ?], offset: ?>>
  linalg.fill ins(%x : f32) outs(%v : memref<?x?xf32, strided<[?, ?], offset: ?>>)
  return
}

// 8x9 3 4
func.func @gml_st_tile(%a: tensor<?x?xf32>, %i: index, %n: index) -> tensor<2x?xf32> {
  %s = gml_st.tile %a [%i, 0] [2, %n] [1, 1] : tensor<?x?xf32> to !gml_st.subset<2x?xf32>
  %0 = gml_st.materialize %a[%s] : tensor<?x?xf32>[!gml_st.subset<2x?xf32>] to tensor<2x?xf32>
  return %0 : tensor<2x?xf32>
}

// 8x9 3 4
func.func @gml_st_point(%a: tensor<?x?xf32>, %i: index, %j: index) -> f32 {
  %s = gml_st.point %a[%i, %j] : tensor<?x?xf32> to !gml_st.point
  %0 = gml_st.materialize %a[%s] : tensor<?x?xf32>[!gml_st.point]
  return %0 : f32
}

// 16x8 16x8 16
func.func @gml_st_loop(%a: tensor<?x8xf32>, %o: tensor<?x8xf32>, %n: index) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %r = gml_st.loop (%i) = (%c0) to (%n) step (%c4)
      ins (%x = %a: tensor<?x8xf32>) outs (%y = %o: tensor<?x8xf32>) iterators["parallel"] {
    %s = gml_st.tile %x[%i, 0] [4, 8] [1, 1] : tensor<?x8xf32> to !gml_st.subset<4x8xf32>
    %t = gml_st.materialize %x[%s] : tensor<?x8xf32>[!gml_st.subset<4x8xf32>] to tensor<4x8xf32>
    %u = arith.addf %t, %t : tensor<4x8xf32>
    %d = gml_st.tile %y[%i, 0] [4, 8] [1, 1] : tensor<?x8xf32> to !gml_st.subset<4x8xf32>
    gml_st.yield %u to %d : tensor<4x8xf32> to !gml_st.subset<4x8xf32>
  }
  return %r : tensor<?x8xf32>
}

// 4x5 4x5
func.func @memref_copy(%a: memref<?x?xf32>, %b: memref<?x?xf32>) {
  memref.copy %a, %b : memref<?x?xf32> to memref<?x?xf32>
  return
}

// 4x5 4x5
func.func @memref_linalg_copy(%a: memref<?x?xf32>, %b: memref<?x?xf32>) {
  linalg.copy ins(%a : memref<?x?xf32>) outs(%b : memref<?x?xf32>)
  return
}

// 8x9 3x4 1 2 3 4
func.func @memref_subview(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %i: index, %j: index, %n: index, %m: index) {
  %v = memref.subview %a[%i, %j] [%n, %m] [1, 1] : memref<?x?xf32> to memref<?x?xf32, strided<[?, 1], offset: ?>>
  memref.copy %v, %b : memref<?x?xf32, strided<[?, 1], offset: ?>> to memref<?x?xf32>
  return
}

// 9x9 1 2 3 2 1
func.func @memref_subview_strided(%a: memref<?x?xf32>, %i: index, %j: index, %n: index, %s: index, %x: f32) {
  %v = memref.subview %a[%i, %j] [%n, 3] [%s, %s] : memref<?x?xf32> to memref<?x3xf32, strided<[?, ?], offset: ?>>
  linalg.fill ins(%x : f32) outs(%v : memref<?x3xf32, strided<[?, ?], offset: ?>>)
  return
}

// 80. 8 4 3 1
func.func @memref_view(%a: memref<?xi8>, %at: index, %n: index, %m: index, %x: f32) {
  %v = memref.view %a[%at][%n, %m] : memref<?xi8> to memref<?x?xf32>
  linalg.fill ins(%x : f32) outs(%v : memref<?x?xf32>)
  return
}

// 4x5 0 4 5 5 1
func.func @memref_reinterpret_cast(%a: memref<?x?xf32>, %o: index, %n: index, %m: index, %s: index, %x: f32) {
  %v = memref.reinterpret_cast %a to offset: [%o], sizes: [%n, %m], strides: [%s, 1] : memref<?x?xf32> to memref<?x?xf32, strided<[?, 1], offset: ?>>
  linalg.fill ins(%x : f32) outs(%v : memref<?x?xf32, strided<[?, 1], offset: ?>>)
  return
}

// 20. 4 5 1
func.func @memref_expand_shape(%a: memref<?xf32>, %n: index, %m: index, %x: f32) {
  %v = memref.expand_shape %a [[0, 1]] output_shape [%n, %m] : memref<?xf32> into memref<?x?xf32>
  linalg.fill ins(%x : f32) outs(%v : memref<?x?xf32>)
  return
}

// 4x5 1
func.func @memref_collapse_shape(%a: memref<?x?xf32>, %x: f32) {
  %v = memref.collapse_shape %a [[0, 1]] : memref<?x?xf32> into memref<?xf32>
  linalg.fill ins(%x : f32) outs(%v : memref<?xf32>)
  return
}

// 4x5 2. 1
func.func @memref_reshape(%a: memref<?x?xf32>, %s: memref<2xindex>, %x: f32) {
  %v = memref.reshape %a(%s) : (memref<?x?xf32>, memref<2xindex>) -> memref<?x?xf32>
  linalg.fill ins(%x : f32) outs(%v : memref<?x?xf32>)
  return
}

// 4x5 1
func.func @memref_cast(%a: memref<?x?xf32>, %x: f32) {
  %v = memref.cast %a : memref<?x?xf32> to memref<4x5xf32>
  linalg.fill ins(%x : f32) outs(%v : memref<4x5xf32>)
  return
}

// 4x5 2 3
func.func @memref_load(%a: memref<?x?xf32>, %i: index, %j: index) -> f32 {
  %0 = memref.load %a[%i, %j] : memref<?x?xf32>
  return %0 : f32
}

// 4x5 2 3 1
func.func @memref_store(%a: memref<?x?xf32>, %i: index, %j: index, %x: f32) {
  memref.store %x, %a[%i, %j] : memref<?x?xf32>
  return
}

// 4x5 2 3 1
func.func @memref_atomic_rmw(%a: memref<?x?xf32>, %i: index, %j: index, %x: f32) -> f32 {
  %0 = memref.atomic_rmw addf %x, %a[%i, %j] : (f32, memref<?x?xf32>) -> f32
  return %0 : f32
}

// 4 5 2 1
func.func @memref_alloc(%n: index, %m: index, %i: index, %x: f32) -> f32 {
  %a = memref.alloc(%n, %m) : memref<?x?xf32>
  linalg.fill ins(%x : f32) outs(%a : memref<?x?xf32>)
  %0 = memref.load %a[%i, %i] : memref<?x?xf32>
  return %0 : f32
}

// 4 2 1
func.func @memref_alloca(%n: index, %i: index, %x: f32) -> f32 {
  %a = memref.alloca(%n) : memref<?xf32>
  linalg.fill ins(%x : f32) outs(%a : memref<?xf32>)
  %0 = memref.load %a[%i] : memref<?xf32>
  return %0 : f32
}

// 4x5 1
func.func @memref_dim(%a: memref<?x?xf32>, %i: index) -> index {
  %0 = memref.dim %a, %i : memref<?x?xf32>
  return %0 : index
}

// 5x4 4x5
func.func @memref_transpose(%a: memref<?x?xf32>, %b: memref<?x?xf32>) {
  %v = memref.transpose %a (i, j) -> (j, i) : memref<?x?xf32> to memref<?x?xf32, strided<[1, ?]>>
  memref.copy %v, %b : memref<?x?xf32, strided<[1, ?]>> to memref<?x?xf32>
  return
}

// 4x5 0 1 1
func.func @affine_load(%a: memref<?x?xf32>, %n: index, %m: index, %x: f32) -> f32 {
  %0 = affine.load %a[symbol(%n) + 1, symbol(%m) * 2] : memref<?x?xf32>
  affine.store %0, %a[symbol(%m), symbol(%n)] : memref<?x?xf32>
  return %0 : f32
}

// 4x5 4
func.func @affine_for(%a: memref<?x?xf32>, %n: index) {
  affine.for %i = 0 to %n {
    %0 = affine.load %a[%i, %i] : memref<?x?xf32>
    affine.store %0, %a[%i, 0] : memref<?x?xf32>
  }
  return
}

// 9x40 1 2 8.
func.func @transfer_read(%a: tensor<?x?xf32>, %i: index, %j: index, %out: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %0 = vector.transfer_read %a[%i, %j], %zero : tensor<?x?xf32>, vector<8xf32>
  vector.transfer_write %0, %out[%c0] {in_bounds = [true]} : vector<8xf32>, memref<8xf32>
  return
}

// 9x40 1 2 4x8
func.func @transfer_read_in_bounds(%a: memref<?x?xf32>, %i: index, %j: index, %out: memref<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %0 = vector.transfer_read %a[%i, %j], %zero {in_bounds = [true, true]} : memref<?x?xf32>, vector<4x8xf32>
  vector.transfer_write %0, %out[%c0, %c0] {in_bounds = [true, true]} : vector<4x8xf32>, memref<4x8xf32>
  return
}

// 9x40 1 2 8x4
func.func @transfer_read_turned(%a: memref<?x?xf32>, %i: index, %j: index, %out: memref<8x4xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %0 = vector.transfer_read %a[%i, %j], %zero {permutation_map = #turned} : memref<?x?xf32>, vector<8x4xf32>
  vector.transfer_write %0, %out[%c0, %c0] {in_bounds = [true, true]} : vector<8x4xf32>, memref<8x4xf32>
  return
}

// 8. 9x40 1 2
func.func @transfer_write(%v_in: memref<8xf32>, %a: tensor<?x?xf32>, %i: index, %j: index) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %v = vector.transfer_read %v_in[%c0], %none {in_bounds = [true]} : memref<8xf32>, vector<8xf32>
  %0 = vector.transfer_write %v, %a[%i, %j] : vector<8xf32>, tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 4x8 9x40 1 2
func.func @transfer_write_in_bounds(%v_in: memref<4x8xf32>, %a: memref<?x?xf32>, %i: index, %j: index) {
  %c0 = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %v = vector.transfer_read %v_in[%c0, %c0], %none {in_bounds = [true, true]} : memref<4x8xf32>, vector<4x8xf32>
  vector.transfer_write %v, %a[%i, %j] {in_bounds = [true, true]} : vector<4x8xf32>, memref<?x?xf32>
  return
}

// 40. 3 2 8.
func.func @transfer_masked(%a: memref<?xf32>, %i: index, %n: index, %out: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %mask = vector.create_mask %n : vector<8xi1>
  %0 = vector.transfer_read %a[%i], %zero, %mask : memref<?xf32>, vector<8xf32>
  vector.transfer_write %0, %out[%c0] {in_bounds = [true]} : vector<8xf32>, memref<8xf32>
  return
}

// 40. 3 8.
func.func @vector_load(%a: memref<?xf32>, %i: index, %out: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %0 = vector.load %a[%i] : memref<?xf32>, vector<8xf32>
  vector.transfer_write %0, %out[%c0] {in_bounds = [true]} : vector<8xf32>, memref<8xf32>
  return
}

// 8. 40. 3
func.func @vector_store(%v_in: memref<8xf32>, %a: memref<?xf32>, %i: index) {
  %c0 = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %v = vector.transfer_read %v_in[%c0], %none {in_bounds = [true]} : memref<8xf32>, vector<8xf32>
  vector.store %v, %a[%i] : memref<?xf32>, vector<8xf32>
  return
}

// 40. 3 5 8. 8.
func.func @vector_maskedload(%a: memref<?xf32>, %i: index, %n: index, %p_in: memref<8xf32>, %out: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %p = vector.transfer_read %p_in[%c0], %none {in_bounds = [true]} : memref<8xf32>, vector<8xf32>
  %mask = vector.create_mask %n : vector<8xi1>
  %0 = vector.maskedload %a[%i], %mask, %p : memref<?xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  vector.transfer_write %0, %out[%c0] {in_bounds = [true]} : vector<8xf32>, memref<8xf32>
  return
}

// 40. 3 5 8.
func.func @vector_maskedstore(%a: memref<?xf32>, %i: index, %n: index, %p_in: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %p = vector.transfer_read %p_in[%c0], %none {in_bounds = [true]} : memref<8xf32>, vector<8xf32>
  %mask = vector.create_mask %n : vector<8xi1>
  vector.maskedstore %a[%i], %mask, %p : memref<?xf32>, vector<8xi1>, vector<8xf32>
  return
}

// 40. 3 5 8. 8.
func.func @vector_expandload(%a: memref<?xf32>, %i: index, %n: index, %p_in: memref<8xf32>, %out: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %p = vector.transfer_read %p_in[%c0], %none {in_bounds = [true]} : memref<8xf32>, vector<8xf32>
  %mask = vector.create_mask %n : vector<8xi1>
  %0 = vector.expandload %a[%i], %mask, %p : memref<?xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  vector.transfer_write %0, %out[%c0] {in_bounds = [true]} : vector<8xf32>, memref<8xf32>
  return
}

// 40. 3 5 8.
func.func @vector_compressstore(%a: memref<?xf32>, %i: index, %n: index, %p_in: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %p = vector.transfer_read %p_in[%c0], %none {in_bounds = [true]} : memref<8xf32>, vector<8xf32>
  %mask = vector.create_mask %n : vector<8xi1>
  vector.compressstore %a[%i], %mask, %p : memref<?xf32>, vector<8xi1>, vector<8xf32>
  return
}

// 40. 3 8. 5 8. 8.
func.func @vector_gather(%a: memref<?xf32>, %i: index, %at_in: memref<8xi32>, %n: index, %p_in: memref<8xf32>, %out: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %none_i = arith.constant 0 : i32
  %at = vector.transfer_read %at_in[%c0], %none_i {in_bounds = [true]} : memref<8xi32>, vector<8xi32>
  %none = arith.constant 0.0 : f32
  %p = vector.transfer_read %p_in[%c0], %none {in_bounds = [true]} : memref<8xf32>, vector<8xf32>
  %mask = vector.create_mask %n : vector<8xi1>
  %0 = vector.gather %a[%i] [%at], %mask, %p : memref<?xf32>, vector<8xi32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  vector.transfer_write %0, %out[%c0] {in_bounds = [true]} : vector<8xf32>, memref<8xf32>
  return
}

// 40. 3 8. 5 8.
func.func @vector_scatter(%a: memref<?xf32>, %i: index, %at_in: memref<8xi32>, %n: index, %p_in: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %none_i = arith.constant 0 : i32
  %at = vector.transfer_read %at_in[%c0], %none_i {in_bounds = [true]} : memref<8xi32>, vector<8xi32>
  %none = arith.constant 0.0 : f32
  %p = vector.transfer_read %p_in[%c0], %none {in_bounds = [true]} : memref<8xf32>, vector<8xf32>
  %mask = vector.create_mask %n : vector<8xi1>
  vector.scatter %a[%i] [%at], %mask, %p : memref<?xf32>, vector<8xi32>, vector<8xi1>, vector<8xf32>
  return
}

// 8. 3
func.func @vector_extract(%v_in: memref<8xf32>, %i: index) -> f32 {
  %c0 = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %v = vector.transfer_read %v_in[%c0], %none {in_bounds = [true]} : memref<8xf32>, vector<8xf32>
  %0 = vector.extract %v[%i] : f32 from vector<8xf32>
  return %0 : f32
}

// 8. 3 1 8.
func.func @vector_insert(%v_in: memref<8xf32>, %i: index, %x: f32, %out: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %v = vector.transfer_read %v_in[%c0], %none {in_bounds = [true]} : memref<8xf32>, vector<8xf32>
  %0 = vector.insert %x, %v[%i] : f32 into vector<8xf32>
  vector.transfer_write %0, %out[%c0] {in_bounds = [true]} : vector<8xf32>, memref<8xf32>
  return
}

// 4x5 4x5
func.func @materialize(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %e = bufferization.alloc_tensor() copy(%b) : tensor<?x?xf32>
  %0 = bufferization.materialize_in_destination %a in %e : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 4x5 4x5
func.func @materialize_memref(%a: tensor<?x?xf32>, %b: memref<?x?xf32>) {
  bufferization.materialize_in_destination %a in writable %b : (tensor<?x?xf32>, memref<?x?xf32>) -> ()
  return
}

// 4x5
func.func @alloc_tensor_copy(%a: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = bufferization.alloc_tensor() copy(%a) : tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 4x5 4x5
func.func @to_tensor(%a: memref<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %t = bufferization.to_tensor %a restrict : memref<?x?xf32> to tensor<?x?xf32>
  %0 = arith.addf %t, %b : tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// 8x9 3 2
func.func @slices_in_loop(%a: tensor<?x?xf32>, %n: index, %s: index) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %a) -> tensor<?x?xf32> {
    %v = tensor.extract_slice %t[%i, 0] [%s, 3] [1, 1] : tensor<?x?xf32> to tensor<?x3xf32>
    %w = arith.addf %v, %v : tensor<?x3xf32>
    %u = tensor.insert_slice %w into %t[%i, 0] [%s, 3] [1, 1] : tensor<?x3xf32> into tensor<?x?xf32>
    scf.yield %u : tensor<?x?xf32>
  }
  return %0 : tensor<?x?xf32>
}

// 4x5 4x5 1
func.func @if_of_two(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %p: i1) -> tensor<?x?xf32> {
  %0 = scf.if %p -> tensor<?x?xf32> {
    %1 = arith.addf %a, %b : tensor<?x?xf32>
    scf.yield %1 : tensor<?x?xf32>
  } else {
    scf.yield %b : tensor<?x?xf32>
  }
  return %0 : tensor<?x?xf32>
}
