"""The project beside its peers: `python -m benchmarks`."""

from pathlib import Path

TCCG = Path(__file__).with_name("tccg.json")
"""Tensor contractions of the TCCG set (Springer and Bientinesi, TOMS 44, 2018), sizes scaled."""

MODULES = Path(__file__).parents[1] / "tests" / "data" / "modules"
"""Modules exported from PyTorch models, with their inputs and PyTorch's outputs."""
