"""Measuring a machine: the figures that `lx.target.calibrate()` keeps, in under ten seconds."""
