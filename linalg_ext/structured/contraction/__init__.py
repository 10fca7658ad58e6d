"""Contractions: found in what an op computes, built step by step, explained."""
