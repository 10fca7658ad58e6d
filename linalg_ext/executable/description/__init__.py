"""Parts of a kernel: its signature, code, stages, failures, and the decisions that made it."""
