"""Modules and argument lists that nobody meant, run in worker processes.

    PYTHONPATH=tests/support python -m fuzz --count 10000 --seed 0      # mutated modules, called
    PYTHONPATH=tests/support python -m fuzz misfits --count 20000       # sizes that do not fit

Whatever comes of one, it is a result or an error of the library's own tree. What ends its process
is a failure, unless SECURITY.md names what ended it, and so is another exception, an access beyond
a buffer, and a result that hangs on what memory held before. Each is told with what repeats it.
"""
