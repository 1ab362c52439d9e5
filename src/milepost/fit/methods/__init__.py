"""The ways to fit: percentiles, likelihood along a rating, moments, grid, posteriors."""
