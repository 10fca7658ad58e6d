"""The processes apart: what runs in them. `linalg_ext.worker_process` is their other end."""
