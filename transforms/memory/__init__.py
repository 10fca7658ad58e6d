"""Allocation of buffers: stack, heap and workspace, lifetimes, huge pages, checks."""
