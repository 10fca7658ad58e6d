"""Kernels as folders that can be shipped: written by `Kernel.export`, read by `lx.load`.

layer/kernel.json        what it is: format, version, machine, signature, and the other files
      lx_layer.o         the object file
      liblx_layer.so     the shared library, where there was a linker
      lx_layer.h         for C: memref structs, and the function
      load_layer.py      for Python with NumPy alone
      stages/0-module.mlir, 0-module.mlirbc, ...
"""
