"""Subsets as live IR: the types and ops of the dialect `gml_st`, their meaning, and their rules."""
