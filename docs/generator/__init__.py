"""Pages of the documentation that are made from the library, so that they cannot fall behind it.

hooks            the functions that MkDocs calls
tutorials        the notebooks
ops              the op library, a page for each family
transformations  a page for each pass: before --> after
errors           the tree of errors, and the messages of the examples on its pages
reference        the public names, from their docstrings
tables           element types, commands, supported versions
"""
