"""The whole jobs, as functions of files or frames: what every surface calls."""
