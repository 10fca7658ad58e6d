"""The type that an op computes in: its attribute, and the op in it."""
