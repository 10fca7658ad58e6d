"""Preparation of one-shot bufferization, and what only exists in terms of buffers."""
