"""Schedules on real modules and on every op of the library: verified, and compared with numbers.

    PYTHONPATH=tests/support python -m schedule_corpus nine      # the nine transformations, on all
    PYTHONPATH=tests/support python -m schedule_corpus random    # random schedules of six steps

Each schedule runs in a process of its own: what ends the process is told as well.
"""
