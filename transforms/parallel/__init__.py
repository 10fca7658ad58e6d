"""Partition of an entry's work into slices that threads share, and outlining of loops."""
