"""Structured and destination-style ops, asked by their interfaces.

`destination_style(op)` answers what the RFC "DestinationStyleOpInterface" moves out of the
structured ops: inputs, inits, and the results tied to them. `interface(op)` answers all that stays:
loops, maps, the payload. docs/interfaces.md has every method of the RFC with its name here.
"""
