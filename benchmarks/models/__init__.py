"""Models that people have, as this library runs them, beside PyTorch, its compiler and JAX.

    python -m benchmarks models                  # all families, on one thread and on all cores
    python -m benchmarks models scan LSTM        # families whose name contains a word
    python -m benchmarks models --quick          # fewer rounds, and without PyTorch's compiler

For each family: whether it comes through, is right, how much of it `torch.compile` hands over, what
became of its ops, how long it takes to compile at first and from the cache, and how fast it is.

families        the models, with real sizes and random weights
convolutional   models of images
sequential      models of sequences
twins           some of them once more, in JAX
measuring       one family, in a process of its own
reporting       the tables
"""
