"""The project beside its peers: `python -m benchmarks`."""
