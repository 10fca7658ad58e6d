"""Models of PyTorch, compiled by this library. `pip install 'linalg-ext[torch]'`.

    net = lx.from_torch(model, (x,))            # compiled for inputs like x
    y = net(x)                                  # tensors in, tensors out, nothing copied
    fast = torch.compile(model, backend="linalg_ext")    # or as a backend; it can be trained, too

A model is exported as a graph of ATen ops (torch.export, or torch.compile's own tracing), which
torch-mlir's importer turns into linalg on tensors. Parameters are arguments of the kernel: it holds
views of the model's own tensors, so that what changes them in place changes both.

An op that does not come through is an error that names the line of the model, or is left to PyTorch
where the caller allows that: the graph is then cut around it.

A model that was compiled once is found again, by what it computes, before it is exported.

requirements  PyTorch and its importer, or the error that says what to install
dialect       torch-mlir's dialects, in every context from here on
tensors       the memory of tensors as arrays, and back
traceable     a model as a module, its examples as tensors that are told apart
program       a model as it is called: its state, its inputs, what they may be
told          values as plain data, for keys
unchanged     a model that is run only to be looked at
elementless   tensors without elements
known_forms   what ops give for those
recording     what a model computes, as a list of ops
kept_forms    forms on disk
kept_models   models on disk, found by that list
exporting     a model as a graph, and a program
graphs        what is asked of graphs of torch.fx
graph_keys    what a graph's kernel is kept under
importing     a graph as a module of linalg on tensors
refusals      a graph that does not come through
drafts        a graph that does, on its way to a kernel
piece         a kernel, called on tensors
compiling     a graph as something that is called, cut where it must be
report        what was compiled, and what was left to PyTorch
options       how graphs are compiled
model         `lx.from_torch`
backend       `torch.compile(model, backend="linalg_ext")`
"""
