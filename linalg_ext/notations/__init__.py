"""The other ways to write an operation down."""
