"""Sums of products: packed nests around a micro-kernel."""
