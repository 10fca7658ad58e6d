"""Attention in one nest, without its scores in memory."""
