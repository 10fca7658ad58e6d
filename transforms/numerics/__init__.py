"""Exact arithmetic where upstream has gaps: powers, narrow floats, division, undefined results."""
