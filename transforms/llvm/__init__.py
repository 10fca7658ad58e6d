"""The last steps: status codes for failures, linkage, and the target of each function."""
