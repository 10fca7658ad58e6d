"""Subsets as live IR: the types and ops of the dialect `gml_st`, what they say, and their rules."""
