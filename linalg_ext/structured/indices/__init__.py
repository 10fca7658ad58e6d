"""Index values in IR: read as symbolic integers, and emitted from them."""
