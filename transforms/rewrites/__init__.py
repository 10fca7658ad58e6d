"""Rewrites of structured ops, one a file."""
