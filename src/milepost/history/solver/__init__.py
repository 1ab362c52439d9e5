"""To the fixed point: sweeps, Newton steps and their linear equations."""
