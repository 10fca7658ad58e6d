"""Networks that people write in PyTorch, small, and what becomes of each."""
