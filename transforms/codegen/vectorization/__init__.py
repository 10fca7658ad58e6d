"""Element-wise chains and reductions as loops over vectors."""
