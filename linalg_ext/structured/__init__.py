"""Structured ops as live IR: definitions to ops and back."""
