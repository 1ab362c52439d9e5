"""Honest people: what is measured on them, and the figures that come with the package."""
