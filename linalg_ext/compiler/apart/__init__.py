"""The processes apart: what runs in them. `linalg_ext.isolated` is their other end."""
