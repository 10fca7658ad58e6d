"""Models of ONNX, compiled by this library. `pip install 'linalg-ext[onnx]'`.

    net = lx.from_onnx("model.onnx")
    y = net(x)                       # arrays of NumPy; or by the names of the inputs: net(x=x)

torch-mlir's importer reads the model; its passes bring it to linalg on tensors. The weights are
arguments of the kernel, held beside it: `net.weights` has them by name, to be written to.

model         `lx.from_onnx`: a model checked, its shapes inferred, its weights as inputs
rewriting     nodes that torch-mlir has no way for, written as others
importing     a model as a module of linalg on tensors
"""
