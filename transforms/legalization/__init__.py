"""Lowerings to linalg on tensors: StableHLO, tm_tensor, and the ops of this library's dialect."""
