"""Tutorials: notebooks with their outputs, and the code that executes, compares and stores them.

python -m notebooks                     # execute all, store the outputs
python -m notebooks define_an_op        # one of them
python -m notebooks --check             # store nothing; fail where something else came out
"""
