"""Transformations of the dialect `gml_st`, one a file."""
