"""Modules in torch-mlir's dialect: what its passes get wrong is written before they run."""
