"""Convolutions and poolings, which read their inputs through windows."""
