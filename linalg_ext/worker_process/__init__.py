"""Compiling and running what nobody vouches for: in a process apart, with limits."""

from linalg_ext.worker_process.kernel import IsolatedKernel, isolate
from linalg_ext.worker_process.limits import Limits

__all__ = ["IsolatedKernel", "Limits", "isolate"]
