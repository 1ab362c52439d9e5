"""Hostile input and faults, many times over: see `studies.campaign.__main__`."""
