"""Code that runs in worker processes. `linalg_ext.worker_process` is their other end."""
