"""Estimates of an agent's sensitivity and consistency from choices, with honest intervals."""
