"""Run-time assertions for sizes and accesses, and refusals of modules that cannot be compiled."""
