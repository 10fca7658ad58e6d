"""The compilation and the run of untrusted modules, in a worker process with limits."""

from linalg_ext.executable.worker_process.exchange import Limits
from linalg_ext.executable.worker_process.kernel import IsolatedKernel, isolate

__all__ = ["IsolatedKernel", "Limits", "isolate"]
