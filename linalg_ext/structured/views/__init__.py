"""Views of buffers: where each lies in what it is a view of, and which memory it covers.

Upstream's ops on memrefs that move no element, and those of ours that it lacks. The algebra is that
of `linalg_ext.symbolic.index_sets`: every view that is a rectangle of another is a tile of it.
"""
