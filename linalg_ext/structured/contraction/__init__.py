"""Contractions of any number of operands: built step by step, explained."""
