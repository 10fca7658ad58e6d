"""Convolutions of 3 x 3 with fewer products: Winograd's algorithm F(2x2, 3x3)."""
