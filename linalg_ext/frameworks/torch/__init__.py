"""Models of PyTorch, compiled by this library. `pip install 'linalg-ext[torch]'`.

    net = lx.from_torch(model, (x,))            # compiled for inputs like x
    y = net(x)                                  # tensors in, tensors out, nothing copied
    fast = torch.compile(model, backend="linalg_ext")    # or as a backend; it can be trained, too

A model is exported as a graph of ATen ops (torch.export, or torch.compile's own tracing), which
torch-mlir's importer turns into linalg on tensors. Parameters are arguments of the kernel: it holds
views of the model's own tensors, so that what changes them in place changes both.

An op that does not come through is an error that names the line of the model, or is left to PyTorch
where the caller allows that: the graph is then cut around it.

requirements  PyTorch and its importer, or the error that says what to install
dialect       torch-mlir's dialects, in every context from here on
tensors       the memory of tensors as arrays, and back
graphs        what is asked of graphs of torch.fx
importing     a graph as a module of linalg on tensors
compiling     a graph as something that is called, cut where it must be
report        what was compiled, and what was left to PyTorch
program       a model as a graph: its state, its inputs, what they may be
model         `lx.from_torch`
backend       `torch.compile(model, backend="linalg_ext")`
"""
