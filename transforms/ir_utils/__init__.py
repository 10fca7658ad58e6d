"""Builders and readers of IR that several rooms of passes share; no file here is a pass."""
