"""Truncated Gaussians, in one dimension and in two."""
