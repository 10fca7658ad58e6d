"""Models that people have, as this library runs them, beside PyTorch, its compiler and JAX.

    python -m benchmarks models                  # all families, on one thread and on all cores
    python -m benchmarks models scan LSTM        # families whose name contains a word
    python -m benchmarks models --quick          # fewer rounds, and without PyTorch's compiler

The report of a family says whether it compiles and is right, how much of it `torch.compile` hands
over, and the fate of its ops. It has the times to compile, at first and from the cache, and to run.

families        the models, with real sizes and random weights
convolutional   models of images
sequential      models of sequences
twins           some of them once more, in JAX
measuring       one family, in a process of its own
reporting       the tables
"""
