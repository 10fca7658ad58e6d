"""Preparation of element-wise fusion: barriers, operands in the form that upstream fuses."""
