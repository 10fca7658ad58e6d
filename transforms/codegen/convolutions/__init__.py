"""Convolutions and poolings: what is read through windows."""
