"""The functions that are recorded: NumPy's, the array API's, and those of this library."""
