"""Models of PyTorch, compiled by this library. `pip install 'linalg-ext[torch]'`.

    net = lx.from_torch(model, (x,))            # compiled for inputs like x
    y = net(x)                                  # tensors in, tensors out, nothing copied
    fast = torch.compile(model, backend="linalg_ext")    # or as a backend; it can be trained, too

A model is exported as a graph of ATen ops (torch.export, or torch.compile's own tracing), which
torch-mlir's importer turns into linalg on tensors. Parameters are arguments of the kernel: it holds
views of the model's own tensors, so that a change in place changes both.

PyTorch runs an op that is not compiled: the kernel calls it, or the graph is cut around it. Where
the caller does not allow that, it is an error that names the line of the model.

A model that was compiled once is found again, by its computation, before it is exported.

model            `lx.from_torch`
backend          `torch.compile(model, backend="linalg_ext")`
program          a model as it is called: its state, its inputs, their shapes
parameters       its tensors, as the arrays that kernels take
stored_models    models on disk, found by their computation
recording        the computation of a model, as a list of ops
meta_cache       tensors without elements, and the results of ops on those
exporting        a model as a graph, and a program
decompositions   the ops that PyTorch writes as others
compiling        a graph as something that is called, cut where it must be
graph_keys       the keys of graphs' kernels
called_ops       ops of a graph as calls of PyTorch's functions from its kernel
importing        a graph as a module of linalg on tensors
compiled_graph   kernels called on tensors, options, the report
"""
