"""Modules and argument lists that nobody meant, run in processes apart.

    PYTHONPATH=tests/support python -m fuzz --count 10000 --seed 0

Whatever comes of one, it is a result or an error of the library's own tree; anything else is a
surprise, which is told with what repeats it.
"""
