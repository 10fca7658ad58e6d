"""Traced values, which stand for arrays while a function is recorded, and the ops on them."""
