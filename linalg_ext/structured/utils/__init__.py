"""Utilities on structured ops as live IR: their operands, maps, constants, attributes and place."""
