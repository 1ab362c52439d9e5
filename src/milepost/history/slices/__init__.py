"""Histories too large for one process: slices of time, each with a worker of its own."""
