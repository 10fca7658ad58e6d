"""Specialize matrix products with maps to the ops that need none.

`linalg.matmul` with the maps that it has anyway loses them; `linalg.contract` becomes the product
of matrices, of a matrix and a vector, or of two vectors that it is, batched or packed ones too.
With `explicit_transposes`, operands that the maps transpose are transposed by `linalg.transpose`
before, and a result after: the way back from folding them in, and from
`linalg-ext-raise-matmul-variants`. Discardable attributes stay on the product.

before:
    %r = linalg.matmul indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>,
                                        affine_map<(d0, d1, d2) -> (d2, d1)>,
                                        affine_map<(d0, d1, d2) -> (d0, d1)>]
           ins(%a, %b : tensor<5x8xf32>, tensor<5x7xf32>)
           outs(%c : tensor<8x7xf32>) -> tensor<8x7xf32>
after, with explicit_transposes:
    %e = tensor.empty() : tensor<8x5xf32>
    %t = linalg.transpose ins(%a : tensor<5x8xf32>) outs(%e : tensor<8x5xf32>)
           permutation = [1, 0]
    %r = linalg.matmul ins(%t, %b : tensor<8x5xf32>, tensor<5x7xf32>)
                       outs(%c : tensor<8x7xf32>) -> tensor<8x7xf32>
"""
