"""Definitions as ops: of upstream by name, with maps or a category, of ours; or generic."""
